"""Scores h_x(a + y) of a perturbed row: linear, and one hidden layer; with the bounds that concavity in y needs."""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from raydream.problems.rows import Rows, Taken, combines, dots
from raydream.types import Array

Pull = Callable[[Array], tuple[Array, Array]]
TANH_BEND = 4 / (3 * sqrt(3))  # the largest second derivative of tanh


@dataclass(frozen=True)
class Bounds:
    """Of a score's derivatives: first ones in x and in u = a + y, then second ones, by norm."""

    x: Array
    u: float
    xx: Array
    xu: Array
    uu: float


class Linear:
    """h = x'(a + y)."""

    def __init__(self, features: int) -> None:
        self.size = features

    def scores(self, x: Array, y: Array, rows: Rows | Taken) -> tuple[Array, Pull]:
        """The scores, and what turns weights of the scores into weighted sums of their gradients in x and in y."""

        def pull(weights: Array) -> tuple[Array, Array]:
            total = weights.sum()
            return rows.combine(weights) + total * y, total * x

        return rows.dot(x) + np.sum(x * y), pull

    def start(self) -> Array:
        """0."""
        return np.zeros(self.size)

    def bends(self, x: Array) -> tuple[float, float]:
        """Bounds of the first and of the second derivative in y, at x."""
        return float(np.linalg.norm(x)), 0.0

    def bounds(self, radius: float, lengths: Array) -> Bounds:
        """Bounds while ||x|| <= radius, for rows of which ||a + y|| is at most `lengths`."""
        return Bounds(lengths, radius, np.zeros_like(lengths), np.ones_like(lengths), 0.0)


class Tanh:
    """h = v'tanh(W (a + y) + c) + e with k hidden units; x = (W, c, v, e), row by row."""

    def __init__(self, features: int, hidden: int) -> None:
        self.features, self.hidden = features, hidden
        self.size = hidden * (features + 2) + 1

    def parts(self, x: Array) -> tuple[Array, Array, Array, float]:
        """W, c, v and e."""
        k, cut = self.hidden, self.hidden * self.features
        return x[:cut].reshape(k, self.features), x[cut : cut + k], x[cut + k : cut + 2 * k], float(x[-1])

    def scores(self, x: Array, y: Array, rows: Rows | Taken) -> tuple[Array, Pull]:
        """The scores, and what turns weights of the scores into weighted sums of their gradients in x and in y."""
        W, c, v, e = self.parts(x)
        hidden = np.tanh(dots(rows, W) + (np.sum(W * y, axis=1) + c)[:, None])

        def pull(weights: Array) -> tuple[Array, Array]:
            inner = weights * v[:, None] * (1 - hidden**2)
            gc = inner.sum(axis=1)
            gW = combines(rows, inner) + gc[:, None] * y
            gv = np.sum(weights * hidden, axis=1)
            return np.concatenate([gW.ravel(), gc, gv, [weights.sum()]]), np.sum(gc[:, None] * W, axis=0)

        return np.sum(v[:, None] * hidden, axis=0) + e, pull

    def start(self) -> Array:
        """Small random numbers, always the same ones: at 0 the units would never differ."""
        return np.random.default_rng(0).normal(scale=0.5 / sqrt(self.features), size=self.size)

    def bends(self, x: Array) -> tuple[float, float]:
        """Bounds of the first and of the second derivative in y, at x."""
        W, _, v, _ = self.parts(x)
        lengths = np.linalg.norm(W, axis=1)
        return float(np.sum(np.abs(v) * lengths)), TANH_BEND * float(np.sum(np.abs(v) * lengths**2))

    def bounds(self, radius: float, lengths: Array) -> Bounds:
        """Bounds while ||x|| <= radius, for rows of which ||a + y|| is at most `lengths`.

        sum |v_k| ||w_k|| <= ||v|| ||W|| <= radius^2 / 2; sum |v_k| ||w_k||^2 <= max |v| ||W||^2, which is at most
        2 radius^3 / (3 sqrt 3). Second derivatives in x are those of units apart from each other.
        """
        R, long = radius, np.sqrt(lengths**2 + 1)  # a row with the 1 that multiplies c
        return Bounds(
            x=np.sqrt(self.hidden + 1 + R**2 * long**2),
            u=R**2 / 2,
            xx=long + TANH_BEND * R * long**2,
            xu=2 * R + TANH_BEND * R**2 / 2 * long,
            uu=TANH_BEND * 2 * R**3 / (3 * sqrt(3)),
        )


Model = Linear | Tanh
