"""Learning against one perturbation y of all rows: what adversarial training and robust regressions share."""

from functools import partial
from typing import Annotated, Any

import numpy as np
from scipy.optimize import brentq

from raydream.checks import positive
from raydream.constraints import Ball, Box, Constraint, Everything
from raydream.errors import InnerMaximumError
from raydream.parameters import Positive
from raydream.problems.learning.losses import Logistic, LogSquare, Square
from raydream.problems.learning.models import Linear, Model
from raydream.problems.learning.on_rows import Metric, OnRows, block_norms
from raydream.problems.maximiser import maximise
from raydream.problems.penalty import Ridge, SaturatingPenalty
from raydream.problems.protocol import Constants
from raydream.problems.rows import Rows, norms
from raydream.types import Array, Indices

Lam = Annotated[Positive, "price of the perturbation; f is strongly concave in y only where it outweighs the model"]
Region = Annotated[Positive | None, "||x|| up to which concavity is vouched for; empty: where half of it is left"]
Loss = Logistic | Square | LogSquare
Penalty = SaturatingPenalty | Ridge


class Perturbed(OnRows):
    """A model x with scores h_x, against one perturbation y of every row.

        f(x, y) = mean_j l(h_x(a_j + y), b_j) - (lam/2) ||y||^2 + g(x)

    The loss bends upwards in y by at most bend(x) = l'' ||dh/dy||^2 + |l'| ||d^2 h/dy^2||, so that f is strongly
    concave in y where bend(x) < lam and need not be elsewhere. Construction refuses a `radius` up to which this does
    not hold, and `best_response` refuses an x where it does not. y*(x) of a linear model is P_Y(t x), where t is the
    root of an increasing function of one number; that of another model comes from the inner maximiser.
    """

    name = "lam"  # what lam is called by whoever constructs the problem

    def __init__(self, features: Any, labels: Any, agents: int | None, held_out: float) -> None:
        super().__init__(features, labels, agents, held_out)
        self.model: Model
        self.loss: Loss

    def settle(
        self, model: Model, loss: Loss, lam: float, constraint: Constraint, penalty: Penalty, radius: float | None
    ) -> None:
        """The parts, and the region in which f is strongly concave in y."""
        self.model, self.loss, self.penalty, self.constraint = model, loss, penalty, constraint
        self.dim_x, self.dim_y = model.size, int(self.features.shape[1])
        self.lam = positive(self.name, lam)
        if radius is None:
            radius = self._reach_of(self.lam / 2)
        self.radius = positive("radius", radius)
        if self._bend_within(self.radius) >= self.lam:
            raise ValueError(
                f"`{self.name}` must exceed {self._bend_within(self.radius):.4g} for f to be strongly concave in y "
                f"while ||x|| <= {self.radius:g}; got {self.lam:g}. Raise it, or lower `radius`."
            )
        if self.concavity(self.start()[0]) <= 0:
            raise ValueError(
                f"`{self.name}` must exceed {self.lam - self.concavity(self.start()[0]):.4g} for f to be strongly "
                f"concave in y at the start; got {self.lam:g}."
            )

    def _bend(self, first: float, second: float) -> float:
        """How much a loss can bend upwards in y, from the bounds of the score's derivatives."""
        steep = float(self.loss.steepest(np.zeros(1), np.zeros(1))[0]) if second else 0.0
        return self.loss.bend * first**2 + steep * second

    def _bend_within(self, radius: float) -> float:
        known = self.model.bounds(radius, np.ones(1))
        return self._bend(known.u, known.uu)

    def _reach_of(self, bend: float) -> float:
        """The radius within which f bends upwards in y by at most so much."""
        top = 1.0
        while self._bend_within(top) < bend:
            top *= 2
        return float(brentq(lambda radius: self._bend_within(radius) - bend, 0.0, top, xtol=1e-14))

    def concavity(self, x: Array) -> float:
        """A bound of the strong concavity of every f_i in y at x; where it is negative, there may be none."""
        return self.lam - self._bend(*self.model.bends(x))

    def shard(self, rows: slice) -> "PerturbedShard":
        """What the owner of these rows owns."""
        return PerturbedShard(
            self.features[rows], self.labels[rows].copy(), self.model, self.loss, self.lam, self.penalty
        )

    def start(self) -> tuple[Array, Array]:
        """The model's own start, and no perturbation."""
        return self.model.start(), np.zeros(self.dim_y)

    def best_response(self, x: Array) -> Array:
        """y*(x), or a sentence where f(x, .) need not have one."""
        if self.concavity(x) <= 0:
            raise InnerMaximumError(
                f"the maximum over y is not known at ||x|| = {np.linalg.norm(x):.4g}, where f may bend upwards in y "
                f"by {self.lam - self.concavity(x):.4g} and `{self.name}` is {self.lam:g}; raise it or take smaller "
                "steps."
            )
        if isinstance(self.model, Linear):
            return self._along(x)
        return maximise(lambda y: self.gradient(x, y)[1], self.constraint.project, np.zeros(self.dim_y))

    def _along(self, x: Array) -> Array:
        """P_Y(t x) with lam t = mean_j l'(a_j'x + x'P_Y(t x)): what optimality says of a linear model's y*."""
        whole: PerturbedShard = self.whole
        scores = whole.rows.dot(x)

        def excess(t: float) -> float:
            shift = np.sum(x * self.constraint.project(t * x))
            return self.lam * t - float(self.loss.slopes((scores + shift)[None], self.labels).mean())

        reach = 1.0
        while excess(reach) < 0 or excess(-reach) > 0:
            reach *= 2
        return self.constraint.project(brentq(excess, -reach, reach, xtol=1e-300, rtol=1e-15) * x)

    def primal_bound(self) -> float:
        """Losses and penalties are at least 0, and y = 0 costs nothing."""
        return 0.0

    def constants(self, reach: float = 1.0) -> Constants:
        """Bounds while ||x|| <= `radius` and y is in Y, or where Y is everything, ||y|| <= `reach`."""
        match self.constraint:
            case Box():
                far = float(
                    max(np.max(np.abs(side)) for side in (self.constraint.low, self.constraint.high))
                ) * np.sqrt(self.dim_y)
            case Ball():
                far = self.constraint.radius
            case _:
                far = positive("reach", reach)
        h = self.model.bounds(self.radius, norms(self.features) + far)
        steep = self.loss.steepest(self.radius * h.x, self.labels)
        xx = self.loss.bend * h.x**2 + steep * h.xx + self.penalty.smoothness
        xy = self.loss.bend * h.x * h.u + steep * h.xu
        yy = self.lam + self.loss.dip * h.u**2 + (steep * h.uu if h.uu else np.zeros_like(steep))
        where = f"||y|| <= {far:g}" if isinstance(self.constraint, Everything) else "y is in Y"
        return Constants(
            L=self.root_mean_square(block_norms(xx, xy, yy)),
            mu=float(self.scales.min()) * (self.lam - self._bend_within(self.radius)),
            assumes=f"||x|| <= {self.radius:.4g} and {where}",
        )


