"""What was tried of one method, as the figures see it: a mark for each configuration and rung."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from raydream.algorithms.facts import Range
from raydream.columns import Column, column
from raydream.report.collect import words
from raydream.report.figures.reach import si
from raydream.studies.curves import quantile
from raydream.studies.tuning.importance import Importance, importance
from raydream.studies.tuning.rungs import rungs
from raydream.studies.tuning.spaces import Grid, Parameters
from raydream.studies.tuning.trials import Record
from raydream.studies.tuning.tuning import Tuning
from raydream.studies.tuning.winners import Standing, edges

MOST = 1200  # marks of one method that are drawn


@dataclass(frozen=True)
class Mark:
    """A configuration with the budget of one rung: its score is the median over seeds, infinite where it diverged.

    number  of the configuration, in the order in which they were tried
    """

    standing: Standing
    number: int
    rung: int
    score: float

    @property
    def parameters(self) -> Parameters:
        """Its parameters."""
        return self.standing.parameters

    def text(self, metric: str, axis: str, of: int) -> str:
        """What is told of it where one points at it, line by line."""
        records = self.standing.records
        seeds = "" if len(records) == 1 else f" (median of {len(records)} seeds)"
        budgets = sorted({record["budget"] for record in records})
        outcomes = ", ".join(dict.fromkeys(str(record["outcome"]) for record in records))
        rung = "" if of == 1 else f"rung {self.rung + 1} of {of}, "
        score = f"{column(metric).short} = {self.score:.6g}" if math.isfinite(self.score) else outcomes
        return f"{score}{seeds}\n{rung}up to {'-'.join(si(one) for one in budgets)} {axis}\n{words(self.parameters)}"


@dataclass(frozen=True)
class Tried:
    """What was tried of one method.

    marks    one for each configuration and rung, in the order in which they were tried
    started  the score before the first iteration, the median over trials; NaN where an earlier version did not say
    winner   the parameters that won, and `sides` where they lie at an edge: -1 at the lower, 1 at the upper
    asked    whether the grid is what was asked for; else it is what was tried
    most     marks that are drawn
    """

    label: str
    name: str
    metric: str
    axis: str
    marks: list[Mark]
    started: float
    grid: Grid
    winner: Parameters | None
    sides: dict[str, int]
    asked: bool = True
    most: int = MOST

    @property
    def sign(self) -> int:
        """1 where less is better, else -1."""
        return 1 if column(self.metric).better == "less" else -1

    @property
    def rungs(self) -> int:
        """How many there are."""
        return max((mark.rung for mark in self.marks), default=0) + 1

    @property
    def varied(self) -> list[str]:
        """The parameters of which more than one value could be tried."""
        return [name for name, values in self.grid.items() if isinstance(values, Range) or len(values) > 1]

    @property
    def fixed(self) -> Parameters:
        """The others."""
        return {name: values[0] for name, values in self.grid.items()
                if not isinstance(values, Range) and len(values) == 1}  # fmt: skip

    @cached_property
    def best(self) -> Mark | None:
        """The winner with the largest budget that it was given."""
        own = [mark for mark in self.marks if mark.parameters == self.winner]
        return max(own, key=lambda mark: mark.rung, default=None)

    @cached_property
    def drawn(self) -> list[Mark]:
        """As many marks as can be drawn: the better half of these, and some of all others; the worst come first."""
        order = sorted(self.marks, key=lambda mark: self.sign * mark.score, reverse=True)
        if len(order) <= self.most:
            return order
        half = self.most // 2
        others = np.linspace(0, len(order) - half - 1, self.most - half).astype(int)
        return [order[place] for place in others] + order[-half:]

    @cached_property
    def latest(self) -> list[Mark]:
        """Of the marks that are drawn, each configuration's with the largest budget."""
        last: dict[str, Mark] = {}
        for mark in self.drawn:
            known = last.get(repr(mark.parameters))
            if known is None or known.rung < mark.rung:
                last[repr(mark.parameters)] = mark
        return [mark for mark in self.drawn if last[repr(mark.parameters)] is mark]

    def mattered(self) -> tuple[dict[str, Importance], int]:
        """What each parameter explains alone, among all configurations at the first rung; and how many these are."""
        first = [mark for mark in self.marks if mark.rung == 0]
        losses = [self.sign * mark.score for mark in first]
        told = {name: importance([mark.parameters.get(name) for mark in first], losses, len(self.varied))
                for name in self.varied}  # fmt: skip
        return told, len(first)

    def budgets(self, rung: int) -> str:
        """What trials of a rung could spend, their start included."""
        seen = [float(record["budget"]) for mark in self.marks if mark.rung == rung for record in mark.standing.records]
        low, high = si(min(seen)), si(max(seen))
        return f"{low if low == high else f'{low} to {high}'} {column(self.axis).short}"


def tried(tuning: Tuning, label: str, most: int = MOST) -> Tried:
    """What a tuning tried of one method, of which at most so many marks are to be drawn."""
    own = [record for record in tuning.records if record["method"] == label]
    winner = tuning.winners.get(label)
    grid = tuning.grid(label)
    search = tuning.about["search"]  # "" of one that is under way, and nobody knows where it searches
    sides = edges(winner["parameters"], grid, search == "grid") if winner and search else {}
    started = [(record.get("started") or {}).get(tuning.metric) for record in own]
    return Tried(
        label=label,
        name=str(tuning.about["methods"].get(label, label)),
        metric=tuning.metric,
        axis=tuning.axis,
        marks=marks(own, tuning.judged_by),
        started=quantile([math.nan if one is None else float(one) for one in started], 0.5),
        grid=grid,
        winner=None if winner is None else winner["parameters"],
        sides=sides,
        asked=label in tuning.about.get("grids", {}),
        most=most,
    )


def marks(records: Iterable[Record], judged_by: Column) -> list[Mark]:
    """The trials of one method, those of different seeds drawn together."""
    every = list(records)
    found: dict[tuple[str, int], list[Any]] = {}
    for record, rung in zip(every, rungs(every), strict=True):
        found.setdefault((repr(record["parameters"]), rung), []).append(record)
    number = {text: place for place, text in enumerate(dict.fromkeys(text for text, _ in found))}
    sign = 1 if judged_by.better == "less" else -1
    return [
        Mark(one := Standing(those[0]["parameters"], tuple(those)), number[text], rung, sign * one.loss(judged_by))
        for (text, rung), those in found.items()
    ]
