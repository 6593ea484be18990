"""One method at one point of a sweep: parameters are searched on some instances, and costs reported on others."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from table_1.plan import Setting, Sweep, descent_time, method, space
from table_1.search import Answer, Point, best, search
from table_1.simulator import Draws, Outcome, prices_of, simulate

import raydream as rd

COSTS = ("sfo", "rounds", "bytes")
SHOWN = ("eta", "gamma", "K", "mixing", "form", "R", "Q", "b", "b_large", "p", "beta", "b0")  # of a choice
PATIENCE = 10.0  # a reported run has failed after so many times the iterations of exact descent
AHEAD = 3.0  # a run of the search is given up after so many times these, or the least costs known
GENEROUS = 2.0  # online, fewest rounds are sought among what needs at most so many times the fewest SFO


def trial(sweep: Sweep, value: float, name: str, size: dict[str, Any]) -> dict[str, Any]:
    """The parameters chosen for each cost, and the runs with them."""
    setting = sweep.setting(value)
    tuning, reporting = sweep.seeds(value, size["tuning"], size["instances"])
    tuned = Tuned(name, setting, tuning, size["distances"])
    games = [setting.game(seed) for seed in reporting]
    chosen: dict[Any, list[str]] = {}
    for cost in COSTS:
        chosen.setdefault(tuned.winner(cost), []).append(cost)
    answer: dict[str, Any] = {"chosen": [], "runs": []}
    for winner, costs in chosen.items():
        goal = {"tuned_for": " ".join(costs)}
        shown = {} if winner is None else {name: vars(winner).get(name) for name in SHOWN}
        answer["chosen"].append({**goal, "tried": len(tuned.known), "edge": tuned.edges(costs), **shown})
        outcomes = [Outcome()] * len(games)
        if winner is not None:
            (outcomes,) = run(setting, games, [winner], Draws([reporting[0], 1]))
        for seed, outcome in zip(reporting, outcomes, strict=True):
            answer["runs"].append({**goal, "seed": seed, **asdict(outcome), "pace": _pace(outcome, winner, setting)})
    return answer


class Tuned:
    """The search for one method; offline it seeks each cost by itself."""

    def __init__(self, name: str, setting: Setting, seeds: Sequence[int], distances: Sequence[int]) -> None:
        self.name, self.setting, self.seeds = name, setting, seeds
        self.games = [setting.game(seed) for seed in seeds]
        self.known: dict[Any, Answer] = {}  # by method: the worst costs over the instances
        self.space = space(name, setting)
        self.calls = 0
        self.goals: tuple[str, ...] = COSTS if setting.samples else ("sfo",)
        self.points = search(self.space, self.ask, distances, self.goals)
        self.frugal = self.points if setting.samples else self._frugal(distances)

    def method(self, point: Point) -> Any:
        made = method(self.name, self.setting, self.space.names, *point)
        return made.settled(self.games[0], self.setting.topology.network)

    def winner(self, cost: str) -> Any:
        """The method with the least worst cost over the instances; None where none reached on all."""
        found = best(self.points if cost == "sfo" else self.frugal, cost)
        return None if found is None else self.method(found)

    def edges(self, costs: Sequence[str]) -> str | None:
        """The coordinates of these winners that lie on a bound of the search, where it is not one by nature."""
        found = set()
        for cost in costs:
            winner = best(self.points if cost == "sfo" else self.frugal, cost)
            if winner is not None:
                found |= self.space.bounds_met(winner[1])
        return " ".join(sorted(found)) or None

    def _frugal(self, distances: Sequence[int]) -> dict[Point, Answer]:
        """A second search, for rounds and bytes among what needs few SFO: batches without bound would save both."""
        first = best(self.points, "sfo")
        if first is None:
            return {}
        most = GENEROUS * self.points[first]["sfo"]

        def ask(points: list[Point]) -> list[Answer]:
            return [answer if answer and answer["sfo"] <= most else None for answer in self.ask(points)]

        starts = (first[1], *self.space.starts)
        return search(replace(self.space, starts=starts), ask, distances, ("rounds", "bytes"))

    def ask(self, points: list[Point]) -> list[Answer]:
        """Try what was not tried before."""
        methods = [self.method(point) for point in points]
        new = [one for one in dict.fromkeys(methods) if one not in self.known]
        self.calls += 1
        draws = Draws([self.seeds[0], 0, self.calls])
        for one, outcomes in zip(new, run(self.setting, self.games, new, draws, self), strict=True):
            self.known[one] = _worst(outcomes)
        return [self.known[one] for one in methods]

    def least(self, answers: Sequence[Answer]) -> dict[str, float]:
        """The least costs known, with these answers."""
        reached = [one for one in (*self.known.values(), *answers) if one is not None]
        return {cost: min((one[cost] for one in reached), default=float("inf")) for cost in self.goals}


def run(
    setting: Setting, games: Sequence[Any], methods: Sequence[Any], draws: Draws, tuned: Tuned | None = None
) -> list[list[Outcome]]:
    """The outcomes of each method on each game; in a search, hopeless runs are given up."""
    found: dict[Any, list[Outcome]] = {}
    alike: dict[Any, list[Any]] = {}
    for one in methods:
        alike.setdefault(one.R if isinstance(one, rd.GTDA) else None, []).append(one)
    for those in alike.values():
        size = len(games)

        def parts(outcomes: list[Outcome], size: int = size) -> list[list[Outcome]]:
            return [outcomes[j : j + size] for j in range(0, len(outcomes), size)]

        def limits(outcomes: list[Outcome], those: list[Any] = those) -> Any:
            least = tuned.least([_worst(part) for part in parts(outcomes)]) if tuned else None
            return np.repeat([_limit(one, setting, least) for one in those], len(games))

        outcomes = simulate(
            games, [one for one in those for _ in games], [i for _ in those for i in range(size)],
            setting.topology, setting.epsilon, limits, draws,
        )  # fmt: skip
        found.update(zip(those, parts(outcomes), strict=True))
    return [found[one] for one in methods]


def _pace(outcome: Outcome, one: Any, setting: Setting) -> float | None:
    """Iterations, relative to those of exact descent with the same step in x."""
    if outcome.iterations is None:
        return None
    return outcome.iterations * one.eta * one.gamma / descent_time(setting.epsilon)


def _worst(outcomes: Sequence[Outcome]) -> Answer:
    """The worst costs over the instances; None unless all arrived."""
    if any(outcome.sfo is None for outcome in outcomes):
        return None
    return {cost: max(vars(outcome)[cost] for outcome in outcomes) for cost in COSTS}


def _limit(one: Any, setting: Setting, least: dict[str, float] | None) -> float:
    """Iterations after which a run has failed, or is given up because all its costs exceed the least ones by far."""
    ideal = descent_time(setting.epsilon) / (one.eta * one.gamma) + 100
    if least is None:
        return PATIENCE * ideal
    price = prices_of(one, setting.topology)
    per = {"sfo": sfo_of(one, setting), "rounds": price.rounds[1], "bytes": price.bytes[1]}
    return min(AHEAD * ideal, max(AHEAD * value / per[cost] for cost, value in least.items()))


def sfo_of(one: Any, setting: Setting) -> float:
    """Expected SFO of an iteration, over all agents."""
    n, m = setting.samples or 0, setting.agents
    if isinstance(one, rd.DREAM):
        return m * (one.p * (n or one.b_large) + (1 - one.p) * 2 * one.b)
    if isinstance(one, rd.GTSRVR):
        return m * (n / one.Q + (1 - 1 / one.Q) * 2 * one.b)
    return m * (2 * one.b if isinstance(one, rd.DMHSGD) else n * getattr(one, "R", 1))
