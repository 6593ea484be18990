"""Robust linear regression: least squares on perturbed features."""

from typing import Annotated, Any

from raydream.checks import not_negative, vector
from raydream.constraints import Ball, Everything
from raydream.parameters import NotNegative, Positive
from raydream.problems.learning.losses import Square
from raydream.problems.learning.models import Linear
from raydream.problems.learning.on_rows import HeldOut, Metric
from raydream.problems.learning.perturbed import Perturbed, Region, both, mean_square
from raydream.problems.penalty import Ridge
from raydream.problems.registry import Radius, maker_on_data
from raydream.types import Array


@maker_on_data("robust-regression")
class RobustRegression(Perturbed):
    """Linear regression x against one perturbation y of every row's features.

        f(x, y) = mean_j (x'(a_j + y) - b_j)^2 / 2 + (r1/2) ||x||^2 - (r2/2) ||y||^2

    with y free, or in a ball. f is strongly concave in y where ||x||^2 < r2; where y is free, P grows without bound
    towards that edge (unless the mean residual is 0), and y*(x) = x mean_j(a_j'x - b_j) / (r2 - ||x||^2). After
    Beznosikov, Samokhin, Gasnikov (2020). With r1 = r2 = 0.2 the region is small, and so must steps in x be.
    Metrics: mean squared error without and with y.
    """

    name = "r2"

    def __init__(
        self, features: Any, targets: Any = None, agents: int | None = None, *,
        r1: Annotated[NotNegative, "weight of ||x||^2 / 2"] = 0.2,
        r2: Annotated[Positive, "price of the perturbation; f is strongly concave where ||x||^2 is less"] = 0.2,
        ball: Radius = None, radius: Region = None, held_out: HeldOut = 0.2,
    ) -> None:  # fmt: skip
        super().__init__(features, targets, agents, held_out)
        vector("targets", self.labels)
        constraint = Everything() if ball is None else Ball(ball)
        penalty = Ridge(not_negative("r1", r1))
        self.settle(Linear(int(self.features.shape[1])), Square(), r2, constraint, penalty, radius)

    def measures(self, features: Any, labels: Array) -> dict[str, Metric]:
        """The mean squared error, without and with the perturbation."""
        return both(mean_square, "mse", self.model, features, labels)
