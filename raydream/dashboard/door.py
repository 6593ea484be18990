"""The door of the server: how long a visitor may take to say what he wants, and how many may stand in it.

Without it a hundred connections that say nothing keep everybody else outside.
"""

import contextlib
import socket
import time
from collections import Counter
from typing import Any

from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

from raydream.dashboard.gate import MOST_BYTES

FROM_ONE_ADDRESS = 48  # connections; a browser holds six
IN_ALL = 480
ASKING = 10.0  # seconds for a request to come whole
KEPT = 60.0  # seconds that a connection is kept for further requests, and that an answer may lie untaken
LOOK = 1.0  # seconds between two looks at who takes too long
THREADS = 8


class Visitor(HTTPChannel):  # type: ignore[misc]
    """A connection; `since` is when it came, began to ask, was served, or took some more of its answer."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.since = time.monotonic()
        self._served, self._untaken = False, 0
        super().__init__(*arguments, **options)

    def received(self, data: bytes) -> bool:
        """A part of a request, or the whole of it."""
        if self.request is None:
            self.since = time.monotonic()
        return bool(super().received(data))

    def service(self) -> None:
        """Answer a request."""
        super().service()
        self._served, self.since = True, time.monotonic()

    @property
    def busy(self) -> bool:
        """Whether it is our turn to speak."""
        return bool(self.requests) or self.total_outbufs_len > 0

    def late(self, now: float) -> bool:
        """Whether it has taken too long: to ask, to ask again, or to take what it asked for."""
        untaken, self._untaken = self._untaken, self.total_outbufs_len
        if self.busy:
            if untaken != self._untaken or not self._untaken:
                self.since = now
            return now - self.since > KEPT
        return now - self.since > (KEPT if self._served and self.request is None else ASKING)

    def leave(self) -> None:
        """End it at the next look of the loop: a number that is free at once might be another's before that."""
        self.will_close = True
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)


class Door(TcpWSGIServer):  # type: ignore[misc]
    """The server: it accepts everybody, and where there is a crowd it sends away whoever has waited longest in silence.

    Of one address at first, then of the address that has the most connections. Those that are being served stay.
    """

    channel_class = Visitor

    def __init__(self, application: Any, listener: Any) -> None:
        settings = Adjustments(
            sockets=[listener],
            threads=THREADS,
            ident=None,
            connection_limit=10 * IN_ALL,  # never reached: at its limit waitress stops to accept
            cleanup_interval=LOOK,
            max_request_header_size=2**16,
            max_request_body_size=MOST_BYTES,
            asyncore_use_poll=True,
        )
        workers = ThreadedTaskDispatcher()
        workers.set_thread_count(THREADS)
        where = (listener.family, listener.type, listener.proto, listener.getsockname())
        super().__init__(
            application, {}, _sock=listener, dispatcher=workers, adj=settings, sockinfo=where, bind_socket=False
        )

    def handle_accept(self) -> None:
        """Let one in, and make room where there are too many."""
        super().handle_accept()
        crowd = Counter(one.addr[0] for one in self.active_channels.values())
        crowded = [address for address, count in crowd.items() if count > FROM_ONE_ADDRESS]
        if not crowded and len(self.active_channels) > IN_ALL:
            crowded = [crowd.most_common(1)[0][0]]
        for address in crowded:
            self._send_one_away(address)

    def maintenance(self, now: float) -> None:
        """Send away whoever takes too long."""
        moment = time.monotonic()
        for visitor in list(self.active_channels.values()):
            if visitor.late(moment):
                visitor.leave()

    def _send_one_away(self, address: str) -> None:
        """Whoever of this address has waited longest without asking; the last to come, where all are being served."""
        there = [one for one in self.active_channels.values() if one.addr[0] == address]
        silent = [one for one in there if not one.busy]
        (min(silent, key=lambda one: one.since) if silent else there[-1]).handle_close()
