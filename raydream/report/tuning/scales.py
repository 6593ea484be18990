"""Where things stand along an axis: the values of a parameter, and scores, of which the worst stand at the edge."""

import math
from dataclasses import dataclass
from typing import Any

from raydream.algorithms.facts import Range
from raydream.columns import column
from raydream.report.figures.convergence import plain, shortened
from raydream.report.tuning.tried import Mark, Tried

STEPS = 12  # values that stand side by side, each with its name
WIDE = 20.0  # the span of numbers that a logarithmic axis shows best
WORD = 12  # characters of a value's name
GOLDEN = 0.618  # marks of the same value are spread so that each is seen
ROOM = 0.16  # of the height, beyond the worst score: for what is worse, and for what has none


@dataclass(frozen=True)
class Scale:
    """The values of one parameter along an axis, from 0 to 1.

    kind    "log", "linear" or "steps": a few values side by side
    values  the bounds, or all values in their order
    """

    name: str
    kind: str
    values: tuple[Any, ...]

    def share(self, value: Any, number: int = 0, spread: float = 0.0) -> float:
        """Where a value stands, from 0 to 1; what stands at the same step a little apart, by its number."""
        if self.kind == "steps":
            aside = spread * ((number * GOLDEN) % 1 - 0.5)
            return (self._step(value) + 0.5 + aside) / max(1, len(self.values))
        if not isinstance(value, int | float):
            return math.nan
        low, high = (float(one) for one in self.values)
        if self.kind == "log":
            return math.log(value / low) / math.log(high / low) if value > 0 else math.nan
        return (value - low) / (high - low)

    def ticks(self) -> dict[float, str]:
        """Names of places from 0 to 1."""
        if self.kind == "steps":
            return {(place + 0.5) / len(self.values): _named(one) for place, one in enumerate(self.values)}
        low, high = (float(one) for one in self.values)
        if self.kind == "linear":
            return {share: f"{low + share * (high - low):.3g}" for share in (0.0, 0.25, 0.5, 0.75, 1.0)}
        powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
        every = max(1, math.ceil(len(powers) / 6))
        found = {self.share(10.0**power): _power(power) for power in powers if power % every == 0}
        return found if len(found) > 1 else {0.0: f"{low:.3g}", 1.0: f"{high:.3g}"}

    def _step(self, value: Any) -> int:
        return next((place for place, one in enumerate(self.values) if repr(one) == repr(value)), -1)


def scale_of(tried: Tried, name: str) -> Scale:
    """How a parameter is drawn: ranges and numbers over decades on a logarithmic axis, a few values in steps."""
    values = tried.grid[name]
    if isinstance(values, Range):
        seen = [value for mark in tried.marks if isinstance(value := mark.parameters.get(name), int | float)]
        return Scale(name, "log", (min([values.low, *seen]), max([values.high, *seen])))
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)
    # Where it is not known where a search looks, several floats are taken for numbers from a range.
    drawn = not tried.asked and len(values) > 3 and any(isinstance(one, float) for one in values)
    if not numbers or not (drawn or len(values) > STEPS):
        return Scale(name, "steps", tuple(sorted(values, key=_order)))
    low, high = min(values), max(values)
    return Scale(name, "log" if low > 0 and high >= WIDE * low else "linear", (low, high))


@dataclass(frozen=True)
class Scores:
    """Scores along an axis: from the best to the start's, where some are better than that, else to the worst.

    What is worse stands at the edge, and beyond it what has no score.
    """

    best: float
    worst: float
    log: bool
    clipped: bool  # at the start's score

    def share(self, score: float) -> float:
        """0 for the best, 1 for the worst that is told apart, more at the edge."""
        if not math.isfinite(score):
            return 1 + 0.75 * ROOM
        best = self._at(self.best)
        return min(1 + 0.35 * ROOM, (self._at(score) - best) / (self._at(self.worst) - best))

    def place(self, score: float) -> float:
        """The same in the units of the axis."""
        found = self._at(self.best) + self.share(score) * (self._at(self.worst) - self._at(self.best))
        return 10.0**found if self.log else found

    def kind(self, mark: Mark) -> str:
        """Whether a mark stands "there", at the edge as "worse" than the start, or "lost" beyond it."""
        if not math.isfinite(mark.score):
            return "lost"
        return "worse" if self.share(mark.score) > 1 else "there"

    @property
    def range(self) -> tuple[float, float]:
        """Of the axis, as plotly counts."""
        span = self._at(self.worst) - self._at(self.best)
        return self._at(self.best) - 0.06 * span, self._at(self.worst) + ROOM * span

    def _at(self, score: float) -> float:
        return math.log10(max(score, 1e-300)) if self.log else score


def scores_of(tried: Tried) -> Scores:
    """The scale of all scores of a method."""
    sign = tried.sign
    found = sorted((mark.score for mark in tried.marks if math.isfinite(mark.score)), key=lambda one: sign * one)
    found = found or [tried.started if math.isfinite(tried.started) else 0.0]
    best, worst = found[0], found[-1]
    clipped = math.isfinite(tried.started) and sign * best < sign * tried.started
    worst = tried.started if clipped else worst
    if best == worst:
        worst = best + sign * (abs(best) or 1.0)
    low, high = sorted((best, worst))
    log = low > 0 and (column(tried.metric).log or (not clipped and high / low > WIDE**2))
    return Scores(best, worst, log, clipped)


def _order(value: Any) -> tuple[int, float, str]:
    """Numbers by size, then words, then the method's own choice."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return 0, float(value), ""
    return (2, 0.0, "") if value is None else (1, 0.0, str(value))


def _named(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return "default" if value is None else plain(shortened(text, WORD))


def _power(power: int) -> str:
    return f"{10.0**power:g}" if -4 <= power <= 4 else f"10<sup>{power}</sup>"
