"""The history: one row per record, measured and never estimated."""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from raydream.algorithms.method import parameter_of
from raydream.backends.protocol import Snapshot
from raydream.columns import RECORDED, names, with_conditional
from raydream.columns.evaluation import Evaluation
from raydream.columns.lyapunov import add_lyapunov, pieces
from raydream.columns.metrics import Point, measured
from raydream.columns.own import Metric
from raydream.conditions.clock import CLOCK
from raydream.problems.protocol import Problem
from raydream.storage.history import Row, stacked_distances
from raydream.types import Array

if TYPE_CHECKING:
    import pandas as pd


MOST_DISTANCES = 2_000_000  # numbers, 16 MB


class Recorder:
    """The rows of the history, and what the paper's Lyapunov function needs."""

    def __init__(
        self,
        problem: Problem,
        method: Any,
        diagnostics: bool,
        metrics: Mapping[str, Metric] | None = None,
        evaluation: Evaluation | None = None,
        clocked: bool = False,
    ) -> None:
        self.problem, self.diagnostics, self.own = problem, diagnostics, metrics or {}
        self.evaluation = evaluation or Evaluation()
        own = {name: parameter_of(method, name, None) for name in ("eta", "p")}
        self._assumed = ", ".join(name for name, value in own.items() if not value)
        self._eta, self._p = (float(value or 1.0) for value in own.values())
        self.rows: list[dict[str, float]] = []
        needed = ("Z", "G", "S") if diagnostics else ("Z", "S")
        self.names = (*needed, CLOCK) if clocked else needed  # the arrays that a record needs
        self._shards = [problem.local(i) for i in range(problem.agents)] if diagnostics else []

    def record(self, snapshot: Snapshot, seconds: float) -> dict[str, float]:
        """Measure the state and append a row; what that took is added to what evaluation has taken so far."""
        began = time.perf_counter()
        row = self.spent(snapshot, seconds)
        with np.errstate(all="ignore"):
            here = self._point(snapshot, self.evaluation.due(len(self.rows)))
            row |= measured(here) | {"evaluation_seconds": np.nan, "evaluation_error": here.error}
            row |= {
                name: metric.at(name, here.x_bar, here.y_bar, snapshot.iteration) for name, metric in self.own.items()
            }
            if self.diagnostics:
                row |= pieces(here, self._shards, self._eta)
            before = self.rows[-1]["evaluation_seconds"] if self.rows else 0.0
            self.rows.append(row)
            self._keep_distances(row, snapshot.arrays["Z"], here.z_bar)
        row["evaluation_seconds"] = before + time.perf_counter() - began
        return row

    def complete(self, last: Callable[[], Snapshot]) -> None:
        """Measure P at the last record, where it was not due: the end of a run is always known."""
        if not self.evaluation.primal or self.evaluation.due(len(self.rows) - 1):
            return
        began, row = time.perf_counter(), self.rows[-1]
        with np.errstate(all="ignore"):
            here = self._point(last(), True)
            row.update(measured(here), evaluation_error=here.error)
            if self.diagnostics:
                row["gap"] = here.gap
        row["evaluation_seconds"] += time.perf_counter() - began

    def _point(self, snapshot: Snapshot, primal: bool) -> Point:
        return Point(self.problem, snapshot.arrays, self.evaluation.tolerance, primal)

    def spent(self, snapshot: Snapshot, seconds: float) -> Row:
        """What a state has cost."""
        return Row({"iteration": snapshot.iteration, **snapshot.spent(), "seconds": seconds})

    def least_primal(self) -> tuple[float, str]:
        """The least value of P and where it comes from: the problem, else the best record."""
        known = self.problem.primal_minimum() if hasattr(self.problem, "primal_minimum") else None
        if known is not None:
            return float(known), "known"
        return float(np.nanmin([row["primal"] for row in self.rows])), "best seen"

    def table(self) -> "pd.DataFrame":
        """The history, with the Lyapunov function where diagnostics were asked for."""
        import pandas as pd

        table = pd.DataFrame(self.rows)
        recorded = with_conditional(RECORDED, table.columns)
        if not self.diagnostics:
            return table[[*recorded, *self.own]]
        add_lyapunov(table, self.least_primal()[0], self.problem.agents, self._eta, self._p)
        return table[[*recorded, *self.own, *names("diagnostic")]]

    def distances(self) -> Array | None:
        """One row per record and one column per agent, if they were kept."""
        return stacked_distances(self.rows)

    def _keep_distances(self, row: Row, Z: Array, z_bar: Array) -> None:
        """Measure them while there is room; the first record too many drops them all.

        What counts is what is recorded, not what is planned: a resumed run, which may be longer, comes to the same.
        """
        if len(self.rows) * len(Z) <= MOST_DISTANCES:
            row.distances = np.linalg.norm(Z - z_bar, axis=1)
        elif (len(self.rows) - 1) * len(Z) <= MOST_DISTANCES:
            for earlier in self.rows:
                if isinstance(earlier, Row):
                    earlier.distances = None

    def remarks(self) -> dict[str, Any]:
        """What the record says of the diagnostics."""
        if not self.diagnostics:
            return {}
        value, source = self.least_primal()
        weights = {"eta": self._eta, "p": self._p, "assumed": self._assumed}
        return {"least_primal": {"value": value, "source": source}, "lyapunov": weights}
