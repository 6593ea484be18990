"""The projection of vectors on the simplex."""

import numpy as np

from raydream.kernels import plain
from raydream.kernels.library import address, compiled
from raydream.types import Array


def onto_simplex(y: Array, radius: float, out: Array | None = None) -> Array:
    """The nearest point of {u >= 0, sum u = radius} to a contiguous vector of float64; in `out` if given."""
    found = np.empty_like(y) if out is None else out
    library = compiled()
    if library is None or library.onto_simplex(address(y), y.size, radius, address(found)) != 0:
        found[...] = plain.onto_simplex(y, radius)
    return found


def rows_onto_simplex(rows: Array, radius: float, out: Array) -> None:
    """Each row's nearest point, written to `out`; numbers of one row lie side by side in both."""
    library, done = compiled(), 0
    while done < len(rows):
        if library is not None:
            apart, place = rows.strides[0] // 8, out.strides[0] // 8
            places = address(rows[done:]), apart, address(out[done:]), place
            done += library.rows_onto_simplex(len(rows) - done, rows.shape[1], radius, *places)
        if done < len(rows):
            out[done] = plain.onto_simplex(rows[done], radius)
            done += 1
