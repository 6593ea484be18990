"""Runs in numbers, the one place: quantiles over seeds, curves on a common axis, and the cost of reaching a target."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from raydream.checks import choice, number, whole
from raydream.columns import (
    COMPARED,
    CONDITIONAL,
    DIVERGING,
    Column,
    Directions,
    column,
    compared,
    names,
    with_conditional,
)
from raydream.columns.evaluation import carried
from raydream.types import Array

if TYPE_CHECKING:
    import pandas as pd

COSTS = COMPARED
AXES = tuple(name for name in names("count", "cost") if name not in CONDITIONAL)
METRICS = DIVERGING  # by which trials are judged
Quantiles = tuple[float, float]
Columns = Mapping[str, Array]  # a run, by the columns of its history
_NONE: Directions = {}


def columns_of(history: "pd.DataFrame") -> dict[str, Array]:
    """A history by its columns; between two records with P, the earlier one's holds."""
    return {str(name): carried(str(name), history[name]) for name in history.columns}


def quantiles_of(curves: Array, shares: Sequence[float]) -> list[Array]:
    """Linearly interpolated quantiles of each column; NaN is absent, infinity a value like any other."""
    ordered = np.sort(curves, axis=0)  # NaN last
    present = (~np.isnan(ordered)).sum(axis=0)
    places = np.arange(curves.shape[1])
    found = []
    for share in shares:
        place = np.maximum(present - 1, 0) * share
        low = ordered[np.floor(place).astype(int), places]
        high = ordered[np.ceil(place).astype(int), places]
        with np.errstate(invalid="ignore"):
            between = np.where(low == high, low, low + (place - np.floor(place)) * (high - low))
        found.append(np.where(present > 0, between, np.nan))
    return found


def quantile(values: Iterable[float], share: float) -> float:
    """The quantile of a few numbers; NaN where there is none."""
    there = np.array([*values], dtype=np.float64)
    return float(quantiles_of(there[:, None], [share])[0][0]) if there.size else math.nan


def resample(x: npt.ArrayLike, y: npt.ArrayLike, grid: Array) -> Array:
    """A run as a step function: at each point of `grid` the last value at or before it; NaN outside the run."""
    at, values = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    known = ~np.isnan(at)  # a record from before this axis was counted has no place
    at, values = at[known], values[known]
    places = np.searchsorted(at, grid, side="right") - 1
    inside = (places >= 0) & (grid <= at[-1])
    return np.where(inside, values[np.maximum(places, 0)], np.nan)


def resampled(runs: Iterable[Columns], x: str, y: str, grid: Array, own: Directions = _NONE) -> Array:
    """`y` of every run at the places `grid` of `x`, one row per run; a run that diverged is infinitely bad there.

    A run that did not record `y` has no value anywhere. `own` says which way metrics of the user's own are better.
    """
    about = column(y, own)
    return np.stack([resample(run[x], about.counted(run[y]) if y in run else _known(run, y), grid) for run in runs])


def cost_to_reach(
    run: Columns, target: float, metric: str, costs: Iterable[str] = COSTS, own: Directions = _NONE
) -> dict[str, float]:
    """What a run had spent at its first record where `metric` is as good as `target`; infinity where there is none."""
    reached = np.flatnonzero(column(metric, own).reaches(_known(run, metric), target))
    if not reached.size:
        return dict.fromkeys(costs, math.inf)
    spent = {cost: float(_known(run, cost)[reached[0]]) for cost in costs}
    return {cost: math.inf if math.isnan(value) else value for cost, value in spent.items()}


def reachable(methods: "Sequence[Sequence[Array]]", about: Column) -> float:
    """The best value that every method reaches which gets anywhere, rounded to the worse: a target to begin with.

    A method, which is the metric's records by run, gets somewhere if in the middle of its runs it makes a tenth of the
    way that the best one makes.
    """
    sign = 1 if about.better == "less" else -1  # what is to grow falls with the sign turned
    bests, starts = [], []
    for runs in methods:
        known = [sign * values[np.isfinite(values)] for values in runs]
        known = [values for values in known if values.size]
        if known:
            # the upper of two middle runs, so that half of the runs get there and more
            bests.append(float(np.quantile([values.min() for values in known], 0.5, method="higher")))
            starts.append(max(float(values[0]) for values in known))
    if not bests:
        return 0.0
    start, best = max(starts), min(bests)
    return sign * _rounded_up(max(one for one in bests if one <= start - (start - best) / 10))


