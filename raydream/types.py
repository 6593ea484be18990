"""The two types that every layer shares: arrays of float64, and programs that speak by yielding."""

from collections.abc import Generator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

# A program yields the rows it says (one array, or a tuple of arrays that share a frame) and is sent what its
# agents hear: for each row the weighted sum over the neighbourhood. What it returns is its result.
Program = Generator[Any, Any, Any]
