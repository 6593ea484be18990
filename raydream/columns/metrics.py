"""What is measured at a record, from the whole problem and all agents' rows; never billed to the ledger.

One entry is all that a metric needs: its name, how it is shown, and how it is measured.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from raydream.columns.column import Column
from raydream.columns.evaluation import Evaluation
from raydream.problems.answers import lent, value_of
from raydream.problems.completed import Completed
from raydream.problems.protocol import Problem
from raydream.types import Array


class Point:
    """Where a run is at a record: all agents' rows, their mean, and there P and its gradient, computed once.

    arrays     Z, one row per agent, and S where the method has a tracker
    tolerance  of the inner maximiser, where the problem needs one
    primal     whether P is measured here
    """

    def __init__(
        self,
        problem: Problem,
        arrays: Mapping[str, Array],
        tolerance: float = Evaluation.tolerance,
        primal: bool = True,
    ) -> None:
        self.problem, self.arrays, self._tolerance, self._primal = problem, arrays, tolerance, primal
        self.z_bar = lent(mean(arrays["Z"]))
        self.x_bar, self.y_bar = self.z_bar[: problem.dim_x], self.z_bar[problem.dim_x :]

    @property
    def P(self) -> float:
        """P(x_bar); NaN where x_bar is not finite, or P not measured."""
        return self._primal_and_gradient[0]

    @property
    def slope(self) -> Array:
        """grad P(x_bar); NaN where x_bar is not finite, or P not measured."""
        return self._primal_and_gradient[1]

    @property
    def error(self) -> float:
        """The most by which P can be too low, as far as that is proven; NaN where P comes from a formula."""
        return self._primal_and_gradient[2]

    @cached_property
    def gap(self) -> float:
        """P(x_bar) - f(x_bar, y_bar): how far y is from the best response, in units of f; NaN where not finite."""
        if not (self._primal and np.isfinite(self.x_bar).all() and np.isfinite(self.y_bar).all()):
            return float("nan")
        return self.P - value_of(self.problem.value(self.x_bar, self.y_bar), self.x_bar, self.y_bar)

    @cached_property
    def _primal_and_gradient(self) -> tuple[float, Array, float]:
        """From one best response where the problem offers that, with what is proven of its error."""
        if not (self._primal and np.isfinite(self.x_bar).all()):
            return float("nan"), np.full(1, np.nan), float("nan")
        if isinstance(self.problem, Completed) and self.problem.by_ascent:
            return self.problem.certified(self.x_bar, self.y_bar, self._tolerance)
        value, slope = self.problem.primal_and_gradient(self.x_bar)
        return value_of(value, self.x_bar, self.y_bar, "primal"), slope, float("nan")


def mean(V: Array) -> Array:
    """The mean of all agents' rows, in agent order; in float64, also of float32 rows."""
    return np.asarray(V.mean(axis=0, dtype=np.float64))


def spread(V: Array | None, middle: Array | None = None) -> float:
    """||V - 1 v_bar||^2, or NaN where there is no V; v_bar may be given."""
    if V is None:
        return float("nan")
    apart = V - (mean(V) if middle is None else middle)
    return float(np.sum(np.square(apart, out=apart)))


@dataclass(frozen=True, kw_only=True)
class Measured(Column):
    """A column that is measured at every record."""

    measure: Callable[[Point], float]


METRICS = (
    Measured(
        name="primal", kind="metric", label="P(x̄)", short="P", diverges=True, limit="target_primal",
        tex=r"$P(\bar x)$", measure=lambda at: at.P,
    ),
    Measured(
        name="grad_norm", kind="metric", label="‖∇P(x̄)‖", short="‖∇P‖", log=True, diverges=True,
        limit="target_grad_norm", tex=r"$\|\nabla P(\bar x)\|$", measure=lambda at: float(np.linalg.norm(at.slope)),
    ),
    Measured(
        name="consensus", kind="metric", label="consensus error ‖Z − 1z̄‖²", short="consensus", log=True,
        tex=r"$\|Z - \mathbf{1}\bar z\|^2$", measure=lambda at: spread(at.arrays["Z"], at.z_bar),
    ),
    Measured(
        name="tracking", kind="metric", label="tracking error ‖S − 1s̄‖²", short="tracking", log=True,
        tex=r"$\|S - \mathbf{1}\bar s\|^2$", measure=lambda at: spread(at.arrays.get("S")),
    ),
    Measured(
        name="dual_gap", kind="metric", label="dual gap P(x̄) − f(x̄, ȳ)", short="dual gap", log=True,
        tex=r"$P(\bar x) - f(\bar x, \bar y)$", measure=lambda at: at.gap,
    ),
)  # fmt: skip


def measured(at: Point) -> dict[str, float]:
    """Every metric at a point, in the order of the history."""
    return {metric.name: metric.measure(at) for metric in METRICS}
