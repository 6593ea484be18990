"""Regions of a grid on logarithmic axes: hatching, and the place for a name."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from raydream.types import Array

Path = tuple[list[float | None], list[float | None]]  # of a line with gaps, x and y
Mask = npt.NDArray[np.bool_]
LEAST = 0.015  # of the map: a region that is smaller gets no name


class Grid(NamedTuple):
    """The middles of cells, evenly spaced on logarithmic axes."""

    x: Array
    y: Array


def edges(values: Array) -> Array:
    """The borders between cells, and the two ends."""
    logs = np.log(values)
    half = (logs[1] - logs[0]) / 2
    ends: Array = np.exp(np.concatenate([[logs[0] - half], logs + half]))
    return ends


def hatching(grid: Grid, marked: Mask, every: int = 2) -> Path:
    """Slanted lines over the cells that are marked, through every so-many-th of them."""
    x, y = edges(grid.x), edges(grid.y)
    path: Path = [], []
    for row, place in zip(*np.nonzero(marked), strict=True):
        if (row + place) % every == 0:  # across the borders, most of which rise
            _stroke(path, (x[place], y[row + 1]), (x[place + 1], y[row]))
    return path


def heart(grid: Grid, marked: Mask) -> tuple[float, float] | None:
    """The cell of a region that is furthest from its border; None where the region is small."""
    if marked.mean() < LEAST:
        return None
    depth, left = np.zeros(marked.shape), marked.copy()
    while left.any():
        depth += left
        padded = np.pad(left, 1, constant_values=False)
        left = left & padded[:-2, 1:-1] & padded[2:, 1:-1] & padded[1:-1, :-2] & padded[1:-1, 2:]
    row, place = np.unravel_index(int(np.argmax(depth)), depth.shape)
    deepest = np.argwhere(depth == depth[row, place])
    middle = deepest[int(np.argmin(((deepest - deepest.mean(axis=0)) ** 2).sum(axis=1)))]
    return float(grid.x[middle[1]]), float(grid.y[middle[0]])


def _stroke(path: Path, begin: tuple[float, float], end: tuple[float, float]) -> None:
    for axis in (0, 1):
        path[axis].extend([float(begin[axis]), float(end[axis]), None])
