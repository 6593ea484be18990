"""Shards of classification with weighed groups that answer together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from raydream.problems.stacks.piled import Piled
from raydream.types import Array

if TYPE_CHECKING:
    from raydream.problems.learning.grouped import GroupedShard


class GroupedStack:
    """As each shard's `gradient`, for all of them, where there are two classes."""

    def __init__(self, shards: "Sequence[GroupedShard]") -> None:
        first = shards[0]
        self.weights, self.loss, self.penalty = first.weights, first.loss, first.penalty
        self.lam, self.centre = first.lam, first.centre
        self.piled = Piled([shard.rows.features for shard in shards])
        self.labels = np.concatenate([shard.labels for shard in shards])
        self.groups = np.concatenate([shard.groups for shard in shards])

    def gradient(self, Z: Array, batches: Any, G: Array) -> None:
        """Over batches, or over whole shards."""
        width = self.piled.width
        X, Y = Z[:, :width], Z[:, width:]
        batch = self.piled.take(batches)
        labels, groups = self.labels[batch.rows], self.groups[batch.rows]
        scores, weights = batch.dot(X)[None], self.weights[groups] / batch.counts
        slopes = weights * Y[batch.owners, groups] * self.loss.slopes(scores, labels)
        G[:, :width] = batch.combine(slopes[0]) + self.penalty.gradient(X)
        places = batch.owners * Y.shape[1] + groups
        losses = np.bincount(places, weights * self.loss.losses(scores, labels), minlength=Y.size)
        G[:, width:] = losses.reshape(Y.shape) - self.lam * (Y - self.centre)
