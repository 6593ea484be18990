"""Sparse rows of several agents, multiplied where they lie."""

from typing import Any

import numpy as np

from raydream.kernels.library import address, compiled
from raydream.types import Array, Indices

LARGEST = 2**31 - 1  # entries: beyond, their places do not fit


class SparseRows:
    """The rows of a sparse matrix of float64 in CSR form; some are asked for by number, and each has an owner.

    None where there is nobody to do it at once: then take the entries out and let NumPy sum them.
    """

    def __init__(self, matrix: Any) -> None:
        library = compiled() if matrix.nnz <= LARGEST and matrix.dtype == np.float64 else None
        self._library, self._width = library, int(matrix.shape[1])
        if library is not None:
            self._parts = (matrix.indptr.astype(np.int32, copy=False), matrix.indices.astype(np.int32, copy=False),
                           np.ascontiguousarray(matrix.data))  # fmt: skip
            self._places = tuple(map(address, self._parts))

    def products(self, rows: Indices, owners: Indices, X: Array) -> Array | None:
        """Each row times its owner's row of X, the sum in the order of entries."""
        if self._library is None or X.strides[1] != 8:
            return None
        out = np.empty(len(rows))
        places = address(rows), address(owners), *self._places, address(X)
        self._library.row_products(len(rows), *places, X.strides[0] // 8, address(out))
        return out

    def sums(self, rows: Indices, owners: Indices, weights: Array, agents: int) -> Array | None:
        """For each of so many owners the weighed sum of its rows, in their order."""
        if self._library is None:
            return None
        out, weighed = np.zeros((agents, self._width)), np.ascontiguousarray(weights, dtype=np.float64)
        places = address(rows), address(owners), *self._places, address(weighed)
        self._library.row_sums(len(rows), *places, self._width, address(out))
        return out
