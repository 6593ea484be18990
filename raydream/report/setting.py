"""On what runs were made, in words: the problem with its data, and the network."""

from typing import Any

from raydream.parameters import parameters_of
from raydream.problems.registry import PROBLEMS, takes_data
from raydream.report.collect import words
from raydream.specs import Spec
from raydream.storage.record import ProblemRecord, TopologyRecord


def said_of(problem: ProblemRecord, topology: TopologyRecord) -> list[str]:
    """The problem and the network in a sentence each."""
    samples = f"{problem.samples} samples each" if problem.samples else "samples drawn online"
    if problem.sizes:
        samples = f"{min(problem.sizes)} to {max(problem.sizes)} samples each"
    if problem.cut:
        samples += f" ({problem.cut} {'row' if problem.cut == 1 else 'rows'} left out, so that all own as many)"
    made = words(_made(problem.spec)) if problem.spec else ""
    single = ", in float32" if problem.dtype == "float32" else ""
    return [
        f"{problem.name}{f' ({made})' if made else ''}: {problem.agents} agents with {samples}, "
        f"x in {problem.dim_x} and y in {problem.dim_y} dimensions{single}",
        f"network: {topology.name}, λ₂ = {topology.second_eigenvalue:.4g}",
    ]


def _made(spec: Spec) -> dict[str, Any]:
    """What a problem was made from, the data first, also where those were the usual ones."""
    posed = spec.name in PROBLEMS and takes_data(spec.name)
    usual = {"data": parameters_of(PROBLEMS[spec.name])["data"].default} if posed else {}
    return usual | spec.parameters
