"""The loops in NumPy: what the compiled ones must agree with, bit for bit, and what is used where there are none."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from raydream.types import Array, Indices

# A pass over a row costs about a tenth of sorting it, and ordinary rows need one to eight.
PASSES = 20
ROUNDING = float(np.finfo(np.float64).eps)


def draw_below(key: Any, draw: int, iteration: int, agent: int, bound: int, count: int) -> Indices:
    """`count` whole numbers below a bound, from NumPy's Philox at the counter [0, draw, iteration, agent]."""
    counter = np.array([0, draw, iteration, agent], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter)).integers(bound, size=count)


def accelerate(heard: Array, previous: Array, eta: float, scratch: Array) -> Array:
    """(1 + eta) heard - eta previous, in the place of `heard`."""
    heard *= 1.0 + eta
    heard -= np.multiply(previous, eta, out=scratch)
    return heard


def rounds(weigh: Callable[[Array], Array], V: Array, count: int, eta: float | None) -> Array:
    """V after so many rounds, one after the other."""
    A = previous = V
    scratch = np.empty_like(V)
    for _ in range(count):
        heard = weigh(A)
        A, previous = (heard if eta is None else accelerate(heard, previous, eta, scratch)), A
    return A


def onto_simplex(y: Array, radius: float) -> Array:
    """One row onto the simplex: max(y - tau, 0), with the sum set right at the end."""
    top = float(y.max())
    if not math.isfinite(top):
        return np.full_like(y, np.nan)
    # Seen from the largest entry, the support lies in (-radius, 0]: no sum overflows, however large y is.
    v = y - top
    excess = np.empty_like(v)
    np.subtract(v, _threshold(v, radius, scratch=excess), out=excess)
    # The threshold is rounded at the scale of the radius, an error that each of many small entries repeats.
    # Newton steps on the excess itself do not have it, and take back entries that it put on the wrong side.
    positive = np.maximum(excess, 0, out=v)
    for _ in range(PASSES):
        gap = float(positive.sum()) - radius
        if abs(gap) <= 4 * ROUNDING * radius:
            break
        excess -= gap / np.count_nonzero(positive > 0)
        np.maximum(excess, 0, out=positive)
    return positive


def _threshold(v: Array, radius: float, scratch: Array) -> float:
    """The tau with sum max(v - tau, 0) = radius, for max v = 0, by Newton's method.

    The sum is convex and piecewise linear in tau: from below, the iteration climbs to the root without
    passing it, loses entries from the support on its way, and has arrived when a pass loses none.
    """
    # Two lower bounds: the root if the largest entry were alone, and the root if no entry were clipped.
    tau = max(-radius, float(v.mean()) - radius / v.size)
    alive, count = v, v.size
    for _ in range(PASSES):
        above = alive > tau
        active = int(np.count_nonzero(above))
        if active >= count:
            return tau
        count = active
        if 2 * count < alive.size:
            alive = alive[np.flatnonzero(above)]  # several times faster than alive[above]
        excess = np.subtract(alive, tau, out=scratch[: alive.size])
        tau += (float(np.maximum(excess, 0, out=excess).sum()) - radius) / count
    return _threshold_by_sorting(v, radius)


def _threshold_by_sorting(v: Array, radius: float) -> float:
    """The same tau in a time that no data can spoil: from the longest sorted prefix above its own root."""
    ordered = np.sort(v[v > -radius])[::-1]
    roots = (np.cumsum(ordered) - radius) / np.arange(1, ordered.size + 1)
    return float(roots[np.count_nonzero(ordered > roots) - 1])
