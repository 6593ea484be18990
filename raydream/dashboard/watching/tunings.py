"""The directories of tunings under one root, each followed while it grows."""

import os
import threading
import time
from pathlib import Path
from typing import Any

from raydream.columns import column
from raydream.dashboard.watching.files import Stamp, read_json, stamp_of
from raydream.dashboard.watching.folders import Folders
from raydream.dashboard.watching.trials import Trials, tuning_from
from raydream.report.tuning.tried import marks
from raydream.running.progress import duration
from raydream.studies.tuning.closing import METRICS
from raydream.studies.tuning.tuning import Tuning
from raydream.studies.tuning.winners import judge

SILENT = 120.0  # seconds without a trial after which a tuning is called silent
FOUND = ("tuning.json", "best.json")  # what a tuning leaves at its end
USUAL = "primal"


class WatchedTuning:
    """The directory of a tuning; `refresh` reads what is new.

    state    running, silent (no trial for long), completed, or damaged
    reason   in words
    version  grows with every change
    """

    def __init__(self, name: str, folder: Path, shown: Path) -> None:
        self.name, self.folder, self.shown = name, folder, shown
        self.state, self.reason, self.version = "running", "", 0
        self._trials = Trials(folder / "trials.jsonl")
        self._stamps: dict[str, Stamp] = {}
        self._found: Tuning | None = None
        self._fault = ""
        self._lock = threading.Lock()

    def refresh(self) -> None:
        """Look again."""
        with self._lock:
            before = self.state, self.reason
            grown, ended = self._trials.follow(), self._ended()
            if grown or ended:
                self._read_the_end()
            self.state, self.reason = self._judged()
            if grown or ended or (self.state, self.reason) != before:
                self.version += 1

    @property
    def finished(self) -> bool:
        """Whether it came to its end, and what it found can be believed."""
        return self._found is not None

    @property
    def methods(self) -> list[str]:
        """The labels of all methods that are known."""
        if self._found is not None:
            return list(self._found.about["methods"])
        return list(dict.fromkeys(record["method"] for record in self._trials.records.values()))

    def tuning(self, metric: str = USUAL) -> Tuning | None:
        """What it found, or, before its end, what leads by some metric; None where there is no trial."""
        if self._found is not None:
            return self._found
        return self._so_far(metric) if self._trials.records else None

    def _ended(self) -> bool:
        """Whether tuning.json or best.json has changed."""
        stamps = {name: stamp_of(self.folder / name) for name in FOUND}
        changed = stamps != self._stamps
        self._stamps = stamps
        return changed

    def _read_the_end(self) -> None:
        self._found, self._fault = None, ""
        if None in self._stamps.values():
            return
        about, best = (read_json(self.folder / name, self._stamps[name]) for name in FOUND)
        fault = about.get("damaged") or best.get("damaged")
        try:
            if fault:
                raise ValueError(fault)
            self._found = tuning_from(about, best, self._trials.records)
            self._found.directory = self.shown
            self._found.about["own_start"] = stamp_of(self.folder / "start.npz") is not None
        except (ValueError, RecursionError) as error:  # a RecordError is a ValueError
            self._fault = str(error).rstrip(".")

    def _so_far(self, metric: str) -> Tuning:
        """The trials so far, and of each method the best with the largest budget so far."""
        every = list(self._trials.records.values())
        axis = every[-1]["axis"]
        records = [record for record in every if record["axis"] == axis]
        winners, said = {}, {}
        for label in dict.fromkeys(record["method"] for record in records):
            own = marks((record for record in records if record["method"] == label), column(metric))
            largest = max(mark.rung for mark in own)
            order = sorted(
                (mark.standing for mark in own if mark.rung == largest), key=lambda one: one.loss(column(metric))
            )
            winner, said[label] = judge(order, label, column(metric))
            if winner is not None:
                winners[label] = winner
        about: dict[str, Any] = {
            "methods": {label: label for label in said}, "said": said, "search": "",
            "seeds": sorted({record["seed"] for record in records}),
        }  # fmt: skip
        budget = max(float(record["budget"]) for record in records)
        return Tuning(winners, records, budget, axis, metric, {}, about, directory=self.shown)

    def _judged(self) -> tuple[str, str]:
        if self._fault:
            return "damaged", f"what it found cannot be believed: {self._fault}"
        if self._found is not None:
            more = len(self._trials.records) - len(self._found.records)
            return "completed", f"{more} trials of another call lie beside it" if more else ""
        if not self._trials.readable:
            return "damaged", "trials.jsonl cannot be read"
        stamp = stamp_of(self.folder / "trials.jsonl")
        quiet = time.time() - stamp[2] / 1e9 if stamp else 0.0
        if quiet < SILENT:
            return "running", ""
        return "silent", f"no trial for {duration(60 * (quiet // 60))}; the same command goes on where it was ended"


class Tunings(Folders):
    """Every directory of a tuning below `root`, by its path from there."""

    marks = ("trials.jsonl", "tuning.json")
    what = ("tuning", "a directory of a tuning")

    def __init__(self, root: str | os.PathLike[str]) -> None:
        super().__init__(root)
        self._watched: dict[str, WatchedTuning] = {}

    def look(self, name: str) -> WatchedTuning:
        """The tuning of this name as it is now."""
        folder, name = self.folder(name), self.proper(name)
        with self._lock:
            watched = self._watched.setdefault(name, WatchedTuning(name, folder, Path(self.root.name) / name))
        watched.refresh()
        return watched

    def _forget_all_but(self, there: set[str]) -> None:
        self._watched = {name: kept for name, kept in self._watched.items() if name in there}


def metric_among(metric: Any) -> str:
    """A metric by which trials can be judged."""
    return metric if metric in METRICS else USUAL
