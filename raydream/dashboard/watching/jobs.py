"""Runs that the dashboard starts, stops and resumes: programs of their own, which outlive it."""

import contextlib
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import BinaryIO

from raydream import checks, specs
from raydream.dashboard.new.fields import DATA
from raydream.dashboard.new.forms import NewRun
from raydream.dashboard.watching.files import Stamp, stamp_of
from raydream.dashboard.watching.runs import Runs
from raydream.dashboard.watching.tunings import Tunings
from raydream.dashboard.watching.watched import ACTORS, Watched
from raydream.storage.files import next_free, write_json

MOST = 10**9  # iterations
AT_ONCE = 8  # runs of one dashboard that may go on at a time
# What a run writes into its folder.
WRITTEN = (
    "log.txt", ACTORS, "stop", "checkpoint", "start.npz", "run.json", "history.csv", "progress.json", "arrays.npz",
)  # fmt: skip


class Jobs:
    """The programs started here, by the names of their run directories.

    A run is `python -m raydream run ...` in a session of its own with its output in log.txt: closing the dashboard
    ends none of them, and any other dashboard over the same root sees them too.
    """

    def __init__(self, runs: Runs) -> None:
        self.runs, self.tunings = runs, Tunings(runs.root)
        self._programs: dict[str, tuple[subprocess.Popen[bytes], Stamp]] = {}  # and run.json when they were started
        self._complaints: dict[str, tuple[str, Stamp]] = {}  # last words of programs that failed, and run.json then
        self._lock = threading.RLock()

    def start(self, wanted: NewRun) -> str:
        """Start a run as its form says, in a new directory; return its name."""
        with self._lock:
            self._make_room()
            name = wanted.name or next_free(self.runs.root, wanted.method).name
            folder = self.runs.root / name
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                raise ValueError(f"`name` must be new; {name!r} is there already.") from None
            except OSError as error:
                raise ValueError(f"`name` {name!r} cannot be made a folder: {error.strerror}.") from None
            try:
                write_json(folder / "form.json", wanted.form)
                log = ["--log", str(folder / ACTORS)] if "ray" in wanted.arguments else []
                self._launch(name, ["run", *wanted.arguments, *log, "--directory", str(folder)])
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
        return name

    def resume(self, name: str, iterations: int | float | None = None) -> None:
        """Go on with a run from its last checkpoint, in all to so many iterations."""
        more = [] if iterations is None else ["--iterations", str(checks.whole("iterations", _whole(iterations), 1))]
        if iterations is not None and iterations > MOST:
            raise ValueError(f"`iterations` must be at most {MOST}; got {iterations}.")
        with self._lock:
            watched = self.look(name)
            if watched.live:
                raise ValueError(f"`run` {watched.name!r} is under way already; stop it before it can go on.")
            if not watched.sound:
                raise ValueError(f"`run` {watched.name!r} cannot go on: {watched.reason}.")
            spec = None if watched.run is None else watched.run.problem.spec
            if spec is None or spec.name not in specs.PROBLEMS or spec.parameters.get("data", "synthetic") not in DATA:
                raise ValueError(
                    f"`run` {watched.name!r} has a problem or data of one's own: go on with `raydream resume`."
                )
            self._make_room()
            self._launch(watched.name, ["resume", str(watched.folder), *more])

    def stop(self, name: str) -> None:
        """Ask a run to write a checkpoint and end, whoever started it."""
        watched = self.look(name)
        if not watched.live:
            raise ValueError(f"`run` {watched.name!r} is not under way: it is {watched.state}.")
        _refuse_links(watched.folder)
        with _appending(watched.folder / "stop"):
            pass

    def look(self, name: str, patience: float = 0.0) -> Watched:
        """The run as it is now (one that has ended: as it was `patience` seconds ago)."""
        self._reap()
        watched = self.runs.listed(name) if patience else self.runs.watched(name)
        complaint, then = self._complaints.get(watched.name, ("", None))
        if complaint and watched.stamp("run.json") != then:  # run again since, by somebody else
            complaint = ""
        driven = False if complaint else None
        if watched.name in self._programs and watched.stamp("run.json") == self._programs[watched.name][1]:
            driven = True  # the program is going, and has not begun the run
        watched.refresh(driven, complaint, patience)
        return watched

    def look_at(self, names: list[str], patience: float = 0.0) -> list[Watched]:
        """Those among these names that are there."""
        seen = {}
        for name in names:
            with contextlib.suppress(ValueError):
                run = self.look(name, patience)
                seen[run.name] = run
        return list(seen.values())

    def _launch(self, name: str, arguments: list[str]) -> None:
        folder = self.runs.root / name
        _refuse_links(folder)
        (folder / "stop").unlink(missing_ok=True)
        self._complaints.pop(name, None)
        before = stamp_of(folder / "run.json")
        try:
            with _appending(folder / "log.txt") as log:
                program = subprocess.Popen(
                    # -P: nothing is imported from the folder of the run, whatever lies there
                    [sys.executable, "-P", "-m", "raydream", *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=folder,
                    start_new_session=True,
                )
            self._programs[name] = program, before
        except OSError as error:
            raise ValueError(f"`run` {name!r} cannot be started: {error.strerror}.") from None
        self.runs.changed()

    def _make_room(self) -> None:
        self._reap()
        if len(self._programs) >= AT_ONCE:
            raise ValueError(f"{AT_ONCE} runs are under way already; stop one, or wait.")

    def _reap(self) -> None:
        for name, (program, _) in list(self._programs.items()):
            if program.poll() is not None:
                self._programs.pop(name, None)
                if program.returncode not in (0, 130):  # 130: stopped
                    with contextlib.suppress(ValueError):  # the folder may be gone
                        watched = self.runs.watched(name)
                        said = last_sentence(watched.log()) or "it ended without a word"
                        self._complaints[name] = said, watched.stamp("run.json")


def last_sentence(log: str) -> str:
    """What the program said last, without its own name."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return lines[-1].removeprefix("raydream: ") if lines else ""


def _refuse_links(folder: Path) -> None:
    """A link would have the run write elsewhere."""
    for name in WRITTEN:
        if (folder / name).is_symlink():
            raise ValueError(f"`run` {folder.name!r} is left alone: its {name} is a link to another place.")


def _appending(path: Path) -> BinaryIO:
    """A plain file, made if need be, to write at its end."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
    return os.fdopen(os.open(path, flags, 0o644), "ab")


def _whole(value: int | float) -> int | float:
    """5.0 as 5: what a page sends may have lost its kind."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
