"""A run directory while the run lasts: its record, its history row by row, its checkpoints, and how far it is.

Whoever watches a run reads these files; whoever wants it to stop puts a file called `stop` beside them.
"""

import contextlib
import math
import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from raydream.backends.plan import Plan
from raydream.backends.protocol import Place, Recovery
from raydream.columns import CONDITIONAL, RECORDED, with_conditional
from raydream.storage.checkpoint import Checkpoint, fingerprint
from raydream.storage.fate import Driver
from raydream.storage.files import whole_file, write_json
from raydream.storage.history import header, line_of
from raydream.storage.record import RunRecord
from raydream.storage.result import Result
from raydream.storage.start import write_start

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

    def __init__(self, folder: Path, plan: Plan, record: RunRecord) -> None:
        self.folder, self._plan, self._record = folder, plan, record
        self._begun, self._last_pulse = False, -math.inf
        more = () if record.conditions is None else CONDITIONAL
        self._columns = (*with_conditional(RECORDED, more), *record.settings.metrics)

    def refuse_another_run(self) -> None:
        """A folder that holds a run already is left alone."""
        if (self.folder / "run.json").exists():
            raise FileExistsError(
                f"`directory` must not hold a run already; {str(self.folder)!r} does. Choose another, or resume it."
            )

    def begin(self, rows: Sequence[Mapping[str, float]], places: list[Place]) -> None:
        """Say that the run is under way, and lay down the start and the rows that are known already."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._record.own_start:
            write_start(self.folder, self._plan.start)
        with whole_file(self.folder / "history.csv") as file:
            file.write(header(self._columns) + b"".join(line_of(row, self._columns) for row in rows))
        self._begun = True
        self._record = replace(self._record, places=places)
        self._write("running", "")

    def record(self, row: Mapping[str, float]) -> None:
        """Append a row, for whoever watches."""
        with open(self.folder / "history.csv", "ab") as file:
            file.write(line_of(row, self._columns))

    def tell(self, iteration: int, seconds: float, recoveries: list[Recovery], places: list[Place]) -> None:
        """Say how far the run is, now and then, and at once where its agents live if they have moved."""
        moved = places != self._record.places
        self._record = replace(self._record, recoveries=recoveries, places=places)
        if moved:
            self._write("running", "")
        now = time.monotonic()
        if now - self._last_pulse >= PULSE:
            self._last_pulse = now
            progress = {"iteration": iteration, "seconds": seconds, "time": time.time(), "recoveries": recoveries}
            write_json(self.folder / "progress.json", progress, durable=False)

    def forget_old_stop(self) -> None:
        """A `stop` that was meant for whoever ran here before; a fresh one may be meant for this run, which starts."""
        with contextlib.suppress(FileNotFoundError):
            if time.time() - os.stat(self.folder / "stop").st_mtime > OLD:
                self._forget_stop()

    @property
    def stop_wanted(self) -> bool:
        """Whether somebody has put the file `stop` there."""
        return (self.folder / "stop").exists()

    @property
    def hint(self) -> str:
        """How to go on with the run that is here; nothing where there is none."""
        return f"go on with: raydream resume {self.folder}" if (self.folder / "run.json").exists() else ""

    def leave(self, outcome: str, reason: str) -> None:
        """Say that the run ended before its end; what was there before it began stays as it was."""
        self._forget_stop()
        if self._begun:
            self._write(outcome, reason)

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

    def _write(self, outcome: str, reason: str) -> None:
        driver: Driver = {"host": platform.node(), "pid": os.getpid()}
        record = replace(self._record, outcome=outcome, reason=reason, driver=driver)
        write_json(self.folder / "run.json", record.to_json())
