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


def rows_onto_simplex(rows: Array, radius: float, out: Array) -> None:
    """Each row's nearest point, written to `out`; numbers of one row lie side by side in both."""
    library, done = compiled(), 0
    if library is not None:
        v, width = address(_SCRATCH.of(rows.shape[1])), rows.shape[1]
        while done < len(rows):
            apart, place = rows.strides[0] // 8, out.strides[0] // 8
            done += library.rows_onto_simplex(
                len(rows) - done,
                width,
                radius,
                address(rows[done:]),
                apart,
                v,
                v + 8 * width,
                address(out[done:]),
                place,
            )
            if done < len(rows):
                out[done] = plain.onto_simplex(rows[done], radius)
                done += 1
    for row in range(done, len(rows)):
        out[row] = plain.onto_simplex(rows[row], radius)
