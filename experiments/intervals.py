"""What may be said about two costs: paired seed by seed, with a 95 % interval, or that it could not be decided.

    ratio of a pair = cost with this seed / cost of the other with the same seed

The interval is that of the geometric mean of the ratios, by bootstrap over the seeds: the percentiles of the means of
resamples, widened for few seeds as Student's t widens the normal interval (Hesterberg's expanded percentiles). With
fewer than SEEDS seeds nothing is decided: among 5 pairs without any difference all lean to the same side in one case
of 16. A run that never reached its target has no cost (None); then how often each reached is compared, by an exact
sign test over the seeds, and not the ratio of those that did.
"""

from dataclasses import dataclass
from functools import cache
from math import exp, log, sqrt
from typing import Any

import numpy as np
from scipy import stats
from texts import Row, short

LEVEL, SEEDS, DRAWS = 0.95, 6, 10_000


ORDER = ("less", "more", "equal", "undecided")


@dataclass(frozen=True)
class Comparison:
    """A cost against another's: the mean ratio with its interval, and how many runs of either reached."""

    ratio: float
    low: float
    high: float
    reached: int
    other: int
    runs: int
    leaning: float  # chance that seeds without a difference would lean as far to one side in how often they reach

    @property
    def verdict(self) -> str:
        """ "less", "more", "equal" (in every pair) or "undecided"; who reaches more often is cheaper."""
        if not self.complete:
            leans = self.leaning <= 1 - LEVEL
            return "undecided" if not leans else "less" if self.reached > self.other else "more"
        if self.low == self.high == 1:
            return "equal"
        return "less" if self.high < 1 else "more" if self.low > 1 else "undecided"

    @property
    def complete(self) -> bool:
        return self.runs > 0 and self.reached == self.other == self.runs

    def told(self, less: str = "fewer", more: str = "more") -> str:
        """The comparison and what it decides, for a sentence."""
        words = dict(zip(ORDER, (less, more, "the same", "not decided"), strict=True))
        return f"{self} ({words[self.verdict]})"

    def __str__(self) -> str:
        if self.runs == 0:
            return "no pairs"
        if not self.complete:
            return f"{self.reached} of {self.runs} reached against {self.other} of {self.runs}"
        if self.low == self.high == 1:
            return "1 in every pair"
        if not np.isfinite(self.high):
            return f"{short(self.ratio)} [too few seeds]"
        numbers = (self.ratio, self.low, self.high)
        ratio, low, high = (short(v) if self.high - self.low > 0.01 * self.ratio else f"{v:.6g}" for v in numbers)
        return f"{ratio} [{low}, {high}]"


def compare(rows: list[Row], others: list[Row], cost: str, over: tuple[str, ...] = ()) -> Comparison:
    """`cost` of rows against that of others, paired by the seed and the columns `over`, whose pairs are averaged."""
    names = ("seed", *over)
    mine, theirs = ({tuple(row[name] for name in names): row[cost] for row in part} for part in (rows, others))
    if mine.keys() != theirs.keys() or len(mine) != len(rows):
        raise ValueError(f"`rows` and `others` must hold the same {names}, each once")
    pairs: dict[Any, list[tuple[Any, Any]]] = {}
    for key, value in mine.items():
        pairs.setdefault(key[0], []).append((value, theirs[key]))
    everything = [pair for those in pairs.values() for pair in those]
    reached, other = (sum(pair[side] is not None for pair in everything) for side in (0, 1))
    leans = [sum((a is not None) - (b is not None) for a, b in those) for those in pairs.values()]
    ratio, low, high = float("nan"), float("nan"), float("nan")
    if reached == other == len(everything) > 0:
        ratio, low, high = _ratio([[log(a / b) for a, b in those] for those in pairs.values()])
    return Comparison(ratio, low, high, reached, other, len(everything), _leaning(leans))


def interval(values: Any) -> tuple[float, float]:
    """The 95 % interval of the mean of a sample; infinite for fewer than SEEDS values."""
    values = np.asarray(values, dtype=float)
    n = len(values)
    if n < SEEDS:
        return -np.inf, np.inf
    reach = sqrt(n / (n - 1)) * stats.t.ppf((1 + LEVEL) / 2, n - 1)
    tail = stats.norm.cdf(-reach)
    means = values[_draws(n)].mean(axis=1)
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


@cache
def _draws(n: int) -> Any:
    """DRAWS samples of n with replacement, the same for ever: no release of numpy may change a generator's raw bits."""
    return (np.random.Philox(0).random_raw(DRAWS * n) % n).reshape(DRAWS, n).astype(int)


def tally(found: dict[str, Comparison], less: str = "fewer", more: str = "more", ratios: bool = True) -> str:
    """How many comparisons decided what, each with its name and ratio: "2 of 3 fewer (a: 0.5 [0.4, 0.6]; ...), ..."."""
    words = dict(zip(ORDER, (less, more, "the same", "not decided"), strict=True))
    parts = []
    for verdict in ORDER:
        mine = [f"{name}: {one}" if ratios else name for name, one in found.items() if one.verdict == verdict]
        if mine:
            parts.append(f"{len(mine)} of {len(found)} {words[verdict]} ({'; '.join(mine)})")
    return ", ".join(parts)


def typical(rows: list[Row], cost: str, *others: str) -> Row:
    """Medians of columns; where not all runs reached, how many did instead of the cost, and nan for the others."""
    reached = [row for row in rows if row[cost] is not None]
    if len(reached) < len(rows):
        return {cost: f"{len(reached)} of {len(rows)} reached", **dict.fromkeys(others, float("nan"))}
    return {name: float(np.median([row[name] for row in rows])) for name in (cost, *others)}


def _ratio(logs: list[list[float]]) -> tuple[float, float, float]:
    means = [float(np.mean(those)) for those in logs]
    low, high = interval(means)
    return exp(float(np.mean(means))), exp(low), exp(high) if np.isfinite(high) else np.inf


def _leaning(leans: list[int]) -> float:
    """Two-sided chance of the sign test over the seeds that lean at all."""
    up, down = sum(lean > 0 for lean in leans), sum(lean < 0 for lean in leans)
    return float(stats.binomtest(up, up + down).pvalue) if up + down else 1.0
