"""Penalties g(x): the nonconvex theta * sum_k nu x_k^2 / (1 + nu x_k^2), which saturates, and (weight/2) ||x||^2."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from raydream.parameters import NotNegative, Positive
from raydream.types import Array

Theta = Annotated[NotNegative, "weight of the nonconvex penalty on x"]
Nu = Annotated[Positive, "steepness of that penalty"]


@dataclass(frozen=True)
class SaturatingPenalty:
    """g and its gradient; the second derivative is largest in size at 0, where it is 2 nu theta."""

    theta: float
    nu: float

    def value(self, x: Array) -> float:
        """g(x), written as theta * sum (1 - 1/(1 + nu x^2)) so that huge x give theta and not NaN."""
        if self.theta == 0:
            return 0.0
        return self.theta * float(np.sum(1.0 - 1.0 / (1.0 + self.nu * x * x)))

    def gradient(self, x: Array) -> Array:
        """The gradient 2 theta nu x / (1 + nu x^2)^2."""
        if self.theta == 0:
            return np.zeros_like(x)
        return 2.0 * self.theta * self.nu * x / (1.0 + self.nu * x * x) ** 2

    @property
    def smoothness(self) -> float:
        """The Lipschitz constant of the gradient."""
        return 2.0 * self.theta * self.nu


@dataclass(frozen=True)
class Ridge:
    """g(x) = (weight/2) ||x||^2."""

    weight: float

    def value(self, x: Array) -> float:
        """g(x)."""
        return self.weight / 2 * float(np.sum(x * x))

    def gradient(self, x: Array) -> Array:
        """The gradient weight x."""
        return self.weight * x

    @property
    def smoothness(self) -> float:
        """The Lipschitz constant of the gradient."""
        return self.weight
