"""Is Ray still there? Asked of its processes where they are this process's own, else of its address."""

import socket
import time

import ray

from raydream.backends.ray.runtime import own_ray

ASK_SECONDS = 2.0  # between two calls at the address of Ray's control service
MISSED = 3  # calls in a row without an answer before it is gone
CALL_SECONDS = 3.0


class Pulse:
    """Of the Ray that this process is connected to now."""

    def __init__(self) -> None:
        self._address: str = ray.get_runtime_context().gcs_address
        self._asked, self._missed = time.monotonic(), 0

    @property
    def lost(self) -> str:
        """What has become of it; nothing while all is well."""
        own = own_ray()
        if own is not None:
            return f"{own.lost} has died" if own.lost else ""
        if self._missed < MISSED and time.monotonic() - self._asked > ASK_SECONDS:
            self._missed = 0 if self._answers() else self._missed + 1
            self._asked = time.monotonic()
        return f"nobody answers at {self._address} any more" if self._missed >= MISSED else ""

    def _answers(self) -> bool:
        host, _, port = self._address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=CALL_SECONDS).close()
        except OSError:
            return False
        return True
