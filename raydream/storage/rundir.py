"""A run directory while the run lasts: its record, its history row by row, its checkpoints, and how far it is.

Whoever watches a run reads these files; whoever wants it to stop puts a file called `stop` beside them.
"""

import contextlib
import errno
import math
import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from raydream.backends.plan import Plan
from raydream.backends.protocol import Place, Recovery
from raydream.columns import CONDITIONAL, RECORDED, with_conditional
from raydream.errors import DiskFull
from raydream.storage.checkpoint import Checkpoint, fingerprint
from raydream.storage.fate import Driver
from raydream.storage.files import whole_file, write_json
from raydream.storage.history import header, line_of
from raydream.storage.record import RunRecord
from raydream.storage.result import Result
from raydream.storage.start import write_start

OLD = 15.0  # seconds after which a `stop` was not meant for a run that starts now
PULSE = 0.5  # least seconds between two writings of progress.json


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # no room on the disk, in the quota, or for so large a file
SPARE = 64 * 1024  # bytes that are held back, so that run.json can say how a run ended for which there was no room


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
        self.kept: int | None = None  # the iteration of the last checkpoint
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
        with self._needing_room("history.csv"):
            with open(self.folder / ".spare", "wb") as spare:
                spare.write(b"\0" * SPARE)
            if self._record.own_start:
                write_start(self.folder, self._plan.start)
            with whole_file(self.folder / "history.csv") as file:
                file.write(header(self._columns) + b"".join(line_of(row, self._columns) for row in rows))
            self._begun = True
            self._record = replace(self._record, places=places)
            self._write("running", "")

    def record(self, row: Mapping[str, float]) -> None:
        """Append a row, for whoever watches."""
        with self._needing_room("history.csv"), open(self.folder / "history.csv", "ab") as file:
            file.write(line_of(row, self._columns))

    def tell(self, iteration: int, seconds: float, recoveries: list[Recovery], places: list[Place]) -> None:
        """Say how far the run is, now and then, and at once where its agents live if they have moved."""
        moved = places != self._record.places
        self._record = replace(self._record, recoveries=recoveries, places=places)
        if moved:
            with self._needing_room("run.json"):
                self._write("running", "")
        now = time.monotonic()
        if now - self._last_pulse >= PULSE:
            self._last_pulse = now
            progress = {"iteration": iteration, "seconds": seconds, "time": time.time(), "recoveries": recoveries}
            with self._needing_room("progress.json"):
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

    def with_hint(self, text: str) -> str:
        """This text, and how to go on with the run that is here, if one is."""
        there = (self.folder / "run.json").exists()
        return f"{text.rstrip('.')}; go on with: raydream resume {self.folder}" if there else text

    def leave(self, outcome: str, reason: str) -> None:
        """Say that the run ended before its end; what was there before it began stays as it was."""
        self._forget_stop()
        self._give_up_spare()
        if self._begun:
            with contextlib.suppress(DiskFull), self._needing_room("run.json"):
                self._write(outcome, reason)

    def checkpoint(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint."""
        with self._needing_room("checkpoint"):
            checkpoint.save(self.folder / "checkpoint", fingerprint(self._plan))
        self.kept = checkpoint.snapshot.iteration

    def finish(self, result: Result) -> None:
        """The final files."""
        self._give_up_spare()
        try:
            with self._needing_room("arrays.npz"):
                result.save(self.folder)
        except DiskFull as error:
            self.leave("failed", str(error))
            raise DiskFull(self.with_hint(str(error))) from None
        (self.folder / "progress.json").unlink(missing_ok=True)
        self._forget_stop()

    @contextlib.contextmanager
    def _needing_room(self, name: str) -> Iterator[None]:
        """A disk that is full is said in one sentence, with what is safe."""
        try:
            yield
        except OSError as error:
            if error.errno not in FULL:
                raise
            safe = "" if self.kept is None else f"; the checkpoint of iteration {self.kept} is safe"
            text = f"there is no room for {str(self.folder / name)!r} ({error.strerror}){safe}; make some"
            raise DiskFull(text) from None

    def _give_up_spare(self) -> None:
        (self.folder / ".spare").unlink(missing_ok=True)

    def _forget_stop(self) -> None:
        (self.folder / "stop").unlink(missing_ok=True)

    def _write(self, outcome: str, reason: str) -> None:
        driver: Driver = {"host": platform.node(), "pid": os.getpid()}
        record = replace(self._record, outcome=outcome, reason=reason, driver=driver)
        write_json(self.folder / "run.json", record.to_json())
