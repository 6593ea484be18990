"""Descent-ascent on one machine, with full or sampled gradients: GDA and SGDA.

`gradient(x, y, batch)` is the pair of mean gradients over the batch; `project(y)` takes one vector; eta is the
ascent step in y and gamma * eta the descent step in x.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def gda(
    *,
    gradient: Callable[[Array, Array, Any], tuple[Array, Array]],
    project: Callable[[Array], Array],
    x: Array,
    y: Array,
    eta: float,
    gamma: float,
    batches: Sequence[Any],
) -> list[dict[str, Array]]:
    """The point Z, one row, for t = 0, ..., T: x+ = x - gamma eta g_x,  y+ = Pi(y + eta g_y), both at (x, y)."""
    states = [{"Z": np.hstack([x, y])[None]}]
    for batch in batches:
        gx, gy = gradient(x, y, batch)
        x, y = x - gamma * eta * gx, project(y + eta * gy)
        states.append({"Z": np.hstack([x, y])[None]})
    return states
