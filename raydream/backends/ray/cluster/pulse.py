"""Is Ray still there? Asked of its processes where they are this process's own, else of its address."""

import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import ray

from raydream.backends.ray.runtime import own_ray
from raydream.errors import ActorsBroken, RayLost

T = TypeVar("T")

ASK_SECONDS = 1.0  # between two calls at the address of Ray's control service
MISSED = 3  # calls in a row without an answer before it is gone
CALL_SECONDS = 3.0
LOOK_SECONDS = 0.1

_FELT: list["Pulse"] = []  # the last one that was asked for


class Pulse:
    """Of the Ray whose control service is at this address."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._asked, self._missed = time.monotonic(), 0

    @property
    def lost(self) -> str:
        """What has become of it; nothing while all is well."""
        own = own_ray()
        if own is not None:
            return f"{own.lost} has died" if own.lost else ""
        if time.monotonic() - self._asked > ASK_SECONDS:
            self._missed = 0 if self._answers() else self._missed + 1
            self._asked = time.monotonic()
        return f"nobody answers at {self.address} any more" if self._missed >= MISSED else ""

    def feel(self, actors: Iterable[int] = ()) -> None:
        """A Ray that is gone ends a run, unless it is one of this process's own, which is started again."""
        if gone := self.lost:
            if own_ray() is None:
                raise RayLost(f"the Ray in use is gone: {gone}")
            raise ActorsBroken(set(actors), f"Ray was lost with all its processes: {gone}")

    def _answers(self) -> bool:
        host, _, port = self.address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=CALL_SECONDS).close()
        except OSError:
            return False
        return True


def pulse() -> Pulse:
    """Of the Ray that this process is connected to now."""
    here: str = ray.get_runtime_context().gcs_address if ray.is_initialized() else ""
    if not _FELT or _FELT[0].address != here:
        _FELT[:] = [Pulse(here)]
    return _FELT[0]


def answered(call: Callable[[], T]) -> T:
    """What a call of Ray's control service brings.

    Where that has gone such a call comes back after a minute, or never: it is given up when the pulse is.
    """
    felt, brought = pulse(), list[Any]()

    def ask() -> None:
        try:
            brought.append((call(), None))
        except BaseException as error:
            brought.append((None, error))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    while asking.is_alive():
        asking.join(LOOK_SECONDS)
        if not brought:
            felt.feel()
    value, error = brought[0]
    if error is not None:
        raise error
    answer: T = value
    return answer
