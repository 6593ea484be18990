"""What actors print, on whatever node, in one file of the driver's."""

import contextlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ray._private import worker

TRIALS = ("attempt", "_attempt")  # the functions that are trials, as Ray calls them
SCREEN = "ray_print_logs"  # Ray's own handler, which prints to the driver's screen


@contextlib.contextmanager
def logged(path: Path, run: str) -> Iterator[None]:
    """While this lasts, lines of this program's actors are appended to the file, each after the actor that said it."""
    inner: Any = worker
    dispatcher = inner.global_worker_stdstream_dispatcher
    if getattr(inner.global_worker, "logger_thread", None) is None:
        raise ValueError(
            "`log` needs a Ray that sends its logs: leave out ray.init(), or call it with log_to_driver=True."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    name = f"raydream-{run}"
    with open(path, "a", encoding="utf-8", buffering=1) as file:
        dispatcher.remove_handler(SCREEN)
        heard = [time.monotonic()]

        def keep(batch: Mapping[str, Any]) -> None:
            heard[0] = time.monotonic()
            file.writelines(lines_of(batch))

        dispatcher.add_handler(name, keep)
        try:
            yield
        finally:
            _wait_for_last_words(heard)
            dispatcher.remove_handler(name)


def lines_of(batch: Mapping[str, Any]) -> list[str]:
    """Lines of an actor or a trial of ours, each with who it is, its process and its node; nothing of others."""
    who = str(batch.get("actor_name") or batch.get("task_name"))
    ours = who.startswith("Agent(") or who in TRIALS
    return [f"{who} ({batch.get('pid')} at {batch.get('ip')}): {line}\n" for line in batch["lines"] if ours]


def _wait_for_last_words(heard: list[float]) -> None:
    """Lines arrive a while after they were printed: until nothing has come for a second, and five at most."""
    end = time.monotonic() + 5.0
    heard[0] = time.monotonic()
    while time.monotonic() < min(end, heard[0] + 1.0):
        time.sleep(0.05)
