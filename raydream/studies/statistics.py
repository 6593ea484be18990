"""What a few seeds can tell: intervals of medians, paired differences, and whether a difference is decided."""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from raydream.types import Array

LEVEL = 0.95
DRAWS = 10_000
SLACK = 1e-9  # of P: a gap below this share is rounding


class Interval(NamedTuple):
    """A number with the bounds between which it lies with 95 % confidence, and from how many numbers it comes."""

    middle: float
    low: float
    high: float
    of: int


def median_interval(values: Sequence[float]) -> Interval:
    """The median, and the percentile interval of its bootstrap; NaN is absent, and infinity stays out of bounds.

    Draws are keyed by the numbers of values alone, so that the same values have the same interval everywhere.
    """
    there = np.array([value for value in values if not math.isnan(value)], dtype=np.float64)
    if not there.size:
        return Interval(math.nan, math.nan, math.nan, 0)
    draws = np.random.default_rng(there.size).integers(there.size, size=(DRAWS, there.size))
    with np.errstate(invalid="ignore"):
        medians = np.sort(np.median(np.sort(there)[draws], axis=1))
        middle = float(np.median(there))
    low, high = medians[int(0.025 * DRAWS)], medians[int(0.975 * DRAWS)]
    return Interval(_bounded(middle), _bounded(float(low)), _bounded(float(high)), int(there.size))


def _bounded(value: float) -> float:
    return float(value) if np.isfinite(value) else math.nan


class Difference(NamedTuple):
    """The mean over pairs of first minus second (or of their ratio), with Student's 95 % interval.

    pairs    how many there were, of which `lost` had a number that is not finite
    decided  whether the interval excludes equality, and no pair was lost
    """

    middle: float
    low: float
    high: float
    pairs: int
    lost: int
    decided: bool


def paired_difference(first: Sequence[float], second: Sequence[float], ratio: bool = False) -> Difference:
    """How much two methods differ, seed by seed.

    ratio  whether to compare by quotients: the geometric mean of first / second, which equality makes 1
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape:
        raise ValueError(f"`first` and `second` must be pairs; got {a.size} and {b.size} numbers.")
    sound = np.isfinite(a) & np.isfinite(b) & (((a > 0) & (b > 0)) if ratio else True)
    differences = np.log(a[sound] / b[sound]) if ratio else a[sound] - b[sound]
    middle, low, high = student_interval(differences)
    lost = int((~sound).sum())
    decided = not lost and bool(low > 0 or high < 0)
    if ratio:
        middle, low, high = (float(np.exp(one)) for one in (middle, low, high))
    return Difference(middle, low, high, int(a.size), lost, decided)


def student_interval(values: Array) -> tuple[float, float, float]:
    """The mean and its 95 % interval; without bounds where there are fewer than two numbers."""
    if values.size == 0:
        return math.nan, math.nan, math.nan
    middle = float(values.mean())
    if values.size == 1:
        return middle, -math.inf, math.inf
    reach = student_reach(values.size) * float(values.std(ddof=1))
    return middle, middle - reach, middle + reach


@functools.cache
def student_reach(count: int) -> float:
    """Half of the 95 % interval of a mean of so many numbers, in their standard deviations."""
    from scipy.stats import t

    return math.inf if count < 2 else float(t.ppf((1 + LEVEL) / 2, count - 1)) / math.sqrt(count)


def has_followed(started: float, primal: float, dual_gap: float) -> bool:
    """Whether y is so near to its best response that the gap is less than what P has gained since the start.

    Where it is not, x went where noise in y, and not the maximum over y, drove it.
    """
    if math.isnan(dual_gap):
        return True
    return not dual_gap > max(started - primal, SLACK * abs(primal))
