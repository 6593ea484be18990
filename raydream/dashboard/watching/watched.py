"""One run directory, followed while it grows: what it says, how far it is, and whether anybody drives it."""

import math
import os
import platform
import threading
import time
from pathlib import Path
from typing import Any

from raydream.backends.protocol import Recovery
from raydream.columns import COLUMNS, COSTS
from raydream.dashboard.watching.files import Stamp, Tail, read_end, read_json, stamp_of
from raydream.dashboard.watching.pace import Pace
from raydream.dashboard.watching.progress import Progress
from raydream.errors import RecordError
from raydream.storage.fate import Driver
from raydream.storage.lock import is_locked
from raydream.storage.record import RunRecord
from raydream.types import Array

SILENT = 30.0  # seconds without a sign of life after which a run is called silent
GONE = 120.0  # and after which one on another machine, whose lock cannot be seen, is given up
LIVE = ("starting", "running", "silent")
FORMS = ("form.json", "order.json")  # the second as version 0.1.0 called it
UNFINISHED = ("stopped", "failed", "lost")
ACTORS = "actors.log"  # in a run's folder: what its actors print, where the run was told to keep it there
LONGEST, WIDEST = 64_000, 500  # bytes of a log that are read, and characters of a line that are shown


class Watched:
    """A run directory; `refresh` reads what is new.

    run      what run.json says, where it can be believed; `record` is the same as plain data
    state    starting, running, silent (no sign of life), lost (its driver is gone), stopped, failed, damaged,
             or the outcome
    reason   in words
    version  grows with every change; `edition` with every change of run.json
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.state, self.reason, self.version, self.edition = "starting", "", 0, 0
        self.run: RunRecord | None = None
        self.record: dict[str, Any] = {}
        self.progress = Progress()
        self._fault = ""
        self._stamps: dict[str, Stamp] = {}
        self._history, self._pace = Tail(folder / "history.csv"), Pace()
        self._looked = -math.inf
        self._lock = threading.Lock()

    def refresh(self, driven: bool | None = None, complaint: str = "", patience: float = 0.0) -> None:
        """Look again.

        driven     whether its program is going, where that is known
        complaint  what that program said when it failed
        patience   seconds for which an earlier look at a run that has ended is good enough
        """
        with self._lock:
            if not self.live and time.monotonic() - self._looked < patience:
                return
            self._looked = time.monotonic()
            before = self.state, self.reason
            changed = [self._reread_record(), self._reread_progress(), self._history.follow()]
            self.state, self.reason = self._judged(driven, complaint)
            if any(changed) or (self.state, self.reason) != before:
                self.version += 1
                self._note_pace()

    @property
    def columns(self) -> dict[str, Array]:
        """The history so far."""
        return self._history.columns

    @property
    def live(self) -> bool:
        """Whether more is to come."""
        return self.state in LIVE

    @property
    def sound(self) -> bool:
        """Whether run.json is there and can be believed."""
        return bool(self.record)

    @property
    def resumable(self) -> bool:
        """Whether it can go on: it did not come to its end, or has a checkpoint to go on from to a later end."""
        if self.live or not self.sound:
            return False
        return self.state in UNFINISHED or (self.folder / "checkpoint" / "manifest.json").is_file()

    @property
    def recoveries(self) -> list[Recovery]:
        """What happened to agents that were lost on the way."""
        return list(self.progress.recoveries if self.live else self.record.get("recoveries") or [])

    def last(self, column: str) -> float:
        """The last record of a column, NaN where there is none."""
        values = self.columns.get(column)
        return float(values[-1]) if values is not None and len(values) else math.nan

    @property
    def iteration(self) -> int:
        """Iterations done."""
        done, row = self.progress.iteration if self.live else 0, self.last("iteration")
        return max(done, int(row) if math.isfinite(row) else 0)

    @property
    def share(self) -> float:
        """How much of the run is done, by whatever will end it first."""
        if self.state in ("completed", "budget", "target", "callback"):
            return 1.0
        if self.run is None:
            return 0.0
        settings = self.run.settings
        given, parts = settings.limits.given(), [self.iteration / max(1, settings.iterations)]
        for column in COSTS:
            limit, spent = given.get(COLUMNS[column].limit or ""), self.last(column)
            if limit and math.isfinite(spent):
                parts.append(spent / limit)
        return min(1.0, max(0.0, *parts))

    @property
    def rate(self) -> float | None:
        """Iterations per second of late, evaluation included."""
        return self._pace.iterations_per_second

    @property
    def seconds_left(self) -> float | None:
        """The time that the rest will take if it goes on like this."""
        return self._pace.seconds_for(1 - self.share)

    def log(self, lines: int = 12, name: str = "log.txt") -> str:
        """The end of what the run printed, where a dashboard started it, or of another log in its folder."""
        return "\n".join(line[:WIDEST] for line in read_end(self.folder / name, LONGEST).splitlines()[-lines:])

    @property
    def form(self) -> dict[str, Any]:
        """The form that it was started with, where it was."""
        name = next((one for one in FORMS if self.stamp(one) is not None), FORMS[0])
        found = read_json(self.folder / name, self.stamp(name))
        return {} if "damaged" in found or not all(isinstance(one, str) for one in found.values()) else found

    def stamp(self, name: str) -> Stamp:
        """What changes when a file of the run changes."""
        return stamp_of(self.folder / name)

    # ------------------------------------------------------------ files

    def _reread(self, name: str) -> dict[str, Any] | None:
        """What a JSON file says, if it changed since it was read."""
        stamp = self.stamp(name)
        if name in self._stamps and self._stamps[name] == stamp:
            return None
        self._stamps[name] = stamp
        return read_json(self.folder / name, stamp)

    def _reread_record(self) -> bool:
        found = self._reread("run.json")
        if found is None:
            return False
        self.run, self._fault = None, str(found.get("damaged", ""))
        try:
            if found and not self._fault:
                self.run = RunRecord.from_json(found)
        except RecordError as error:
            self._fault = str(error).rstrip(".")
        self.record = {} if self.run is None else self.run.to_json()
        self.edition += 1
        return True

    def _reread_progress(self) -> bool:
        found = self._reread("progress.json")
        if found is not None:
            self.progress = Progress.from_json(found)
        return found is not None

    # ------------------------------------------------------------ judgement

    def _judged(self, driven: bool | None, complaint: str) -> tuple[str, str]:
        state, reason = self._said(driven)
        if driven and state not in LIVE:
            return "starting", ""  # resumed, and not yet begun
        if complaint and state in UNFINISHED:
            return state, complaint
        return state, reason or ("" if self._history.readable else "history.csv cannot be read")

    def _said(self, driven: bool | None) -> tuple[str, str]:
        if self._fault:
            return "damaged", self._fault
        if self.run is None:
            log = self.stamp("log.txt")
            fresh = driven is None and log is not None and time.time() - log[2] / 1e9 < SILENT
            return ("starting", "") if driven or fresh else ("failed", "it did not start")
        if self.run.outcome != "running":
            return self.run.outcome, self.run.reason
        return self._running(self.run.driver)

    def _running(self, driver: Driver | None) -> tuple[str, str]:
        """Whether a run that says it is under way really is."""
        stamp = self._stamps.get("run.json")
        quiet = time.time() - max(self.progress.time, stamp[2] / 1e9 if stamp else 0.0)
        held, gone = is_locked(self.folder), quiet > GONE
        if driver is not None and driver["host"] == platform.node():
            gone = held is False or (held is None and not _alive(driver["pid"]))
        if gone and not held:
            return "lost", "its driver is gone; resume it to go on from the last checkpoint"
        return ("silent", f"no sign of life for {quiet:.0f} s") if quiet > SILENT else ("running", "")

    def _note_pace(self) -> None:
        if self.live and self.state != "starting" and self.progress.time:
            self._pace.note(self.progress.time, self.iteration, self.share)
        else:
            self._pace.forget()


def _alive(pid: int) -> bool:
    """Whether a process of this machine is there."""
    if not 0 < pid < 2**31:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
