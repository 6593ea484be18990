"""Trials of several methods under one budget: run in other processes, written down as they finish, ranked."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from raydream.backends.workers import AsFinished, Each, workers
from raydream.checking.quick import refuse_wrong
from raydream.columns import Column
from raydream.errors import Interrupted, RayLost
from raydream.running.progress import Progress
from raydream.storage.describe import name_of
from raydream.studies.setting import Setting
from raydream.studies.tuning.spaces import Parameters
from raydream.studies.tuning.starts import Affordable, horizons
from raydream.studies.tuning.trials import Trial, TrialLog, attempt
from raydream.studies.tuning.winners import Ranked, Winner, best_third, judge, ranked, score_of


@dataclass
class Race:
    """All that trials share; `used` has the keys of those that were asked for, in order."""

    kinds: dict[str, type[Any]]
    seeds: list[int]
    budget: float
    axis: str
    metric: Column
    log: TrialLog
    identity: dict[str, str]
    admission: Affordable
    each: "Workers"
    progress: bool | None
    root: Path | None
    used: dict[str, None] = field(default_factory=dict)

    def whole(self, chosen: dict[str, list[Parameters]]) -> Ranked:
        """Every configuration with the whole budget."""
        return self._rounds(chosen, [])

    def halving(self, chosen: dict[str, list[Parameters]]) -> Ranked:
        """All with part of the budget, the best third with more of it, the best third of these with all of it.

        Before the last round a trial may spend the same as any other after its own start, whatever that cost.
        """
        return self._rounds(chosen, self.horizons(chosen))

    def winners(self, order: Ranked) -> dict[str, Winner]:
        """The winner of each method that has one."""
        found = {label: judge(order[label], name_of(kind), self.metric)[0] for label, kind in self.kinds.items()}
        return {label: winner for label, winner in found.items() if winner is not None}

    def horizons(self, chosen: dict[str, list[Parameters]]) -> list[float]:
        """What the trials of each round but the last may spend after their start."""
        return horizons(self.budget, max(self.dearest(chosen).values()))

    def dearest(self, chosen: dict[str, list[Parameters]]) -> dict[str, float]:
        """The price of the dearest start of each method."""
        found = {label: max(self._price(label, one) for one in some) for label, some in chosen.items()}
        self.admission.starts.save()
        return found

    def _price(self, label: str, parameters: Parameters) -> float:
        return self.admission.starts.price(self.kinds[label](**parameters))

    def _rounds(self, chosen: dict[str, list[Parameters]], spends: list[float]) -> Ranked:
        counts = [len(some) * len(self.seeds) for some in chosen.values()]
        count, work = _planned(counts, [*spends, self.budget])
        bar = Progress("tune", count, self.progress, work)
        with bar, self._told(bar):
            for spend in spends:
                order = self._round(chosen, spend, bar)
                chosen = {label: best_third(order[label], self.metric) for label in chosen}
            return self._round(chosen, None, bar)

    def _round(self, chosen: dict[str, list[Parameters]], spend: float | None, bar: Progress) -> Ranked:
        """One trial of each configuration and seed; `spend` counts from the start, None is the whole budget."""
        tried = self._trials(chosen, spend)
        keys = [trial.key(self.identity) for trial in tried]
        self._run_missing(tried, keys, bar)
        self.used |= dict.fromkeys(keys)
        return ranked(tried, [self.log.records[key] for key in keys], self.metric, self.kinds)

    def _trials(self, chosen: dict[str, list[Parameters]], spend: float | None) -> list[Trial]:
        """One of each method in turn, so that the time left is estimated from all of them."""
        lists = [
            [
                Trial(label, self.kinds[label], one, seed, self._limit(label, one, spend), self.axis)
                for one in some
                for seed in self.seeds
            ]
            for label, some in chosen.items()
        ]
        return [trial for trial in chain.from_iterable(zip_longest(*lists)) if trial is not None]

    def _limit(self, label: str, parameters: Parameters, spend: float | None) -> float:
        limit = self.budget if spend is None else self._price(label, parameters) + spend
        return limit if self.axis in ("seconds", "sim_seconds") else int(limit)

    def _run_missing(self, tried: list[Trial], keys: list[str], bar: Progress) -> None:
        """Run the trials that the log does not have, and write down each as it finishes."""
        missing = [
            (key, trial) for key, trial in zip(keys, tried, strict=True) if not self.log.finished(key, self.metric.name)
        ]
        known = len(tried) - len(missing)
        bar.skip(known, known * (tried[0].budget if tried else 0.0))
        with contextlib.closing(self.each([trial for _, trial in missing])) as finished:
            for number, found in finished:
                key, trial = missing[number]
                record = trial.lost(found) if isinstance(found, Exception) else found
                self.log.add(key, record)
                score = score_of(record, self.metric)
                bar.step(f"{trial.text()}: {record['outcome']}, {self.metric.name} {score:.6g}", trial.budget)

    @contextlib.contextmanager
    def _told(self, bar: Progress) -> Iterator[None]:
        """Ctrl-C, and a Ray that is gone, say what is kept."""
        try:
            yield
        except (KeyboardInterrupt, RayLost) as stop:
            kept = (
                "" if self.root is None else f"; finished trials are kept in {self.root}, and the same command goes on"
            )
            text = f"stopped after {bar.done} of {bar.total} trials{kept}"
            if isinstance(stop, RayLost):
                raise RayLost(f"{stop}: {text}") from None
            raise Interrupted(text) from stop


class Workers:
    """Calls in other processes, which are started when the first call is made; one worker is this process.

    backend  where they are, and what each trial needs; None: this machine
    check    whether the problem is looked at before
    """

    def __init__(self, setting: Setting, count: int | None, backend: Any = None, check: bool = True) -> None:
        self._setting, self._count, self._backend, self._check = setting, count, backend, check
        self._stack = contextlib.ExitStack()
        self._each: Each | None = None

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def __call__(self, trials: Sequence[Trial]) -> AsFinished:
        if not trials:
            return
        refuse_wrong(self._setting.problem, self._check, self._setting.start)
        if self._count == 1 and self._backend is None:
            yield from ((number, attempt(self._setting, trial)) for number, trial in enumerate(trials))
            return
        if self._each is None:
            self._each = self._stack.enter_context(workers(self._setting, self._count, self._backend))
        with contextlib.closing(self._each(attempt, trials)) as finished:
            yield from finished


def _planned(counts: list[int], budgets: list[float]) -> tuple[int, float]:
    """How many trials there will be, and how much they will spend."""
    total, work = 0, 0.0
    for budget in budgets:
        total, work = total + sum(counts), work + sum(counts) * budget
        counts = [-(-count // 3) for count in counts]
    return total, work
