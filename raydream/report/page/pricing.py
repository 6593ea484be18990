"""What the page needs to tell who wins where: how each run is priced, and what decides a lead."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from raydream.report.collect import ENDED, Run
from raydream.report.deciding import unjudgeable
from raydream.studies.places import PLACES, SPANS
from raydream.studies.prices import COUNTED, shared_by, why_estimated
from raydream.studies.statistics import student_reach
from raydream.studies.winners import NEVER

ALWAYS = tuple(name for name in COUNTED if name != "dropped")
MOST = 20  # methods that a map tells apart


class PricedRun(TypedDict):
    """One run: its seed, among whom calls and bytes are shared, and whether it can never get to a target.

    run  its place among all runs, or none where it ended with an error
    """

    run: int | None
    seed: str
    agents: int
    links: float
    lost: bool


class Pricing(TypedDict):
    """All of it.

    why        why there is no map, where there is none
    runs       for each group those of its runs that have come to their end
    counted    the columns of calls, rounds and bytes
    exact      how exactly simulated time follows from them
    reach      by the number of seeds: half an interval of a mean, in standard deviations (null: without bounds)
    never      how many times as dear as the first a method counts that diverged or failed on every seed
    """

    why: str
    runs: list[list[PricedRun]]
    counted: list[str]
    exact: str
    reach: list[float | None]
    never: float
    places: dict[str, list[float]]
    spans: dict[str, list[float]]


def pricing_of(every: list[Run], groups: Mapping[str, list[Run]], failures: Mapping[Any, str]) -> Pricing | None:
    """How runs are priced; nothing where there are not several methods."""
    if len(groups) < 2:
        return None
    place = {id(run): number for number, run in enumerate(every)}
    why = _why_not(groups)
    runs = [] if why else [_priced(label, group, place, failures) for label, group in groups.items()]
    most = max((len({one["seed"] for one in group}) for group in runs), default=0)
    return {
        "why": why,
        "runs": runs,
        "counted": ["sfo", "rounds", "bytes"],
        "exact": "" if why else _exactness(groups),
        "reach": [reach if math.isfinite(reach := student_reach(count)) else None for count in range(most + 1)],
        "never": NEVER,
        "places": {name: list(prices) for name, prices in PLACES.items()},
        "spans": {name: list(ends) for name, ends in SPANS.items()},
    }


def _why_not(groups: Mapping[str, list[Run]]) -> str:
    """Why simulated time does not follow from what these runs recorded, if it does not."""
    runs = _ended(run for group in groups.values() for run in group)
    lacking = [name for name in ALWAYS if not all(_counts(run, name) for run in runs)]
    if not runs:
        return "no run has come to its end"
    if lacking:
        return f"not all runs recorded {', '.join(lacking)}, of which simulated time is a function"
    if any(run.record is None for run in runs):
        return "it is not recorded among how many agents each run shared its gradients"
    if len(groups) > MOST:
        return f"there are {len(groups)} methods; a map tells at most {MOST} apart"
    return unjudgeable(runs, dict(groups))


def _counts(run: Run, name: str) -> bool:
    values = run.columns.get(name)
    return values is not None and len(values) > 0 and bool((values == values).all())


def _ended(runs: Iterable[Run]) -> list[Run]:
    return [run for run in runs if run.outcome in ENDED]


def _priced(label: str, group: list[Run], place: Mapping[int, int], failures: Mapping[Any, str]) -> list[PricedRun]:
    priced: list[PricedRun] = []
    for run in _ended(group):
        assert run.record is not None
        agents, links = shared_by(run.columns, run.record.problem.agents)
        lost = run.outcome == "diverged"
        priced.append({"run": place[id(run)], "seed": str(run.seed), "agents": agents, "links": links, "lost": lost})
    failed = [str(key[1]) for key in failures if isinstance(key, tuple) and key[0] == label]
    return priced + [{"run": None, "seed": seed, "agents": 1, "links": 1.0, "lost": True} for seed in failed]


def _exactness(groups: Mapping[str, list[Run]]) -> str:
    why = {
        label: reason
        for label, group in groups.items() for run in group
        if run.record is not None and (reason := why_estimated(run.record))
    }  # fmt: skip
    if not why:
        return "Exact for agents and links that are all alike: no run is made again."
    named = "; ".join(f"{label}: {reason}" for label, reason in why.items())
    return f"Exact for agents and links that are all alike, but an estimate by the mean over agents for {named}."
