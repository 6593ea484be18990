"""Fair classification: the adversary weighs the classes."""

from typing import Any

import numpy as np

from raydream.problems.learning.grouped import Grouped, Lam
from raydream.problems.learning.on_rows import HeldOut
from raydream.problems.penalty import Nu, Theta
from raydream.problems.registry import maker_on_data
from raydream.types import Array, Indices


@maker_on_data("fair-classification")
class FairClassification(Grouped):
    """A linear classifier x against an adversary y who weighs the classes, so that none is neglected.

        f(x, y) = sum_c y_c L_c(x) - (lam/2) ||y||^2 + theta sum_k nu x_k^2 / (1 + nu x_k^2)
        Y = {y in R^C : y >= 0, sum y = 1}

    where L_c is the mean loss of class c among all agents: an agent without rows of a class never moves its weight.
    y*(x) is the projection of L(x)/lam on Y. After Mohri, Sivek, Suresh (ICML 2019); lam = 0.1 as in the public code
    of VRLM, where the model is a network. Metrics: accuracy, and that of the worst class.
    """

    group_metric = "worst_class_accuracy"

    def __init__(
        self, features: Any, labels: Any = None, agents: int | None = None, *, lam: Lam = 0.1,
        theta: Theta = 1e-3, nu: Nu = 10.0, held_out: HeldOut = 0.2,
    ) -> None:  # fmt: skip
        super().__init__(features, labels, agents, lam=lam, theta=theta, nu=nu, held_out=held_out)
        held = self.groups_of(self.held_features, self.held_labels)
        self.settle(self.class_numbers, self.classes.size, 0.0, held)

    def groups_of(self, features: Any, labels: Array) -> Indices:
        """The classes."""
        return np.searchsorted(self.classes, labels)
