"""Derivatives by differences that know how wrong they may be."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from raydream.types import Array

RATIO, LEVELS = 4.0, 10  # of neighbouring steps; how many steps
EPS = float(np.finfo(np.float64).eps)
STEPS, DISTINCT = np.linspace(-1.0, 1.0, 13), 5  # of a short line, along which so many values should differ
Line = Callable[[float], float]  # a function along a line, of the distance from a point


@dataclass(frozen=True)
class Slope:
    """A derivative, and about how far it may be off; infinitely far where no steps agree."""

    value: float
    error: float


def slope(line: Line, reach: float, rounding: float = EPS) -> Slope:
    """The derivative at 0 by central differences over the steps reach, reach/4, reach/16, ...

        D_k = (f(h_k) - f(-h_k)) / (2 h_k)        R_k = D_{k+1} + (D_{k+1} - D_k) / 15

    Of three neighbouring R that agree best, the middle one is believed; by how much they disagree, with what rounding
    leaves, is the error. A kink or an edge within a step, steps that are too long, and rounding, in float32 too, all
    show as disagreement, or in the noise.

    rounding  how roughly the function is known to be computed, relative to its size
    """
    h = reach * RATIO ** -np.arange(float(LEVELS))
    ups, downs = (np.array([line(float(sign * step)) for step in h]) for sign in (1, -1))
    D = (ups - downs) / (2 * h)
    R = D[1:] + (D[1:] - D[:-1]) / (RATIO**2 - 1)
    left = 6 * max(noise(line, reach), rounding * float(np.median(np.abs([ups, downs]))), _grain(ups - downs))
    best = Slope(float("nan"), float("inf"))
    for k in range(1, len(R) - 1):
        error = float(np.ptp(R[k - 1 : k + 2])) + left / float(h[k + 1])
        if np.isfinite(error) and error < best.error:
            best = Slope(float(R[k]), error)
    return best


def _grain(differences: Array) -> float:
    """The least difference, if some steps make none at all: so coarse are the numbers."""
    made = np.abs(differences[differences != 0])
    return float(made.min()) if 0 < made.size < differences.size else 0.0


def noise(line: Line, reach: float) -> float:
    """How roughly the function is computed around 0, from values along a very short line.

    Where numbers are coarse, in float32 say, next to nothing may change along so short a line; then a longer one is
    taken.
    """
    values = np.zeros(STEPS.size)
    for share in (1e-5, 1e-4, 1e-3, 1e-2):
        values = np.array([line(float(share * reach * step)) for step in STEPS])
        if np.unique(values).size >= DISTINCT:
            break
    return max(roughness(values), EPS * float(np.abs(values).max()))


def roughness(values: Array) -> float:
    """The standard deviation of noise in evenly spaced values (or rows) of a function that is smooth besides.

    Third differences of a smooth function are next to nothing, and of noise sqrt(20) times as large as it is. Their
    median is that of noise also where the function has a kink or a jump, which only three of them see.
    """
    third = np.diff(values, 3, axis=0)
    sizes = np.abs(third) if third.ndim == 1 else np.linalg.norm(third, axis=1)
    return float(np.median(sizes) / (0.6745 * np.sqrt(20.0)))


def kinked(line: Line, reach: float) -> bool:
    """Whether the function has a corner at 0: the slopes to both sides stay apart however short the steps are.

    (f(h) + f(-h) - 2 f(0)) / h goes to 0 with h, a quarter from step to step, where f is smooth.
    """
    middle = line(0.0)
    h = reach * RATIO ** -np.arange(3.0, 6.0)
    values = np.array([[line(float(step)), line(float(-step))] for step in h])
    apart = np.abs(values.sum(axis=1) - 2 * middle) / h
    return bool((apart > 100 * noise(line, reach) / h).all() and (apart[1:] > 0.5 * apart[:-1]).all())
