"""DM-HSGD in matrix form: tracked STORM estimators, project, then mix.

`gradient(Z, batches)` stacks the agents' mean gradients over their batches, x part before y part; `project(Y)`
projects each row; eta is the ascent step in y and gamma * eta the descent step in x.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def dmhsgd(
    *,
    gradient: Callable[[Array, Any], Array],
    project: Callable[[Array], Array],
    z0: Array,
    dim_x: int,
    W: Array,
    gamma: float,
    etas: Sequence[float],
    betas: Sequence[float],
    first: Any,
    batches: Sequence[Any],
) -> list[dict[str, Array]]:
    """Z, G and S = [U, V] for t = 0, ..., T, with steps, momenta and samples given for each iteration.

    X+ = W (X - gamma eta U),  Y+ = W Pi(Y + eta V)
    G+ = (sampled gradients at Z+) + (1 - beta) (G - the same at Z)
    S+ = W (S + G+ - G),  S_0 = W G_0
    """
    Z = np.tile(z0, (len(W), 1))
    G = gradient(Z, first)
    S = W @ G
    states = [{"Z": Z, "G": G, "S": S}]
    for eta, beta, batch in zip(etas, betas, batches, strict=True):
        X, Y, U, V = Z[:, :dim_x], Z[:, dim_x:], S[:, :dim_x], S[:, dim_x:]
        Z_next = np.hstack([W @ (X - gamma * eta * U), W @ project(Y + eta * V)])
        G_next = gradient(Z_next, batch) + (1 - beta) * (G - gradient(Z, batch))
        S = W @ (S + G_next - G)
        Z, G = Z_next, G_next
        states.append({"Z": Z, "G": G, "S": S})
    return states
