"""One trial of tuning: a method with given parameters, judged where its budget ends; and the log that keeps trials."""

import hashlib
import json
import math
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from raydream.backends.local import LocalBackend
from raydream.columns import COSTS, with_conditional
from raydream.running.execute import Ended, execute
from raydream.storage.files import MOST_BYTES, read_bytes
from raydream.storage.settings import Limits, Settings
from raydream.studies.setting import ENDLESS, Setting
from raydream.studies.tuning.closing import CLOSING, METRICS, ClosingRecorder, ToTheBudget

Record = dict[str, Any]  # what the log keeps of a trial


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
        facts = [self.method, self.kind.__name__, self.parameters, self.seed, self.budget, self.axis, identity, CLOSING]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]

    def about(self) -> Record:
        """What the log says of it whatever comes of it."""
        return {name: getattr(self, name) for name in ("method", "parameters", "seed", "budget", "axis")}

    def lost(self, error: Exception) -> Record:
        """What the log keeps of a trial that ended with an error."""
        reason = str(error) or type(error).__name__
        return {**self.about(), "outcome": "failed", "reason": reason, "started": {}, **dict.fromkeys(METRICS)}

    def text(self) -> str:
        """The trial in a few words."""
        return f"{self.method} {' '.join(f'{name}={value}' for name, value in self.parameters.items())}"


def attempt(setting: Setting, trial: Trial) -> Record:
    """Run a trial and return what the log keeps of it. A value that is not finite is None, as JSON has no infinity."""
    began = time.monotonic()
    try:
        record = _judged(trial, *_run_to_the_budget(setting, trial))
    except Exception as error:
        record = trial.lost(error)
    return {
        **trial.about(),
        **record,
        "took": round(time.monotonic() - began, 3),
        "process": os.getpid(),
    }


def _run_to_the_budget(setting: Setting, trial: Trial) -> tuple[Ended, ClosingRecorder]:
    """A run in this process until the budget is spent."""
    plan = setting.plan(trial.kind(**trial.parameters), trial.seed, warn=False)
    limits: dict[str, Any] = {f"max_{trial.axis}": trial.budget}
    settings = Settings(iterations=ENDLESS, limits=Limits(**limits))
    recorder = ClosingRecorder(plan, trial.axis, trial.budget)
    ended = execute(
        plan, LocalBackend(), settings, schedule=ToTheBudget(trial.axis, trial.budget), recorder=recorder
    )  # fmt: skip
    recorder.measure_one()
    return ended, recorder


def _judged(trial: Trial, ended: Ended, recorder: ClosingRecorder) -> Record:
    """The mean over the closing part, the last record's costs, and the start; one that diverged has no metrics."""
    rows, sound = recorder.rows, ended.outcome != "diverged"
    metrics = [*METRICS, *recorder.own]
    within = [row for row in rows if row[trial.axis] <= trial.budget]
    judged = {
        "outcome": ended.outcome,
        "reason": ended.reason,
        "start": rows[0][trial.axis],
        "started": _finite(rows[0], metrics),
        "records": len(within),
    }
    if not within:
        reason = f"the start alone cost {rows[0][trial.axis]:g} {trial.axis}, more than the budget of {trial.budget:g}"
        return {**judged, "reason": reason, **dict.fromkeys(metrics)}
    last = within[-1]
    costs = {cost: last[cost] for cost in with_conditional(COSTS, last)}
    means = {name: recorder.mean(name) for name in metrics} if recorder.judged else rows[0]
    return {
        **judged,
        "iterations": int(last["iteration"]),
        "judged": [int(rows[place]["iteration"]) for place in recorder.judged],
        **costs,
        **(_finite(means, metrics) if sound else dict.fromkeys(metrics)),
    }


def _finite(row: Mapping[str, float], metrics: Iterable[str]) -> dict[str, float | None]:
    """The metrics of a record; None for what is not finite."""
    return {name: float(row[name]) if math.isfinite(row[name]) else None for name in metrics}


class TrialLog:
    """trials.jsonl: one line per finished trial, written at once; a line that was cut short is not counted."""

    def __init__(self, directory: Path | None) -> None:
        self.records: dict[str, Record] = {}
        self._path = None if directory is None else directory / "trials.jsonl"
        self._clean = True
        if self._path is not None and self._path.exists():
            text = read_bytes(self._path, MOST_BYTES).decode(errors="replace")
            self._clean = text.endswith("\n") or not text
            for line in text.splitlines():
                try:
                    record = json.loads(line)
                    self.records[record["key"]] = record
                except (ValueError, KeyError, TypeError, RecursionError):
                    continue

    def finished(self, key: str, metric: str = "primal") -> bool:
        """Whether a trial need not be run again; one that failed, or that does not tell its start, is.

        So is one that was not judged by this metric, where it is the user's own.
        """
        record = self.records.get(key, {})
        known = metric in METRICS or metric in record
        return record.get("outcome", "failed") != "failed" and "started" in record and known

    def add(self, key: str, record: Record) -> None:
        """Keep a trial."""
        self.records[key] = {"key": key, **record}
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with open(self._path, "a") as file:
            file.write(("" if self._clean else "\n") + json.dumps(self.records[key]) + "\n")
            file.flush()
        self._clean = True
