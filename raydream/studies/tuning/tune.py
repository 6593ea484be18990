"""tune(): the best parameters of each method under one budget that is the same for all."""

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from raydream.backends.workers import AsFinished, Each, cpus, workers
from raydream.checks import choice, positive, whole
from raydream.errors import Interrupted
from raydream.running.progress import Progress
from raydream.storage.describe import name_of
from raydream.studies.curves import METRICS, quantile
from raydream.studies.defaults import SEARCH, SPACE
from raydream.studies.named import checked_seeds, named_kinds
from raydream.studies.setting import Setting, needs_one_machine
from raydream.studies.spaces import SEARCHES, configurations, grid_of
from raydream.studies.trials import Trial, TrialLog, attempt
from raydream.studies.tuning import Records, Tuning, score_of
from raydream.topology import Topology

AXES = ("rounds", "seconds", "sfo")
SHARES = (9, 3, 1)  # of the budget, in the three rounds of successive halving; a third goes on each time
Parameters = dict[str, Any]
Ranked = dict[str, list[tuple[float, Parameters]]]  # by label: scores and configurations, best first


def tune(
    problem: Any,
    topology: Topology,
    methods: Mapping[str, Any] | Iterable[Any],
    *,
    budget: float,
    axis: str = "sfo",
    space: Any = SPACE,
    search: str = SEARCH,
    trials: int | None = None,
    seeds: Iterable[int] = (0,),
    metric: str = "primal",
    directory: Any = None,
    workers: int | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> Tuning:
    """Find good parameters for each method, every trial of every method with the same budget.

    methods    names as on the command line, or classes; or label -> name or class
    budget     how much each trial may spend, of `axis`: "sfo", "rounds" or "seconds"
    space      "paper" (the DREAM paper's grids), "wide" (further steps, fewer batches), a dict parameter -> values
               for every method, or a dict label -> any of these
    search     "grid" (all), "random" (`trials` of each method), or "halving" (`trials` at a ninth of the budget, the
               best third at a third, the best third of these at all of it)
    trials     the most configurations of one method (default: 27, for "grid" 1000)
    seeds      a configuration is judged by its median over these
    metric     "primal" or "grad_norm", at the last record within the budget; infinite for a trial that diverged
    directory  where trials are kept as they finish; the same call goes on where an earlier one was ended
    workers    trials at a time, in processes of their own (default: one per CPU); 1 runs them in this process
    seed       of the draws of "random" and "halving"
    progress   True: a bar on a terminal, lines elsewhere; False: neither; None: a bar on a terminal
    """
    choice("axis", axis, AXES)
    choice("search", search, SEARCHES)
    choice("metric", metric, METRICS)
    budget = positive("budget", budget) if axis == "seconds" else whole("budget", budget, 1)
    for name, value in (("trials", trials), ("workers", workers)):
        if value is not None:
            whole(name, value, 1)
    kinds, numbers = named_kinds(methods), checked_seeds(seeds)
    _refuse_rounds_of_one(axis, kinds)
    setting = Setting.around(problem, topology, kinds.values())
    chosen = {
        label: configurations(
            label, kind, grid_of(space, label, kind, list(kinds)), setting, search=search, trials=trials,
            seed=whole("seed", seed),
        )
        for label, kind in kinds.items()
    }  # fmt: skip
    root = None if directory is None else Path(directory)
    race = _Race(kinds, numbers, budget, axis, metric, TrialLog(root), setting.identity())
    records, ranked = race.run(chosen, setting, workers, search == "halving", progress, root)
    winners = {
        label: {"name": name_of(kinds[label]), "parameters": order[0][1], "score": order[0][0]}
        for label, order in ranked.items()
        if math.isfinite(order[0][0])
    }
    about = {
        "methods": {label: name_of(kind) for label, kind in kinds.items()},
        "seeds": numbers, "search": search, "space": space if isinstance(space, str) else "given", "seed": seed,
        "identity": race.identity,
    }  # fmt: skip
    tuning = Tuning(winners, records, budget, axis, metric, kinds, about)
    if root is not None:
        tuning.save(root)
    return tuning


@dataclass
class _Race:
    """Trials of several methods under one budget, written down in a log as they finish."""

    kinds: dict[str, type[Any]]
    seeds: list[int]
    budget: float
    axis: str
    metric: str
    log: TrialLog
    identity: dict[str, str]

    def run(
        self,
        chosen: dict[str, list[Parameters]],
        setting: Setting,
        workers: int | None,
        halving: bool,
        progress: bool | None,
        root: Path | None,
    ) -> tuple[Records, Ranked]:
        """All trials, and the configurations that came to the last round, best first."""
        budgets = [self._share(share) for share in (SHARES if halving else (1,))]
        count, work = _planned([len(some) * len(self.seeds) for some in chosen.values()], budgets)
        records: Records = []
        ranked: Ranked = {}
        bar = Progress("tune", count, progress, work)
        try:
            with bar, _Workers(setting, workers) as each:
                for number, spend in enumerate(budgets):
                    if number:
                        chosen = {label: [one for _, one in _best_third(ranked[label])] for label in self.kinds}
                    tried, keys = self._trials(chosen, spend)
                    self._run_missing(tried, keys, each, bar)
                    records += [self.log.records[key] for key in keys]
                    ranked = _ranked(tried, [score_of(self.log.records[key], self.metric) for key in keys], self.kinds)
        except KeyboardInterrupt as stop:
            kept = "" if root is None else f"; finished trials are kept in {root}, and the same command goes on"
            raise Interrupted(f"stopped after {bar.done} of {bar.total} trials{kept}") from stop
        return records, ranked

    def _share(self, share: int) -> float:
        return self.budget / share if self.axis == "seconds" else max(1, int(self.budget) // share)

    def _trials(self, chosen: dict[str, list[Parameters]], spend: float) -> tuple[list[Trial], list[str]]:
        """One of each method in turn, so that the time left is estimated from all of them; and their keys."""
        lists = [
            [Trial(label, kind, one, seed, spend, self.axis) for one in chosen[label] for seed in self.seeds]
            for label, kind in self.kinds.items()
        ]
        tried = [trial for trial in chain.from_iterable(zip_longest(*lists)) if trial is not None]
        return tried, [trial.key(self.identity) for trial in tried]

    def _run_missing(self, tried: list[Trial], keys: list[str], each: "_Workers", bar: Progress) -> None:
        """Run the trials that the log does not have, and write down each as it finishes."""
        missing = [(key, trial) for key, trial in zip(keys, tried, strict=True) if not self.log.finished(key)]
        known = len(tried) - len(missing)
        bar.skip(known, known * (tried[0].budget if tried else 0.0))
        with contextlib.closing(each([trial for _, trial in missing])) as finished:
            for number, found in finished:
                key, trial = missing[number]
                record = trial.lost(found) if isinstance(found, Exception) else found
                self.log.add(key, record)
                score = score_of(record, self.metric)
                bar.step(f"{trial.text()}: {record['outcome']}, {self.metric} {score:.6g}", trial.budget)


class _Workers:
    """Calls in other processes, which are started when the first call is made; one worker is this process."""

    def __init__(self, setting: Setting, count: int | None) -> None:
        self._setting, self._count, self._stack = setting, count, contextlib.ExitStack()
        self._each: Each | None = None

    def __enter__(self) -> "_Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def __call__(self, trials: Sequence[Trial]) -> AsFinished:
        if not trials:
            return
        if self._count == 1:
            yield from ((number, attempt(self._setting, trial)) for number, trial in enumerate(trials))
            return
        if self._each is None:
            self._each = self._stack.enter_context(workers(self._setting, self._count or cpus()))
        with contextlib.closing(self._each(attempt, trials)) as finished:
            yield from finished


def _ranked(tried: list[Trial], scores: list[float], labels: Iterable[str]) -> Ranked:
    """The configurations of each method, best first, by the median score over seeds."""
    found: dict[str, dict[str, tuple[Parameters, list[float]]]] = {label: {} for label in labels}
    for trial, score in zip(tried, scores, strict=True):
        _, of_seeds = found[trial.method].setdefault(repr(trial.parameters), (trial.parameters, []))
        of_seeds.append(score)
    return {
        label: sorted(((quantile(s, 0.5), one) for one, s in configured.values()), key=lambda pair: pair[0])
        for label, configured in found.items()
    }


def _best_third(order: list[tuple[float, Parameters]]) -> list[tuple[float, Parameters]]:
    return order[: -(-len(order) // 3)]


def _planned(counts: list[int], budgets: list[float]) -> tuple[int, float]:
    """How many trials there will be, and how much they will spend."""
    total, work = 0, 0.0
    for budget in budgets:
        total, work = total + sum(counts), work + sum(counts) * budget
        counts = [-(-count // 3) for count in counts]
    return total, work


def _refuse_rounds_of_one(axis: str, kinds: Mapping[str, type[Any]]) -> None:
    alone = [label for label, kind in kinds.items() if needs_one_machine(kind)]
    if axis == "rounds" and alone:
        raise ValueError(f'`axis` must not be "rounds" for {alone[0]}, which runs on one machine and has none.')
