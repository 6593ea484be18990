"""What the DREAM theorem promises, as a line to lay over a measurement."""

from dataclasses import asdict
from typing import Any, TypedDict

import numpy as np

from raydream.report.collect import Run
from raydream.theory import dream_parameters
from raydream.types import Array

AXES = {name: name for name in ("sfo", "rounds", "sfo_paper", "rounds_paper")} | {"iteration": "iterations"}
METRIC = "grad_norm"  # of which the theorem speaks


class Promise(TypedDict):
    """The line as a page takes it: the values of a metric, and for each cost what they take at worst."""

    metric: str
    values: list[float]
    costs: dict[str, list[float]]


def promised(config: dict[str, Any], constants: dict[str, Any] | None, norms: Array) -> dict[str, Array] | None:
    """For every accuracy in the range of the measured gradient norms, the cost at which the theorem promises it.

    The theorem's own parameters change with the accuracy: the line joins the ends of different runs, each run with
    what the theorem prescribes. constants are L, mu, psi0, and n (offline) or sigma (online).
    """
    seen = norms[np.isfinite(norms) & (norms > 0)]
    if not constants or not seen.size or config.get("topology", {}).get("m") is None:
        return None
    accuracies = np.geomspace(seen.max(), seen.min(), 40)
    m, second = config["topology"]["m"], config["topology"]["second_eigenvalue"]
    made = [
        asdict(dream_parameters(epsilon=float(epsilon), m=m, delta=min(1.0, 1 - second), **constants))
        for epsilon in accuracies
    ]
    lines = {axis: np.array([float(one[name]) for one in made]) for axis, name in AXES.items()}
    return {**lines, METRIC: accuracies}


def promise_over(every: list[Run], constants: dict[str, float] | None) -> Promise | None:
    """The theorem's line over the range that all runs span.

    constants are those that are given, else those that the runs have recorded, if these are one and the same.
    """
    first = next((run for run in every if run.config.get("topology", {}).get("m", 0) > 1), every[0])
    norms = [run.columns[METRIC] for run in every if METRIC in run.columns]
    if not norms:
        return None
    try:
        line = promised(first.config, constants or _recorded(every), np.concatenate(norms))
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError):
        if constants:
            raise
        return None  # what a file says is no reason to have no page
    if line is None:
        return None
    costs = {name: line[name].tolist() for name in AXES}
    return {"metric": METRIC, "values": line[METRIC].tolist(), "costs": costs}


def _recorded(every: list[Run]) -> dict[str, Any] | None:
    """What the runs on a network recorded for the theorem; None where they differ in it, or in their networks."""
    networked = [run.config for run in every if run.config.get("topology", {}).get("m", 0) > 1] or [every[0].config]
    if not all(config.get("constants") for config in networked):
        return None
    known = [(c["topology"]["m"], c["topology"]["second_eigenvalue"], *c["constants"].values()) for c in networked]
    # Not to the last bit: that one depends on the machine.
    alike = len({tuple(f"{number:.9g}" for number in one) for one in known}) == 1
    return dict(networked[0]["constants"]) if alike else None
