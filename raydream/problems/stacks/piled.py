"""Sparse rows of several agents below each other, and products in which every agent has its own vector."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sparse

from raydream.kernels import SparseRows
from raydream.problems.rows import Taken
from raydream.types import Array, Indices, Sparse


class Piled:
    """The rows of several agents; `begins` says where those of each begin."""

    def __init__(self, parts: Sequence[Sparse]) -> None:
        self.features = parts[0] if len(parts) == 1 else sparse.csr_array(sparse.vstack(list(parts)))
        self.width = int(self.features.shape[1])
        self.sizes = np.array([part.shape[0] for part in parts])
        self.begins = np.concatenate([[0], np.cumsum(self.sizes)])[:-1]
        self.sparse = SparseRows(self.features)

    def take(self, batches: Any) -> "Batch":
        """The rows of these numbers, a row of them for each agent; None: all rows."""
        if batches is None:
            return self.whole
        numbers = np.asarray(batches, dtype=np.int64)
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

    def dot(self, X: Array) -> Array:
        """Each row times its agent's vector."""
        found = self._piled.sparse.products(self.rows, self.owners, X)
        if found is not None:
            return found
        taken, columns = self._entries
        products = taken.values * np.ascontiguousarray(X).reshape(-1)[columns]
        return np.bincount(taken.places, products, minlength=self.rows.size).astype(np.float64, copy=False)

    def combine(self, weights: Array) -> Array:
        """For each agent the sum of its rows, weighed."""
        agents, width = len(self._piled.sizes), self._piled.width
        found = self._piled.sparse.sums(self.rows, self.owners, weights, agents)
        if found is not None:
            return found
        taken, columns = self._entries
        sums = np.bincount(columns, taken.values * weights[taken.places], minlength=agents * width)
        return sums.astype(np.float64, copy=False).reshape(agents, width)

    @cached_property
    def _entries(self) -> tuple[Taken, Indices]:
        """The entries of the rows, and their columns in all agents' vectors, one after another."""
        taken = Taken(self._piled.features, self.rows)
        return taken, self.owners[taken.places] * self._piled.width + taken.columns
