"""What can happen to a run on one machine."""

import contextlib
import os
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from sabotage import sockets
from sabotage.driven import MARK, Driven

Mend = Callable[[], None]
Deed = Callable[[Driven, Random], "Mend | None"]
PARTS = {"raylet": "raylet", "control service": "gcs_server"}
DISK = 4  # megabytes of the disk that is filled


@dataclass(frozen=True)
class Fault:
    """One kind of mishap.

    name    as the table calls it
    deed    does it, and returns what takes it back, if that can be
    passes  whether a run may go on without having noticed anything
    fewest  actors that it takes
    """

    name: str
    deed: Deed
    passes: bool = False
    fewest: int = 1


def alive(run: Driven) -> list[int]:
    """The processes of the run's actors, once all of them live."""

    def found() -> list[int]:
        numbers = [place["pid"] for place in run.places]
        return numbers if all(Path(f"/proc/{number}").exists() for number in numbers) else []

    numbers: list[int] = run.until(found, "actors")
    return numbers


def send(numbers: list[int], number: int) -> None:
    """A signal to each; one that has ended meanwhile is passed over."""
    for pid in numbers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def killing(count: int | None) -> Deed:
    """So many actors, or all, at once."""

    def deed(run: Driven, random: Random) -> None:
        there = alive(run)
        send(random.sample(there, min(len(there), count or len(there))), signal.SIGKILL)

    return deed


def killing_twice(run: Driven, random: Random) -> None:
    """One actor, and another while the run recovers from it."""
    there = random.sample(alive(run), 2)
    send(there[:1], signal.SIGKILL)
    time.sleep(random.uniform(0.1, 3.0))
    send(there[1:], signal.SIGKILL)


def killing_part(part: str) -> Deed:
    """A process of the Ray that is the run's own."""

    def deed(run: Driven, random: Random) -> None:
        send([one for one in marked(run.mark) if _program(one) == PARTS[part]], signal.SIGKILL)

    return deed


def killing_driver(run: Driven, random: Random) -> None:
    """The process that drives the run."""
    run.process.kill()


def stopping(count: int, seconds: float | None = None) -> Deed:
    """So many actors are stopped; for a while, or for good."""

    def deed(run: Driven, random: Random) -> None:
        there = alive(run)
        doomed = random.sample(there, min(len(there), count))
        send(doomed, signal.SIGSTOP)
        if seconds is not None:
            threading.Timer(seconds, send, (doomed, signal.SIGCONT)).start()

    return deed


def cutting_link(run: Driven, random: Random) -> None:
    """The connections between two actors that have some."""
    there = alive(run)
    pairs = [(one, other) for one in there for other in there if one != other]
    random.shuffle(pairs)
    for one, other in pairs:
        if handles := sockets.between(one, other):
            sockets.cut(one, handles)
            return


def cutting_off(run: Driven, random: Random) -> None:
    """The connections between the driver and one actor."""
    one = random.choice(alive(run))
    sockets.cut(one, sockets.between(one, run.process.pid))


def filling(run: Driven, random: Random) -> Mend:
    """The disk of the run's files has no byte left."""
    filler = run.run / "filler"
    with open(filler, "wb", buffering=0) as file, contextlib.suppress(OSError):
        for size in (1 << 16, 1 << 10, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"\0" * size)
    return lambda: filler.unlink(missing_ok=True)


def limiting(run: Driven, random: Random) -> None:
    """The driver may write no file of more than 1000 bytes."""
    _, hard = resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, (1000, hard))


@contextlib.contextmanager
def small_disk(folder: Path) -> Any:
    """A disk of a few megabytes at this folder, where that is permitted; whether it is."""
    folder.mkdir(parents=True, exist_ok=True)
    words = ["mount", "-t", "tmpfs", "-o", f"size={DISK}m", "tmpfs", str(folder)]
    done = subprocess.run(words, capture_output=True).returncode == 0 if os.geteuid() == 0 else False
    try:
        yield done
    finally:
        if done:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def marked(mark: str) -> list[int]:
    """The processes of a run: everything that has inherited its mark."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def _program(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/exe").resolve().name
    return ""


FAULTS = [
    Fault("raylet killed", killing_part("raylet")),
    Fault("control service killed", killing_part("control service")),
    Fault("driver killed", killing_driver),
    Fault("one actor killed", killing(1)),
    Fault("two actors killed at once", killing(2), fewest=2),
    Fault("all actors killed at once", killing(None)),
    Fault("an actor killed during a recovery", killing_twice, fewest=2),
    Fault("one actor stopped", stopping(1)),
    Fault("two actors stopped at once", stopping(2), fewest=2),
    Fault("an actor stopped for 2 s", stopping(1, 2.0), passes=True),
    Fault("link between two actors cut", cutting_link, passes=True, fewest=2),
    Fault("driver cut off from an actor", cutting_off, passes=True),
    Fault("disk full", filling),
    Fault("file size limit reached", limiting),
]
