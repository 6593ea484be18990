"""One run directory, followed while it grows: what it says, how far it is, and whether anybody drives it."""

import io
import json
import math
import os
import platform
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from raydream.types import Array

SILENT = 30.0  # seconds without a sign of life after which a run is called silent
WINDOW = 30.0  # seconds over which the rate is measured
LIVE = ("starting", "running", "silent")
UNFINISHED = ("stopped", "failed", "lost")
Stamp = tuple[int, int, int] | None  # of a file: which, how long, when


class Watched:
    """A run directory; `refresh` reads what is new.

    state    starting, running, silent (no sign of life), lost (its driver is gone), stopped, failed, damaged,
             or the outcome
    reason   in words
    version  grows with every change
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.state, self.reason, self.version = "starting", "", 0
        self.record: dict[str, Any] = {}
        self.progress: dict[str, Any] = {}
        self.columns: dict[str, Array] = {}
        self._stamps: dict[str, Stamp] = {}
        self._read = 0  # bytes of history.csv that have been read
        self._pace: deque[tuple[float, float, float]] = deque()  # when, iterations, share done
        self._lock = threading.Lock()

    def refresh(self, driven: bool | None = None) -> None:
        """Look again; `driven` says whether its program is going, where that is known."""
        with self._lock:
            before = self.state, self.reason
            record, progress = self._reread("run.json"), self._reread("progress.json")
            self.record = self.record if record is None else record
            self.progress = self.progress if progress is None else progress
            more = self._follow_history()
            self.state, self.reason = self._judged(driven)
            if more or record is not None or progress is not None or (self.state, self.reason) != before:
                self.version += 1
                self._note_pace()

    @property
    def live(self) -> bool:
        """Whether more is to come."""
        return self.state in LIVE

    @property
    def resumable(self) -> bool:
        """Whether it can go on: it did not come to its end, or has a checkpoint to go on from to a later end."""
        if self.live or not self.record:
            return False
        return self.state in UNFINISHED or (self.folder / "checkpoint" / "manifest.json").is_file()

    @property
    def recoveries(self) -> list[dict[str, Any]]:
        """What happened to agents that were lost on the way."""
        found = self.progress.get("recoveries") if self.live else self.record.get("recoveries")
        return list(found or [])

    def last(self, column: str) -> float:
        """The last record of a column, NaN where there is none."""
        values = self.columns.get(column)
        return float(values[-1]) if values is not None and len(values) else math.nan

    @property
    def iteration(self) -> int:
        """Iterations done."""
        told = self.progress.get("iteration", 0) if self.live else 0
        row = self.last("iteration")
        return max(int(told), 0 if math.isnan(row) else int(row))

    @property
    def share(self) -> float:
        """How much of the run is done, by whatever will end it first."""
        if self.state in ("completed", "budget", "target"):
            return 1.0
        limits = self.record.get("limits", {})
        parts = [self.iteration / max(1, self.record.get("iterations") or 1)]
        for limit, column in (("max_sfo", "sfo"), ("max_rounds", "rounds"), ("max_seconds", "seconds")):
            spent = self.last(column)
            if limits.get(limit) and not math.isnan(spent):
                parts.append(spent / limits[limit])
        return min(1.0, max(parts))

    @property
    def rate(self) -> float | None:
        """Iterations per second of late, evaluation included."""
        return self._slope(1)

    @property
    def seconds_left(self) -> float | None:
        """The time that the rest will take if it goes on like this."""
        speed = self._slope(2)
        return (1 - self.share) / speed if speed else None

    def log(self, lines: int = 12) -> str:
        """The end of what the run printed, where a dashboard started it."""
        try:
            with open(self.folder / "log.txt", "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - 8000))
                return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
        except OSError:
            return ""

    # ------------------------------------------------------------ files

    def _reread(self, name: str) -> dict[str, Any] | None:
        """What a JSON file says, if it changed since it was read; what cannot be read says {"damaged": True}."""
        path = self.folder / name
        stamp = _stamp(path)
        if name in self._stamps and self._stamps[name] == stamp:
            return None
        self._stamps[name] = stamp
        try:
            found = json.loads(path.read_bytes()) if stamp else {}
        except (OSError, ValueError):
            found = None
        return found if isinstance(found, dict) else {"damaged": True}

    def _follow_history(self) -> bool:
        """Read the rows that are new; all of them, if the file is another one."""
        path = self.folder / "history.csv"
        stamp, known = _stamp(path), self._stamps.get("history.csv")
        if stamp == known or stamp is None:
            return False
        if known is None or stamp[0] != known[0] or stamp[1] < self._read:
            self.columns, self._read = {}, 0
        try:
            with open(path, "rb") as file:
                if os.fstat(file.fileno()).st_ino != stamp[0]:
                    return False  # replaced this moment: next time
                file.seek(self._read)
                new = file.read()
            whole = new[: new.rfind(b"\n") + 1]  # the last line may still be on its way
            self._append(whole)
        except (OSError, ValueError):
            return False
        self._read += len(whole)
        self._stamps["history.csv"] = stamp
        return bool(whole)

    def _append(self, lines: bytes) -> None:
        if not lines:
            return
        names = list(self.columns) or None
        table = pd.read_csv(io.BytesIO(lines), names=names, header=None if names else 0, dtype=np.float64)
        arrays = {str(name): table[name].to_numpy() for name in table.columns}
        self.columns = {
            name: np.concatenate([self.columns[name], values]) if names else values for name, values in arrays.items()
        }

    # ------------------------------------------------------------ judgement

    def _judged(self, driven: bool | None) -> tuple[str, str]:
        state, reason = self._said(driven)
        return ("starting", "") if driven and state not in LIVE else (state, reason)  # resumed, and not yet begun

    def _said(self, driven: bool | None) -> tuple[str, str]:
        if not self.record:
            log = _stamp(self.folder / "log.txt")
            fresh = driven is None and log is not None and time.time() - log[2] / 1e9 < SILENT
            return ("starting", "") if driven or fresh else ("failed", "it did not start")
        missing = {"problem", "topology", "method", "outcome"} - self.record.keys()
        if missing:
            return "damaged", "run.json cannot be read" if "damaged" in self.record else "run.json is incomplete"
        outcome, reason = str(self.record["outcome"]), str(self.record.get("reason", ""))
        if outcome != "running":
            return outcome, reason
        driver = self.record.get("driver") or {}
        if driver.get("host") == platform.node() and not _alive(driver.get("pid")):
            return "lost", "its driver is gone; resume it to go on from the last checkpoint"
        quiet = time.time() - max(float(self.progress.get("time", 0)), self._touched())
        return ("silent", f"no sign of life for {quiet:.0f} s") if quiet > SILENT else ("running", "")

    def _touched(self) -> float:
        stamp = self._stamps.get("run.json")
        return stamp[2] / 1e9 if stamp else 0.0

    # ------------------------------------------------------------ pace

    def _note_pace(self) -> None:
        if not self.live:
            self._pace.clear()
            return
        when = float(self.progress.get("time") or time.time())
        if self._pace and (self._pace[-1][1] > self.iteration or self._pace[-1][0] >= when):
            if self._pace[-1][1] > self.iteration:
                self._pace.clear()  # rolled back
            return
        self._pace.append((when, self.iteration, self.share))
        while len(self._pace) > 2 and when - self._pace[0][0] > WINDOW:
            self._pace.popleft()

    def _slope(self, what: int) -> float | None:
        if len(self._pace) < 2:
            return None
        first, last = self._pace[0], self._pace[-1]
        gained, took = last[what] - first[what], last[0] - first[0]
        return gained / took if gained > 0 and took > 0 else None


def _stamp(path: Path) -> Stamp:
    """What changes when a file changes; None where there is no plain file. Links are not followed."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns) if os.path.isfile(path) and not path.is_symlink() else None


def _alive(pid: Any) -> bool:
    """Whether a process of this machine is there."""
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
