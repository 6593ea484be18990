"""Classification against an adversary y who weighs groups of rows: what fairness and group DRO share."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np

from raydream.checks import not_negative, positive
from raydream.constraints import Simplex
from raydream.parameters import Positive
from raydream.problems.learning.losses import Logistic, Softmax, classification
from raydream.problems.learning.on_rows import Metric, OnRows, block_norms
from raydream.problems.penalty import SaturatingPenalty
from raydream.problems.protocol import Constants
from raydream.problems.rows import Rows, combines, dots, norms
from raydream.problems.stacks.grouped import GroupedStack
from raydream.types import Array, Indices

Lam = Annotated[Positive, "how much y is held back: the strong concavity"]


class Grouped(OnRows):
    """A linear classifier x against weights y of G groups of rows.

        f(x, y) = sum_g y_g L_g(x) - (lam/2) ||y - centre||^2 + theta sum_k nu x_k^2 / (1 + nu x_k^2)
        Y = {y in R^G : y >= 0, sum y = 1}

    where L_g is the mean loss of the rows of group g among all agents. Row k of group g is the component
    (N/N_g) y_g l_k(x) - ..., so that f_i is the mean over agent i's rows; N_g counts the rows of all agents. P, its
    gradient and y*(x) are exact: y*(x) is the projection of centre + L(x)/lam on Y.

    Labels -1 and +1 have the logistic loss and x in R^d; C > 2 classes the softmax and x in R^(C d), class by class.
    """

    group_metric = "worst_group_accuracy"

    def __init__(
        self, features: Any, labels: Any, agents: int | None, *, lam: float, theta: float, nu: float, held_out: float
    ) -> None:
        super().__init__(features, labels, agents, held_out)
        self.loss, self.classes, self.class_numbers = classification(self.labels)
        if not np.isin(self.held_labels, self.classes).all():
            raise ValueError("`labels` must hold every class among the rows in use; lower `held_out`.")
        self.dim_x = self.loss.rows * int(self.features.shape[1])
        self.lam = positive("lam", lam)
        self.penalty = SaturatingPenalty(not_negative("theta", theta), positive("nu", nu))

    def settle(self, groups: Indices, count: int, centre: float, held_groups: Indices | None) -> None:
        """The group of every row in use, how many there are, the centre of y, and the groups of rows held out.

        held_groups  None where it is not known of them
        """
        sizes = np.bincount(groups, minlength=count)
        if not sizes.all():
            raise ValueError(f"`groups` must each have a row in use; group {int(np.argmin(sizes))} has none.")
        self.groups, self.held_groups, self.centre = groups, held_groups, centre
        self.dim_y, self.constraint = count, Simplex(1.0)
        self.weights: Array = self.total / sizes

    def targets(self, labels: Array) -> Array:
        """Labels as the loss takes them: signs, or numbers of classes."""
        if isinstance(self.loss, Logistic):
            return labels
        return np.searchsorted(self.classes, labels).astype(np.float64)

    def shard(self, rows: slice) -> "GroupedShard":
        """What the owner of these rows owns."""
        return GroupedShard(
            self.features[rows], self.targets(self.labels[rows]), self.groups[rows].copy(), self.weights.copy(),
            self.loss, self.lam, self.centre, self.penalty,
        )  # fmt: skip

    def group_losses(self, x: Array) -> Array:
        """L_g(x) for every group."""
        whole: GroupedShard = self.whole
        scores = dots(whole.rows, x.reshape(self.loss.rows, -1))
        losses = self.loss.losses(scores, whole.labels) * self.weights[self.groups] / self.total
        return np.bincount(self.groups, losses, minlength=self.dim_y).astype(np.float64)

    def best_response(self, x: Array) -> Array:
        """y*(x), one projection."""
        return self.constraint.project(self.centre + self.group_losses(x) / self.lam)

    def start(self) -> tuple[Array, Array]:
        """x = 0 and equal weights."""
        return np.zeros(self.dim_x), np.full(self.dim_y, 1.0 / self.dim_y)

    def primal_bound(self) -> float:
        """Losses are at least 0, and the adversary can always choose equal weights."""
        return -self.lam / 2 * self.dim_y * (1.0 / self.dim_y - self.centre) ** 2

    def constants(self) -> Constants:
        """Bounds for y in Y, where no group weighs more than 1; mu is lam, times the least s_i."""
        lengths, weights = norms(self.features), self.weights[self.groups]
        steep = self.loss.steepest(lengths, self.labels)
        curve = weights * self.loss.bend * lengths**2 + self.penalty.smoothness
        single = block_norms(curve, weights * steep * lengths, np.full(self.total, self.lam))
        mu = float(self.scales.min()) * self.lam
        return Constants(L=self.root_mean_square(single), mu=mu, assumes="y is in Y")

    def measures(self, features: Any, labels: Array) -> dict[str, Metric]:
        """Accuracy over all rows, and over the rows of the worst group."""
        known = np.isin(labels, self.classes)
        if not known.all():
            raise ValueError(f"`labels` must be among {self.classes.tolist()}; got {labels[~known][0]}.")
        groups = self.groups_of(features, labels)
        measure = partial(_accuracies, Rows(features), self.targets(labels), self.loss)
        found = {"accuracy": partial(_mean_accuracy, measure)}
        if groups is not None:
            found[self.group_metric] = partial(_worst_accuracy, measure, groups)
        return dict(found)

    def groups_of(self, features: Any, labels: Array) -> Indices | None:
        """The groups of rows to be measured on, where they are known."""
        if features is self.held_features:
            return self.held_groups
        return self.groups if features is self.features else None


def _accuracies(rows: Rows, labels: Array, loss: Logistic | Softmax, x: Array) -> Array:
    return loss.right(dots(rows, x.reshape(loss.rows, -1)), labels)


def _mean_accuracy(measure: Any, x: Array, y: Array) -> float:
    return float(np.mean(measure(x)))


def _worst_accuracy(measure: Any, groups: Indices, x: Array, y: Array) -> float:
    right = measure(x)
    return float(min(right[groups == g].mean() for g in np.unique(groups)))


class GroupedShard:
    """The rows of one agent, the group of each, and how much a row of each group weighs."""

    def __init__(
        self, features: Any, labels: Array, groups: Indices, weights: Array, loss: Logistic | Softmax, lam: float,
        centre: float, penalty: SaturatingPenalty,
    ) -> None:  # fmt: skip
        self.rows, self.labels, self.groups, self.weights = Rows(features), labels, groups, weights
        self.loss, self.lam, self.centre, self.penalty = loss, lam, centre, penalty
        self.samples = self.rows.count

    @staticmethod
    def stacked(shards: "Sequence[GroupedShard]") -> GroupedStack | None:
        """The shards as one, where there are two classes and so one row of scores."""
        return GroupedStack(shards) if shards[0].loss.rows == 1 else None

    def value(self, x: Array, y: Array) -> float:
        """f_i(x, y)."""
        losses = self.loss.losses(dots(self.rows, x.reshape(self.loss.rows, -1)), self.labels)
        weighted = float(np.sum((self.weights * y)[self.groups] * losses)) / self.samples
        return weighted - self.lam / 2 * float(np.sum((y - self.centre) ** 2)) + self.penalty.value(x)

    def gradient(self, x: Array, y: Array, batch: Indices | None = None) -> tuple[Array, Array]:
        """The mean gradient over the batch (repeated rows add up), or of f_i."""
        rows = self.rows.take(batch)
        labels, groups = (self.labels, self.groups) if batch is None else (self.labels[batch], self.groups[batch])
        scores, weights = dots(rows, x.reshape(self.loss.rows, -1)), self.weights[groups] / rows.count
        gx = combines(rows, weights * y[groups] * self.loss.slopes(scores, labels)).ravel()
        gy = np.bincount(groups, weights * self.loss.losses(scores, labels), minlength=y.size)
        return gx + self.penalty.gradient(x), gy - self.lam * (y - self.centre)
