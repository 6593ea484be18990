"""What is measured at a record, from the whole problem and all agents' rows; never billed to the ledger."""

from typing import Any

import numpy as np

from raydream.problems.protocol import Problem
from raydream.types import Array

ALPHA = 1 / 8  # the weight of the inner gap in the paper's Lyapunov function, as its theorem sets it


def spread(V: Array | None) -> float:
    """||V - 1 v_bar||^2, or NaN where there is no V."""
    return float("nan") if V is None else float(np.sum((V - V.mean(axis=0)) ** 2))


def measure(problem: Problem, arrays: dict[str, Array]) -> dict[str, float]:
    """P and the norm of its gradient at the mean, and how far the agents are apart."""
    x_bar = arrays["Z"].mean(axis=0)[: problem.dim_x]
    if np.isfinite(x_bar).all():
        P, slope = primal_and_gradient(problem, x_bar)
    else:
        P, slope = float("nan"), np.full(1, np.nan)
    return {
        "primal": P,
        "grad_norm": float(np.linalg.norm(slope)),
        "consensus": spread(arrays["Z"]),
        "tracking": spread(arrays.get("S")),
    }


def primal_and_gradient(problem: Problem, x: Array) -> tuple[float, Array]:
    """P and its gradient, from one best response where the problem offers that."""
    if hasattr(problem, "primal_and_gradient"):
        both: tuple[float, Array] = problem.primal_and_gradient(x)
        return both
    return problem.primal(x), problem.primal_gradient(x)


def lyapunov_pieces(
    problem: Problem, shards: list[Any], arrays: dict[str, Array], P: float, eta: float
) -> dict[str, float]:
    """The pieces of the paper's Lyapunov function that one state gives.

        C = ||z - 1 z_bar||^2 + eta^2 ||s - 1 s_bar||^2     V = ||g - grad f(z)||^2 / m
        U = ||mean_i (g(i) - grad f_i(z(i)))||^2            gap = P(x_bar) - f(x_bar, y_bar)

    Psi and Phi also need the least value of P, which may be known only when the run is over.
    """
    Z, G, S = arrays["Z"], arrays.get("G"), arrays.get("S")
    z_bar, dim = Z.mean(axis=0), problem.dim_x
    pieces = {
        "gap": P - problem.value(z_bar[:dim], z_bar[dim:]),
        "C": spread(Z) + eta**2 * (0.0 if S is None else spread(S)),
    }
    if G is None:
        return pieces | {"V": float("nan"), "U": float("nan")}
    exact = np.stack([np.concatenate(shard.gradient(z[:dim], z[dim:])) for shard, z in zip(shards, Z, strict=True)])
    return pieces | {
        "V": float(np.sum((G - exact) ** 2)) / len(Z),
        "U": float(np.sum((G - exact).mean(axis=0) ** 2)),
    }
