"""The folders of one kind under one root, by their paths from there; never outside."""

import contextlib
import os
import threading
import time
from pathlib import Path

DEPTH = 4  # folders below the root that are looked into
MOST = 5000  # folders that are listed
FRESH = 1.0  # seconds for which a listing is good


class Folders:
    """Every folder below `root` that has one of these files.

    what  the argument that names one, and what it must be, for refusals
    """

    marks: tuple[str, ...] = ()
    what = ("folder", "a folder")

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root).resolve()
        self._lock = threading.RLock()
        self._names: list[str] = []
        self._listed = -FRESH

    def names(self) -> list[str]:
        """All names, the one that changed last first."""
        with self._lock:
            if time.monotonic() - self._listed >= FRESH:
                found = sorted(self._search(), reverse=True)[:MOST]
                self._names = [name for _, name in found]
                self._forget_all_but(set(self._names))
                self._listed = time.monotonic()
            return list(self._names)

    def changed(self) -> None:
        """A directory was made: list again."""
        with self._lock:
            self._listed = -FRESH

    def folder(self, name: str) -> Path:
        """The folder of this name, which lies below the root whatever the name says."""
        with contextlib.suppress(OSError, ValueError, TypeError):  # names that no file can have
            folder = (self.root / name).resolve()
            if folder.is_relative_to(self.root) and any((folder / mark).is_file() for mark in self.marks):
                return folder
        argument, kind = self.what
        raise ValueError(f"`{argument}` must be {kind} below {self.root.name}/; got {str(name)[:200]!r}.")

    def proper(self, name: str) -> str:
        """The one name of a folder, of which `./name` is another."""
        return self.folder(name).relative_to(self.root).as_posix()

    def _forget_all_but(self, there: set[str]) -> None:
        """The others are gone."""

    def _search(self) -> list[tuple[float, str]]:
        """Names with the times of their marks; links to other places are not followed."""
        found = []
        for folder, below, files in os.walk(self.root):
            here = Path(folder)
            depth = len(here.relative_to(self.root).parts)
            below[:] = [] if depth >= DEPTH else sorted(name for name in below if _is_listed(name))
            mark = next((name for name in self.marks if name in files), None)
            if mark is not None:
                below[:] = []
                with contextlib.suppress(OSError):
                    found.append((os.lstat(here / mark).st_mtime, here.relative_to(self.root).as_posix()))
        return found


def _is_listed(name: str) -> bool:
    """Not hidden, and a name that can be written down."""
    return not name.startswith(".") and not any("\ud800" <= sign <= "\udfff" for sign in name)
