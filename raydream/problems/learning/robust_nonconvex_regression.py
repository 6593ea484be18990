"""Robust nonconvex regression: a loss that forgives outliers, on perturbed features."""

from typing import Any

from raydream.checks import not_negative, positive, vector
from raydream.constraints import Ball, Everything
from raydream.problems.learning.losses import LogSquare
from raydream.problems.learning.models import Linear
from raydream.problems.learning.on_rows import HeldOut, Metric
from raydream.problems.learning.perturbed import Lam, Perturbed, Region, both, mean_square
from raydream.problems.penalty import Nu, SaturatingPenalty, Theta
from raydream.problems.registry import Radius, maker_on_data
from raydream.types import Array


@maker_on_data("robust-nonconvex-regression")
class RobustNonconvexRegression(Perturbed):
    """Linear regression x with a loss that forgives outliers, against one perturbation y of every row's features.

        f(x, y) = mean_j log(1 + (b_j - (a_j + y)'x)^2 / 2) - (lam/2) ||y||^2 + theta sum_k nu x_k^2 / (1 + nu x_k^2)

    with y free, or in a ball. f is strongly concave in y where ||x||^2 < lam, and need not be elsewhere. y*(x) is
    exact to rounding. After Zhang, Mancino-Ball, Aybat, Xu (AAAI 2024), who have lam = 1, where descent soon leaves the
    region of concavity; the gradient here is that of f, their public code's is twice as large. Metrics: mean squared
    error without and with y.
    """

    def __init__(
        self, features: Any, targets: Any = None, agents: int | None = None, *, lam: Lam = 10.0,
        ball: Radius = None, radius: Region = None, theta: Theta = 0.0, nu: Nu = 10.0, held_out: HeldOut = 0.2,
    ) -> None:  # fmt: skip
        super().__init__(features, targets, agents, held_out)
        vector("targets", self.labels)
        constraint = Everything() if ball is None else Ball(ball)
        penalty = SaturatingPenalty(not_negative("theta", theta), positive("nu", nu))
        self.settle(Linear(int(self.features.shape[1])), LogSquare(), lam, constraint, penalty, radius)

    def measures(self, features: Any, labels: Array) -> dict[str, Metric]:
        """The mean squared error, without and with the perturbation."""
        return both(mean_square, "mse", self.model, features, labels)
