"""A `raydream run` in a process of its own: started, watched from outside, resumed, and ended."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sabotage.paced import PACE, PACED

HERE = Path(__file__).resolve().parents[1]
MARK = "RAYDREAM_CHAOS"  # inherited by everything that a run starts
PROBLEM = "sabotage.paced:make"
LIMIT = 240.0  # seconds without a word or a step, on a busy machine, that count as a hang
TICK = 0.05
# The command line as it is, but for a way to ask for its last words.
LAUNCH = """
import faulthandler, signal, sys
faulthandler.register(signal.SIGUSR1, all_threads=True)
from raydream.cli.app import main
sys.argv[0] = "raydream"
main()
"""


class Hung(Exception):
    """Nothing happened for too long; its text has the last words."""


class Driven:
    """One run and the folder of its files.

    folder  where the run's directory `r` and what its drivers print go
    mark    by which its processes are known
    prefix  makes a command one that is run elsewhere
    more    of its environment
    """

    def __init__(
        self, folder: Path, mark: str, prefix: Callable[[list[str]], list[str]] | None = None, **more: str
    ) -> None:
        self.folder, self.run, self.mark, self._prefix = folder, folder / "r", mark, prefix
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        path = os.pathsep.join([str(HERE), *kept.get("PYTHONPATH", "").split(os.pathsep)])
        self.environment = {**kept, "PYTHONPATH": path, MARK: mark, PACE: PACED, **more}
        self.drivers: list[subprocess.Popen[bytes]] = []
        self.resuming: list[str] = []  # further words of `raydream resume`

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The driver of now."""
        return self.drivers[-1]

    @property
    def said(self) -> str:
        """What the driver of now has printed on standard error, on whatever disk it writes its files."""
        return (self.folder / f"said-{len(self.drivers)}").read_text(errors="replace")

    def start(self, words: Sequence[str]) -> None:
        """Begin a run, and wait for its first iterations."""
        self._launch(["run", "--problem", PROBLEM, "--no-check", "--directory", str(self.run), *words])
        self.until(lambda: self.iteration > 0, "first iterations")

    def resume(self) -> None:
        """Go on after a sentence or a killed driver."""
        self._launch(["resume", str(self.run), "--problem", PROBLEM, "--no-check", *self.resuming])

    def stop(self) -> None:
        """Have it end with a checkpoint."""
        (self.run / "stop").touch()
        self.until(lambda: self.process.poll() is not None, "end")

    def kill(self) -> None:
        """End its drivers, whatever they do."""
        for process in self.drivers:
            process.kill()
            process.wait(60)

    def until(self, fact: Callable[[], Any], what: str, seconds: float = LIMIT) -> Any:
        """What a fact returned when it held; after too long a time the last words are in the error."""
        deadline = time.monotonic() + seconds
        while not (found := fact()):
            if time.monotonic() > deadline:
                raise Hung(f"no {what} for {seconds:g} s; {self._last_words()}")
            if what == "first iterations" and self.process.poll() is not None:
                raise Hung(f"the run did not begin: {self.said[-2000:]}")
            time.sleep(TICK)
        return found

    @property
    def iteration(self) -> int:
        """Of the last record."""
        try:
            with open(self.run / "history.csv", "rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 2000))
                lines = file.read().split(b"\n")
            return int(lines[-2].split(b",")[0])
        except (OSError, ValueError, IndexError):
            return -1

    @property
    def recoveries(self) -> list[dict[str, Any]]:
        """What the driver of now has noted."""
        found: list[dict[str, Any]] = self._json("progress.json").get("recoveries", [])
        return found

    @property
    def places(self) -> list[dict[str, Any]]:
        """Where its actors live."""
        found: list[dict[str, Any]] = self._json("run.json").get("places", [])
        return found

    def _json(self, name: str) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads((self.run / name).read_text())
            return found
        except (OSError, ValueError):
            return {}

    def _launch(self, words: list[str]) -> None:
        command = [sys.executable, "-c", LAUNCH, *words]
        command = command if self._prefix is None else self._prefix(command)
        settings: Any = dict(env=self.environment, cwd=self.folder, start_new_session=True)
        settings |= dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.drivers.append(subprocess.Popen(command, **settings))
        said = self.folder / f"said-{len(self.drivers)}"
        said.touch()
        threading.Thread(target=_kept, args=(self.process.stderr, said), daemon=True).start()

    def _last_words(self) -> str:
        """Where each thread of the driver is, and what it has printed."""
        if self.process.poll() is None and self._prefix is None:
            os.kill(self.process.pid, signal.SIGUSR1)
            time.sleep(2.0)
        return f"last words:\n{self.said[-6000:]}"


def _kept(stream: Any, file: Path) -> None:
    """All that comes, until its last writer ends; a run that is over may have lost its folder."""
    with contextlib.suppress(OSError), open(file, "ab", buffering=0) as kept:
        while words := os.read(stream.fileno(), 1 << 16):
            kept.write(words)
    stream.close()
