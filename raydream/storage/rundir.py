"""A run directory while the run lasts: its record, its history row by row, its checkpoints, and how far it is.

Whoever watches a run reads these files; whoever wants it to stop puts a file called `stop` beside them.
"""

import contextlib
import json
import math
import os
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np

from raydream.backends.protocol import Plan
from raydream.storage.checkpoint import Checkpoint, fingerprint
from raydream.storage.files import whole_file
from raydream.storage.result import COLUMNS, Result

UNFINISHED = ("running", "stopped", "failed")  # outcomes that run.json may have, but no result
OLD = 15.0  # seconds after which a `stop` was not meant for a run that starts now
PULSE = 0.5  # least seconds between two writings of progress.json


class RunDirectory:
    """The files of one run.

    run.json       all about the run; the outcome is "running" until the end
    history.csv    its rows so far
    progress.json  iterations done, seconds used, the time of writing, and recoveries so far
    checkpoint/    the last checkpoint; start.npz a start of one's own
    stop           put there by others: the run writes a checkpoint and ends as after Ctrl-C
    """

    def __init__(self, folder: Path, plan: Plan, config: dict[str, Any]) -> None:
        self.folder, self._plan, self._config = folder, plan, config
        self._places: list[dict[str, Any]] = []
        self._recoveries: list[dict[str, Any]] = []
        self._begun, self._told = False, -math.inf

    def refuse_another_run(self) -> None:
        """A folder that holds a run already is left alone."""
        if (self.folder / "run.json").exists():
            raise FileExistsError(
                f"`directory` must not hold a run already; {str(self.folder)!r} does. Choose another, or resume it."
            )

    def begin(self, rows: list[dict[str, float]], places: list[dict[str, Any]]) -> None:
        """Say that the run is under way, and lay down the start and the rows that are known already."""
        self.folder.mkdir(parents=True, exist_ok=True)
        own = all(np.array_equal(a, b) for a, b in zip(self._plan.start, self._plan.problem.start(), strict=True))
        if not own:
            with whole_file(self.folder / "start.npz") as file:
                np.savez(file, x0=self._plan.start[0], y0=self._plan.start[1])
        with whole_file(self.folder / "history.csv") as file:
            file.write(",".join(COLUMNS).encode() + b"\n" + b"".join(_line(row) for row in rows))
        self._places, self._begun = places, True
        self._say("running", "")

    def record(self, row: dict[str, float]) -> None:
        """Append a row, for whoever watches."""
        with open(self.folder / "history.csv", "ab") as file:
            file.write(_line(row))

    def tell(
        self, iteration: int, seconds: float, recoveries: list[dict[str, Any]], places: list[dict[str, Any]]
    ) -> None:
        """Say how far the run is, now and then, and at once where its agents live if they have moved."""
        self._recoveries = recoveries
        if places != self._places:
            self._places = places
            self._say("running", "")
        now = time.monotonic()
        if now - self._told >= PULSE:
            self._told = now
            said = {"iteration": iteration, "seconds": seconds, "time": time.time(), "recoveries": recoveries}
            draft = self.folder / ".progress.json"  # not worth waiting for a disk, as `whole_file` does
            draft.write_text(json.dumps(said))
            os.replace(draft, self.folder / "progress.json")

    def forget_old_stop(self) -> None:
        """A `stop` that was meant for whoever ran here before; a fresh one may be meant for this run, which starts."""
        with contextlib.suppress(FileNotFoundError):
            if time.time() - os.stat(self.folder / "stop").st_mtime > OLD:
                self._forget_stop()

    @property
    def stop_wanted(self) -> bool:
        """Whether somebody has put the file `stop` there."""
        return (self.folder / "stop").exists()

    def leave(self, outcome: str, reason: str) -> None:
        """Say that the run ended before its end; what was there before it began stays as it was."""
        self._forget_stop()
        if self._begun:
            self._say(outcome, reason)

    def checkpoint(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint."""
        checkpoint.save(self.folder / "checkpoint", fingerprint(self._plan))

    def finish(self, result: Result) -> None:
        """The final files."""
        result.save(self.folder)
        (self.folder / "progress.json").unlink(missing_ok=True)
        self._forget_stop()

    def _forget_stop(self) -> None:
        (self.folder / "stop").unlink(missing_ok=True)

    def _say(self, outcome: str, reason: str) -> None:
        driver = {"host": platform.node(), "pid": os.getpid()}
        told = {"places": self._places, "recoveries": self._recoveries, "driver": driver}
        record = {**self._config, "outcome": outcome, "reason": reason, **told}
        with whole_file(self.folder / "run.json") as file:
            file.write((json.dumps(record, indent=2) + "\n").encode())


def _line(row: dict[str, float]) -> bytes:
    cells = ("" if math.isnan(row[column]) else repr(row[column]) for column in COLUMNS)
    return (",".join(cells) + "\n").encode()
