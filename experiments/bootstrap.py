"""Exponents with 95 % intervals: slopes of log y on log x, by a bootstrap over clusters.

Rows of one cluster (the runs on one instance) are drawn together. Clusters that lie at the same places x are drawn from
each other alone, n - 1 of n with replacement: then the variance of a drawn mean is s^2/n with the unbiased s^2, where n
of n would give (n - 1)/n of it.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from scipy import stats

LEVEL, DRAWS = 0.95, 4000


@dataclass(frozen=True)
class Slope:
    """The least-squares slope of log y on log x.

    low, high      the wider of two 95 % intervals:
    of_instances   half the width of the bootstrap's, which sees what differs between clusters
    of_line        half the width of Student's for the line through the mean of each place, which also sees what the
                   clusters of a place have in common (a choice of parameters, a bend in the line)
    """

    slope: float
    low: float
    high: float
    of_instances: float
    of_line: float


def slope(x: Sequence[float], y: Sequence[float], clusters: Sequence[Hashable]) -> Slope:
    """The slope through these rows; NaN where there are fewer than three places."""
    u, v = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float))
    places = np.unique(u)
    if len(places) < 3:
        return Slope(*[float("nan")] * 5)
    names = list(dict.fromkeys(clusters))
    number = np.array([names.index(one) for one in clusters])
    middle = float(_slopes(u, v, np.ones((1, len(u))))[0])
    drawn = _slopes(u, v, _weights(u, number, len(names))[:, number])
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    means = np.array([v[u == place].mean() for place in places])
    reach = _student(places, means)
    return Slope(
        middle, min(float(low), middle - reach), max(float(high), middle + reach), float(high - low) / 2, reach
    )


def _slopes(u: Any, v: Any, weights: Any) -> Any:
    """The least-squares slope for each row of weights."""
    total = weights.sum(axis=1, keepdims=True)
    centred = u - (weights * u).sum(axis=1, keepdims=True) / total
    return (weights * centred * v).sum(axis=1) / (weights * centred**2).sum(axis=1)


def _weights(u: Any, number: Any, count: int) -> Any:
    """How often each cluster is drawn, DRAWS times; a cluster alone at its places is always drawn once."""
    strata: dict[tuple[float, ...], list[int]] = {}
    for cluster in range(count):
        strata.setdefault(tuple(np.unique(u[number == cluster])), []).append(cluster)
    weights = np.zeros((DRAWS, count))
    for part, those in enumerate(strata.values()):
        n = len(those)
        picked = _raw(DRAWS, max(1, n - 1), part) % n
        for j, cluster in enumerate(those):
            weights[:, cluster] = (picked == j).sum(axis=1)
    return weights


def _student(u: Any, v: Any) -> float:
    """Half the width of Student's interval for the slope of the line through these points."""
    n, centred = len(u), u - u.mean()
    line = centred @ v / (centred @ centred)
    rest = v - v.mean() - line * centred
    error = sqrt(float(rest @ rest) / (n - 2) / float(centred @ centred))
    return float(stats.t.ppf((1 + LEVEL) / 2, n - 2)) * error


def _raw(rows: int, columns: int, part: int = 0) -> Any:
    """Raw random numbers, which no release of numpy may change."""
    return np.random.Philox(key=part).random_raw(rows * columns).reshape(rows, columns).astype(np.uint64)
