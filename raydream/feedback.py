"""What is being done at this moment, for whoever waits: each phase is told when it begins.

Whoever does something that may take a while calls `tell`; whoever has somebody waiting opens an ear with `telling`.
Without an ear nothing is said.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from raydream.notebook import Display, in_kernel

Ear = Callable[[str], None]

_EAR: ContextVar[Ear | None] = ContextVar("ear", default=None)


def tell(text: str) -> bool:
    """Say what begins now; an empty text: nothing more is to be said, and what is shown may go. Did somebody listen?"""
    ear = _EAR.get()
    if ear is not None:
        ear(text)
    return ear is not None


@contextmanager
def telling(ear: Ear | None) -> Iterator[None]:
    """Somebody listens while this lasts."""
    before = _EAR.set(ear)
    try:
        yield
    finally:
        tell("")
        _EAR.reset(before)


@contextmanager
def shown(wanted: bool | None) -> Iterator[None]:
    """On the screen: True, or None on a terminal or in a notebook. Where somebody listens already, they go on to."""
    quiet = wanted is False or (wanted is None and not (sys.stderr.isatty() or in_kernel()))
    if quiet or _EAR.get() is not None:
        yield
        return
    with telling(Screen()):
        yield


class Screen:
    """Standard error: one line that changes on a terminal or in a notebook, a line for each phase elsewhere.

    Nobody waits longer than `after` seconds for the first word, and a phase that is over sooner is not shown.
    """

    def __init__(self, after: float = 0.2) -> None:
        self._after, self._terminal = after, sys.stderr.isatty()
        self._shown, self._text = False, ""
        self._display = Display() if in_kernel() else None
        self._lock = threading.Lock()
        self._waiting: threading.Timer | None = None

    def __call__(self, text: str) -> None:
        """Show it, if it lasts, in the place of what was shown."""
        with self._lock:
            self._text = text
            if not text:
                if self._waiting is not None:
                    self._waiting.cancel()
                self._waiting = None
                self._clear()
            elif self._waiting is None:  # else what is to come next shows this text
                self._waiting = threading.Timer(self._after, self._show, (sys.stderr,))
                self._waiting.daemon = True
                self._waiting.start()

    def _show(self, stream: Any) -> None:
        with self._lock:
            if self._waiting is not threading.current_thread():
                return  # it is over
            self._waiting = None
            if self._display is not None:
                self._display(f"{self._text} ...")
                self._shown = True
                return
            line = f"\r\x1b[K{self._text} ..." if self._terminal else f"raydream: {self._text}\n"
            print(line, end="", file=stream, flush=True)
            self._shown = self._terminal

    def _clear(self) -> None:
        if self._shown and self._display is not None:
            self._display("")
        elif self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        self._shown = False
