"""Exact diffusion in matrix form, along full gradients (ED-GDA) or PAGE estimators (ED-PAGE).

`gradient(Z, batches)` stacks the agents' mean gradients over their batches, x part before y part; eta is the ascent
step in y and gamma * eta the descent step in x; asked[t][k] are the batches of the agents' k-th calls in iteration t
(t = 0 is the start).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def exact_diffusion(
    *,
    gradient: Callable[[Array, Any], Array],
    z0: Array,
    dim_x: int,
    W: Array,
    eta: float,
    gamma: float,
    asked: Sequence[Any],
    coins: Sequence[bool],
    p: float | None = None,
    **_: Any,
) -> list[dict[str, Array]]:
    """Z, G and Psi for t = 0, ..., T; without p every gradient is fresh.

    Written as one recursion in the iterates: with V = (I + W)/2 and D the steps' signs and lengths,
    Z_1 = V (Z_0 + G_0 D),  Z_{t+1} = V (2 Z_t - Z_{t-1} + (G_t - G_{t-1}) D)
    """
    V = (np.eye(len(W)) + W) / 2
    D = np.diag([-gamma * eta] * dim_x + [eta] * (len(z0) - dim_x))
    Z = np.tile(z0, (len(W), 1))
    G = gradient(Z, asked[0][0])
    Z_old, G_old = Z, G
    states = [{"Z": Z, "G": G, "Psi": Z}]
    for t, (batches, coin) in enumerate(zip(asked[1:], coins, strict=True)):
        Psi = Z + G @ D
        Z_new = V @ Psi if t == 0 else V @ (2 * Z - Z_old + (G - G_old) @ D)
        if p is None or coin:
            G_new = gradient(Z_new, batches[0])
        else:
            G_new = G + gradient(Z_new, batches[0]) - gradient(Z, batches[1])
        Z_old, G_old, Z, G = Z, G, Z_new, G_new
        states.append({"Z": Z, "G": G, "Psi": Psi})
    return states
