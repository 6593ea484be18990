"""Many seeds as one line and a band, and long curves as short ones that look the same."""

import numpy as np
import numpy.typing as npt

from raydream.types import Array, Indices

MEASURED = ("primal", "grad_norm")  # always measured, so that NaN there means divergence and counts as infinity


def resample(x: Array, y: Array, grid: Array) -> Array:
    """A run as a step function: at each point of `grid` the last value at or before it; NaN outside the run."""
    places = np.searchsorted(x, grid, side="right") - 1
    inside = (places >= 0) & (grid <= x[-1])
    return np.where(inside, y[np.maximum(places, 0)], np.nan)


def common_grid(xs: list[Array], points: int, logarithmic: bool = False) -> Array:
    """Every record's place if those are at most `points`, else `points` places between the first and the last."""
    union = np.unique(np.concatenate(xs))
    union = union[np.isfinite(union)]
    if len(union) <= points:
        return union
    if logarithmic and union[-1] > 0:
        first = union[union > 0][0]
        return np.geomspace(first, union[-1], points)
    return np.linspace(union[0], union[-1], points)


def quantiles(curves: Array, shares: tuple[float, ...]) -> list[Array]:
    """Linearly interpolated quantiles of each column; NaN is absent, infinity a value like any other."""
    ordered = np.sort(curves, axis=0)  # NaN last
    present = (~np.isnan(ordered)).sum(axis=0)
    columns = np.arange(curves.shape[1])
    found = []
    for share in shares:
        place = np.maximum(present - 1, 0) * share
        low = ordered[np.floor(place).astype(int), columns]
        high = ordered[np.ceil(place).astype(int), columns]
        with np.errstate(invalid="ignore"):
            between = np.where(low == high, low, low + (place - np.floor(place)) * (high - low))
        found.append(np.where(present > 0, between, np.nan))
    return found


def counted(name: str, values: Array) -> Array:
    """A column in which a run that diverged is infinitely bad, not absent."""
    return np.where(np.isnan(values), np.inf, values) if name in MEASURED else values


def thinned(curves: list[Array], rows: int) -> Indices:
    """Which rows to keep so that every curve looks the same: the least and greatest of each stretch, and the ends."""
    length = len(curves[0])
    if length <= rows:
        return np.arange(length)
    buckets = max(1, (rows - 2) // (2 * len(curves)))
    size = -(-length // buckets)
    kept: list[npt.NDArray[np.int64]] = [np.array([0, length - 1])]
    starts = np.arange(-(-length // size)) * size
    for curve in curves:
        for blank, pick in ((np.inf, np.argmin), (-np.inf, np.argmax)):
            padded = np.full(len(starts) * size, blank)
            padded[:length] = np.where(np.isfinite(curve), curve, blank)
            kept.append(starts + pick(padded.reshape(-1, size), axis=1))
    chosen = np.unique(np.concatenate(kept))
    return chosen[chosen < length]