def reach_table(
    histories: dict[tuple[str, int], "pd.DataFrame | None"],
    target: float,
    metric: str = "grad_norm",
    quantiles: Quantiles = (0.25, 0.75),
    own: Directions = _NONE,
) -> "pd.DataFrame":
    """One row per method: how many seeds reached the target, and the median cost over all of them, with quantiles.

    A seed that did not reach the target within its run (or has no history, because it failed) counts as dearer than
    all others, so that a method is not made to look better by the seeds on which it got nowhere; a quantile that
    falls on such a seed is not known, NaN.
    """
    import pandas as pd

    number("target", target)
    choice("metric", metric, [*names("metric"), *own])
    rows = []
    prices = compared({str(one) for history in histories.values() if history is not None for one in history})
    for method in dict.fromkeys(name for name, _ in histories):
        of_method = [history for (name, _), history in histories.items() if name == method]
        costs = [
            dict.fromkeys(prices, math.inf)
            if history is None
            else cost_to_reach(columns_of(history), target, metric, prices, own)
            for history in of_method
        ]
        row: dict[str, Any] = {"method": method, "seeds": len(costs)}
        row["reached"] = sum(any(map(math.isfinite, cost.values())) for cost in costs)
        for name in prices:
            spent = [cost[name] for cost in costs]
            for end, part in zip(("", "_low", "_high"), (0.5, *quantiles), strict=True):
                found = quantile(spent, part)
                row[f"{name}{end}"] = found if math.isfinite(found) else math.nan
        rows.append(row)
    columns = ["method", "seeds", "reached", *(f"{cost}{end}" for cost in prices for end in ("", "_low", "_high"))]
    return pd.DataFrame(rows, columns=columns)


def resampled_curves(
    histories: dict[tuple[str, int], "pd.DataFrame"],
    x: str = "sfo",
    y: str = "primal",
    points: int = 200,
    quantiles: Quantiles = (0.25, 0.75),
    own: Directions = _NONE,
) -> "pd.DataFrame":
    """Each method's runs on one axis of `points` places: median, low and high over the runs that reach the place.

    `runs` says how many those are. A value that is no longer finite (a run that diverged) counts as infinity.
    """
    import pandas as pd

    choice("x", x, with_conditional(AXES, {str(one) for history in histories.values() for one in history}))
    whole("points", points, 2)
    columns = ["method", x, "median", "low", "high", "runs"]
    if not histories:
        return pd.DataFrame(columns=columns)
    runs = {key: columns_of(history) for key, history in histories.items()}
    choice("y", y, dict.fromkeys(name for run in runs.values() for name in run))
    ends = [(run[x][0], run[x][-1]) for run in runs.values()]
    grid = np.linspace(min(first for first, _ in ends), max(last for _, last in ends), points)
    tables = []
    for method in dict.fromkeys(name for name, _ in runs):
        curves = resampled([run for (name, _), run in runs.items() if name == method], x, y, grid, own)
        median, low, high = quantiles_of(curves, (0.5, *quantiles))
        there = (~np.isnan(curves)).sum(axis=0)
        table = {"method": method, x: grid, "median": median, "low": low, "high": high, "runs": there}
        tables.append(pd.DataFrame(table, columns=columns))
    return pd.concat(tables, ignore_index=True)


def _known(run: Columns, name: str) -> Array:
    """A column of a run; NaN in one that the run does not have."""
    if name in run:
        return np.asarray(run[name], dtype=np.float64)
    return np.full(len(next(iter(run.values()))), np.nan)


def _rounded_up(value: float) -> float:
    if value == 0 or not math.isfinite(value):
        return value
    step = 10.0 ** (math.floor(math.log10(abs(value))) - 1)
    return float(f"{math.ceil(value / step) * step:.6g}")
