"""The history: one row per record, measured and never estimated."""

from typing import TYPE_CHECKING, Any

import numpy as np

from raydream.backends import Snapshot
from raydream.metrics import ALPHA, lyapunov_pieces, measure
from raydream.problems.protocol import Problem
from raydream.result import COLUMNS

if TYPE_CHECKING:
    import pandas as pd


class Recorder:
    """The rows of the history, and what the paper's Lyapunov function needs."""

    def __init__(self, problem: Problem, method: Any, diagnostics: bool) -> None:
        self.problem, self.method, self.diagnostics = problem, method, diagnostics
        self.rows: list[dict[str, float]] = []
        self.names = ("Z", "G", "S") if diagnostics else ("Z", "S")  # the arrays that a record needs
        self._shards = [problem.local(i) for i in range(problem.agents)] if diagnostics else []

    def record(self, snapshot: Snapshot, seconds: float) -> dict[str, float]:
        """Measure the state and append a row."""
        row: dict[str, float] = {"iteration": snapshot.iteration, **snapshot.ledger.as_dict(), "seconds": seconds}
        with np.errstate(all="ignore"):
            row |= measure(self.problem, snapshot.arrays)
            if self.diagnostics:
                row |= lyapunov_pieces(
                    self.problem, self._shards, snapshot.arrays, row["primal"], getattr(self.method, "eta", 1.0)
                )
        self.rows.append(row)
        return row

    def least_primal(self) -> tuple[float, str]:
        """The least value of P and where it comes from: the problem, else the best record."""
        known = self.problem.primal_minimum() if hasattr(self.problem, "primal_minimum") else None
        if known is not None:
            return float(known), "known"
        return float(np.nanmin([row["primal"] for row in self.rows])), "best seen"

    def table(self) -> "pd.DataFrame":
        """The history, with Psi = P - P* + alpha gap and Phi where diagnostics were asked for."""
        import pandas as pd

        table = pd.DataFrame(self.rows)
        if not self.diagnostics:
            return table[list(COLUMNS)]
        eta, p = getattr(self.method, "eta", 1.0), getattr(self.method, "p", None) or 1.0
        table["Psi"] = table.primal - self.least_primal()[0] + ALPHA * table.gap
        variance = (eta / (self.problem.agents * p) * table.V + eta / p * table.U).fillna(0.0)
        table["Phi"] = table.Psi + table.C / (self.problem.agents * eta) + variance
        return table[[*COLUMNS, "Psi", "C", "V", "U", "Phi"]]

    def remarks(self) -> dict[str, Any]:
        """What the record says of the diagnostics."""
        if not self.diagnostics:
            return {}
        value, source = self.least_primal()
        return {"least_primal": {"value": value, "source": source}}
