"""Ctrl-C with care: the first asks the run to stop between two blocks, the second stops it at once."""

import signal
import threading
from types import FrameType
from typing import Any


class StopRequest:
    """While in use, Ctrl-C sets `wanted` instead of raising (in the main thread, where signals arrive)."""

    def __init__(self) -> None:
        self.wanted = False
        self._before: Any = None

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():
            self._before = signal.getsignal(signal.SIGINT)
            signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.wanted = True
        signal.signal(signal.SIGINT, self._before)
