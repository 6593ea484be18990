"""The projection of one vector on the simplex."""

import threading

import numpy as np

from raydream.kernels import plain
from raydream.kernels.library import address, compiled
from raydream.types import Array


class _Scratch(threading.local):
    """Memory for intermediate vectors, one lot per thread: vectors of the same length come again and again."""

    def __init__(self) -> None:
        self.vectors = np.empty((2, 0))

    def of(self, size: int) -> Array:
        """Two vectors."""
        if self.vectors.shape[1] != size:
            self.vectors = np.empty((2, size))
        return self.vectors


_SCRATCH = _Scratch()


def onto_simplex(y: Array, radius: float, out: Array | None = None) -> Array:
    """The nearest point of {u >= 0, sum u = radius} to a contiguous vector of float64; in `out` if given."""
    found = np.empty_like(y) if out is None else out
    library = compiled()
    if library is not None:
        v = address(_SCRATCH.of(y.size))
        if library.onto_simplex(address(y), y.size, radius, v, v + 8 * y.size, address(found)) == 0:
            return found
    found[...] = plain.onto_simplex(y, radius)
    return found
