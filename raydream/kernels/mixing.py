"""Rounds of mixing: weighted sums of rows, and the momentum of FastMix."""

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
        known = library is not None and kind is not None
        self._sums = getattr(library, f"weighted_sums_{kind}") if known else None
        self._rows = getattr(library, f"weighted_rows_{kind}") if known else None
        self._rounds = getattr(library, f"rounds_{kind}") if known else None
        self._room: int = getattr(library, f"room_{kind}")(W.shape[0]) if known else 0
        self._parts = (W.indptr.astype(np.int32), W.indices.astype(np.int32), np.ascontiguousarray(W.data))
        self._places = tuple(map(address, self._parts))

    def __call__(self, V: Array) -> Array:
        """W V, as a new array."""
        if self._sums is None or not self._fits(V):
            sums: Array = self.W @ V
            return sums
        out = np.empty((self.W.shape[0], V.shape[1]), dtype=V.dtype)
        self._sums(len(out), V.shape[1], *self._places, address(V), address(out))
        return out

    @property
    def takes_places(self) -> bool:
        """Whether `of_rows` can be called."""
        return self._rows is not None

    def of_rows(self, places: Any, width: int) -> Array:
        """W V, where the address of each row of V, `width` numbers of the type of W, is in `places`."""
        assert self._rows is not None
        out = np.empty((self.W.shape[0], width), dtype=self.W.dtype)
        self._rows(len(out), width, *self._places, address(places), address(out))
        return out

    def rounds(self, V: Array, count: int, eta: float | None) -> Array:
        """V after so many rounds of a square W: A+ = W A, or (1 + eta) W A - eta A_before where eta is given.

        Rounds go column by column: all of them on columns that stay in the cache before the next. The bits are those
        of one round after the other.
        """
        if count == 0:
            return V
        if self._rounds is None or not self._fits(V):
            return plain.rounds(self, V, count, eta)
        out, room = np.empty_like(V), np.empty(self._room, dtype=V.dtype)
        how = (count, 0, 0.0) if eta is None else (count, 1, eta)
        self._rounds(*V.shape, *self._places, address(V), address(out), *how, address(room))
        return out

    def _fits(self, V: Array) -> bool:
        """Whether the compiled loops know how to read V."""
        return V.dtype == self.W.dtype and V.flags.c_contiguous and V.ndim == 2 and len(V) == self._columns


def accelerate(heard: Array, previous: Array, eta: float, scratch: Array) -> Array:
    """(1 + eta) heard - eta previous, in the place of `heard`; `scratch` may be written to."""
    library, kind = compiled(), SUFFIX.get(heard.dtype.char)
    fits = heard.flags.c_contiguous and previous.flags.c_contiguous and previous.dtype == heard.dtype
    if library is None or kind is None or not fits:
        return plain.accelerate(heard, previous, eta, scratch)
    getattr(library, f"accelerate_{kind}")(heard.size, address(heard), address(previous), eta)
    return heard
