"""Adversarial training: one perturbation of all rows, in a box or a ball."""

from typing import Annotated, Any

from raydream.checks import choice, not_negative, positive, whole
from raydream.constraints import Ball, Box
from raydream.parameters import Count, Positive, one_of
from raydream.problems.learning.losses import Logistic
from raydream.problems.learning.models import Linear, Tanh
from raydream.problems.learning.on_rows import HeldOut, Metric
from raydream.problems.learning.perturbed import Lam, Perturbed, Region, accuracy, both
from raydream.problems.penalty import Nu, SaturatingPenalty, Theta
from raydream.problems.registry import maker_on_data
from raydream.problems.rows import checked_classes, checked_signs
from raydream.types import Array

MODELS = ("linear", "tanh")
SETS = ("box", "ball")


@maker_on_data("adversarial-training")
class AdversarialTraining(Perturbed):
    """A classifier x, linear or with one hidden layer, against one perturbation y of every row.

        f(x, y) = mean_j log(1 + exp(-b_j h_x(a_j + y))) - (lam/2) ||y||^2 + theta sum_k nu x_k^2 / (1 + nu x_k^2)
        Y = {|y_k| <= size for all k} (box) or {||y|| <= size} (ball)

    with h_x(u) = x'u, or v'tanh(W u + c) + e where x = (W, c, v, e). f is strongly concave in y where lam exceeds
    ||x||^2/4, or (sum_k |v_k| ||w_k||)^2/4 + 0.77 sum_k |v_k| ||w_k||^2 with hidden units: `radius` says up to which
    ||x|| that is vouched for. y*(x) of the linear model is exact to rounding. After the DREAM paper's introduction
    and Madry et al. (ICLR 2018). Metrics: accuracy without and with the perturbation.
    """

    def __init__(
        self, features: Any, labels: Any = None, agents: int | None = None, *,
        model: Annotated[str, one_of(MODELS), "linear, or one hidden layer of tanh units"] = "linear",
        hidden: Annotated[Count, "hidden units, where the model has them"] = 4,
        perturbation: Annotated[str, one_of(SETS), "the set that y is kept in"] = "box",
        size: Annotated[Positive, "half the width of the box, or the radius of the ball"] = 0.1,
        lam: Lam = 10.0, radius: Region = None, theta: Theta = 1e-3, nu: Nu = 10.0, held_out: HeldOut = 0.2,
    ) -> None:  # fmt: skip
        super().__init__(features, labels, agents, held_out)
        checked_classes(self.labels)
        d, size = int(self.features.shape[1]), positive("size", size)
        units = whole("hidden", hidden, 1)
        self.settle(
            Linear(d) if choice("model", model, MODELS) == "linear" else Tanh(d, units),
            Logistic(),
            lam,
            Box(-size, size) if choice("perturbation", perturbation, SETS) == "box" else Ball(size),
            SaturatingPenalty(not_negative("theta", theta), positive("nu", nu)),
            radius,
        )

    def measures(self, features: Any, labels: Array) -> dict[str, Metric]:
        """Accuracy, without and with the perturbation."""
        return both(accuracy, "accuracy", self.model, features, checked_signs(labels))
