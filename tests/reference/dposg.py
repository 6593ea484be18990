"""DPOSG in matrix form: look ahead along the last gradient, and step along the one found there.

`gradient(Z, batches)` stacks the agents' mean gradients over their batches, x part before y part; `project(Y)`
projects each row; asked[t][k] are the batches of the agents' k-th calls in iteration t (t = 0 is the start).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def dposg(
    *, gradient: Callable[[Array, Any], Array], project: Callable[[Array], Array], z0: Array, dim_x: int, W: Array,
    eta: float, gamma: float, asked: Sequence[Any], **_: Any,
) -> list[dict[str, Array]]:  # fmt: skip
    """Z and H for t = 0, ..., T: V = Pi(W Z + H_old D), H = grad F(V), Z+ = Pi(W Z + H D)."""
    D = np.diag([-gamma * eta] * dim_x + [eta] * (len(z0) - dim_x))

    def stepped(H: Array) -> Array:
        moved = W @ Z + H @ D
        return np.hstack([moved[:, :dim_x], project(moved[:, dim_x:])])

    Z = np.tile(z0, (len(W), 1))
    H = gradient(Z, asked[0][0])
    states = [{"Z": Z, "H": H}]
    for batches in asked[1:]:
        H = gradient(stepped(H), batches[0])
        Z = stepped(H)
        states.append({"Z": Z, "H": H})
    return states
