"""A run directory while the run lasts: its record, its history row by row, and its checkpoints."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from raydream.backends import Plan
from raydream.checkpoint import Checkpoint, fingerprint
from raydream.result import COLUMNS, Result, whole_file


class RunDirectory:
    """run.json (outcome "running" until the end), history.csv, checkpoint/, and start.npz for a start of one's own."""

    def __init__(self, folder: Path, plan: Plan, config: dict[str, Any]) -> None:
        self.folder, self._plan, self._config = folder, plan, config

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
        record = {**self._config, "outcome": "running", "reason": "", "places": places}
        with whole_file(self.folder / "run.json") as file:
            file.write((json.dumps(record, indent=2) + "\n").encode())

    def record(self, row: dict[str, float]) -> None:
        """Append a row, for whoever watches."""
        with open(self.folder / "history.csv", "ab") as file:
            file.write(_line(row))

    def checkpoint(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint."""
        checkpoint.save(self.folder / "checkpoint", fingerprint(self._plan))

    def finish(self, result: Result) -> None:
        """The final files."""
        result.save(self.folder)


def _line(row: dict[str, float]) -> bytes:
    cells = ("" if math.isnan(row[column]) else repr(row[column]) for column in COLUMNS)
    return (",".join(cells) + "\n").encode()
