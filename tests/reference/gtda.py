"""GT-DA in matrix form: one tracked descent step in X, then R tracked ascent steps in a shared Y.

`gradient(Z, batches)` stacks the agents' mean gradients over their batches, x part before y part; `project(Y)`
projects each row; eta is the ascent step in y and gamma * eta the descent step in x.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def gtda(
    *,
    gradient: Callable[[Array, Any], Array],
    project: Callable[[Array], Array],
    z0: Array,
    dim_x: int,
    W: Array,
    eta: float,
    gamma: float,
    R: int,
    iterations: int,
) -> list[dict[str, Array]]:
    """Z, G = [GX, GY] and S = [U, V] for t = 0, ..., `iterations`.

    X <- W X - gamma eta U
    R times:  Y <- Pi(W Y + eta V),  V <- W V + (new GY) - GY,  GY <- new GY
    U <- W U + (new GX) - GX,  GX <- new GX
    """
    every = [None] * len(W)
    X, Y = np.tile(z0[:dim_x], (len(W), 1)), np.tile(z0[dim_x:], (len(W), 1))
    U, V = np.split(gradient(np.hstack([X, Y]), every), [dim_x], axis=1)
    GX, GY = U, V
    states = [{"Z": np.hstack([X, Y]), "G": np.hstack([GX, GY]), "S": np.hstack([U, V])}]
    for _ in range(iterations):
        X = W @ X - gamma * eta * U
        for _ in range(R):
            Y = project(W @ Y + eta * V)
            GY_next = gradient(np.hstack([X, Y]), every)[:, dim_x:]
            V = W @ V + GY_next - GY
            GY = GY_next
        GX_next = gradient(np.hstack([X, Y]), every)[:, :dim_x]
        U = W @ U + GX_next - GX
        GX = GX_next
        states.append({"Z": np.hstack([X, Y]), "G": np.hstack([GX, GY]), "S": np.hstack([U, V])})
    return states
