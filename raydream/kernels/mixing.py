"""A round of mixing: weighted sums of rows, and the momentum of FastMix."""

from typing import Any

import numpy as np

from raydream.kernels import plain
from raydream.kernels.library import SUFFIX, address, compiled
from raydream.types import Array


class Weights:
    """A sparse matrix W in CSR form, columns sorted: `weights(V)` is W V, each row's sum in the order of columns."""

    def __init__(self, W: Any) -> None:
        self.W = W
        self._columns = W.shape[1]
        library = compiled()
        kind = SUFFIX.get(W.dtype.char)
        self._sums = None if library is None or kind is None else getattr(library, f"weighted_sums_{kind}")
        self._parts = (W.indptr.astype(np.int32), W.indices.astype(np.int32), np.ascontiguousarray(W.data))
        self._places = tuple(map(address, self._parts))

    def __call__(self, V: Array) -> Array:
        """W V, as a new array."""
        fits = V.dtype == self.W.dtype and V.flags.c_contiguous and V.ndim == 2 and len(V) == self._columns
        if self._sums is None or not fits:
            sums: Array = self.W @ V
            return sums
        out = np.empty((self.W.shape[0], V.shape[1]), dtype=V.dtype)
        self._sums(len(out), V.shape[1], *self._places, address(V), address(out))
        return out


def accelerate(heard: Array, previous: Array, eta: float, scratch: Array) -> Array:
    """(1 + eta) heard - eta previous, in the place of `heard`; `scratch` may be written to."""
    library, kind = compiled(), SUFFIX.get(heard.dtype.char)
    fits = heard.flags.c_contiguous and previous.flags.c_contiguous and previous.dtype == heard.dtype
    if library is None or kind is None or not fits:
        return plain.accelerate(heard, previous, eta, scratch)
    getattr(library, f"accelerate_{kind}")(heard.size, address(heard), address(previous), eta)
    return heard
