"""Your own problem, completed: whatever it does not say is derived from what its agents own."""

from typing import Any

import numpy as np

from raydream.constraints import Everything
from raydream.problems.maximiser import maximise
from raydream.problems.protocol import Danskin, LocalProblem, Problem
from raydream.types import Array

REQUIRED = ("agents", "dim_x", "dim_y", "local")
DERIVED = (
    "samples", "constraint", "start", "value", "gradient", "best_response",
    "primal", "primal_gradient", "primal_and_gradient",
)  # fmt: skip


class Completed(Danskin):
    """A problem of which only `agents`, `dim_x`, `dim_y` and `local(i)` need be given.

    f is the mean of the agents' functions; Y is everything unless there is a `constraint`; y*(x) comes from the
    inner maximiser, always from the same start so that a resumed run measures the same bits; the start is 0,
    projected. What the problem does define is used as it is.
    """

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self.agents, self.dim_x, self.dim_y = int(problem.agents), int(problem.dim_x), int(problem.dim_y)
        self.local = problem.local
        self._shards: list[LocalProblem] | None = None
        constraint = getattr(problem, "constraint", None)
        self.constraint = Everything() if constraint is None else constraint
        self.samples = problem.samples if hasattr(problem, "samples") else self.local(0).samples
        for name in DERIVED:
            if name not in ("samples", "constraint") and hasattr(problem, name):
                setattr(self, name, getattr(problem, name))

    def __getattr__(self, name: str) -> Any:
        # Extra parts (constants, pooled, describe, ...) stay reachable; half-built objects have none.
        if name.startswith("_") or "problem" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.problem, name)

    @property
    def shards(self) -> list[LocalProblem]:
        """What the agents own, fetched once."""
        if self._shards is None:
            self._shards = [self.local(i) for i in range(self.agents)]
        return self._shards

    def start(self) -> tuple[Array, Array]:
        """x = 0 and the point of Y nearest to 0."""
        return np.zeros(self.dim_x), self.constraint.project(np.zeros(self.dim_y))

    def value(self, x: Array, y: Array) -> float:
        """The mean of the agents' functions."""
        return float(np.mean([shard.value(x, y) for shard in self.shards]))

    def gradient(self, x: Array, y: Array) -> tuple[Array, Array]:
        """The mean of the agents' exact gradients."""
        pairs = [shard.gradient(x, y) for shard in self.shards]
        return np.mean([gx for gx, _ in pairs], axis=0), np.mean([gy for _, gy in pairs], axis=0)

    def best_response(self, x: Array) -> Array:
        """y*(x) by the inner maximiser."""
        return maximise(lambda y: self.gradient(x, y)[1], self.constraint.project, np.zeros(self.dim_y))

    def primal_and_gradient(self, x: Array) -> tuple[float, Array]:
        """P and its gradient, by the problem's own formulas where it has one."""
        if hasattr(self.problem, "primal") or hasattr(self.problem, "primal_gradient"):
            return self.primal(x), self.primal_gradient(x)
        return super().primal_and_gradient(x)


def complete(problem: Any) -> Problem:
    """`problem` itself if it has every part of the protocol, else with the missing parts derived."""
    missing = [name for name in REQUIRED if not hasattr(problem, name)]
    if missing:
        raise TypeError(
            f"`problem` must have {', '.join(f'`{name}`' for name in REQUIRED)}; "
            f"{type(problem).__name__} has no {', '.join(f'`{name}`' for name in missing)}."
        )
    if all(hasattr(problem, name) for name in DERIVED):
        whole_problem: Problem = problem
        return whole_problem
    return Completed(problem)
