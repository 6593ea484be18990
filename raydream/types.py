"""The types that every layer shares."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]  # or float32, in a run whose problem asks for it
Numbers = np.dtype[Any]  # float64 or float32: what a run's states and frames are made of
Indices = npt.NDArray[np.int64]
Sparse = Any  # a `csr_array`: scipy ships no types
