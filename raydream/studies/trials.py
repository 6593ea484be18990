"""One trial of tuning: a method with given parameters, judged where its budget ends; and the log that keeps trials."""

import hashlib
import json
import math
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits
from tqdm import tqdm

from raydream.backends.local import LocalBackend
from raydream.columns import COSTS, DIVERGING
from raydream.running.interrupt import Brake
from raydream.running.loop import Loop
from raydream.running.plan import check_fit
from raydream.running.recorder import Recorder
from raydream.running.stopping import Limits
from raydream.studies.setting import ENDLESS, Worlds

RECORDS = 20  # evenly spread over the budget, with a few more at its beginning and its end
PATIENCE = 64  # iterations that may cost nothing


@dataclass(frozen=True)
class Trial:
    """What is tried: a method (by the label that it goes by) with parameters and a seed, up to a budget."""

    method: str
    kind: Any
    parameters: dict[str, Any]
    seed: int
    budget: float
    axis: str

    def key(self, identity: dict[str, str]) -> str:
        """What tells this trial from others, also in another process and on another day."""
        facts = [self.method, self.kind.__name__, self.parameters, self.seed, self.budget, self.axis, identity]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]

    def text(self) -> str:
        """The trial in a few words."""
        return f"{self.method} {' '.join(f'{name}={value}' for name, value in self.parameters.items())}"


def attempt(worlds: Worlds, trial: Trial) -> dict[str, Any]:
    """Run a trial and return what the log keeps of it. A value that is not finite is None, as JSON has no infinity."""
    began = time.monotonic()
    try:
        record = _judged(trial, *_run_to_the_budget(worlds, trial))
    except Exception as error:
        record = {"outcome": "failed", "reason": str(error) or type(error).__name__, "primal": None, "grad_norm": None}
    return {
        "method": trial.method,
        "parameters": trial.parameters,
        "seed": trial.seed,
        "budget": trial.budget,
        "axis": trial.axis,
        **record,
        "took": round(time.monotonic() - began, 3),
        "process": os.getpid(),
    }


def _run_to_the_budget(worlds: Worlds, trial: Trial) -> tuple[list[dict[str, float]], str, str]:
    """The records of a run in this process until the budget is spent, its outcome and the reason."""
    plan = worlds.plan(trial.kind(**trial.parameters), trial.seed, None)
    check_fit(plan.problem, plan.topology, plan.method)
    recorder = Recorder(plan.problem, plan.method, diagnostics=False)
    limits: dict[str, Any] = {f"max_{trial.axis}": trial.budget}
    with Brake() as brake, threadpool_limits(1, "blas"), tqdm(disable=True) as bar:
        loop = Loop(
            plan,
            LocalBackend().open(plan),
            recorder,
            Limits(**limits),
            iterations=ENDLESS,
            record_every=1,
            checkpoint_every=None,
            write_checkpoint=None,
            on_record=lambda row: _look_again(loop, trial, row, recorder.rows[0]),
            bar=bar,
        )
        outcome, reason = loop.run(brake)
    return recorder.rows, outcome, reason


def _look_again(loop: Loop, trial: Trial, row: dict[str, float], first: dict[str, float]) -> None:
    """Set the distance to the next record: a share of the budget, and less near its beginning and its end.

    At the beginning the price of an iteration is not known; at the end the last record within the budget should be
    the last iteration within it, or methods would be judged at different shares of their budget.
    """
    done, spent = row["iteration"], row[trial.axis] - first[trial.axis]
    if done == 0:
        return
    if spent <= 0:
        if done >= PATIENCE:
            raise ValueError(f"{done} iterations cost no {trial.axis}, and a budget of that would never end.")
        loop.record_every = int(done)
        return
    left = (trial.budget - row[trial.axis]) * done / spent  # in iterations
    everything = (trial.budget - first[trial.axis]) * done / spent
    loop.record_every = max(1, int(min(done, everything / RECORDS, left / 2)))


def _judged(trial: Trial, rows: list[dict[str, float]], outcome: str, reason: str) -> dict[str, Any]:
    """The last record within the budget; a trial that diverged has no metrics."""
    within = [row for row in rows if row[trial.axis] <= trial.budget]
    if not within:
        start = rows[0][trial.axis]
        reason = f"the start alone cost {start:g} {trial.axis}, more than the budget of {trial.budget:g}"
        return {"outcome": outcome, "reason": reason, "records": 0, "primal": None, "grad_norm": None}
    last = within[-1]
    metrics = {name: float(last[name]) for name in DIVERGING}
    return {
        "outcome": outcome,
        "reason": reason,
        "records": len(within),
        "iterations": int(last["iteration"]),
        **{cost: last[cost] for cost in COSTS},
        **{name: value if outcome != "diverged" and math.isfinite(value) else None for name, value in metrics.items()},
    }


class TrialLog:
    """trials.jsonl: one line per finished trial, written at once; a line that was cut short is not counted."""

    def __init__(self, directory: Path | None) -> None:
        self.records: dict[str, dict[str, Any]] = {}
        self._path = None if directory is None else directory / "trials.jsonl"
        self._clean = True
        if self._path is not None and self._path.exists():
            text = self._path.read_text()
            self._clean = text.endswith("\n") or not text
            for line in text.splitlines():
                try:
                    record = json.loads(line)
                    self.records[record["key"]] = record
                except (ValueError, KeyError, TypeError):
                    continue

    def finished(self, key: str) -> bool:
        """Whether a trial need not be run again; one that failed is given another chance."""
        return key in self.records and self.records[key].get("outcome") != "failed"

    def add(self, key: str, record: dict[str, Any]) -> None:
        """Keep a trial."""
        self.records[key] = {"key": key, **record}
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with open(self._path, "a") as file:
            file.write(("" if self._clean else "\n") + json.dumps(self.records[key]) + "\n")
            file.flush()
        self._clean = True
