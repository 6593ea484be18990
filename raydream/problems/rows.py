"""Sparse rows as problems on data use them: checked once, multiplied whole or by batches."""

from typing import Any

import numpy as np
import scipy.sparse as sparse

from raydream.checks import real
from raydream.types import Array, Indices, Sparse


class Rows:
    """The rows a_j of a sparse matrix; a batch of them costs what its rows hold."""

    def __init__(self, features: Sparse) -> None:
        self.features = sparse.csr_array(features)
        self.features.sort_indices()
        self.count, self.width = (int(size) for size in self.features.shape)

    def take(self, batch: Indices | None) -> "Rows | Taken":
        """All rows, or those of a batch of row numbers, repeated ones as often as they occur."""
        return self if batch is None else Taken(self.features, batch)

    def dot(self, x: Array) -> Array:
        """a_j'x for every row."""
        products: Array = self.features @ x
        return products

    def combine(self, weights: Array) -> Array:
        """sum_j weights_j a_j."""
        combined: Array = self.features.T @ weights
        return combined


class Taken:
    """The entries of a batch's rows: values, columns, and the row's place in the batch.

    (Indexing the sparse matrix would do the same and cost five times as much on a small batch.)
    """

    def __init__(self, features: Sparse, batch: Indices) -> None:
        begins, ends = features.indptr[batch], features.indptr[np.add(batch, 1)]
        counts = ends - begins
        self.count, self.width = len(counts), int(features.shape[1])
        self.places = np.repeat(np.arange(self.count), counts)
        entries = np.arange(self.places.size) + np.repeat(begins - np.cumsum(counts) + counts, counts)
        self.values, self.columns = features.data[entries], features.indices[entries]

    def dot(self, x: Array) -> Array:
        """a_j'x for every row of the batch."""
        return np.bincount(self.places, self.values * x[self.columns], minlength=self.count).astype(np.float64)

    def combine(self, weights: Array) -> Array:
        """sum_j weights_j a_j over the batch."""
        return np.bincount(self.columns, self.values * weights[self.places], minlength=self.width).astype(np.float64)


def dots(rows: Rows | Taken, X: Array) -> Array:
    """a_j'X_k for every row j and every k: shape (k, rows)."""
    return np.stack([rows.dot(x) for x in X])


def combines(rows: Rows | Taken, weights: Array) -> Array:
    """sum_j weights_kj a_j for every k."""
    return np.stack([rows.combine(one) for one in weights])


def norms(features: Sparse) -> Array:
    """||a_j|| for every row."""
    lengths: Array = np.sqrt(features.multiply(features).sum(axis=1)).ravel()
    return lengths


def spectral_norm(features: Sparse) -> float:
    """The largest singular value of a sparse matrix."""
    if min(features.shape) < 3:
        return float(np.linalg.norm(features.toarray(), 2))
    if not features.count_nonzero():
        return 0.0
    from scipy.sparse.linalg import svds  # every actor would pay for it

    # A plain start such as 1 lies in the kernel of centred features.
    start = np.random.default_rng(0).normal(size=min(features.shape))
    return float(svds(features, k=1, return_singular_vectors=False, v0=start)[0])


def checked_rows(features: Any, labels: Any) -> tuple[Sparse, Array]:
    """Features as CSR and labels as float64, or a sentence about what is wrong with them."""
    # Copies: sorting in place would reorder the columns of a caller's matrix, but not its entries.
    data = sparse.csr_array(real("features", features), dtype=np.float64).sorted_indices()
    labels = np.array(real("labels", labels), dtype=np.float64)
    if data.ndim != 2 or data.shape[1] < 1:
        raise ValueError(f"`features` must be a matrix with at least one column; got shape {data.shape}.")
    if labels.shape != (data.shape[0],):
        raise ValueError(
            f"`labels` must have one entry per row of `features`; got shape {labels.shape} for {data.shape[0]} rows."
        )
    if not np.isfinite(data.data).all():
        row = int(np.searchsorted(data.indptr, np.flatnonzero(~np.isfinite(data.data))[0], side="right")) - 1
        raise ValueError(f"`features` must be finite; row {row} holds NaN or infinity.")
    return data, labels


def checked_classes(labels: Array) -> Array:
    """Labels that are -1 and +1, both of them where there is more than one row, or a sentence."""
    checked_signs(labels)
    if labels.size > 1 and (labels == labels[0]).all():
        raise ValueError(f"`labels` must hold both classes; all rows in use are {labels[0]:+g}.")
    return labels


def checked_signs(labels: Array) -> Array:
    """Labels that are all -1 or +1, or a sentence."""
    wrong = np.flatnonzero(np.abs(labels) != 1)
    if wrong.size:
        raise ValueError(f"`labels` must be -1 or +1; entry {int(wrong[0])} is {labels[wrong[0]]}.")
    return labels
