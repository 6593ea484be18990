"""SREDA on vectors: a bounded step in x, then projected SARAH ascent in y.

`gradient(Z, batches)` is the mean gradient at one row, x part before y part; `project(Y)` projects each row;
asked[t][k] is the batch of the k-th call in iteration t (t = 0 is the start).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def sreda(
    *, gradient: Callable[[Array, Any], Array], project: Callable[[Array], Array], z0: Array, dim_x: int, eta: float,
    gamma: float, longest: float | None, R: int, Q: int, asked: Sequence[Any], **_: Any,
) -> list[dict[str, Array]]:  # fmt: skip
    """Z and G, one row each, for t = 0, ..., T; a correction's two calls share their batch."""

    def at(x: Array, y: Array, batch: Any) -> Array:
        return gradient(np.concatenate([x, y])[None], batch)[0]

    x, y = z0[:dim_x], z0[dim_x:]
    g = at(x, y, asked[0][0])
    states = [{"Z": np.concatenate([x, y])[None], "G": g[None]}]
    for t, calls in enumerate(asked[1:], start=1):
        step, length = gamma * eta, float(np.linalg.norm(g[:dim_x]))
        if longest is not None and step * length > longest:
            step = longest / length
        x_old, x = x, x - step * g[:dim_x]
        g = g + at(x, y, calls[0]) - at(x_old, y, calls[1])
        for k in range(R):
            y_old, y = y, project((y + eta * g[dim_x:])[None])[0]
            g = g + at(x, y, calls[2 * k + 2]) - at(x, y_old, calls[2 * k + 3])
        if t % Q == 0:
            g = at(x, y, calls[2 * R + 2])
        states.append({"Z": np.concatenate([x, y])[None], "G": g[None]})
    return states
