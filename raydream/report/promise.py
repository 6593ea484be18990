"""What the DREAM theorem promises, as a line to lay over a measurement."""

from dataclasses import asdict
from typing import Any

import numpy as np

from raydream.theory import dream_parameters
from raydream.types import Array

AXES = {name: name for name in ("sfo", "rounds", "sfo_paper", "rounds_paper")} | {"iteration": "iterations"}


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
    return {**lines, "grad_norm": accuracies}