class PerturbedShard:
    """The rows of one agent."""

    def __init__(self, features: Any, labels: Array, model: Model, loss: Loss, lam: float, penalty: Penalty) -> None:
        self.rows, self.labels, self.model, self.loss = Rows(features), labels, model, loss
        self.lam, self.penalty = lam, penalty
        self.samples = self.rows.count

    def value(self, x: Array, y: Array) -> float:
        """f_i(x, y)."""
        scores, _ = self.model.scores(x, y, self.rows)
        loss = float(np.mean(self.loss.losses(scores[None], self.labels)))
        return loss - self.lam / 2 * float(np.sum(y * y)) + self.penalty.value(x)

    def gradient(self, x: Array, y: Array, batch: Indices | None = None) -> tuple[Array, Array]:
        """The mean gradient over the batch (repeated rows add up), or of f_i."""
        rows, labels = self.rows.take(batch), self.labels if batch is None else self.labels[batch]
        scores, pull = self.model.scores(x, y, rows)
        gx, gy = pull(self.loss.slopes(scores[None], labels)[0] / rows.count)
        return gx + self.penalty.gradient(x), gy - self.lam * y


def mean_square(model: Model, rows: Rows, labels: Array, perturbed: bool, x: Array, y: Array) -> float:
    """The mean squared error of the scores, with the perturbation or without."""
    scores, _ = model.scores(x, y if perturbed else np.zeros_like(y), rows)
    return float(np.mean((scores - labels) ** 2))


def accuracy(model: Model, rows: Rows, labels: Array, perturbed: bool, x: Array, y: Array) -> float:
    """The share of rows whose score has the sign of the label, with the perturbation or without."""
    scores, _ = model.scores(x, y if perturbed else np.zeros_like(y), rows)
    return float(np.mean(labels * scores > 0))


def both(measure: Any, name: str, model: Model, features: Any, labels: Array) -> dict[str, Metric]:
    """The measure without and with the perturbation."""
    rows = Rows(features)
    return {
        name: partial(measure, model, rows, labels, False),
        f"perturbed_{name}": partial(measure, model, rows, labels, True),
    }
