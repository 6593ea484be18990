"""DREAM in matrix form, line by line beside the paper's Algorithm 2, with every random draw given.

Capitals are the paper's bold letters, one row per agent: Z = [X, Y], estimators G, trackers S = [U, V].
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Batch = Sequence[int] | npt.NDArray[np.int64] | None  # sample indices of one agent; None is its exact local gradient


@dataclass(frozen=True)
class Draw:
    """What is drawn in one iteration: zeta_t for the whole network, batch and omega_t(i) for each agent.

    `omega` is read only when the coin shows 0.
    """

    coin: bool
    batch: Sequence[Batch]
    omega: Sequence[int] = ()


@dataclass(frozen=True)
class Batches:
    """All the draws of a run: each agent's batch for g_0, then one `Draw` per iteration."""

    first: Sequence[Batch]
    steps: Sequence[Draw]


class State(NamedTuple):
    """The rows after t iterations."""

    Z: Array
    G: Array
    S: Array


@dataclass
class Counts:
    """Cumulative bills, entry t after t iterations: SFO calls of all agents, rounds, messages, bytes."""

    sfo: list[int] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)


def gossip_matrix(W: Array, K: int) -> Array:
    """W^K."""
    return np.linalg.matrix_power(W, K)


def fastmix_matrix(W: Array, K: int, momentum: str = "optimal") -> Array:
    """The matrix of K FastMix rounds, A_{k+1} = (1 + eta_a) W A_k - eta_a A_{k-1} from A_{-1} = A_0 = I.

    eta_a = (1 - s) / (1 + s) ("optimal") or 1 / (1 + s) ("paper"), where s = sqrt(1 - lam^2) and
    lam = max_{i>=2} |lambda_i(W)|.

    Differs from Algorithm 1: the printed loop makes one update more than the K it returns.
    """
    if momentum not in ("optimal", "paper"):
        raise ValueError(f"`momentum` must be 'optimal' or 'paper'; got {momentum!r}.")
    if len(W) == 1:
        return np.ones((1, 1))
    lam = float(np.abs(np.linalg.eigvalsh(W)[:-1]).max())
    s = math.sqrt(max(0.0, 1.0 - lam**2))
    eta_a = (1 - s) / (1 + s) if momentum == "optimal" else 1 / (1 + s)
    A_previous = A = np.eye(len(W))
    for _ in range(K):
        A, A_previous = (1 + eta_a) * W @ A - eta_a * A_previous, A
    return A


def dream(
    *,
    gradient: Callable[[int, Array, Array, Batch], Array],
    project: Callable[[Array], Array],
    z0: Array,
    dim_x: int,
    W: Array,
    eta: float,
    gamma: float,
    q: float,
    batches: Batches,
    K0: int,
    K: int,
    K_large: int,
    n: int | None = None,
    mixing: str = "fastmix",
    momentum: str = "optimal",
) -> tuple[list[State], Counts]:
    """The states for t = 0..T and their bills, T = len(batches.steps).

    `gradient(i, x, y, batch)` is the mean of agent i's component gradients, x part before y part;
    `project(y)` takes one vector; `n` is the price of the batch None.

    Cost: b' for each agent and K0 rounds at the start; then b' (coin 1) or 2 b omega(i) (coin 0) for each,
    and K + K_large or K + K rounds. A round is one frame of d float64 numbers over each directed edge.
    """
    if mixing not in ("fastmix", "gossip"):
        raise ValueError(f"`mixing` must be 'fastmix' or 'gossip'; got {mixing!r}.")
    m, d = len(W), len(z0)
    edges = int(np.count_nonzero(W) - np.count_nonzero(np.diag(W)))
    M = {k: fastmix_matrix(W, k, momentum) if mixing == "fastmix" else gossip_matrix(W, k) for k in (K0, K, K_large)}
    states, counts = [], Counts()

    def grad(i: int, Z: Array, batch: Batch) -> Array:
        return gradient(i, Z[i, :dim_x], Z[i, dim_x:], batch)

    def size(batch: Batch) -> int:
        if batch is not None:
            return len(batch)
        if n is None:
            raise ValueError("`n` must be given when a batch is None; got None.")
        return n

    def record(sfo: int, rounds: int) -> None:
        states.append(State(Z, G, S))
        counts.sfo.append(sfo)
        counts.rounds.append(rounds)
        counts.messages.append(edges * rounds)
        counts.bytes.append(edges * rounds * d * 8)

    Z = np.tile(z0, (m, 1))  # line 3
    G = np.array([grad(i, Z, batches.first[i]) for i in range(m)])  # lines 4-7
    S = M[K0] @ G  # line 8
    sfo, rounds = sum(size(batch) for batch in batches.first), K0
    record(sfo, rounds)

    for draw in batches.steps:  # lines 9-10
        X, Y, U, V = Z[:, :dim_x], Z[:, dim_x:], S[:, :dim_x], S[:, dim_x:]
        X_next = M[K] @ (X - gamma * eta * U)  # line 11
        Y_next = M[K] @ np.array([project(y) for y in Y + eta * V])  # line 12
        Z_next, G_next = np.hstack([X_next, Y_next]), np.empty_like(G)
        for i in range(m):
            batch = draw.batch[i]
            if draw.coin:  # lines 14-16
                G_next[i] = grad(i, Z_next, batch)
                sfo += size(batch)
            else:  # lines 17-20
                G_next[i] = G[i] + draw.omega[i] / q * (grad(i, Z_next, batch) - grad(i, Z, batch))
                sfo += 2 * size(batch) if draw.omega[i] else 0
        K_t = K_large if draw.coin else K
        S = M[K_t] @ (S + G_next - G)  # line 23
        Z, G = Z_next, G_next
        rounds += K + K_t
        record(sfo, rounds)
    return states, counts


def lyapunov(
    Z: Array,
    G: Array,
    S: Array,
    *,
    exact_gradient: Callable[[int, Array, Array], Array],
    value: Callable[[Array, Array], float],
    primal: Callable[[Array], float],
    P_star: float,
    eta: float,
    p: float,
    dim_x: int,
    alpha: float = 1 / 8,
) -> dict[str, float]:
    """Phi = Psi + C / (m eta) + eta V / (m p) + eta U / p and its four parts, equation dfn:Phi.

    `exact_gradient(i, x, y)` is grad f_i, `value` and `primal` are f and P.
    """
    m = len(Z)
    x_bar, y_bar = Z.mean(axis=0)[:dim_x], Z.mean(axis=0)[dim_x:]
    error = G - np.array([exact_gradient(i, Z[i, :dim_x], Z[i, dim_x:]) for i in range(m)])
    Psi = primal(x_bar) - P_star + alpha * (primal(x_bar) - value(x_bar, y_bar))
    C = np.linalg.norm(Z - Z.mean(axis=0)) ** 2 + eta**2 * np.linalg.norm(S - S.mean(axis=0)) ** 2
    V = np.linalg.norm(error) ** 2 / m
    U = np.linalg.norm(error.mean(axis=0)) ** 2
    Phi = Psi + C / (m * eta) + eta / (m * p) * V + eta / p * U
    return {"Psi": float(Psi), "C": float(C), "V": float(V), "U": float(U), "Phi": float(Phi)}
