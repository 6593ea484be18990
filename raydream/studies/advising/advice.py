"""An answer: a table, a winner as far as the seeds decide it, and where it comes from."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from raydream.columns import column
from raydream.studies.comparison import Comparison
from raydream.studies.places import Place, duration, pace
from raydream.studies.prices import said_of
from raydream.studies.statistics import median_interval
from raydream.studies.winners import Winners, winners

if TYPE_CHECKING:
    import pandas as pd

COUNTS = ("rounds", "bytes", "sfo")


@dataclass
class Advice:
    """Which method is first to a target at some prices.

    comparison  the runs that it is taken from, kept in `directory`
    prices      of a gradient, a message and a link
    told        what to know of it: where it comes from, and how that differs from what was asked
    command     what gives the same answer again
    """

    comparison: Comparison
    prices: Place
    metric: str
    target: float
    told: list[str] = field(default_factory=list)
    command: str = ""
    directory: Path | None = None

    def __post_init__(self) -> None:
        self._reaching = self.comparison.reaching(self.target, self.metric)
        calls, wait = np.array([self.prices.gradient_seconds]), np.array([self.prices.latency])
        self._times = self._reaching.times(calls, wait, self.prices.bandwidth)
        self._found: Winners = winners(self._times)

    @property
    def table(self) -> "pd.DataFrame":
        """By method, the quickest first: simulated seconds to the target with the 95 % interval of the median, how
        many seeds reached it, and the medians of what it took; NaN where half of the seeds did not get there."""
        import pandas as pd

        spent = self.comparison.to_reach(self.target, self.metric).set_index("method")
        rows = []
        for place, method in enumerate(self._reaching.methods):
            middle, low, high, _ = median_interval(self._times.reached[place, :, 0].tolist())
            counts = {name: float(spent.loc[method, name]) for name in COUNTS}
            shares = {name: int(spent.loc[method, name]) for name in ("reached", "seeds")}
            rows.append({"method": method, "sim_seconds": middle, "low": low, "high": high, **shares, **counts})
        return pd.DataFrame(rows).sort_values("sim_seconds", kind="stable", ignore_index=True)

    @property
    def winner(self) -> str | None:
        """The method that is first; None where nobody gets there, or where paired seeds do not decide its lead."""
        first = int(self._found.winner[0])
        return self._reaching.methods[first] if first >= 0 and self._found.decided[0] else None

    @property
    def verdict(self) -> str:
        """Who is first, in one sentence, as far as the seeds decide it."""
        aim = f"{self.metric} {self.sign} {self.target:.4g}"
        first, second = int(self._found.winner[0]), int(self._found.second[0])
        if first < 0:
            return f"No method gets to {aim} by the median of its seeds: choose a target that is nearer."
        name, time, ratio = self._reaching.methods[first], float(self._found.time[0]), float(self._found.ratio[0])
        lead = f", {ratio:.3g} times as fast as {self._reaching.methods[second]}" if second >= 0 else ""
        seeds = len(self._reaching.seeds)
        share = float(self._found.agree[0])
        agree = "" if math.isnan(share) else f"; first on {share * seeds:.0f} of {seeds} seeds"
        if self._found.decided[0]:
            alone = "" if second >= 0 else "; no other does by the median of its seeds"
            return f"{name} gets to {aim} first, after {duration(time)}{lead}{alone}{agree}."
        near = f"{name} has the least median, {duration(time)}{lead}{agree}"
        return f"The seeds do not decide who gets to {aim} first: {near}."

    @property
    def sign(self) -> str:
        """Which way the metric is better."""
        return "<=" if column(self.metric, self.comparison.own).better == "less" else ">="

    @property
    def priced(self) -> str:
        """The prices, and how exactly simulated time follows from them."""
        gradient, message, link = self.prices
        exact = said_of(self.comparison.results, self.prices.conditions).partition("; ")[2]
        return (
            f"a gradient costs {duration(gradient)}, a message takes {duration(message)}, a link carries {pace(link)}; "
            f"simulated time is {exact}"
        )

    def __str__(self) -> str:
        lines = [self.verdict, f"Here {self.priced}.", *self.told, "", self.table.to_string(index=False), ""]
        return "\n".join([*lines, f"Again: {self.command}"] if self.command else lines[:-1])
