"""Shards of robust logistic regression that answer together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from raydream.problems.stacks.piled import Batch, Piled
from raydream.types import Array

if TYPE_CHECKING:
    from raydream.problems.robust_logistic import RobustLogisticShard

SMALL = 4000  # entries of a shard: below, one call for all shards costs less than one for each


class RobustLogisticStack:
    """As each shard's `gradient`, for all of them."""

    def __init__(self, shards: "Sequence[RobustLogisticShard]") -> None:
        first = shards[0]
        self.shards, self.total, self.radius, self.penalty = shards, first.total, first.radius, first.penalty
        self.piled = Piled([shard.features for shard in shards])
        self.width = self.piled.width
        # from a row's number among all rows here to its coordinate of z
        self.shift = np.array([shard.offset for shard in shards]) - self.piled.begins + self.width
        self._small = self.piled.features.nnz < SMALL * len(shards)

    def gradient(self, Z: Array, batches: Any, G: Array) -> None:
        """Over batches, or over whole shards."""
        X, Y = Z[:, : self.width], Z[:, self.width :]
        np.subtract(self.radius / self.total, Y, out=G[:, self.width :])
        if batches is not None or self._small:
            self._at(self.piled.take(batches), Z, G)
        else:
            for row, shard in enumerate(self.shards):
                own = slice(self.width + shard.offset, self.width + shard.offset + shard.samples)
                margins, scale = shard.features @ X[row], self.radius / shard.samples
                G[row, : self.width] = shard.features.T @ (-scale * Z[row, own] * expit(-margins))
                G[row, own] += scale * np.logaddexp(0.0, -margins)
        G[:, : self.width] += self.penalty.gradient(X)

    def _at(self, batch: Batch, Z: Array, G: Array) -> None:
        """These samples: x's part written, y's added."""
        margins, scale = batch.dot(Z[:, : self.width]), self.radius / batch.counts
        places = batch.rows + self.shift[batch.owners]
        G[:, : self.width] = batch.combine(-scale * Z[batch.owners, places] * expit(-margins))
        np.add.at(G.reshape(-1), batch.owners * G.shape[1] + places, scale * np.logaddexp(0.0, -margins))
