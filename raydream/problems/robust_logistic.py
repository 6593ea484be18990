"""Distributionally robust logistic regression, the problem of the paper's experiments."""

from typing import Annotated, Any

import numpy as np
import scipy.sparse as sparse
from scipy.special import expit

from raydream.checks import choice, not_negative, positive
from raydream.constraints import Simplex
from raydream.parameters import one_of
from raydream.problems.dealt import DealtRows
from raydream.problems.penalty import Nu, SaturatingPenalty, Theta
from raydream.problems.protocol import Constants, LocalProblem
from raydream.problems.registry import maker_on_data
from raydream.problems.rows import Taken, checked_classes, norms, spectral_norm
from raydream.problems.stacks.robust_logistic import RobustLogisticStack
from raydream.types import Array, Indices

SCALINGS = ("balanced", "paper")


@maker_on_data("robust-logistic")
class RobustLogisticRegression(DealtRows):
    """A linear classifier x against an adversary y who reweights the N samples.

        f_i(x, y) = (r/n) sum_j y_ij l_ij(x) - ||y - r/N||^2 / 2 + theta sum_k nu x_k^2 / (1 + nu x_k^2)
        Y = {y in R^N : y >= 0, sum y = r}

    where l_ij(x) = log(1 + exp(-b_ij a_ij'x)), agent i owns samples i n to (i+1) n, and y_ij is the coordinate
    i n + j of the whole y, of which every agent holds a copy. Where `Shards` say otherwise, agent i owns n_i samples,
    and s_i f_i with s_i = m n_i / N is its function: f is the same whoever owns which samples.

    scaling="paper": r = 1, the printed problem (section 4 of the paper, with the sign of the usual loss). All of
    it is about 1/N in size. scaling="balanced": r = sqrt(N), the printed problem multiplied by N in coordinates
    sqrt(N) y, where theta stands for the paper's N theta.

    P, its gradient and y*(x) are exact: y*(x) is the projection of (r/N)(1 + l(x)) on Y.
    """

    def __init__(
        self,
        features: Any,
        labels: Any = None,
        agents: int | None = None,
        *,
        scaling: Annotated[
            str,
            one_of(SCALINGS),
            "balanced: multiplied by N in better coordinates; paper: as the paper prints it, where P hardly moves",
        ] = "balanced",
        theta: Theta = 1e-3,
        nu: Nu = 10.0,
    ) -> None:
        super().__init__(features, labels, agents)
        checked_classes(self.labels)
        self.scaling = choice("scaling", scaling, SCALINGS)
        self.dim_x, self.dim_y = int(self.features.shape[1]), self.total
        self.radius = 1.0 if scaling == "paper" else float(np.sqrt(self.total))
        self.constraint = Simplex(self.radius)
        self.penalty = SaturatingPenalty(not_negative("theta", theta), positive("nu", nu))
        self._whole = AllSamples(self.features, self.labels, 0, self.total, self.radius, self.penalty)

    def local(self, i: int) -> LocalProblem:
        """The samples of agent i."""
        rows = self.own(i)
        return self.scaled(
            i,
            RobustLogisticShard(
                self.features[rows], self.labels[rows], rows.start, self.total, self.radius, self.penalty
            ),
        )

    def pooled(self) -> "RobustLogisticRegression":
        """The same problem with all samples on one agent."""
        one = RobustLogisticRegression(
            self.features, self.labels, 1, scaling=self.scaling, theta=self.penalty.theta, nu=self.penalty.nu
        )
        one.cut = self.cut
        return one

    def start(self) -> tuple[Array, Array]:
        """x = 0 and uniform weights."""
        return np.zeros(self.dim_x), np.full(self.dim_y, self.radius / self.total)

    def value(self, x: Array, y: Array) -> float:
        """f(x, y)."""
        return self._whole.value(x, y)

    def gradient(self, x: Array, y: Array) -> tuple[Array, Array]:
        """The gradients of f in x and in y."""
        return self._whole.gradient(x, y)

    def best_response(self, x: Array) -> Array:
        """y*(x), one projection."""
        return self.constraint.project(self.radius / self.total * (1.0 + self._whole.losses(x)))

    def primal_bound(self) -> float:
        """P is at least 0: losses are, and the adversary can always choose uniform weights."""
        return 0.0

    def accuracy(self, x: Array) -> float:
        """The share of samples that x classifies rightly."""
        return float(np.mean(self.labels * (self.features @ x) > 0))

    def constants(self, weight: float = 2.0) -> Constants:
        """Bounds that hold while every sample weighs at most `weight` times its uniform share r/N.

        (On all of Y one sample may carry the whole weight, and no useful bound holds.)
        """
        positive("weight", weight)
        r, largest = self.radius, float(norms(self.features).max(initial=0.0))
        own = weight * r / self.total * r / 4  # second derivative of y_k l_k in units of a_k a_k'
        curve = self.penalty.smoothness
        L, L_full = [], []
        for i, (n, s) in enumerate(zip(self.sizes, self.scales, strict=True)):
            spectral, root = spectral_norm(self.features[self.own(i)]), np.sqrt(n)
            # Norms of the blocks of the Hessian of f_i, and root mean squares over the Hessians of its components.
            full = [[own * spectral**2 / n + curve, r * spectral / n], [r * spectral / n, 1.0]]
            single = [[own * largest * spectral / root + curve, r * largest / root], [r * spectral / root, 1.0]]
            L.append(s * np.linalg.norm(single, 2))
            L_full.append(s * np.linalg.norm(full, 2))
        return Constants(
            L=float(max(L)),
            mu=float(self.scales.min()),
            L_full=float(max(L_full)),
            assumes=f"every sample weighs at most {weight:g} times its uniform share",
        )


