"""GT-GDA in matrix form: tracked full gradients, X and Y stepped together.

`gradient(Z, batches)` stacks the agents' mean gradients over their batches, x part before y part; `project(Y)`
projects each row; eta is the ascent step in y and gamma * eta the descent step in x.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def gtgda(
    *,
    gradient: Callable[[Array, Any], Array],
    project: Callable[[Array], Array],
    z0: Array,
    dim_x: int,
    W: Array,
    eta: float,
    gamma: float,
    form: str,
    iterations: int,
) -> list[dict[str, Array]]:
    """Z, G and S = [U, V] for t = 0, ..., `iterations`.

    cta:  X+ = W X - gamma eta U,    Y+ = Pi(W Y + eta V),    S+ = W S + G+ - G
    atc:  X+ = W (X - gamma eta U),  Y+ = W Pi(Y + eta V),    S+ = W (S + G+ - G)
    """
    every = [None] * len(W)
    Z = np.tile(z0, (len(W), 1))
    G = S = gradient(Z, every)
    states = [{"Z": Z, "G": G, "S": S}]
    for _ in range(iterations):
        X, Y, U, V = Z[:, :dim_x], Z[:, dim_x:], S[:, :dim_x], S[:, dim_x:]
        if form == "cta":
            Z = np.hstack([W @ X - gamma * eta * U, project(W @ Y + eta * V)])
        else:
            Z = np.hstack([W @ (X - gamma * eta * U), W @ project(Y + eta * V)])
        G_next = gradient(Z, every)
        S = W @ S + G_next - G if form == "cta" else W @ (S + G_next - G)
        G = G_next
        states.append({"Z": Z, "G": G, "S": S})
    return states
