"""What is being done at this moment, for whoever waits: each phase is told when it begins.

Whoever does something that may take a while calls `tell`; whoever has somebody waiting opens an ear with `telling`.
Without an ear nothing is said.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Ear = Callable[[str], None]

_EAR: ContextVar[Ear | None] = ContextVar("ear", default=None)


def tell(text: str) -> None:
    """Say what begins now; an empty text: nothing more is to be said, and what is shown may go."""
    ear = _EAR.get()
    if ear is not None:
        ear(text)


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
    """On the screen: True, or None on a terminal. Where somebody listens already, they go on to."""
    quiet = wanted is False or (wanted is None and not sys.stderr.isatty())
    if quiet or _EAR.get() is not None:
        yield
        return
    with telling(Screen()):
        yield


class Screen:
    """Standard error: one line that changes on a terminal, a line for each phase elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._shown = False

    def __call__(self, text: str) -> None:
        """Show it in the place of what was shown."""
        if not self._terminal:
            if text:
                print(f"raydream: {text}", file=sys.stderr, flush=True)
            return
        if text or self._shown:
            print(f"\r\x1b[K{f'{text} ...' if text else ''}", end="", file=sys.stderr, flush=True)
        self._shown = bool(text)
