"""GT-SRVR in matrix form: tracked SPIDER estimators, X and Y stepped together.

`gradient(Z, batches)` stacks the agents' mean gradients over their batches, x part before y part; `project(Y)`
projects each row; eta is the ascent step in y and gamma * eta the descent step in x.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def gtsrvr(
    *,
    gradient: Callable[[Array, Any], Array],
    project: Callable[[Array], Array],
    z0: Array,
    dim_x: int,
    W: Array,
    eta: float,
    gamma: float,
    form: str,
    Q: int,
    batches: Sequence[Any],
) -> list[dict[str, Array]]:
    """Z, G and S = [U, V] for t = 0, ..., T, where batches[t - 1] are the agents' samples of iteration t.

    cta:  X+ = W X - gamma eta U,    Y+ = Pi(W Y + eta V),    S+ = W S + G+ - G
    atc:  X+ = W (X - gamma eta U),  Y+ = W Pi(Y + eta V),    S+ = W (S + G+ - G)
    G+ = full gradients at Z+ in every Q-th iteration, else G + (sampled gradients at Z+) - (the same at Z)
    """
    every = [None] * len(W)
    Z = np.tile(z0, (len(W), 1))
    G = S = gradient(Z, every)
    states = [{"Z": Z, "G": G, "S": S}]
    for t, batch in enumerate(batches, start=1):
        X, Y, U, V = Z[:, :dim_x], Z[:, dim_x:], S[:, :dim_x], S[:, dim_x:]
        if form == "cta":
            Z_next = np.hstack([W @ X - gamma * eta * U, project(W @ Y + eta * V)])
        else:
            Z_next = np.hstack([W @ (X - gamma * eta * U), W @ project(Y + eta * V)])
        if t % Q == 0:
            G_next = gradient(Z_next, every)
        else:
            G_next = G + gradient(Z_next, batch) - gradient(Z, batch)
        S = W @ S + G_next - G if form == "cta" else W @ (S + G_next - G)
        Z, G = Z_next, G_next
        states.append({"Z": Z, "G": G, "S": S})
    return states
