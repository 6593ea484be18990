"""The paper's Lyapunov function and its pieces: what runs with diagnostics record besides."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from raydream.columns.column import Column
from raydream.columns.metrics import Point, spread
from raydream.problems.protocol import LocalProblem
from raydream.theory import ALPHA

if TYPE_CHECKING:
    import pandas as pd

DIAGNOSTICS = (
    Column("Psi", "diagnostic", "Ψ = P(x̄) − P* + α (P(x̄) − f(x̄, ȳ))", "Ψ"),
    Column("C", "diagnostic", "C = ‖Z − 1z̄‖² + η² ‖S − 1s̄‖²", "C", log=True),
    Column("V", "diagnostic", "V, variance of the estimators", "V", log=True),
    Column("U", "diagnostic", "U, squared error of their mean", "U", log=True),
    Column("Phi", "diagnostic", "Φ, the Lyapunov function", "Φ"),
)


def pieces(at: Point, shards: Sequence[LocalProblem], eta: float) -> dict[str, float]:
    """What one state gives.

        C = ||z - 1 z_bar||^2 + eta^2 ||s - 1 s_bar||^2     V = ||g - grad f(z)||^2 / m
        U = ||mean_i (g(i) - grad f_i(z(i)))||^2            gap = P(x_bar) - f(x_bar, y_bar)

    Psi and Phi also need the least value of P, which may be known only when the run is over.
    """
    Z, G, S, dim = at.arrays["Z"], at.arrays.get("G"), at.arrays.get("S"), at.problem.dim_x
    found = {
        "gap": at.gap,
        "C": spread(Z) + eta**2 * (0.0 if S is None else spread(S)),
    }
    if G is None:
        return found | {"V": float("nan"), "U": float("nan")}
    points = zip(shards, Z.astype(np.float64, copy=False), strict=True)
    exact = np.stack([np.concatenate(shard.gradient(z[:dim], z[dim:])) for shard, z in points])
    return found | {
        "V": float(np.sum((G - exact) ** 2)) / len(Z),
        "U": float(np.sum((G - exact).mean(axis=0) ** 2)),
    }


def add_lyapunov(table: "pd.DataFrame", least_primal: float, agents: int, eta: float, p: float) -> None:
    """Psi = P - P* + alpha gap and Phi = Psi + C/(m eta) + eta V/(m p) + eta U/p, from the recorded pieces.

    eta and p are the method's. One that has none of that name is given 1: its Phi is no Lyapunov function of anybody's
    proof, and the run's record says what was assumed.
    """
    table["Psi"] = table.primal - least_primal + ALPHA * table.gap
    variance = (eta / (agents * p) * table.V + eta / p * table.U).fillna(0.0)
    table["Phi"] = table.Psi + table.C / (agents * eta) + variance
