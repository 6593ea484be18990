"""The inner maximiser: y*(x) = argmax over Y of a concave function, by projected ascent, with a proof of its error."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from raydream.errors import InnerMaximumError
from raydream.types import Array

Gradient = Callable[[Array], Array]
Project = Callable[[Array], Array]

FAR = 1e15  # no maximiser is so far away
PATIENCE = 60  # steps by which the residual must have halved
ENOUGH = 1e-5  # a residual that rounding of the gradient, in float32 say, may leave, relative to the gradient
NOISE = 1e-5  # of a gradient, relative to its size, in float32 too: a slope that grows by less may be rounding
REMEDY = "Give the problem a `best_response(x)` of its own, or switch P off with `Evaluation(primal=False)`."


@dataclass(frozen=True)
class Maximum:
    """A point y of Y, and ||r|| for an r = g(y) - n, where g is the gradient and n a normal of Y at y.

    r = 0 at the maximum. With y* the maximum of a mu-strongly concave h over Y,

        ||y - y*|| <= ||r|| / mu          h(y*) - h(y) <= ||r||^2 / (2 mu)

    since <g(y) - g(y*), y - y*> <= -mu ||y - y*||^2, and <n, y* - y> <= 0. Where h is only concave and Y has the
    diameter D, h(y*) - h(y) <= <r, y* - y> <= ||r|| D.
    """

    y: Array
    residual: float

    def error(self, mu: float | None, diameter: float) -> float:
        """The most by which h(y) can fall short of the maximum; infinite where nothing proves it."""
        by_curvature = self.residual**2 / (2.0 * mu) if mu is not None and mu > 0 else np.inf
        return float(min(by_curvature, self.residual * diameter if self.residual else 0.0))


def maximise(
    gradient: Gradient, project: Project, y: Array, *, tolerance: float = 1e-12, iterations: int = 20_000
) -> Array:
    """The maximum over Y, looked for from y."""
    return maximum(gradient, project, y, tolerance=tolerance, iterations=iterations).y


def maximum(
    gradient: Gradient, project: Project, y: Array, *, tolerance: float = 1e-12, iterations: int = 20_000
) -> Maximum:
    """Maximise over Y from y, until ||r|| <= tolerance (1 + ||g||).

    Steps of Barzilai and Borwein, which grow and shrink with the curvature that the last step met and cost one
    gradient each. Where they do not come nearer, accelerated ascent goes on from the best point. A function whose
    slope grows on the way is not concave, and one whose maximum runs away has none: both are refused.
    """
    ascent = _Ascent(gradient, project, y, tolerance)
    with np.errstate(all="ignore"):
        for search in (ascent.by_curvature, ascent.accelerated):
            if search(iterations):
                return ascent.best
    if ascent.best.residual <= ENOUGH * (1.0 + ascent.size):
        return ascent.best  # as near as the rounding of the gradient allows; its error says how near
    raise InnerMaximumError(
        f"the maximum over y was not found to {tolerance:g}, but to {ascent.best.residual:.1g} at most; is f(x, .) "
        f"strongly concave on Y? {REMEDY}"
    )


def check_concave(gradient: Gradient, project: Project, y: Array) -> None:
    """Refuse a function that a few steps from both sides of y show not to be concave, or to have no maximum.

    A search that begins where the gradient vanishes would take the minimum of a convex function for its maximum.
    """
    aside = np.random.default_rng(0).normal(size=y.shape)
    aside *= 0.01 * (1.0 + float(np.linalg.norm(y))) / float(np.linalg.norm(aside))
    with np.errstate(all="ignore"):
        for start in (y + aside, y - aside):
            _Ascent(gradient, project, start, 1e-3).by_curvature(12)


class _Ascent:
    """The points of one search, of which the best is kept."""

    def __init__(self, gradient: Gradient, project: Project, y: Array, tolerance: float) -> None:
        self.gradient, self.project, self.tolerance = gradient, project, tolerance
        self.y = project(y)
        self.slope = self._slope(self.y)
        self.step = 1.0
        self.best, self.size = Maximum(self.y, np.inf), float(np.linalg.norm(self.slope))

    def by_curvature(self, iterations: int) -> bool:
        """y <- project(y + s g) with s = <dy, dy> / -<dg, dy> and -<dg, dy> / <dg, dg> in turn; True: found."""
        left, halved = PATIENCE, np.inf
        for number in range(iterations):
            new, after = self._try(self.y, self.slope, fits=number == 0)
            move, bend = new - self.y, after - self.slope
            if self._near_enough(new, after, bend + move / self.step):
                return True
            fall, length = -float(bend @ move), float(move @ move)
            self.y, self.slope = new, after
            if fall > 0:
                self.step = length / fall if number % 2 else fall / float(bend @ bend)
            else:
                self.step *= 10.0
            left -= 1
            if self.best.residual < halved / 2:
                left, halved = PATIENCE, self.best.residual
            if not left:
                break
        return False

    def accelerated(self, iterations: int) -> bool:
        """Nesterov's method with steps that fit the curvature they meet; momentum restarts when it points downhill."""
        y = point = self.best.y
        momentum, slope = 1.0, self._slope(point)
        self.step = min(self.step, 1.0)
        left, halved = 20 * PATIENCE, self.best.residual
        for _ in range(iterations):
            new, after = self._try(point, slope, fits=True)
            move = new - point
            if self._near_enough(new, after, after - slope + move / self.step):
                return True
            if float(move @ (new - y)) < 0.0:
                momentum, point, y, slope = 1.0, new, new, after
            else:
                following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
                point, y, momentum = new + (momentum - 1.0) / following * (new - y), new, following
                slope = self._slope(point)
            self.step *= 1.1
            left -= 1
            if self.best.residual < halved / 2:
                left, halved = 20 * PATIENCE, self.best.residual
            if not left:
                break
        return False

    def _try(self, point: Array, slope: Array, fits: bool) -> tuple[Array, Array]:
        """A step from a point, and the gradient there; shorter until it fits the curvature, if it must."""
        while True:
            new = self.project(point + self.step * slope)
            if float(np.linalg.norm(new)) > FAR:
                raise InnerMaximumError(f"f(x, .) has no maximum on Y: it grows as y goes beyond {FAR:g}. {REMEDY}")
            after = self._slope(new)
            move, bend = new - point, after - slope
            length, change = float(np.linalg.norm(move)), float(np.linalg.norm(bend))
            if float(bend @ move) > 1e-6 * length * change + NOISE * length * (1.0 + self.size):
                raise InnerMaximumError(f"f(x, .) is not concave on Y: its slope grows along a step in y. {REMEDY}")
            if not fits or self.step * change <= length or self.step < 1e-300:
                return new, after
            self.step = max(1e-300, min(0.5 * self.step, length / change))

    def _slope(self, y: Array) -> Array:
        """The gradient, which must be finite."""
        slope = self.gradient(y)
        if not np.isfinite(slope).all():
            raise InnerMaximumError(f"the gradient of f(x, .) is not finite at a y of norm "
                                    f"{float(np.linalg.norm(y)):.3g}. {REMEDY}")  # fmt: skip
        return slope

    def _near_enough(self, y: Array, slope: Array, r: Array) -> bool:
        residual = float(np.linalg.norm(r))
        if residual < self.best.residual:
            self.best, self.size = Maximum(y, residual), float(np.linalg.norm(slope))
        return residual <= self.tolerance * (1.0 + float(np.linalg.norm(slope)))
