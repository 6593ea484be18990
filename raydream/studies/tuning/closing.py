"""Where a trial is measured: at its start, and where its budget ends.

A trial is judged by the mean over the last tenth of what it may spend after its start, or by its last iteration where
one costs more than that: a method that swings has a lucky iteration now and then, and should not win by it.
"""

import math
from collections.abc import Mapping

import numpy as np

from raydream.backends.plan import Plan
from raydream.backends.protocol import Snapshot
from raydream.columns import names
from raydream.running.recorder import Recorder

RECORDS = 20  # evenly spread over the budget, with a few more at its beginning and its end
CLOSING = 0.1  # of the budget after the start, over which a trial is judged
JUDGED = 10  # records in that part, or a few more
PATIENCE = 64  # iterations that may cost nothing
METRICS = names("metric")  # by any of which trials may be judged


class ClosingRecorder(Recorder):
    """Measures the start and the closing part of the budget; what other records cost is all that is asked of them."""

    def __init__(self, plan: Plan, axis: str, budget: float) -> None:
        clocked = plan.conditions is not None
        super().__init__(plan.problem, plan.method, diagnostics=False, metrics=plan.metrics, clocked=clocked)
        self._axis, self._budget = axis, budget
        self.judged: list[int] = []  # the places of the rows that were measured after the start
        self._closing = math.inf  # where that part begins
        self._last: tuple[int, Snapshot, float] | None = None

    def record(self, snapshot: Snapshot, seconds: float) -> dict[str, float]:
        """A row, with metrics if they are due."""
        row = self.spent(snapshot, seconds)
        if snapshot.iteration == 0:
            self._closing = self._budget - CLOSING * (self._budget - row[self._axis])
            return super().record(snapshot, seconds)
        if self._closing <= row[self._axis] <= self._budget:
            self.judged.append(len(self.rows))
            return super().record(snapshot, seconds)
        row |= dict.fromkeys([*METRICS, *self.own, *names("overhead")], math.nan) | {
            "evaluation_seconds": self.rows[-1]["evaluation_seconds"]
        }
        self.rows.append(row)
        if row[self._axis] <= self._budget:
            self._last = len(self.rows) - 1, snapshot, seconds
        return row

    def measure_one(self) -> None:
        """Measure the last record within the budget, if none was due."""
        if self._last is not None and not self.judged:
            place, snapshot, seconds = self._last
            self.judged.append(place)
            self.rows[place] = super().record(snapshot, seconds)
            self.rows.pop()

    def mean(self, metric: str) -> float:
        """Over the closing part, by trapezoids, as its records are not at equal distances."""
        closing = [self.rows[place] for place in self.judged]
        values, at = ([row[name] for row in closing] for name in (metric, "iteration"))
        return float(np.trapezoid(values, at) / (at[-1] - at[0]) if len(at) > 1 else values[0])


class ToTheBudget:
    """Records at a share of the budget from each other; closer near its beginning, in its closing part and at its end.

    At the beginning the price of an iteration is not known; at the end the last record within the budget should be
    the last iteration within it, or methods would be judged at different shares of their budget. Distances are odd:
    what swings from one iteration to the next is seen on both sides.
    """

    def __init__(self, axis: str, budget: float) -> None:
        self.axis, self.budget = axis, budget
        self._every, self._start = 1, 0.0

    def after(self, iteration: int) -> int:
        """The next multiple of the distance that is right by now."""
        return (iteration // self._every + 1) * self._every

    def note(self, row: Mapping[str, float]) -> None:
        """Set the distance to the next record by what was spent up to this one."""
        done = int(row["iteration"])
        if done == 0:
            self._start = row[self.axis]
            return
        spent = row[self.axis] - self._start
        if spent > 0:
            left = (self.budget - row[self.axis]) * done / spent  # in iterations
            everything = (self.budget - self._start) * done / spent
            closing = CLOSING * everything
            room = min(done, everything / RECORDS, left / 2, max(left - closing, closing / JUDGED))
            self._every = max(1, 2 * int((room - 1) / 2) + 1)
        elif done < PATIENCE:
            self._every = done
        else:
            raise ValueError(f"{done} iterations cost no {self.axis}, and a budget of that would never end.")
