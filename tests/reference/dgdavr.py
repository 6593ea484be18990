"""DGDA-VR in matrix form, with the tracker D mixed after it is corrected, as it is written.

`gradient(Z, batches)` stacks the agents' mean gradients over their batches, x part before y part; `project(Y)`
projects each row; eta is the ascent step in y and gamma * eta the descent step in x.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def dgdavr(
    *,
    gradient: Callable[[Array, Any], Array],
    project: Callable[[Array], Array],
    z0: Array,
    dim_x: int,
    W: Array,
    eta: float,
    gamma: float,
    Q: int,
    first: Any,
    batches: Sequence[Any],
) -> list[dict[str, Array]]:
    """Z, the estimator V and the tracker D for t = 0, ..., T, where batches[t - 1] are iteration t's samples.

    X+ = W X - gamma eta D_x,  Y+ = Pi(W Y + eta D_y)
    V+ = sampled gradients at Z+ in every Q-th iteration, else V + (sampled gradients at Z+) - (the same at Z)
    D+ = W (D + V+ - V),  D_0 = W V_0
    """
    Z = np.tile(z0, (len(W), 1))
    V = gradient(Z, first)
    D = W @ V
    states = [{"Z": Z, "V": V, "D": D}]
    for t, batch in enumerate(batches, start=1):
        X, Y = Z[:, :dim_x], Z[:, dim_x:]
        Z_next = np.hstack([W @ X - gamma * eta * D[:, :dim_x], project(W @ Y + eta * D[:, dim_x:])])
        if t % Q == 0:
            V_next = gradient(Z_next, batch)
        else:
            V_next = V + gradient(Z_next, batch) - gradient(Z, batch)
        D = W @ (D + V_next - V)
        Z, V = Z_next, V_next
        states.append({"Z": Z, "V": V, "D": D})
    return states
