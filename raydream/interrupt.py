"""Ctrl-C and SIGTERM with care: the first asks a run to stop between two blocks, the second stops it at once."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any

from raydream.errors import Interrupted

SIGNALS = (signal.SIGINT, signal.SIGTERM)  # what people press, and what schedulers send

_REQUEST: ContextVar["StopRequest | None"] = ContextVar("request", default=None)
_HEARD = [signal.SIGINT]  # the last one


class StopRequest:
    """While in use, the signals set `wanted` instead of ending the program (in the main thread, where they arrive)."""

    def __init__(self) -> None:
        self.since: float | None = None
        self._before: dict[int, Any] = {}
        self._hasty = False
        self._token: Any = None

    def __enter__(self) -> "StopRequest":
        self._token = _REQUEST.set(self)
        self._before = _listen(self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        _REQUEST.reset(self._token)
        _put_back(self._before)

    @property
    def wanted(self) -> bool:
        """Whether somebody wants the run to stop."""
        return self.since is not None

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Meanwhile the first signal is enough: nothing is under way that is worth a checkpoint."""
        self._hasty = True
        try:
            heed()
            yield
        finally:
            self._hasty = False

    def _hear(self, number: int, frame: FrameType | None) -> None:
        _HEARD[:] = [signal.Signals(number)]
        again, self.since = self.wanted, self.since or time.monotonic()
        if again or self._hasty:
            raise Interrupted("stopped at once" if again else "stopped before it had begun")


def heed(grace: float = 0.0, doing: str = "before it had begun") -> None:
    """Leave here and now, if somebody wanted the run to stop longer than `grace` seconds ago."""
    request = _REQUEST.get()
    if request is not None and request.since is not None and time.monotonic() - request.since >= grace:
        raise Interrupted(f"stopped {doing}")


@contextmanager
def quick_to_stop() -> Iterator[None]:
    """Meanwhile a signal ends what is being done at once, if a run listens to them."""
    request = _REQUEST.get()
    if request is None:
        yield
        return
    with request.at_once():
        yield


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM raises, as Ctrl-C does, while no run listens to it."""

    def hear(number: int, frame: FrameType | None) -> None:
        _HEARD[:] = [signal.SIGTERM]
        raise Interrupted("terminated")

    _HEARD[:] = [signal.SIGINT]
    before = _listen(hear, (signal.SIGTERM,))
    try:
        yield
    finally:
        _put_back(before)


@contextmanager
def keeping_handlers() -> Iterator[None]:
    """Whatever replaces the handlers of the signals meanwhile, they are put back."""
    before: dict[int, Any] = {}
    if _in_main_thread():
        before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        _put_back(before)


def terminated() -> bool:
    """Whether it was SIGTERM that was heard last."""
    return _HEARD[0] == signal.SIGTERM


def exit_code() -> int:
    """What a program returns that was stopped: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + _HEARD[0]


def _listen(hear: Any, numbers: tuple[int, ...] = SIGNALS) -> dict[int, Any]:
    """Hear these signals; whoever heard them before."""
    return {number: signal.signal(number, hear) for number in numbers} if _in_main_thread() else {}


def _put_back(before: dict[int, Any]) -> None:
    for number, handler in before.items():
        if handler is not None:
            signal.signal(number, handler)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
