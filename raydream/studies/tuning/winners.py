"""Who wins a tuning, and who does not although it looks like it."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from raydream.algorithms.facts import Range
from raydream.columns import Column
from raydream.studies.curves import quantile
from raydream.studies.statistics import has_followed
from raydream.studies.tuning.spaces import Grid, Parameters
from raydream.studies.tuning.trials import Record, Trial

MOVED = 1e-6  # a score must be better than at the start by this share of it
SAME = 1e-12  # scores that differ by a smaller share are tied
NEAR = 10**0.25  # from a bound of a range: at its edge

Ranked = dict[str, list["Standing"]]  # by label, best first
Winner = dict[str, Any]


@dataclass(frozen=True)
class Standing:
    """A configuration with its trials, one for each seed."""

    parameters: Parameters
    records: tuple[Record, ...]

    def loss(self, metric: Column) -> float:
        """The median over seeds of the metric, turned so that less is better."""
        return quantile([loss_of(record, metric) for record in self.records], 0.5)

    def median(self, name: str, at_start: bool = False) -> float:
        """The median over seeds of what was measured, at the budget or at the start; NaN where there is none."""
        found = [(record.get("started") or {}).get(name) if at_start else record.get(name) for record in self.records]
        return quantile([math.nan if value is None else float(value) for value in found], 0.5)


def score_of(record: Record, metric: Column) -> float:
    """The metric of a trial; infinitely bad where there is none."""
    value = record.get(metric.name)
    return _sign(metric) * math.inf if value is None else float(value)


def loss_of(record: Record, metric: Column) -> float:
    """The metric of a trial, turned so that less is better."""
    return _sign(metric) * score_of(record, metric)


def _sign(metric: Column) -> int:
    return 1 if metric.better == "less" else -1


def ranked(tried: Iterable[Trial], records: Iterable[Record], metric: Column, labels: Iterable[str]) -> Ranked:
    """The configurations of each method, best first; those that are alike in the order of the trials."""
    found: dict[str, dict[str, tuple[Parameters, list[Record]]]] = {label: {} for label in labels}
    for trial, record in zip(tried, records, strict=True):
        found[trial.method].setdefault(repr(trial.parameters), (trial.parameters, []))[1].append(record)
    standings = {
        label: [Standing(parameters, tuple(those)) for parameters, those in configured.values()]
        for label, configured in found.items()
    }
    return {label: sorted(those, key=lambda one: one.loss(metric)) for label, those in standings.items()}


def best_third(order: list[Standing], metric: Column) -> list[Parameters]:
    """Those that go on to the next round of halving: a third, of which each has a finite score."""
    sound = [standing for standing in order if math.isfinite(standing.loss(metric))]
    return [standing.parameters for standing in sound[: -(-len(order) // 3)]]


def judge(order: list[Standing], name: str, metric: Column) -> tuple[Winner | None, str]:
    """The winner, if there is one, and what is to be said of it."""
    if not order or not math.isfinite(order[0].loss(metric)):
        return None, "no trial came to its budget with a finite score"
    first = order[0]
    score, started = first.median(metric.name), first.median(metric.name, at_start=True)
    if not _sign(metric) * (started - score) > MOVED * abs(started) and math.isfinite(started):
        return None, f"nothing beat the start ({metric.name} {started:.6g})"
    tied = sum(abs(one.loss(metric) - first.loss(metric)) <= SAME * abs(first.loss(metric)) for one in order[1:])
    primal, gap = first.median("primal"), first.median("dual_gap")
    winner = {"name": name, "parameters": first.parameters, "score": score, "started": started, "tied": tied}
    winner |= {"dual_gap": gap, "followed": has_followed(first.median("primal", at_start=True), primal, gap)}
    said = [f"tied with {tied} others, of which it was tried first"] if tied else []
    said += [] if winner["followed"] else [f"y has not followed: the dual gap is {gap:.3g}"]
    return {key: _plain(value) for key, value in winner.items()}, "; ".join(said)


def _plain(value: Any) -> Any:
    """JSON has no NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def edges(parameters: Mapping[str, Any], grid: Grid, stepped: bool = False) -> dict[str, int]:
    """The parameters whose best value lies at an edge of what was tried: -1 at the lower, 1 at the upper.

    stepped  whether a few values of each range were tried in its place
    """
    found = {}
    for name, value in parameters.items():
        values = grid.get(name, ())
        if isinstance(values, Range) and stepped:
            side = -1 if value <= min(values.grid()) else 1 if value >= max(values.grid()) else 0
        elif isinstance(values, Range):
            side = -1 if value < values.low * NEAR else 1 if value > values.high / NEAR else 0
        else:
            several = len(values) > 1 and all(isinstance(one, int | float) for one in values)
            side = (-1 if value == min(values) else 1 if value == max(values) else 0) if several else 0
        if side:
            found[name] = side
    return found
