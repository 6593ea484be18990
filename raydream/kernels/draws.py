"""Batches of several agents, each from a stream of its own."""

from typing import Any

import numpy as np

from raydream.kernels.library import address, compiled
from raydream.types import Indices

LARGEST = 2**32 - 1  # bound: beyond, NumPy draws in another way


def draw_below(key: Any, draw: int, iteration: int, agents: Indices, bounds: Indices, count: int) -> Indices | None:
    """A row of whole numbers below its bound for each agent, as NumPy's Philox with this key draws them.

    None where there is nobody to do it at once: then ask NumPy for one row after the other.
    """
    library = compiled()
    if library is None or int(bounds.max()) > LARGEST:
        return None
    out = np.empty((len(agents), count), dtype=np.int64)
    places = address(agents), address(bounds)
    library.draw_below(address(key), draw, iteration, len(agents), *places, count, address(out))
    return out
