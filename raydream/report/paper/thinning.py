"""Curves with no more points than the eye can tell: what is left out lies on the line between what is kept."""

import numpy as np
import numpy.typing as npt

from raydream.types import Array, Indices

FINEST = 0.001  # of an axis: a quarter of a point in a column of a page


def visible(x: Array, y: Array, finest: float = FINEST) -> Indices:
    """Which points of a curve to keep, so that none lies further than `finest` above or below the line that is left.

    x and y are places between 0 and 1 on their axes; the ends are kept.
    """
    keep: npt.NDArray[np.bool_] = np.zeros(len(x), dtype=bool)
    if len(x) == 0:
        return np.flatnonzero(keep)
    keep[[0, -1]] = True
    waiting = [(0, len(x) - 1)]
    while waiting:
        first, last = waiting.pop()
        if last - first < 2:
            continue
        inside = slice(first + 1, last)
        wide = x[last] - x[first]
        share = (x[inside] - x[first]) / wide if wide > 0 else np.zeros(last - first - 1)
        away = np.abs(y[inside] - (y[first] + share * (y[last] - y[first])))
        worst = int(np.argmax(away))
        if away[worst] > finest:
            middle = first + 1 + worst
            keep[middle] = True
            waiting += [(first, middle), (middle, last)]
    return np.flatnonzero(keep)


def stretches(there: npt.NDArray[np.bool_]) -> list[slice]:
    """The runs of places that are there, without the gaps between them."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], there, [False]]).astype(int)))
    return [slice(int(first), int(last)) for first, last in zip(edges[::2], edges[1::2], strict=True)]


def placed(values: Array, ends: tuple[float, float], logarithmic: bool) -> Array:
    """Where values lie between the ends of an axis: 0 and 1 there."""
    low, high = ends
    if logarithmic:
        values, low, high = np.log(values), float(np.log(low)), float(np.log(high))
    return np.asarray((values - low) / ((high - low) or 1.0))
