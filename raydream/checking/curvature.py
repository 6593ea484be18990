"""The curvature that gradients show: the extreme ones, found from products with the Hessian."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from raydream.checking.owned import Owned
from raydream.checking.subject import Point, Subject
from raydream.types import Array

STEPS, STEPS_WIDE, WIDE = 24, 10, 100_000  # products, and fewer where vectors are longer than that
FADED = 1e-5  # a new direction of less than this share is rounding


def extremes(apply: Callable[[Array], Array], v: Array) -> tuple[Array, Array]:
    """Directions in which a symmetric operator is least and largest, by Lanczos' method from v.

    Only directions that come from v by the operator are found: those that a method would be led to.
    """
    basis = [v / np.linalg.norm(v)]
    alphas: list[float] = []
    betas: list[float] = []
    for _ in range(min(v.size, STEPS if v.size < WIDE else STEPS_WIDE)):
        w = apply(basis[-1])
        alphas.append(float(w @ basis[-1]))
        for _ in range(2):
            for one in basis:
                w = w - (w @ one) * one
        length = float(np.linalg.norm(w))
        if not length > FADED * max(map(abs, [*alphas, *betas])):
            break
        betas.append(length)
        basis.append(w / length)
    size = len(alphas)
    T = np.diag(alphas) + np.diag(betas[: size - 1], 1) + np.diag(betas[: size - 1], -1)
    vectors = np.linalg.eigh(T)[1]
    stacked = np.stack(basis[:size], axis=1)
    return stacked @ vectors[:, 0], stacked @ vectors[:, -1]


@dataclass(frozen=True)
class Bent:
    """An agent's gradient around a point, seen through differences of length `step`."""

    subject: Subject
    one: Owned
    point: Point
    step: float

    @classmethod
    def around(cls, subject: Subject, one: Owned, point: Point) -> "Bent":
        """Differences short beside both parts, long beside rounding."""
        sizes = [float(np.linalg.norm(part)) or 1.0 for part in point]
        return cls(subject, one, point, max(1e-4, 10 * np.sqrt(subject.rounding)) * min(sizes))

    def inside(self, w: Array) -> Array:
        """The direction, in y along Y where y is inside of it."""
        if self.subject.free:
            return w
        y, cut = self.point[1], w.copy()
        dim, step = self.subject.dim_x, self.step / max(float(np.linalg.norm(w)), 1e-300)
        ahead, behind = (self.subject.project(y + sign * step * w[dim:]) for sign in (1, -1))
        cut[dim:] = (ahead - behind) / (2 * step)
        return cut

    def change(self, v: Array, batch: Any = None) -> tuple[Array, float]:
        """How the gradient changes from one side of the point to the other along v, and over which length."""
        (x, y), dim = self.point, self.subject.dim_x
        t = self.step / float(np.linalg.norm(v))
        ahead, behind = (self.one.gradient(x + s * t * v[:dim], y + s * t * v[dim:], batch) for s in (1, -1))
        return ahead - behind, 2 * self.step

    def whole(self, v: Array) -> Array:
        """The Hessian times v."""
        difference, length = self.change(v)
        return self.inside(difference * (float(np.linalg.norm(v)) / length))

    def in_y(self, v: Array) -> Array:
        """The Hessian in y times v, where v moves y alone."""
        product = self.whole(v)
        product[: self.subject.dim_x] = 0.0
        return product

    def along(self, v: Array) -> float:
        """The curvature along v, of a pair of points that lie on it."""
        difference, length = self.change(v)
        return float(difference @ v) / float(np.linalg.norm(v)) / length

    def error(self, v: Array) -> float:
        """How far rounding may have the curvature wrong."""
        return 100 * self.subject.rounding * float(np.linalg.norm(self.one.gradient(*self.point))) / self.step
