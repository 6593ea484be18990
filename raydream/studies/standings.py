"""Who is ahead, at the end or at a price, and whether the seeds decide it."""

import math
from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from raydream.checks import choice, positive
from raydream.columns import Directions, column, names, with_conditional
from raydream.studies.curves import AXES, columns_of, quantile, resampled
from raydream.studies.statistics import Difference, has_followed, median_interval, paired_difference

if TYPE_CHECKING:
    import pandas as pd

    Histories = Mapping[tuple[str, int], pd.DataFrame]

Values = dict[str, dict[int, float]]  # by method and seed
_NONE: Directions = {}


def values_at(
    histories: "Histories", metric: str, x: str | None = None, at: float | None = None, own: Directions = _NONE
) -> Values:
    """Every run's metric at its end; or, along `x`, at the place `at`, by default the last that all runs come to.

    own  which way metrics of the user's own are better
    """
    choice("metric", metric, [*names("metric", "diagnostic"), *own])
    runs = {key: columns_of(history) for key, history in histories.items()}
    if x is None:
        found = {key: float(column(metric, own).counted(run[metric])[-1]) for key, run in runs.items()}
    else:
        choice("x", x, with_conditional(AXES, {name for run in runs.values() for name in run}))
        place = min((run[x][-1] for run in runs.values()), default=0.0) if at is None else positive("at", at)
        grid = np.array([place])
        # A run that ended before, at a target or by divergence, stays where it was.
        found = {
            key: float(resampled([run], x, metric, np.minimum(grid, run[x][-1]), own)[0, 0])
            for key, run in runs.items()
        }
    values: Values = {}
    for (method, seed), value in found.items():
        values.setdefault(method, {})[seed] = value
    return values


def finals(
    histories: "Histories", metric: str, x: str | None = None, at: float | None = None, own: Directions = _NONE
) -> "pd.DataFrame":
    """One row per method: the median over seeds with its 95 % interval, and in how many runs y has followed."""
    import pandas as pd

    rows = []
    for method, values in values_at(histories, metric, x, at, own).items():
        middle, low, high, _ = median_interval(list(values.values()))
        following = [follows(histories[method, seed]) for seed in values]
        gaps = [float(histories[method, seed]["dual_gap"].iloc[-1]) for seed in values]
        rows.append(
            {
                "method": method, "seeds": len(values), "median": middle, "low": low, "high": high,
                "dual_gap": quantile(gaps, 0.5), "followed": sum(following),
            }
        )  # fmt: skip
    return pd.DataFrame(rows, columns=["method", "seeds", "median", "low", "high", "dual_gap", "followed"])


def follows(history: "pd.DataFrame") -> bool:
    """Whether y has followed at the end of a run."""
    first, last = history.iloc[0], history.iloc[-1]
    return has_followed(float(first.primal), float(last.primal), float(last.get("dual_gap", math.nan)))


def differences(
    histories: "Histories", metric: str, x: str | None = None, at: float | None = None, own: Directions = _NONE
) -> "pd.DataFrame":
    """One row per pair of methods: the mean difference over the seeds they share, with its 95 % interval.

    Of a metric that falls by orders of magnitude it is the ratio, which equality makes 1.
    """
    import pandas as pd

    values, ratio = values_at(histories, metric, x, at, own), column(metric).log
    rows: list[dict[str, Any]] = []
    for first, second in combinations(values, 2):
        difference = _paired(values, first, second, ratio)
        rows.append({"first": first, "second": second, **difference._asdict()})
    return pd.DataFrame(rows, columns=["first", "second", *Difference._fields])


def verdict(
    histories: "Histories", metric: str, x: str | None = None, at: float | None = None, own: Directions = _NONE
) -> str:
    """Who leads, in one sentence: by the medians, as far as paired differences decide it."""
    values, sign = values_at(histories, metric, x, at, own), 1 if column(metric, own).better == "less" else -1
    medians = {method: quantile(of_seeds.values(), 0.5) for method, of_seeds in values.items()}
    order = sorted(medians, key=lambda method: sign * medians[method])
    leader, rest = order[0], order[1:]
    if not rest:
        return ""
    compared = {method: _paired(values, leader, method, column(metric).log) for method in rest}
    equal = [method for method in rest if not compared[method].decided]
    behind = [method for method in rest if compared[method].decided]
    text = f"{leader} has the best median of {metric}, {medians[leader]:.4g}"
    if behind:
        text += f"; its lead is beyond doubt (95 %) over {', '.join(behind)}"
    if equal:
        text += f"; undecided against {', '.join(f'{method} ({medians[method]:.4g})' for method in equal)}"
    return text + f" ({len(values[leader])} seeds)."


def _paired(values: Values, first: str, second: str, ratio: bool) -> Difference:
    shared = [seed for seed in values[first] if seed in values[second]]
    return paired_difference([values[first][seed] for seed in shared], [values[second][seed] for seed in shared], ratio)
