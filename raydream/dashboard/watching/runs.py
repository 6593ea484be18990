"""The run directories under one root, as they are now: read again only where they changed."""

import os

from raydream.dashboard.watching.folders import Folders
from raydream.dashboard.watching.watched import Watched


class Runs(Folders):
    """Every run directory below `root`, by its path from there."""

    marks = ("run.json", "log.txt")  # a folder with one of these holds a run, or one that is about to start
    what = ("run", "a run directory")

    def __init__(self, root: str | os.PathLike[str]) -> None:
        super().__init__(root)
        self._watched: dict[str, Watched] = {}

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

    def _forget_all_but(self, there: set[str]) -> None:
        self._watched = {name: kept for name, kept in self._watched.items() if name in there}
