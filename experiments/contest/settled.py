"""When a target counts as reached: not at a swing or a lucky draw, and not where y has not followed."""

from collections.abc import Mapping
from typing import Any

from raydream.studies.statistics import has_followed

RECORDS, SHARE = 10, 0.1  # how long it must stay: so many records, and this share of the iterations that it took


class Settled:
    """Hears each record of a run (`on_record`) and ends it when a column has stayed at or below the target.

    first  the record since which it has, with y so near to its best response that the gap is less than what P has
           gained; None where it has not
    """

    def __init__(self, column: str, target: float) -> None:
        self.first: dict[str, float] | None = None
        self._column, self._target = column, target
        self._started, self._stayed = float("nan"), 0

    def __call__(self, row: Mapping[str, Any]) -> bool:
        if row["iteration"] == 0:
            self._started = row["primal"]
        if row[self._column] <= self._target and has_followed(self._started, row["primal"], row["dual_gap"]):
            self.first = self.first or dict(row)
            self._stayed += 1
        else:
            self.first, self._stayed = None, 0
        return self.first is not None and (
            self._stayed > RECORDS and row["iteration"] >= (1 + SHARE) * self.first["iteration"]
        )
