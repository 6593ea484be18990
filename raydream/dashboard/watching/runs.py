"""The run directories under one root, as they are now: read again only where they changed, and never outside."""

import contextlib
import os
import threading
import time
from pathlib import Path

from raydream.dashboard.watching.watched import Watched

DEPTH = 4  # folders below the root that are looked into
MOST = 5000  # run directories that are listed
FRESH = 1.0  # seconds for which a listing is good
MARKS = ("run.json", "log.txt")  # a folder with one of these holds a run, or one that is about to start


class Runs:
    """Every run directory below `root`, by its path from there."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root).resolve()
        self._lock = threading.RLock()
        self._watched: dict[str, Watched] = {}
        self._names: list[str] = []
        self._listed = -FRESH

    def names(self) -> list[str]:
        """All names, the run that began or ended last first."""
        with self._lock:
            if time.monotonic() - self._listed >= FRESH:
                found = sorted(self._search(), reverse=True)[:MOST]
                self._names = [name for _, name in found]
                there = set(self._names)
                self._watched = {name: kept for name, kept in self._watched.items() if name in there}
                self._listed = time.monotonic()
            return list(self._names)

    def changed(self) -> None:
        """A directory was made: list again."""
        with self._lock:
            self._listed = -FRESH

    def folder(self, name: str) -> Path:
        """The run directory of this name, which lies below the root whatever the name says."""
        with contextlib.suppress(OSError, ValueError, TypeError):  # names that no file can have
            folder = (self.root / name).resolve()
            if folder.is_relative_to(self.root) and any((folder / mark).is_file() for mark in MARKS):
                return folder
        raise ValueError(f"`run` must be a run directory below {self.root.name}/; got {str(name)[:200]!r}.")

    def proper(self, name: str) -> str:
        """The one name of a run directory, of which `./name` is another."""
        return self.folder(name).relative_to(self.root).as_posix()

    def watched(self, name: str) -> Watched:
        """The run of this name as it was when it was looked at last."""
        folder, name = self.folder(name), self.proper(name)
        with self._lock:
            return self._watched.setdefault(name, Watched(name, folder))

    def listed(self, name: str) -> Watched:
        """The same for a name that stands in the list: where it lies was found out when the list was made."""
        with self._lock:
            known = self._watched.get(name)
        return known or self.watched(name)

    def look(self, name: str) -> Watched:
        """The run of this name as it is now."""
        watched = self.watched(name)
        watched.refresh()
        return watched

    def _search(self) -> list[tuple[float, str]]:
        """Names with the times of their marks; links to other places are not followed."""
        found = []
        for folder, below, files in os.walk(self.root):
            here = Path(folder)
            depth = len(here.relative_to(self.root).parts)
            below[:] = [] if depth >= DEPTH else sorted(name for name in below if _is_listed(name))
            mark = next((name for name in MARKS if name in files), None)
            if mark is not None:
                below[:] = []
                with contextlib.suppress(OSError):
                    found.append((os.lstat(here / mark).st_mtime, here.relative_to(self.root).as_posix()))
        return found


def _is_listed(name: str) -> bool:
    """Not hidden, and a name that can be written down."""
    return not name.startswith(".") and not any("\ud800" <= sign <= "\udfff" for sign in name)
