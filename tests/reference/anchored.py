"""Proximal point methods in matrix form: DREAM around an anchor (by gossip and FastMix), and SAPD+ on vectors.

`gradient(Z, batches)` stacks the agents' mean gradients over their batches, x part before y part; `project(Y)`
projects each row; asked[t][k] are the batches of the agents' k-th calls in iteration t (t = 0 is the start).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from reference.dream import fastmix_matrix, gossip_matrix

Array = npt.NDArray[np.float64]


def catalyst(
    *, gradient: Callable[[Array, Any], Array], project: Callable[[Array], Array], z0: Array, dim_x: int, W: Array,
    eta: float, gamma: float, prox: float, T: int, K0: int, K: int, K_large: int, mixing: str, asked: Sequence[Any],
    coins: Sequence[bool], **_: Any,
) -> list[dict[str, Array]]:  # fmt: skip
    """Z, G, S and the anchors A for t = 0, ..., T, with q = 1; M_k is k rounds of mixing.

    X+ = M_K ((1 - gamma eta prox) X + gamma eta prox A - gamma eta U),   Y+ = M_K Pi(Y + eta V)
    """
    M = {k: (fastmix_matrix if mixing == "fastmix" else gossip_matrix)(W, k) for k in (K0, K, K_large)}
    step = gamma * eta
    X, Y = np.tile(z0[:dim_x], (len(W), 1)), np.tile(z0[dim_x:], (len(W), 1))
    G = gradient(np.hstack([X, Y]), asked[0][0])
    S, A = M[K0] @ G, X
    states = [{"Z": np.hstack([X, Y]), "G": G, "S": S, "A": A}]
    for t, (batches, coin) in enumerate(zip(asked[1:], coins, strict=True)):
        Z = np.hstack([X, Y])
        A = X if t % T == 0 else A
        X = M[K] @ ((1 - step * prox) * X + step * prox * A - step * S[:, :dim_x])
        Y = M[K] @ project(Y + eta * S[:, dim_x:])
        fresh = gradient(np.hstack([X, Y]), batches[0])
        G_new = fresh if coin else G + fresh - gradient(Z, batches[1])
        S, G = M[K_large if coin else K] @ (S + G_new - G), G_new
        states.append({"Z": np.hstack([X, Y]), "G": G, "S": S, "A": A})
    return states


def sapd(
    *, gradient: Callable[[Array, Any], Array], project: Callable[[Array], Array], z0: Array, dim_x: int, eta: float,
    gamma: float, theta: float, prox: float, T: int, asked: Sequence[Any], **_: Any,
) -> list[dict[str, Array]]:  # fmt: skip
    """Z, the last gradient in y H, and the anchor A, one row each, for t = 0, ..., T."""
    x, y = z0[:dim_x], z0[dim_x:]
    a, h = x, np.zeros_like(y)
    states = [{"Z": z0[None], "H": h[None], "A": a[None]}]
    for t, (first, second) in enumerate(asked[1:]):
        g = gradient(np.concatenate([x, y])[None], first)[0, dim_x:]
        if t % T == 0:
            a, h = x, g
        y = project((y + eta * ((1 + theta) * g - theta * h))[None])[0]
        x = x - gamma * eta * (gradient(np.concatenate([x, y])[None], second)[0, :dim_x] + prox * (x - a))
        h = g
        states.append({"Z": np.concatenate([x, y])[None], "H": h[None], "A": a[None]})
    return states
