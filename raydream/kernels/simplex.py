"""The projection of one vector on the simplex."""

import numpy as np

from raydream.kernels import plain
from raydream.kernels.library import address, compiled
from raydream.types import Array


def onto_simplex(y: Array, radius: float) -> Array:
    """The nearest point of {u >= 0, sum u = radius}, for a C-contiguous vector of float64."""
    library = compiled()
    if library is not None:
        v, excess, out = np.empty_like(y), np.empty_like(y), np.empty_like(y)
        if library.onto_simplex(address(y), y.size, radius, address(v), address(excess), address(out)) == 0:
            return out
    return plain.onto_simplex(y, radius)
