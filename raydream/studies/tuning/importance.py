"""Which parameter mattered: how much of the order of the scores each one explains alone."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from raydream.types import Array, Indices

LEVEL = 0.95
FEWEST = 6  # trials in a stretch of numbers, if it can be
MOST = 6  # stretches, and values of a number that are not drawn together into stretches


class Importance(NamedTuple):
    """What one parameter explains of the order of the trials, and what chance would.

    share   of the variance of the ranks, less what as many values explain by chance; NaN where nothing can be told
    chance  the share that a parameter without effect exceeds with a probability of 5 %, for all that are judged
    groups  values, or stretches of numbers, into which the trials fall
    """

    share: float
    chance: float
    groups: int


def importance(values: Sequence[Any], losses: Sequence[float], of: int = 1) -> Importance:
    """How much of the order of the losses a parameter explains by itself, in n trials that fall into k groups.

        share = 1 - (1 - eta^2) (n - 1) / (n - k),   eta^2 = (variance of the groups' mean ranks) / (that of the ranks)

    (n - 1) eta^2 is the statistic of Kruskal and Wallis, by whose law chance is judged. An infinite loss is last in
    the order. Numbers of many values are drawn together into stretches that hold as many trials each.

    of  how many parameters are judged together, each the more strictly
    """
    from scipy.stats import chi2, rankdata

    ranks = rankdata(np.asarray(losses, dtype=np.float64))
    groups = _groups(values)
    n, k = len(ranks), len(np.unique(groups))
    if k < 2 or n <= k or ranks.std() == 0:
        return Importance(math.nan, math.nan, k)
    counts = np.bincount(groups)
    means = np.bincount(groups, ranks)[counts > 0] / counts[counts > 0]
    explained = float(counts[counts > 0] @ (means - ranks.mean()) ** 2 / (n * ranks.var()))
    by_chance = float(chi2.ppf(1 - (1 - LEVEL) / of, k - 1)) / (n - 1)
    share, chance = (max(0.0, 1 - (1 - one) * (n - 1) / (n - k)) for one in (explained, min(1.0, by_chance)))
    return Importance(share, chance, k)


def _groups(values: Sequence[Any]) -> Indices:
    """For each trial the number of its group."""
    texts = [repr(value.item() if isinstance(value, np.generic) else value) for value in values]
    known = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    if len(known) > MOST and all(isinstance(value, int | float | np.number) for value in values):
        return _stretches(np.asarray(values, dtype=np.float64))
    return np.array([known[text] for text in texts], dtype=np.int64)


def _stretches(numbers: Array) -> Indices:
    """Stretches of about as many numbers each; equal numbers stay together."""
    n = len(numbers)
    count = min(MOST, max(2, n // FEWEST))
    before = np.searchsorted(np.sort(numbers), numbers)  # how many are smaller
    return np.asarray(before * count // n, dtype=np.int64)