class RobustLogisticShard:
    """The samples of one agent, and where they stand in the whole y."""

    def __init__(
        self, features: Any, labels: Array, offset: int, total: int, radius: float, penalty: SaturatingPenalty
    ) -> None:
        # Each row is multiplied by its label once, so that the margin of a sample is one product.
        self.features = sparse.csr_array(features.multiply(labels[:, None]))
        self.features.sort_indices()
        self.samples, self.offset, self.total = int(features.shape[0]), offset, total
        self.radius, self.penalty = radius, penalty

    stacked = RobustLogisticStack

    def losses(self, x: Array) -> Array:
        """l_ij(x) for every sample of the shard."""
        return self.margins_and_losses(x)[1]

    def margins_and_losses(self, x: Array) -> tuple[Array, Array]:
        """b_ij a_ij'x and l_ij(x) for every sample of the shard."""
        margins: Array = self.features @ x
        return margins, _logistic(margins)

    def value(self, x: Array, y: Array) -> float:
        """f_i(x, y)."""
        own = y[self.offset : self.offset + self.samples]
        weighted = float(np.sum(own * self.losses(x))) * (self.radius / self.samples)
        return weighted - float(np.sum((y - self.radius / self.total) ** 2)) / 2 + self.penalty.value(x)

    def gradient(self, x: Array, y: Array, batch: Indices | None = None) -> tuple[Array, Array]:
        """The mean gradient over the batch (repeated samples add up), or of f_i."""
        if batch is None:
            own = slice(self.offset, self.offset + self.samples)
            (margins, losses), scale = self.margins_and_losses(x), self.radius / self.samples
            gx = self.features.T @ (-scale * y[own] * expit(-margins))
            gy = self.radius / self.total - y
            gy[own] += scale * losses
        else:
            places, rows = np.asarray(batch) + self.offset, Taken(self.features, batch)
            margins, scale = rows.dot(x), self.radius / rows.count
            gx = rows.combine(-scale * y[places] * expit(-margins))
            gy = self.radius / self.total - y
            np.add.at(gy, places, scale * _logistic(margins))
        return gx + self.penalty.gradient(x), gy


class AllSamples(RobustLogisticShard):
    """The samples of all agents. P, its gradient and the dual gap ask for the losses at the same x: the last are kept.

    (They are most of what a record costs.)
    """

    _last: tuple[bytes, tuple[Array, Array]] | None = None

    def margins_and_losses(self, x: Array) -> tuple[Array, Array]:
        """As for any shard, not to be written to."""
        asked, last = x.tobytes(), self._last
        if last is None or last[0] != asked:
            last = asked, super().margins_and_losses(x)
            self._last = last
        return last[1]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_last"}


def _logistic(margins: Array) -> Array:
    """log(1 + exp(-margin)), without overflow."""
    losses: Array = np.logaddexp(0.0, -margins)
    return losses
