"""A quick study at given prices: every method tuned alike for simulated time, and its winners on other seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from raydream.backends.workers import cpus
from raydream.feedback import tell
from raydream.problems.completed import complete
from raydream.studies.compare import compare
from raydream.studies.comparison import Comparison
from raydream.studies.places import Place, duration
from raydream.studies.setting import Setting
from raydream.studies.tuning.tune import tune

PASSES, ROUNDS = 20, 200  # a trial may take as long as so many passes over the data and so many rounds
TRIALS, SEEDS, SEARCHED = 18, 10, 100  # configurations of each method, runs of its winner, and the seed of the search
REPEATS = 5


def measured_gradient(problem: Any) -> float:
    """Seconds per component gradient on this machine, at the start, in batches of a whole shard (or of 64 draws)."""
    whole = complete(problem)
    x, y = whole.start()
    mine = whole.local(0)
    size = mine.samples or 64
    batch = None if mine.samples else mine.draw(np.random.default_rng(0), size)  # type: ignore[attr-defined]
    took = []
    for _ in range(REPEATS):
        begun = perf_counter()
        mine.gradient(x, y, batch)
        took.append(perf_counter() - begun)
    return min(took) / size


@dataclass(frozen=True)
class Quick:
    """What a quick study does, before it does it."""

    setting: Setting
    methods: Sequence[str]
    metric: str
    prices: Place
    gradient: float  # seconds that one takes here

    @property
    def budget(self) -> float:
        """Simulated seconds of a trial: as many passes and rounds at these prices, to three digits."""
        problem = complete(self.setting.problem)
        per_pass = self.prices.gradient_seconds * (problem.samples or 1000)
        return float(f"{PASSES * per_pass + ROUNDS * self._round:.3g}")

    @property
    def _round(self) -> float:
        problem = complete(self.setting.problem)
        return self.prices.latency + 8 * (problem.dim_x + problem.dim_y) / self.prices.bandwidth

    @property
    def seconds(self) -> float:
        """About how long it takes here, at most: trials of full gradients, with P after each."""
        problem = complete(self.setting.problem)
        samples = (problem.samples or 64) * problem.agents
        rate = self._round + self.prices.gradient_seconds * (problem.samples or 64)
        calls = min(self.budget / rate if rate > 0 else PASSES, 10 * ROUNDS) * samples
        runs = len(self.methods) * (TRIALS * 0.5 + SEEDS)  # halving gives most trials a part
        return float(2 * runs * calls * self.gradient / cpus())

    @property
    def said(self) -> str:
        """What is going to be done."""
        return (
            f"No stored comparison matches: a quick study of {', '.join(self.methods)} begins. {TRIALS} configurations "
            f"of each are tried by successive halving on seed {SEARCHED}, judged by {self.metric} after at most "
            f"{duration(self.budget)} of simulated time at these prices ({PASSES} passes and {ROUNDS} rounds), and the "
            f"winners run with {SEEDS} other seeds; about {duration(max(self.seconds, 1.0))} on {cpus()} cores at most."
        )

    def carried_out(self, directory: Path, progress: bool | None) -> Comparison:
        """The comparison of the winners; the same call goes on where an earlier one was ended."""
        tell("tuning every method alike")
        tuning = tune(
            self.setting.problem, self.setting.topology, self.methods, budget=self.budget, axis="sim_seconds",
            search="halving", trials=TRIALS, seeds=[SEARCHED], metric=self.metric, conditions=self.prices.conditions,
            start=self.setting.start, widen=1, directory=directory / "tuning", check=False, progress=progress,
        )  # fmt: skip
        return compare(
            best=tuning, problem=self.setting.problem, topology=self.setting.topology, seeds=range(SEEDS),
            backend="local", directory=directory / "comparison", record_every=1, check=False, progress=progress,
        )  # fmt: skip
