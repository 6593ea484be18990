"""What drawing needs of many runs and of long ones: common places, and fewer points that look the same."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from raydream.types import Array, Indices


def recorded(columns: Mapping[str, Array], name: str) -> bool:
    """Whether there is a number in a column: a run from before there was such a column has none."""
    return name in columns and bool(np.isfinite(columns[name]).any())


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
