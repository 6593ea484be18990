"""A Ray of our own that starts: however slowly it does, but not one whose raylet has died meanwhile.

Ray itself would wait for that raylet as long as for a slow one, in code that no signal interrupts.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ray._private import services

from raydream.errors import RayLost

START_SECONDS = 600  # how long the parts of a Ray of our own may take to find each other
LOOK_SECONDS = 1  # that Ray waits for its raylet before we look whether it is still there
PAUSE = 0.1


@contextmanager
def watched(folder: Path) -> Iterator[None]:
    """While a Ray in this folder starts: `RayLost` if its raylet dies."""
    inner: Any = services
    before = inner.get_node

    def get_node(*where: Any) -> Any:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                return before(*where)
            except RuntimeError:
                if not _raylet_of(folder):
                    raise _Died(f"the raylet died while Ray started{_last_word(folder)}") from None
                if time.monotonic() > deadline:
                    raise
                time.sleep(PAUSE)

    inner.get_node = get_node
    try:
        yield
    except _Died as died:
        raise RayLost(str(died)) from None
    finally:
        inner.get_node = before


class _Died(Exception):
    """Ray itself takes a RuntimeError for a reason to ask again."""


def _raylet_of(folder: Path) -> bool:
    """Whether a child of this process is a raylet of this folder's, and alive."""
    import psutil  # type: ignore[import-untyped]  # Ray brings it along

    for child in psutil.Process(os.getpid()).children():
        try:
            words = child.cmdline()
        except psutil.Error:
            continue
        if words and words[0].endswith("raylet") and any(str(folder) in word for word in words):
            return True
    return False


def _last_word(folder: Path) -> str:
    """What the raylet wrote last, as far as it is an error."""
    wrong = [
        line
        for log in folder.glob("session_*/logs/raylet.*")
        for line in log.read_text(errors="replace").splitlines()
        if " E " in line[:40] or " C " in line[:40] or " F " in line[:40]
    ]
    return f" ({wrong[-1].partition(') ')[2][:200]})" if wrong else ""
