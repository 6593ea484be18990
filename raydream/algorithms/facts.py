"""What a method says of itself: all that its code does not show, and others need to know."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import log10
from typing import Any, Literal

from raydream.checks import positive
from raydream.theory.rates import Case, Rate


@dataclass(frozen=True)
class Range:
    """All numbers between two bounds, searched on a logarithmic scale."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if positive("low", self.low) >= positive("high", self.high):
            raise ValueError(f"`high` must exceed `low`; got Range({self.low:g}, {self.high:g}).")

    @property
    def decades(self) -> float:
        """How many powers of ten it spans."""
        return log10(self.high / self.low)

    def at(self, share: float) -> float:
        """The number at this share of the way from low to high, with three digits."""
        return self.rounded(self.low * (self.high / self.low) ** share)

    def rounded(self, value: float) -> float:
        """A number with three digits, within the bounds."""
        return min(self.high, max(self.low, float(f"{value:.3g}")))

    def grid(self) -> tuple[float, ...]:
        """1, 3, 10, 30, ... as far as they lie in it; its bounds where none does."""
        decades = range(int(log10(self.low)) - 1, int(log10(self.high)) + 2)
        steps = (float(f"{digit}e{power}") for power in decades for digit in (1, 3))
        return tuple(step for step in steps if self.low <= step <= self.high) or (self.low, self.high)


Values = tuple[float | str | None, ...] | Range  # that a search tries; None is the method's own choice
Grid = Mapping[str, Values]


@dataclass(frozen=True)
class Counting:
    """How the DREAM paper would count what the ledger bills.

    corrections  the SFO calls after the first batch that are recursive corrections, billed 2b here and b there:
                 "none", "all", or those "between" large batches
    untracked    from a run's parameters: the rounds of an iteration that carry no tracker, which are billed here and
                 not counted there; None where the trackers take turns, or there is none
    """

    corrections: Literal["none", "all", "between"] = "none"
    untracked: Callable[[Mapping[str, Any]], int | None] | None = None


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The facts about a method, each to be left out where there is nothing to say.

    name         on the command line, in records and in legends
    cases        "offline" (finite sums), "online" (fresh samples), or both
    one_machine  whether it runs on one machine: it is given the pooled problem
    constraint   how y is kept in Y
    covered      whether the paper's theory covers a constraint on y, in a word or two
    arrays       arrays in one round's frames
    sfo, rounds  per agent and iteration, and per iteration, in words
    rates        SFO calls and rounds up to ||grad P|| <= epsilon, for each case that the paper states them for
    no_rate      why there is none, where there is none
    reference    authors, venue, year
    source       where the specification comes from: "paper", "public code", "reconstruction, checked by laws", or
                 "abstract and reconstruction, checked by laws" where of the paper only the abstract was seen
    colour       of its lines in every figure, as #rrggbb; after Okabe and Ito, whose colours readers with any colour
                 vision tell apart
    dash         of its first line in a figure; the less usual methods are dashed too
    spaces       for each built-in space of tuning the grid of its own parameters, beside the steps that all share
    counting     how the DREAM paper would count its costs
    """

    name: str = ""
    cases: tuple[Case, ...] = ()
    one_machine: bool = False
    constraint: str = ""
    covered: str = ""
    arrays: str = ""
    sfo: str = ""
    rounds: str = ""
    rates: Mapping[Case, Rate] = field(default_factory=dict)
    no_rate: str = ""
    reference: str = ""
    source: str = ""
    colour: str = ""
    dash: Literal["solid", "dash", "dot", "dashdot", "longdash"] = "solid"
    spaces: Mapping[str, Grid] = field(default_factory=dict)
    counting: Counting | None = None

    @property
    def setting(self) -> str:
        """The cases, and whether one machine is needed, in words."""
        return ", ".join([*self.cases, *(["one machine"] if self.one_machine else [])])

    @property
    def total_sfo(self) -> str:
        """SFO calls of all agents up to epsilon, as a formula, or why there is none."""
        return self._total({case: rate.sfo.formula for case, rate in self.rates.items()})

    @property
    def total_rounds(self) -> str:
        """Rounds up to epsilon, as a formula, or why there is none."""
        return self._total({case: rate.rounds.formula for case, rate in self.rates.items()})

    def _total(self, formulas: Mapping[Case, str]) -> str:
        """One formula that holds for all stated cases, or each with its case."""
        if len(set(formulas.values())) > 1:
            return ", ".join(f"{formula} {case}" for case, formula in formulas.items())
        return next(iter(formulas.values()), self.no_rate)
