"""The types that every layer shares."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Sparse = Any  # a float64 `csr_array`: scipy ships no types
