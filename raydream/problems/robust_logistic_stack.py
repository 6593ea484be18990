"""Shards of robust logistic regression that answer together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sparse
from scipy.special import expit

from raydream.problems.rows import Taken
from raydream.types import Array, Indices

if TYPE_CHECKING:
    from raydream.problems.robust_logistic import RobustLogisticShard

SMALL = 4000  # entries of a shard: below, one call for all shards costs less than one for each


class RobustLogisticStack:
    """The rows of several shards below each other. Each agent's sums run over its own rows, in their order."""

    def __init__(self, shards: "Sequence[RobustLogisticShard]") -> None:
        first = shards[0]
        self.shards, self.total, self.radius, self.penalty = shards, first.total, first.radius, first.penalty
        parts = [shard.features for shard in shards]
        self.features = parts[0] if len(parts) == 1 else sparse.csr_array(sparse.vstack(parts))
        self.width = int(self.features.shape[1])
        self.samples = np.array([shard.samples for shard in shards])
        self.begins = np.concatenate([[0], np.cumsum(self.samples)])[:-1]
        self.offsets = np.array([shard.offset for shard in shards])
        self._small = self.features.nnz < SMALL * len(shards)

    def gradient(self, Z: Array, batches: Any, G: Array) -> None:
        """As each shard's `gradient`, for all of them."""
        X, Y = Z[:, : self.width], Z[:, self.width :]
        np.subtract(self.radius / self.total, Y, out=G[:, self.width :])
        if batches is not None:
            numbers = np.asarray(batches)
            self._at(numbers, np.full(len(Z), self.radius / numbers.shape[1]), Z, G)
        elif self._small and np.ptp(self.samples) == 0:
            numbers = np.broadcast_to(np.arange(self.samples[0]), (len(Z), self.samples[0]))
            self._at(numbers, self.radius / self.samples, Z, G)
        else:
            for row, shard in enumerate(self.shards):
                own = slice(self.width + shard.offset, self.width + shard.offset + shard.samples)
                margins, scale = shard.features @ X[row], self.radius / shard.samples
                G[row, : self.width] = shard.features.T @ (-scale * Z[row, own] * expit(-margins))
                G[row, own] += scale * np.logaddexp(0.0, -margins)
        G[:, : self.width] += self.penalty.gradient(X)

    def _at(self, numbers: Indices, scales: Array, Z: Array, G: Array) -> None:
        """The samples of these numbers, a row of them for each agent: x's part written, y's added."""
        agents, count = numbers.shape
        taken = Taken(self.features, (numbers + self.begins[:, None]).ravel())
        owner = np.repeat(np.arange(agents), count)
        entry = owner[taken.places]
        products = taken.values * Z[entry, taken.columns]
        margins = np.bincount(taken.places, products, minlength=owner.size).astype(np.float64, copy=False)
        places = (numbers + self.offsets[:, None]).ravel() + self.width
        scale = scales[owner]
        weights = -scale * Z[owner, places] * expit(-margins)
        sums = np.bincount(
            entry * self.width + taken.columns, taken.values * weights[taken.places], minlength=agents * self.width
        )
        G[:, : self.width] = sums.reshape(agents, self.width)
        np.add.at(G.reshape(-1), owner * G.shape[1] + places, scale * np.logaddexp(0.0, -margins))
