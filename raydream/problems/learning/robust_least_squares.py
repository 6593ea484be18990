"""Robust least squares: the adversary moves the targets."""

from functools import partial
from typing import Annotated, Any

import numpy as np

from raydream.checks import positive, vector
from raydream.constraints import Everything
from raydream.parameters import Positive
from raydream.problems.learning.on_rows import HeldOut, Metric, OnRows
from raydream.problems.protocol import Constants
from raydream.problems.registry import maker_on_data
from raydream.problems.rows import Rows, norms, spectral_norm
from raydream.types import Array, Indices


@maker_on_data("robust-least-squares")
class RobustLeastSquares(OnRows):
    """Least squares x against an adversary y who moves the targets b of all N rows.

        f(x, y) = (||A x - sqrt(N) y||^2 - lam ||sqrt(N) y - b||^2) / (2 N),    Y = R^N

    which is the published problem in the coordinates sqrt(N) y of its y. Agent i has
    f_i = ||A_i x - sqrt(N) y_i||^2 / (2 n) - lam ||sqrt(N) y - b||^2 / (2 N), where y_i are the coordinates of its
    rows: f is strongly concave in y where lam > 1, every f_i where lam > N/n, which is m where agents own as many
    rows. Hence lam must exceed N/n of the smallest shard, and is twice that unless given; mu = lam - N/n.

        sqrt(N) y*(x) = (lam b - A x) / (lam - 1),    P(x) = lam ||A x - b||^2 / (2 N (lam - 1))

    so that P is least at the least-squares solution, `solution()`. After El Ghaoui, Lebret (1997), in the
    form of SPIDER-GDA's public code. Metric: mean squared error.
    """

    def __init__(
        self, features: Any, targets: Any = None, agents: int | None = None, *,
        lam: Annotated[Positive | None, "price of moving the targets, above N/n (m, if shards are equal); empty: 2 N/n"]
        = None,
        held_out: HeldOut = 0.2,
    ) -> None:  # fmt: skip
        super().__init__(features, targets, agents, held_out)
        vector("targets", self.labels)
        steepest = float(self.total / self.sizes.min())
        self.lam = 2.0 * steepest if lam is None else positive("lam", lam)
        if self.lam <= steepest:
            which = "N/n of the smallest shard" if np.ptp(self.sizes) else "the number of agents"
            raise ValueError(
                f"`lam` must exceed {which}, {steepest:g}, for every agent's function to be strongly concave in y; "
                f"got {self.lam:g}."
            )
        self.dim_y, self.constraint = self.total, Everything()
        self.centre: Array = self.labels / np.sqrt(self.total)

    def shard(self, rows: slice) -> "LeastSquaresShard":
        """What the owner of these rows owns."""
        return LeastSquaresShard(self.features[rows], rows.start, self.centre, self.lam)

    def start(self) -> tuple[Array, Array]:
        """x = 0, and the targets as they are."""
        return np.zeros(self.dim_x), self.centre.copy()

    def best_response(self, x: Array) -> Array:
        """y*(x) in closed form."""
        fitted = self.whole.rows.dot(x) / np.sqrt(self.total)
        return np.asarray((self.lam * self.centre - fitted) / (self.lam - 1), dtype=np.float64)

    def solution(self) -> Array:
        """The x of least P (that of least norm, where there are several)."""
        gram = (self.features.T @ self.features).toarray()
        return np.asarray(np.linalg.lstsq(gram, self.features.T @ self.labels, rcond=None)[0], dtype=np.float64)

    def primal_minimum(self) -> float:
        """The least value of P."""
        gap = self.features @ self.solution() - self.labels
        return float(self.lam / (2 * self.total * (self.lam - 1)) * np.sum(gap**2))

    def primal_bound(self) -> float:
        """The least value of P."""
        return self.primal_minimum()

    def constants(self) -> Constants:
        """Hessians of components are N v v' - lam I_y with v = (a_j / sqrt(N), -e_j), and those of f_i their means.

        All are scaled by s_i.
        """
        N, n, s = self.total, self.sizes, self.scales
        largest = float(norms(self.features).max(initial=0.0)) ** 2
        squares = np.array([spectral_norm(self.features[self.own(i)]) ** 2 / N + 1 for i in range(self.agents)])
        return Constants(
            L=float(np.max(s * (np.sqrt(N * (largest + N) * squares / n) + self.lam))),
            mu=float(np.min(s * (self.lam - N / n))),
            L_full=float(np.max(s * np.maximum(N / n * squares, self.lam))),
        )

    def measures(self, features: Any, labels: Array) -> dict[str, Metric]:
        """The mean squared error."""
        return {"mse": partial(_mean_square, Rows(features), labels)}


def _mean_square(rows: Rows, targets: Array, x: Array, y: Array) -> float:
    return float(np.mean((rows.dot(x) - targets) ** 2))


class LeastSquaresShard:
    """The rows of one agent, and where they stand in the whole y."""

    def __init__(self, features: Any, offset: int, centre: Array, lam: float) -> None:
        self.rows, self.offset, self.centre, self.lam = Rows(features), offset, centre.copy(), lam
        self.samples, self.root = self.rows.count, float(np.sqrt(centre.size))

    def value(self, x: Array, y: Array) -> float:
        """f_i(x, y)."""
        gaps = self.rows.dot(x) - self.root * y[self.offset : self.offset + self.samples]
        return float(np.sum(gaps**2)) / (2 * self.samples) - self.lam / 2 * float(np.sum((y - self.centre) ** 2))

    def gradient(self, x: Array, y: Array, batch: Indices | None = None) -> tuple[Array, Array]:
        """The mean gradient over the batch (repeated rows add up), or of f_i."""
        rows = self.rows.take(batch)
        places = self.offset + (np.arange(self.samples) if batch is None else np.asarray(batch))
        gaps = (rows.dot(x) - self.root * y[places]) / rows.count
        gy = -self.lam * (y - self.centre)
        np.add.at(gy, places, -self.root * gaps)
        return rows.combine(gaps), gy
