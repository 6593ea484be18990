"""AUC maximisation as a minimax problem with one dual number."""

from functools import partial
from typing import Any

import numpy as np

from raydream.checks import not_negative, positive
from raydream.constraints import Everything
from raydream.problems.learning.on_rows import HeldOut, Metric, OnRows
from raydream.problems.penalty import Nu, SaturatingPenalty, Theta
from raydream.problems.protocol import Constants
from raydream.problems.registry import maker_on_data
from raydream.problems.rows import Rows, checked_classes, checked_signs, norms
from raydream.types import Array, Indices


@maker_on_data("auc")
class AUC(OnRows):
    """A linear score that ranks positive rows above negative ones: x = (w, a, b), y one number.

        F = (1-p) (h-a)^2 [+] + p (h-b)^2 [-] + 2 (1+y) (p h [-] - (1-p) h [+]) - p (1-p) y^2 + g(w)

    where h = a_j'w is the score of a row, [+] and [-] tell its label, p is the share of positive rows among all
    agents (an agent's own share would pose another problem), and g is the penalty theta sum nu w^2 / (1 + nu w^2).
    Y is the line. y*(x) = E[h | -] - E[h | +], and P(x) is exact. After Ying, Wen, Lyu (NIPS 2016), whose square
    surrogate of the AUC this is. mu = 2 p (1-p). Metric: the AUC, in which ties count half.
    """

    def __init__(
        self, features: Any, labels: Any = None, agents: int | None = None, *, theta: Theta = 1e-3, nu: Nu = 10.0,
        held_out: HeldOut = 0.2,
    ) -> None:  # fmt: skip
        super().__init__(features, labels, agents, held_out)
        self.positive = float(np.mean(checked_classes(self.labels) > 0))
        self.dim_x, self.dim_y = int(self.features.shape[1]) + 2, 1
        self.constraint = Everything()
        self.penalty = SaturatingPenalty(not_negative("theta", theta), positive("nu", nu))

    def shard(self, rows: slice) -> "AUCShard":
        """What the owner of these rows owns."""
        return AUCShard(self.features[rows], self.labels[rows].copy(), self.positive, self.penalty)

    def best_response(self, x: Array) -> Array:
        """The mean score of negative rows less that of positive ones."""
        scores, above = self.whole.rows.dot(x[:-2]), self.labels > 0
        return np.array([scores[~above].mean() - scores[above].mean()])

    def primal_bound(self) -> float:
        """At y = -1 only squares are left, and -p (1-p)."""
        return -self.positive * (1 - self.positive)

    def constants(self) -> Constants:
        """Components are quadratic but for the penalty: L is the root mean square of their Hessians' norms."""
        p, lengths, above = self.positive, norms(self.features), self.labels > 0
        scale = np.where(above, 1 - p, p)
        # in the coordinates (direction of the row, a or b, y)
        hessians = np.zeros((self.total, 3, 3))
        hessians[:, 0, 0] = 2 * scale * lengths**2
        hessians[:, 0, 1] = hessians[:, 1, 0] = -2 * scale * lengths
        hessians[:, 1, 1] = 2 * scale
        hessians[:, 0, 2] = hessians[:, 2, 0] = 2 * scale * lengths * np.where(above, -1, 1)
        hessians[:, 2, 2] = -2 * p * (1 - p)
        single = np.linalg.norm(hessians, 2, axis=(-2, -1)) + self.penalty.smoothness
        return Constants(L=self.root_mean_square(single), mu=float(self.scales.min()) * 2 * p * (1 - p))

    def measures(self, features: Any, labels: Array) -> dict[str, Metric]:
        """The AUC; NaN where one class is missing."""
        return {"auc": partial(_auc, Rows(features), checked_signs(labels) > 0)}


def _auc(rows: Rows, above: Any, x: Array, y: Array) -> float:
    """The chance that a positive row scores higher than a negative one."""
    scores = rows.dot(x[:-2])
    high, low = scores[above], np.sort(scores[~above])
    if not (high.size and low.size):
        return float("nan")
    wins = np.searchsorted(low, high, "left") + np.searchsorted(low, high, "right")
    return float(wins.mean() / (2 * low.size))


class AUCShard:
    """The rows of one agent, and the share of positive rows among all agents."""

    def __init__(self, features: Any, labels: Array, share: float, penalty: SaturatingPenalty) -> None:
        self.rows, self.labels, self.share, self.penalty = Rows(features), labels, share, penalty
        self.samples = self.rows.count

    def _terms(self, labels: Array) -> tuple[Array, Array]:
        """(1-p) [+] and p [-] of every row."""
        return np.where(labels > 0, 1 - self.share, 0.0), np.where(labels > 0, 0.0, self.share)

    def value(self, x: Array, y: Array) -> float:
        """f_i(x, y)."""
        (plus, minus), scores = self._terms(self.labels), self.rows.dot(x[:-2])
        squares = plus * (scores - x[-2]) ** 2 + minus * (scores - x[-1]) ** 2
        ranks = 2 * (1 + y[0]) * (minus - plus) * scores
        return float(np.mean(squares + ranks) - self.share * (1 - self.share) * y[0] ** 2 + self.penalty.value(x[:-2]))

    def gradient(self, x: Array, y: Array, batch: Indices | None = None) -> tuple[Array, Array]:
        """The mean gradient over the batch (repeated rows add up), or of f_i."""
        rows, labels = self.rows.take(batch), self.labels if batch is None else self.labels[batch]
        (plus, minus), scores = self._terms(labels), rows.dot(x[:-2])
        above, below = 2 * plus * (scores - x[-2]), 2 * minus * (scores - x[-1])
        slopes = above + below + 2 * (1 + y[0]) * (minus - plus)
        gw = rows.combine(slopes / rows.count) + self.penalty.gradient(x[:-2])
        ranks = np.mean(2 * (minus - plus) * scores)
        gy = np.array([ranks - 2 * self.share * (1 - self.share) * y[0]])
        return np.concatenate([gw, [-above.mean(), -below.mean()]]), gy
