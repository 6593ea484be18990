"""DM-GDA in matrix form: tracked STORM estimators, and iterates that go a share of the way.

`gradient(Z, batches)` stacks the agents' mean gradients over their batches, x part before y part; `project(Y)`
projects each row; asked[t][k] are the batches of the agents' k-th calls in iteration t (t = 0 is the start).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def dmgda(
    *, gradient: Callable[[Array, Any], Array], project: Callable[[Array], Array], z0: Array, dim_x: int, W: Array,
    eta: float, gamma: float, alpha: float, beta: float, asked: Sequence[Any], **_: Any,
) -> list[dict[str, Array]]:  # fmt: skip
    """Z, G and S for t = 0, ..., T.

    X+ = (1 - alpha) X + alpha (W X - gamma eta U),   Y+ = (1 - alpha) Y + alpha Pi(W Y + eta V)
    G+ = beta F(Z+) + (1 - beta) (G + F(Z+) - F(Z)),   S+ = W (S + G+ - G)
    """
    X, Y = np.tile(z0[:dim_x], (len(W), 1)), np.tile(z0[dim_x:], (len(W), 1))
    G = gradient(np.hstack([X, Y]), asked[0][0])
    S = W @ G
    states = [{"Z": np.hstack([X, Y]), "G": G, "S": S}]
    for batches in asked[1:]:
        Z = np.hstack([X, Y])
        X = (1 - alpha) * X + alpha * (W @ X - gamma * eta * S[:, :dim_x])
        Y = (1 - alpha) * Y + alpha * project(W @ Y + eta * S[:, dim_x:])
        fresh, stale = gradient(np.hstack([X, Y]), batches[0]), gradient(Z, batches[1])
        G_new = beta * fresh + (1 - beta) * (G + fresh - stale)
        S, G = W @ (S + G_new - G), G_new
        states.append({"Z": np.hstack([X, Y]), "G": G, "S": S})
    return states
