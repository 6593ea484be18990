"""Do the parts of a run belong together? Asked once, before anything runs; each doubt is one sentence."""

import warnings
from typing import Any

import numpy as np

from raydream.checks import vector
from raydream.constraints import Everything
from raydream.errors import MixingWarning
from raydream.problems.protocol import Problem
from raydream.topology import Topology
from raydream.types import Array


def check_fit(problem: Problem, topology: Topology, method: Any) -> None:
    """Refuse parts that do not belong together, before anything runs."""
    if not isinstance(topology, Topology):
        raise TypeError(f"`topology` must be a Topology; got {topology!r}. Build one with raydream.topology.")
    if topology.m != problem.agents:
        raise ValueError(f"`topology` has {topology.m} agents but `problem` has {problem.agents} shards.")
    for part in ("init", "step"):
        if not callable(getattr(method, part, None)):
            raise TypeError(f"`method` must have `init` and `step`; {type(method).__name__} has no `{part}`.")
    sentence = method.refuse(problem) if hasattr(method, "refuse") else None
    if sentence:
        raise ValueError(f"`method` {type(method).__name__} cannot solve this `problem`: {sentence}")
    if not isinstance(problem.constraint, Everything):
        _check_projection(problem)


def _check_projection(problem: Problem) -> None:
    """A projection must treat rows as it treats each row alone, else runs would depend on where agents live."""
    rows = np.random.default_rng(0).normal(size=(3, problem.dim_y))
    together = np.asarray(problem.constraint.project(rows))
    alone = np.stack([problem.constraint.project(row) for row in rows])
    if together.shape != rows.shape or not np.array_equal(together, alone):
        raise ValueError(
            "`constraint.project` must accept rows and give each row the bits it gives that row alone; "
            "loop over the rows if in doubt."
        )


def checked_start(problem: Problem, start: tuple[Any, Any] | None) -> tuple[Array, Array]:
    """(x0, y0) as float64, with y0 in Y."""
    given = problem.start() if start is None else start
    try:
        x0, y0 = given
    except (TypeError, ValueError):
        raise ValueError("`start` must be a pair (x0, y0).") from None
    x0, y0 = vector("start[0]", x0, problem.dim_x), vector("start[1]", y0, problem.dim_y)
    distance = float(np.abs(problem.constraint.project(y0) - y0).max(initial=0.0))
    if distance > 1e-8 * (1.0 + float(np.abs(y0).max(initial=0.0))):
        raise ValueError(
            f"`start[1]` must be in Y; it is {distance:.3g} away from its projection. Use `constraint.project(y0)`."
        )
    return x0, y0


def warn_of_mixing(topology: Topology, method: Any) -> None:
    """Warn where the operator of K rounds has an eigenvalue outside (-1, 1) off consensus."""
    if topology.m == 1 or not hasattr(method, "mixings"):
        return
    for rounds, mixing, momentum in dict.fromkeys(method.mixings()):
        low, high = topology.mixing_range(rounds, mixing, momentum)
        if not (low > -1 and high < 1):
            warnings.warn(
                f"{rounds} rounds of {mixing} (momentum {momentum!r}) on {topology.name} have eigenvalues from "
                f"{low:.3f} to {high:.3f} off consensus, so that disagreement need not shrink; use another `K`, "
                '`momentum="optimal"`, or `topology.lazy()`.',
                MixingWarning,
                stacklevel=3,
            )
