"""Your own problem, completed: whatever it does not say is derived from what its agents own."""

import contextlib
from functools import cached_property
from typing import Any

import numpy as np

from raydream.checks import numbers, whole
from raydream.constraints import Everything
from raydream.errors import InnerMaximumError
from raydream.problems.answers import lent, named, near, told, value_of, wrong_gradient
from raydream.problems.diameter import diameter
from raydream.problems.maximiser import check_concave, maximise, maximum
from raydream.problems.protocol import Danskin, LocalProblem, Problem
from raydream.types import Array, Numbers

REQUIRED = ("agents", "dim_x", "dim_y", "local")
COARSE = 1e-6  # how well y is found for a problem in float32, whose gradients say no more
DERIVED = (
    "samples", "constraint", "start", "value", "gradient", "best_response",
    "primal", "primal_gradient", "primal_and_gradient",
)  # fmt: skip


class Completed(Danskin):
    """A problem of which only `agents`, `dim_x`, `dim_y` and `local(i)` need be given.

    f is the mean of the agents' functions; Y is everything unless there is a `constraint`; y*(x) comes from the
    inner maximiser; the start is 0, projected. What the problem does define is used as it is.
    """

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self.agents, self.dim_x, self.dim_y = int(problem.agents), int(problem.dim_x), int(problem.dim_y)
        self.local = problem.local
        self._shards: list[LocalProblem] | None = None
        self._concave = False  # whether a look around found nothing against it
        constraint = getattr(problem, "constraint", None)
        self.constraint = Everything() if constraint is None else constraint
        self.samples = _samples(problem) if hasattr(problem, "samples") else self._mean_samples()
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

    def _mean_samples(self) -> int | None:
        """n, the mean of the agents' where they differ, rounded up; None where one of them draws its samples."""
        each = [_samples(shard, agent) for agent, shard in enumerate(self.shards)]
        return None if None in each else -(-sum(n or 0 for n in each) // self.agents)

    def start(self) -> tuple[Array, Array]:
        """x = 0 and the point of Y nearest to 0."""
        return np.zeros(self.dim_x), self.constraint.project(np.zeros(self.dim_y))

    def value(self, x: Array, y: Array) -> float:
        """The mean of the agents' functions."""
        x, y = lent(x), lent(y)
        return float(np.mean([self._value(i, x, y) for i in range(self.agents)]))

    def gradient(self, x: Array, y: Array) -> tuple[Array, Array]:
        """The mean of the agents' exact gradients."""
        x, y = lent(x), lent(y)
        pairs = [self._gradient(i, x, y) for i in range(self.agents)]
        return np.mean([gx for gx, _ in pairs], axis=0), np.mean([gy for _, gy in pairs], axis=0)

    def best_response(self, x: Array) -> Array:
        """y*(x) by the inner maximiser."""
        tolerance = self._tolerance(1e-12)
        begun = np.zeros(self.dim_y)
        return maximise(lambda y: self.gradient(x, y)[1], self.constraint.project, begun, tolerance=tolerance)

    def _value(self, agent: int, x: Array, y: Array) -> float:
        """An agent's value, if it is one."""
        try:
            return value_of(self.shards[agent].value(x, y), x, y)
        except Exception as error:
            raise named(told(error, "value"), agent) from None

    def _gradient(self, agent: int, x: Array, y: Array) -> tuple[Array, Array]:
        """An agent's exact gradients, if they are two vectors of the right lengths."""
        try:
            answer = self.shards[agent].gradient(x, y)
            if [np.shape(part) for part in answer] != [(self.dim_x,), (self.dim_y,)]:
                raise wrong_gradient(answer, self.dim_x, self.dim_y)
        except Exception as error:
            raise named(told(error, "gradient"), agent) from None
        return answer

    @cached_property
    def by_ascent(self) -> bool:
        """Whether P comes from the inner maximiser, since the problem says nothing of it."""
        said = ("best_response", "primal", "primal_gradient", "primal_and_gradient")
        return not any(hasattr(self.problem, name) for name in said)

    def certified(self, x: Array, y: Array, tolerance: float) -> tuple[float, Array, float]:
        """P, its gradient, and the most by which P can be too low; looked for from y.

        Where the run is, y is part of its state, so that a resumed run measures the same bits. Far away, where a run
        that diverges comes by, a maximum that is not found is NaN.
        """
        gradients: dict[bytes, Array] = {}

        def in_y(point: Array) -> Array:
            gx, gy = self.gradient(x, point)
            gradients.clear()
            gradients[point.tobytes()] = gx
            return gy

        begun = y if np.isfinite(y).all() else np.zeros(self.dim_y)
        try:
            if not self._concave:
                check_concave(in_y, self.constraint.project, begun)
                self._concave = True
            found = maximum(in_y, self.constraint.project, begun, tolerance=self._tolerance(tolerance))
        except InnerMaximumError:
            if near(x, begun):
                raise
            return float("nan"), np.full(self.dim_x, np.nan), float("nan")
        slope = gradients.get(found.y.tobytes())
        slope = self.gradient(x, found.y)[0] if slope is None else slope
        return self.value(x, found.y), slope, found.error(self._mu, diameter(self.constraint, self.dim_y))

    def _tolerance(self, asked: float) -> float:
        """As it is asked for, or as the problem's numbers allow."""
        return asked if dtype_of(self.problem) == np.float64 else max(asked, COARSE)

    @cached_property
    def _mu(self) -> float | None:
        """The strong concavity that the problem states, if it does."""
        with contextlib.suppress(Exception):
            return float(self.problem.constants().mu)
        stated = getattr(self.problem, "mu", None)
        return None if stated is None else float(stated)

    def primal_and_gradient(self, x: Array) -> tuple[float, Array]:
        """P and its gradient, by the problem's own formulas where it has one."""
        if hasattr(self.problem, "primal") or hasattr(self.problem, "primal_gradient"):
            return self.primal(x), self.primal_gradient(x)
        return super().primal_and_gradient(x)


def _samples(owner: Any, agent: int | None = None) -> int | None:
    """The n of a problem or a shard, if it is a number of samples; None where these are drawn online."""
    if owner.samples is None:
        return None
    try:
        return whole("samples", owner.samples, 1)
    except (TypeError, ValueError) as error:
        raise (error if agent is None else named(error, agent)) from None


def dtype_of(problem: Any) -> Numbers:
    """What a run on this problem is made of: float64, or float32 where its `dtype` says so."""
    return numbers("problem.dtype", getattr(problem, "dtype", np.float64))


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
