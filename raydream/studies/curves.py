"""Histories of many runs in one table: what it cost to reach a target, and curves on a common axis."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from raydream.checks import choice, number, whole
from raydream.types import Array

if TYPE_CHECKING:
    import pandas as pd

COSTS = ("sfo", "rounds", "bytes", "seconds")
AXES = ("iteration", "sfo", "rounds", "messages", "bytes", "seconds")
METRICS = ("grad_norm", "primal")


def quantile(values: Iterable[float], share: float) -> float:
    """The linearly interpolated quantile, in which infinity counts as a value like any other."""
    ordered = sorted(values)
    if not ordered:
        return math.nan
    place = (len(ordered) - 1) * share
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low if low == high else low + (place - math.floor(place)) * (high - low)


def cost_to_reach(history: "pd.DataFrame", target: float, metric: str) -> dict[str, float]:
    """What one run had spent at its first record with `metric` <= `target`; infinity where there is none."""
    reached = np.flatnonzero(history[metric].to_numpy() <= target)
    return {cost: float(history[cost].iloc[reached[0]]) if reached.size else math.inf for cost in COSTS}


def reach_table(
    histories: dict[tuple[str, int], "pd.DataFrame | None"],
    target: float,
    metric: str = "grad_norm",
    quantiles: tuple[float, float] = (0.25, 0.75),
) -> "pd.DataFrame":
    """One row per method: how many seeds reached the target, and the median cost over all of them, with quantiles.

    A seed that did not reach the target within its run (or has no history, because it failed) counts as infinity,
    so that a method is not made to look better by the seeds on which it got nowhere.
    """
    import pandas as pd

    number("target", target)
    choice("metric", metric, METRICS)
    rows = []
    for method in dict.fromkeys(name for name, _ in histories):
        of_method = [history for (name, _), history in histories.items() if name == method]
        costs = [
            dict.fromkeys(COSTS, math.inf) if history is None else cost_to_reach(history, target, metric)
            for history in of_method
        ]
        row: dict[str, Any] = {"method": method, "seeds": len(costs)}
        row["reached"] = sum(math.isfinite(cost["sfo"]) for cost in costs)
        for name in COSTS:
            spent = [cost[name] for cost in costs]
            row |= {name: quantile(spent, 0.5)}
            row |= {f"{name}_low": quantile(spent, quantiles[0]), f"{name}_high": quantile(spent, quantiles[1])}
        rows.append(row)
    columns = ["method", "seeds", "reached", *(f"{cost}{end}" for cost in COSTS for end in ("", "_low", "_high"))]
    return pd.DataFrame(rows, columns=columns)


def resample(x: Sequence[float] | Array, y: Sequence[float] | Array, grid: Array) -> Array:
    """A run as a step function: at each point of `grid` the last value at or before it; NaN outside the run."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    places = np.searchsorted(x, grid, side="right") - 1
    inside = (places >= 0) & (grid <= x[-1])
    return np.where(inside, y[np.maximum(places, 0)], np.nan)


def resampled_curves(
    histories: dict[tuple[str, int], "pd.DataFrame"],
    x: str = "sfo",
    y: str = "primal",
    points: int = 200,
    quantiles: tuple[float, float] = (0.25, 0.75),
) -> "pd.DataFrame":
    """Each method's runs on one axis of `points` places: median, low and high over the runs that reach the place.

    `runs` says how many those are. A value that is no longer finite (a run that diverged) counts as infinity.
    """
    import pandas as pd

    choice("x", x, AXES)
    whole("points", points, 2)
    columns = ["method", x, "median", "low", "high", "runs"]
    if not histories:
        return pd.DataFrame(columns=columns)
    choice("y", y, [name for name in next(iter(histories.values())).columns if name not in ("method", "seed")])
    ends = [(history[x].iloc[0], history[x].iloc[-1]) for history in histories.values()]
    grid = np.linspace(min(first for first, _ in ends), max(last for _, last in ends), points)
    tables = []
    for method in dict.fromkeys(name for name, _ in histories):
        of_method = [history for (name, _), history in histories.items() if name == method]
        curves = np.stack([resample(history[x], _values(history, y), grid) for history in of_method])
        present = [column[~np.isnan(column)] for column in curves.T]
        table = {
            "method": method,
            x: grid,
            "median": [quantile(values, 0.5) for values in present],
            "low": [quantile(values, quantiles[0]) for values in present],
            "high": [quantile(values, quantiles[1]) for values in present],
            "runs": [len(values) for values in present],
        }
        tables.append(pd.DataFrame(table, columns=columns))
    return pd.concat(tables, ignore_index=True)


def _values(history: "pd.DataFrame", y: str) -> Array:
    """A column of a history; the two metrics are always measured, so that NaN there means divergence."""
    values = history[y].to_numpy(dtype=np.float64)
    return np.where(np.isnan(values), np.inf, values) if y in METRICS else values
