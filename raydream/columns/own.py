"""Metrics of one's own: functions of the mean iterate that become columns of the history."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from raydream.checks import choice, shortened
from raydream.errors import MetricError
from raydream.problems.answers import lent
from raydream.types import Array

Better = Literal["less", "more"]
Directions = Mapping[str, Better]  # of metrics of one's own, by name

# What tables of comparisons, trials and diagnostics have under other meanings.
TAKEN = (
    "method", "seed", "parameters", "budget", "axis", "outcome", "reason", "start", "started", "records",
    "iterations", "took", "process", "key", "score", "gap",
)  # fmt: skip


@dataclass(frozen=True)
class Metric:
    """A function f(x_bar, y_bar) -> float, and whether "more" of it is better, or "less".

    Where only a function is given, more is better, as of accuracy or AUC; a loss is Metric(loss, better="less").
    """

    measure: Callable[[Array, Array], float]
    better: Better = "more"

    def __post_init__(self) -> None:
        choice("better", self.better, ("less", "more"))
        if not callable(self.measure):
            raise TypeError(f"`metrics` must hold functions f(x_bar, y_bar); got {self.measure!r}.")

    def at(self, name: str, x: Array, y: Array, iteration: int) -> float:
        """Its value at a point; NaN where that is not finite. x and y are lent, and not to be written to."""
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            return float("nan")
        try:
            value = self.measure(lent(x), lent(y))
        except Exception as error:
            why = f"{type(error).__name__}: {error}".rstrip(".: ")
            raise MetricError(f"`metrics` has {name!r}, which failed at iteration {iteration} with {why}.") from error
        if (
            isinstance(value, bool | np.bool_)
            or not isinstance(value, int | float | np.number)
            or np.iscomplexobj(value)
        ):
            raise MetricError(f"`metrics` has {name!r}, which must return a float; at iteration {iteration} it "
                              f"returned {shortened(value)}.")  # fmt: skip
        return float(value)


def metrics_of(problem: Any, given: Mapping[str, Any] | None) -> dict[str, Metric]:
    """The problem's own metrics, then those that are given; one that is given under the same name takes its place."""
    found: dict[str, Metric] = {}
    for source in (getattr(problem, "metrics", None), given):
        if source is None:
            continue
        if not isinstance(source, Mapping):
            raise TypeError(f"`metrics` must be a dict of names and functions f(x_bar, y_bar); got {source!r}.")
        check_names(source)
        found |= {name: one if isinstance(one, Metric) else Metric(one) for name, one in source.items()}
    return found


def check_names(names: Iterable[Any]) -> None:
    """Refuse a name that is no word, or that a column of the package has."""
    from raydream.columns import COLUMNS

    for name in names:
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"`metrics` must have names such as 'auc' or 'test_loss'; got {name!r}.")
        if name in COLUMNS or name in TAKEN:
            raise ValueError(f"`metrics` must have names of its own; {name!r} is taken by the package. Rename it.")


def directions_of(metrics: Mapping[str, Metric]) -> dict[str, Better]:
    """For each metric which way is better."""
    return {name: metric.better for name, metric in metrics.items()}


def metrics_again(
    known: Mapping[str, Metric], given: Mapping[str, Any] | None, wanted: Directions, folder: str
) -> dict[str, Metric]:
    """Those that a run in a folder recorded, in its order, from what there is now; or a sentence."""
    for name in given or {}:
        if name not in wanted:
            raise ValueError(f"`metrics` must be those of the run in {folder!r}, which has no {name!r}. Leave it out.")
    for name, better in wanted.items():
        if name not in known:
            raise ValueError(
                f"`metrics` must be given again: the run in {folder!r} records {name!r}, a function that run.json "
                f"cannot hold. Give metrics={{{name!r}: ...}}, or the problem that has it."
            )
        if known[name].better != better:
            raise ValueError(f"`metrics` must be those of the run in {folder!r}, where {better} of {name!r} is better.")
    return {name: known[name] for name in wanted}
