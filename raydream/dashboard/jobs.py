"""Runs that the dashboard starts, stops and resumes: programs of their own, which outlive it."""

import contextlib
import subprocess
import sys
import threading

from raydream.dashboard.forms import Order
from raydream.dashboard.runs import Runs
from raydream.dashboard.watched import Watched

AT_ONCE = 8  # runs of one dashboard that may go on at a time


class Jobs:
    """The programs started here, by the names of their run directories.

    A run is `python -m raydream run ...` in a session of its own with its output in log.txt: closing the dashboard
    ends none of them, and any other dashboard over the same root sees them too.
    """

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self._programs: dict[str, subprocess.Popen[bytes]] = {}
        self._complaints: dict[str, str] = {}  # last words of programs that failed
        self._lock = threading.Lock()

    def start(self, order: Order) -> str:
        """Start a run as ordered, in a new directory; return its name."""
        with self._lock:
            self._make_room()
            name = order.name or self.runs.free_name(order.method)
            folder = self.runs.root / name
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                raise ValueError(f"`name` must be new; {name!r} is there already.") from None
            self._launch(name, ["run", *order.arguments, "--directory", str(folder)])
        return name

    def resume(self, name: str, iterations: int | None = None) -> None:
        """Go on with a run from its last checkpoint, in all to so many iterations."""
        watched = self.look(name)
        if watched.live:
            raise ValueError(f"`run` {name!r} is under way already; stop it before it can go on.")
        if ":" in str((watched.record.get("problem", {}).get("spec") or {}).get("name", "")):
            raise ValueError(f"`run` {name!r} has a problem of one's own: resume it with `raydream resume`.")
        more = [] if iterations is None else ["--iterations", str(int(iterations))]
        with self._lock:
            self._make_room()
            self._launch(name, ["resume", str(watched.folder), *more])

    def stop(self, name: str) -> None:
        """Ask a run to write a checkpoint and end, whoever started it."""
        watched = self.look(name)
        if not watched.live:
            raise ValueError(f"`run` {name!r} is not under way: it is {watched.state}.")
        (watched.folder / "stop").touch()

    def look(self, name: str) -> Watched:
        """The run as it is now, and what its program complained of, if it did."""
        self._reap()
        driven = True if name in self._programs else False if name in self._complaints else None
        watched = self.runs.look(name, driven)
        if name in self._complaints and not watched.live:
            watched.reason = self._complaints[name]
        return watched

    def look_at(self, names: list[str]) -> list[Watched]:
        """Those among these names that are there."""
        seen = []
        for name in dict.fromkeys(names):
            with contextlib.suppress(ValueError):
                seen.append(self.look(name))
        return seen

    def _launch(self, name: str, arguments: list[str]) -> None:
        folder = self.runs.root / name
        (folder / "stop").unlink(missing_ok=True)
        self._complaints.pop(name, None)
        with open(folder / "log.txt", "ab") as log:
            self._programs[name] = subprocess.Popen(
                [sys.executable, "-m", "raydream", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                start_new_session=True,
            )
        self.runs.changed()

    def _make_room(self) -> None:
        self._reap()
        if len(self._programs) >= AT_ONCE:
            raise ValueError(f"{AT_ONCE} runs are under way already; stop one, or wait.")

    def _reap(self) -> None:
        for name, program in list(self._programs.items()):
            if program.poll() is not None:
                self._programs.pop(name, None)
                if program.returncode not in (0, 130):  # 130: stopped
                    self._complaints[name] = last_sentence(self.runs.look(name).log()) or "it ended without a word"


def last_sentence(log: str) -> str:
    """What the program said last, without its own name."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return lines[-1].removeprefix("raydream: ") if lines else ""
