"""K-GT-Minimax in matrix form: local steps between rounds, with corrections of mean 0.

`gradient(Z, batches)` stacks the agents' mean gradients over their batches, x part before y part; `project(Y)`
projects each row; asked[t][k] are the batches of the agents' k-th calls in iteration t (t = 0 is the start).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def kgt(
    *, gradient: Callable[[Array, Any], Array], project: Callable[[Array], Array], z0: Array, dim_x: int, W: Array,
    eta: float, gamma: float, local_steps: int, alpha: float, asked: Sequence[Any], **_: Any,
) -> list[dict[str, Array]]:  # fmt: skip
    """Z and C for t = 0, ..., T: C+ = C - (I - W) (C + mean of the local gradients)."""
    D = np.diag([-gamma * eta] * dim_x + [eta] * (len(z0) - dim_x))
    Z = np.tile(z0, (len(W), 1))
    G = gradient(Z, asked[0][0])
    C = W @ G - G
    states = [{"Z": Z, "C": C}]
    for batches in asked[1:]:
        V, seen = Z, []
        for k in range(local_steps):
            seen.append(gradient(V, batches[k]))
            V = V + (seen[-1] + C) @ D
            V = np.hstack([V[:, :dim_x], project(V[:, dim_x:])])
        Z = W @ ((1 - alpha) * Z + alpha * V)
        C = C - (np.eye(len(W)) - W) @ (C + np.mean(seen, axis=0))
        states.append({"Z": Z, "C": C})
    return states
