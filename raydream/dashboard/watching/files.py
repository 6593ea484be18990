"""The files of a run directory as a stranger reads them: plain files only, of bearable size, and never in a hurry."""

import io
import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from raydream.columns import COSTS
from raydream.storage.files import opened
from raydream.storage.history import MOST_BYTES, check_cells
from raydream.types import Array

Stamp = tuple[int, int, int] | None  # of a file: which, how long, when
MOST_JSON = 20_000_000  # bytes
TAIL = 512  # bytes that tell whether a file is still the one that was read


def stamp_of(path: Path) -> Stamp:
    """What changes when a file changes; None where there is no plain file. Links are not followed."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def read_json(path: Path, stamp: Stamp) -> dict[str, Any]:
    """What a JSON file says; {} where there is none, {"damaged": why} where it cannot be read."""
    if stamp is None:
        return {}
    if stamp[1] > MOST_JSON:
        return {"damaged": f"{path.name} is too large"}
    try:
        with opened(path, follow=False) as file:
            found = json.loads(file.read(MOST_JSON + 1))
    except (OSError, ValueError, RecursionError, MemoryError):
        return {"damaged": f"{path.name} cannot be read"}
    return found if isinstance(found, dict) else {"damaged": f"{path.name} does not hold a record"}


def read_end(path: Path, most: int) -> str:
    """The last bytes of a text file."""
    try:
        with opened(path, follow=False) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - most))
            return file.read(most).decode(errors="replace")
    except OSError:
        return ""


class Growing:
    """A text file that grows: only lines that are new and whole are read, all of them if the file is another one."""

    most = MOST_BYTES  # that are read

    def __init__(self, path: Path) -> None:
        self.readable = True
        self._path = path
        self._stamp: Stamp = None
        self._read, self._last = 0, b""  # bytes that have been read, and the last of them

    def follow(self) -> bool:
        """Read what is new; whether there was anything."""
        stamp = stamp_of(self._path)
        if stamp is None or stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            self.readable = stamp[1] <= self.most and self._read_on()
        except (OSError, ValueError, MemoryError, OverflowError):
            self.readable = False
        if not self.readable:
            self._begin_again()
        return True

    def append(self, lines: bytes) -> None:
        """Take in further lines; ValueError where they make no sense."""
        raise NotImplementedError

    def forget(self) -> None:
        """What was read is not there any more."""
        raise NotImplementedError

    def _begin_again(self) -> None:
        self._read, self._last = 0, b""
        self.forget()

    def _read_on(self) -> bool:
        with opened(self._path, follow=False) as file:
            file.seek(self._read - len(self._last))
            if file.read(len(self._last)) != self._last:  # another file in its place
                self._begin_again()
                file.seek(0)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]  # the last line may still be on its way
        if whole:
            self.append(whole)
            self._read += len(whole)
            self._last = whole[-TAIL:]
        return True


class Tail(Growing):
    """The columns of a history that grows."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.columns: dict[str, Array] = {}

    def forget(self) -> None:
        """No columns."""
        self.columns = {}

    def append(self, lines: bytes) -> None:
        """Further rows, after the names of the columns."""
        names = list(self.columns) or None
        check_cells(lines, len(self.columns))
        table = pd.read_csv(io.BytesIO(lines), names=names, header=None if names else 0, dtype=np.float64)
        new = {str(name): table[name].to_numpy() for name in table.columns}
        counted = np.isfinite(new["iteration"]).all() if "iteration" in new else False
        if not counted or any(np.isinf(new[name]).any() for name in COSTS if name in new):
            raise ValueError("a history counts iterations and what they cost")
        self.columns = {
            name: np.concatenate([self.columns[name], more]) if names else more for name, more in new.items()
        }
