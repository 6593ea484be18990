"""D-GDMax and VRLM in matrix form: a tracker for X, and a multiplier L of W Y = Y in the place of mixing Y.

`gradient(Z, batches)` stacks the agents' mean gradients over their batches, x part before y part; `project(Y)`
projects each row; asked[t][k] are the batches of the agents' k-th calls in iteration t (t = 0 is the start).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Gradient = Callable[[Array, Any], Array]


def dgdmax(
    *, gradient: Gradient, project: Callable[[Array], Array], z0: Array, dim_x: int, W: Array, eta: float,
    gamma: float, R: int, rho: float, asked: Sequence[Any], **_: Any,
) -> list[dict[str, Array]]:  # fmt: skip
    """Z, G, S and L for t = 0, ..., T.

    X+ = W X - gamma eta S
    Y_1 = Pi(Y_0 + eta up(Y_0)),  Y_{k+1} = Pi(V + eta up(V)) at V = Y_k + k/(k+3) (Y_k - Y_{k-1}),  k < R,
        where Y_0 = Y and up(V) = grad_y f(X+, V) - (W - I) L;   Y+ = Y_R
    L+ = L + rho (W - I) Y,   S+ = W S + grad_x f(X+, Y+) - G_x
    """
    push = W - np.eye(len(W))
    X, Y = np.tile(z0[:dim_x], (len(W), 1)), np.tile(z0[dim_x:], (len(W), 1))
    G = gradient(np.hstack([X, Y]), asked[0][0])
    S, L = G[:, :dim_x], np.zeros_like(Y)
    states = [{"Z": np.hstack([X, Y]), "G": G, "S": S, "L": L}]
    for batches in asked[1:]:
        X = W @ X - gamma * eta * S
        inner = [Y, Y]
        for k in range(R):
            V = inner[-1] + k / (k + 3) * (inner[-1] - inner[-2])
            up = gradient(np.hstack([X, V]), batches[k])[:, dim_x:] - push @ L
            inner.append(project(V + eta * up))
        L, Y = L + rho * push @ Y, inner[-1]
        G_new = gradient(np.hstack([X, Y]), batches[R])
        S, G = W @ S + (G_new - G)[:, :dim_x], G_new
        states.append({"Z": np.hstack([X, Y]), "G": G, "S": S, "L": L})
    return states


def vrlm(
    *, gradient: Gradient, project: Callable[[Array], Array], z0: Array, dim_x: int, W: Array, eta: float,
    gamma: float, estimator: str, Q: int, beta: float, rho: float, l1: float, asked: Sequence[Any], **_: Any,
) -> list[dict[str, Array]]:  # fmt: skip
    """Z, G, S and L for t = 0, ..., T, from the tracker V = W S as it is written:

    X+ = prox(W X - gamma eta V),   Y+ = Pi(Y + eta (G_y - (W - I) L)),   L+ = L + rho (W - I) Y
    V+ = W (V + (G+ - G)_x),   V_0 = W (G_0)_x
    """
    push, step = W - np.eye(len(W)), gamma * eta
    X, Y = np.tile(z0[:dim_x], (len(W), 1)), np.tile(z0[dim_x:], (len(W), 1))
    G = gradient(np.hstack([X, Y]), asked[0][0])
    S, L = G[:, :dim_x], np.zeros_like(Y)
    V = W @ S
    states = [{"Z": np.hstack([X, Y]), "G": G, "S": S, "L": L}]
    for t, batches in enumerate(asked[1:], start=1):
        Z = np.hstack([X, Y])
        X = W @ X - step * V
        X = np.where(step * l1 < X, X - step * l1, np.where(-step * l1 > X, X + step * l1, 0.0))
        Y, L = project(Y + eta * (G[:, dim_x:] - push @ L)), L + rho * push @ Y
        fresh = gradient(np.hstack([X, Y]), batches[0])
        if estimator == "storm":
            G_new = fresh + (1 - beta) * (G - gradient(Z, batches[1]))
        else:
            G_new = fresh if t % Q == 0 else G + fresh - gradient(Z, batches[1])
        S = V + (G_new - G)[:, :dim_x]
        V, G = W @ S, G_new
        states.append({"Z": np.hstack([X, Y]), "G": G, "S": S, "L": L})
    return states
