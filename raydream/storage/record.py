"""A run described as plain data: what `run.json` holds, and the parts of a run made again from it."""

import contextlib
import json
import platform
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

import raydream
from raydream import specs
from raydream.algorithms import METHODS
from raydream.backends.protocol import Plan
from raydream.problems.protocol import Constants
from raydream.theory import dream_parameters, starting_gap
from raydream.topology import Topology, from_entries
from raydream.types import Array

MOST_ENTRIES = 50_000  # larger mixing matrices are not written into run.json
_ASKED: WeakKeyDictionary[Any, Constants] = WeakKeyDictionary()


def describe(plan: Plan) -> dict[str, Any]:
    """Everything needed to run it again, as plain data."""
    import scipy

    problem, topology, method = plan.problem, plan.topology, plan.method
    return {
        "raydream": raydream.__version__,
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__},
        "problem": {
            "name": type(getattr(problem, "problem", problem)).__name__,
            "agents": problem.agents,
            "samples": problem.samples,
            "dim_x": problem.dim_x,
            "dim_y": problem.dim_y,
            "constraint": repr(problem.constraint),
            "spec": getattr(problem, "spec", None),
        },
        "topology": {
            "name": topology.name,
            "m": topology.m,
            "second_eigenvalue": topology.second_eigenvalue,
            "spec": getattr(topology, "spec", None),
            "W": _entries(topology),
        },
        "method": {
            "name": METHODS.name_of(type(method)) or type(method).__name__,
            "parameters": parameters_of(method),
        },
        "seed": plan.seed,
        "own_start": not all(map(np.array_equal, plan.start, problem.start())),
    }


def parameters_of(method: Any) -> dict[str, Any]:
    """A method's parameters, where it says them."""
    return asdict(method) if is_dataclass(method) and not isinstance(method, type) else {}


def theorem_constants(plan: Plan) -> dict[str, Any] | None:
    """L, mu, psi0, and n or sigma, as `dream_parameters` takes them; None where the problem does not know them.

    A report shows with them what the theorem promises. The run itself needs none of them, and goes on whatever
    becomes of the question. This package's problems answer in less time than it takes to make them.
    """
    problem, topology = plan.problem, plan.topology
    with contextlib.suppress(Exception), np.errstate(all="ignore"):
        if not (hasattr(problem, "constants") and hasattr(problem, "primal_bound")):
            return None
        known = _constants(problem)
        found: dict[str, Any] = {"L": float(known.L), "mu": float(known.mu), "psi0": starting_gap(problem, plan.start)}
        if problem.samples is not None:
            found["n"] = int(problem.samples)
        else:
            found["sigma"] = float(known.sigma or 0.0)  # an online problem without it is refused below
        dream_parameters(epsilon=1.0, m=topology.m, delta=topology.spectral_gap, **found)  # else they are of no use
        return found
    return None


def _constants(problem: Any) -> Constants:
    """problem.constants(), asked once: those of a large problem take longer than a short run."""
    asked = getattr(problem, "problem", problem)  # a problem that is completed is so anew for every run
    try:
        if asked not in _ASKED:
            _ASKED[asked] = asked.constants()
        return _ASKED[asked]
    except TypeError:  # a problem that cannot be a key
        found: Constants = asked.constants()
        return found


def read_record(folder: Path) -> dict[str, Any]:
    """The run.json of a run directory."""
    try:
        record: dict[str, Any] = json.loads((folder / "run.json").read_text())
        missing = {
            "problem",
            "topology",
            "method",
            "seed",
            "iterations",
            "record_every",
            "limits",
            "outcome",
        } - record.keys()
    except FileNotFoundError:
        raise FileNotFoundError(f"`directory` must be a run directory; {str(folder)!r} has no run.json.") from None
    except (ValueError, AttributeError) as error:
        raise ValueError(
            f"`directory` holds no readable run: {str(folder / 'run.json')!r} is damaged ({error})."
        ) from None
    if missing:
        raise ValueError(
            f"`directory` holds no readable run: {str(folder / 'run.json')!r} lacks {', '.join(sorted(missing))}."
        )
    return record


def parts_of(
    folder: Path, config: dict[str, Any], problem: Any, topology: Topology | None, method: Any
) -> tuple[Any, Topology, Any, tuple[Array, Array] | None]:
    """Problem, topology, method and start as the record describes them, except those that are given."""
    if problem is None:
        spec = config["problem"].get("spec")
        if spec is None:
            raise ValueError(f"`problem` must be given: {str(folder)!r} does not say how it was made.")
        problem = specs.build_problem(spec["name"], config["problem"]["agents"], spec["parameters"])
    if topology is None:
        topology = _topology(folder, config["topology"])
    if method is None:
        name = config["method"]["name"]
        if name not in METHODS:
            raise ValueError(f"`method` must be given: {name!r} is not one of this package's.")
        method = METHODS[name](**config["method"]["parameters"])
    start = None
    if (folder / "start.npz").exists():
        with open(folder / "start.npz", "rb") as raw, np.load(raw, allow_pickle=False) as file:
            start = file["x0"], file["y0"]
    return problem, topology, method, start


def _entries(topology: Topology) -> dict[str, list[Any]] | None:
    """The mixing matrix in CSR form, if it is not too large."""
    W = topology.W
    if W.nnz > MOST_ENTRIES:
        return None
    return {"indptr": W.indptr.tolist(), "indices": W.indices.tolist(), "data": W.data.tolist()}


def _topology(folder: Path, described: dict[str, Any]) -> Topology:
    if described.get("W") is not None:
        return from_entries(described["W"], described["m"], described["name"])
    spec = described.get("spec")
    if spec is None:
        raise ValueError(f"`topology` must be given: {str(folder)!r} does not say how it was made.")
    return specs.build_topology(spec["name"], described["m"], spec["parameters"])
