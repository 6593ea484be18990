"""Sparse rows of several agents below each other, and products in which every agent has its own vector."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sparse

from raydream.problems.rows import Taken
from raydream.types import Array, Indices, Sparse


class Piled:
    """The rows of several agents; `begins` says where those of each begin."""

    def __init__(self, parts: Sequence[Sparse]) -> None:
        self.features = parts[0] if len(parts) == 1 else sparse.csr_array(sparse.vstack(list(parts)))
        self.width = int(self.features.shape[1])
        self.sizes = np.array([part.shape[0] for part in parts])
        self.begins = np.concatenate([[0], np.cumsum(self.sizes)])[:-1]

    def take(self, batches: Any) -> "Batch":
        """The rows of these numbers, a row of them for each agent; None: all rows."""
        if batches is None:
            return self.whole
        numbers = np.asarray(batches)
        owners = np.repeat(np.arange(len(self.sizes)), numbers.shape[1])
        return Batch(self, (numbers + self.begins[:, None]).ravel(), owners)

    @cached_property
    def whole(self) -> "Batch":
        """All rows."""
        return Batch(self, np.arange(self.sizes.sum()), np.repeat(np.arange(len(self.sizes)), self.sizes))


class Batch:
    """Some of the rows, agent after agent.

    rows    their numbers among all
    owners  the agent of each
    counts  how many are of the agent of each
    """

    def __init__(self, piled: Piled, rows: Indices, owners: Indices) -> None:
        self.rows, self.owners, self._piled = rows, owners, piled
        self.counts = np.bincount(owners, minlength=len(piled.sizes))[owners]
        self._taken = Taken(piled.features, rows)
        entry = owners[self._taken.places]
        self._columns = entry * piled.width + self._taken.columns  # in all agents' vectors, one after another

    def dot(self, X: Array) -> Array:
        """Each row times its agent's vector."""
        flat = np.ascontiguousarray(X).reshape(-1)
        products = self._taken.values * flat[self._columns]
        return np.bincount(self._taken.places, products, minlength=self.rows.size).astype(np.float64, copy=False)

    def combine(self, weights: Array) -> Array:
        """For each agent the sum of its rows, weighed."""
        products = self._taken.values * weights[self._taken.places]
        agents, width = len(self._piled.sizes), self._piled.width
        sums = np.bincount(self._columns, products, minlength=agents * width)
        return sums.astype(np.float64, copy=False).reshape(agents, width)
