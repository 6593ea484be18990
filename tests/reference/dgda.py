"""Decentralized descent-ascent without tracking, in matrix form.

`gradient(Z, batches)` stacks the agents' mean gradients over their batches, x part before y part; `project(Y)`
projects each row; eta is the ascent step in y and gamma * eta the descent step in x.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def dgda(
    *,
    gradient: Callable[[Array, Any], Array],
    project: Callable[[Array], Array],
    z0: Array,
    dim_x: int,
    W: Array,
    eta: float,
    gamma: float,
    batches: Sequence[Any],
) -> list[dict[str, Array]]:
    """Z for t = 0, ..., T: X+ = W X - gamma eta G_x,  Y+ = Pi(W Y + eta G_y), with G the local gradients at Z."""
    Z = np.tile(z0, (len(W), 1))
    states = [{"Z": Z}]
    for batch in batches:
        G = gradient(Z, batch)
        X, Y = W @ Z[:, :dim_x], W @ Z[:, dim_x:]
        Z = np.hstack([X - gamma * eta * G[:, :dim_x], project(Y + eta * G[:, dim_x:])])
        states.append({"Z": Z})
    return states
