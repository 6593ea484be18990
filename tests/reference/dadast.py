"""D-AdaST and D-TiAda in matrix form: steps scaled by sums of squared gradient norms, which are mixed or not.

`gradient(Z, batches)` stacks the agents' mean gradients over their batches, x part before y part; `project(Y)`
projects each row; asked[t][k] are the batches of the agents' k-th calls in iteration t (t = 0 is the start).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def adaptive(
    *,
    gradient: Callable[[Array, Any], Array],
    project: Callable[[Array], Array],
    z0: Array,
    dim_x: int,
    W: Array,
    eta: float,
    gamma: float,
    power_x: float,
    power_y: float,
    asked: Sequence[Any],
    agree: bool,
    **_: Any,
) -> list[dict[str, Array]]:
    """Z and M for t = 0, ..., T.

    A, B += the rows' |g_x|^2, |g_y|^2;  X+ = W (X - gamma eta max(A, B)^-power_x G_x),
    Y+ = Pi(W (Y + eta B^-power_y G_y)),  and A, B mixed by W if `agree`
    """
    X, Y = np.tile(z0[:dim_x], (len(W), 1)), np.tile(z0[dim_x:], (len(W), 1))
    A, B = np.zeros(len(W)), np.zeros(len(W))
    states = [{"Z": np.hstack([X, Y]), "M": np.column_stack([A, B])}]
    for batches in asked[1:]:
        G = gradient(np.hstack([X, Y]), batches[0])
        A, B = A + np.linalg.norm(G[:, :dim_x], axis=1) ** 2, B + np.linalg.norm(G[:, dim_x:], axis=1) ** 2
        X = W @ (X - gamma * eta * np.diag(np.maximum(A, B) ** -power_x) @ G[:, :dim_x])
        Y = project(W @ (Y + eta * np.diag(B**-power_y) @ G[:, dim_x:]))
        A, B = (W @ A, W @ B) if agree else (A, B)
        states.append({"Z": np.hstack([X, Y]), "M": np.column_stack([A, B])})
    return states
