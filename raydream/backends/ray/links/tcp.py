"""Direct links: frames straight from actor to actor over TCP, one connection per pair of neighbouring actors.

A listener accepts only peers that prove the run's secret (see `greeting`). After that a round is one frame each way
(see `frames`): the receiver knows the length that it expects and refuses any other. Nothing is ever unpickled.
"""

import contextlib
import select
import socket
import time
from collections.abc import Mapping
from typing import ClassVar

from raydream.backends.ray.links.frames import Connection
from raydream.backends.ray.links.greeting import Greeting
from raydream.backends.ray.links.protocol import Buffers, Links, Terms
from raydream.errors import LinkLost, LinkTimeout


class DirectLinks(Links):
    """The links of one actor. `exchange` performs one round with all neighbouring actors at the same time."""

    says: ClassVar[str] = "frames straight between actors over TCP"

    def __init__(self, me: int, terms: Terms) -> None:
        super().__init__(me, terms)
        self._listener: socket.socket | None = None
        self._links: dict[int, Connection] = {}
        self._bell: tuple[socket.socket, socket.socket] | None = None
        self._aborted = False

    def listen(self, host: str, epoch: int) -> tuple[str, int]:
        """Open a listener on this host and a free port; earlier links, of earlier epochs, are gone."""
        self.close()
        self.epoch, self.round = epoch, 0
        self._aborted = False
        self._bell = socket.socketpair()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family, backlog=1024)
        self._listener.setblocking(False)
        address: tuple[str, int] = self._listener.getsockname()[:2]
        return address

    def connect(self, peers: Mapping[int, tuple[str, int]]) -> None:
        """Link with these neighbouring actors: call those with lower numbers, then answer those with higher ones."""
        assert self._listener is not None
        deadline = time.monotonic() + self.terms.patience
        greeting = Greeting(self.me, self.terms.run, self.epoch, self.terms.secret, self._wait)
        try:
            for peer in sorted(peer for peer in peers if peer < self.me):
                self._links[peer] = Connection(greeting.call(peer, peers[peer], deadline), self.me, peer)
            callers = {peer for peer in peers if peer > self.me}
            for peer, connection in greeting.answer(self._listener, callers, deadline):
                self._links[peer] = Connection(connection, self.me, peer)
        except OSError as error:
            raise LinkLost(f"actor {self.me} could not link with its neighbours ({error}).") from None
        except LinkTimeout as error:
            self.waits_for = error.waits_for
            raise
        self._listener.close()  # nobody else is expected
        self._listener = None

    def exchange(self, says: Mapping[int, Buffers], hears: Mapping[int, Buffers]) -> None:
        """One round: send each neighbour its buffers and fill those that are heard from it."""
        self.round += 1
        for peer in says:
            self._links[peer].begin(self.terms.run, self.epoch, self.round, says[peer], hears[peer])
        try:
            self._move({peer: self._links[peer] for peer in says})
        except BaseException as error:
            self._hang_up()
            if isinstance(error, OSError):
                raise LinkLost(f"actor {self.me}: the link broke ({error}).") from None
            raise

    def abort(self) -> None:
        """Wake up whoever waits in `exchange` or `connect`; may be called from another thread."""
        self._aborted = True
        if self._bell is not None:
            with contextlib.suppress(OSError):
                self._bell[1].send(b"!")

    def close(self) -> None:
        """Close every socket."""
        self._hang_up()
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        if self._bell is not None:
            for end in self._bell:
                end.close()
            self._bell = None

    def _hang_up(self) -> None:
        """End all links, so that the neighbours stop waiting too, and theirs in turn."""
        for link in self._links.values():
            link.socket.close()
        self._links = {}

    def _move(self, busy: dict[int, Connection]) -> None:
        """Push and pull on these links until the round is complete."""
        while True:
            for peer, link in list(busy.items()):
                sent, heard = link.push(), link.pull()
                if sent and heard:
                    del busy[peer]
            if not busy:
                return
            self.waits_for = tuple(peer for peer, link in busy.items() if link.listens)
            events = {link.socket.fileno(): link.events() for link in busy.values()}
            self._wait(events, time.monotonic() + self.terms.patience)
            self.waits_for = ()

    def _wait(self, events: Mapping[int, int], deadline: float) -> list[int]:
        """Sleep until one of the sockets is ready, the bell rings, or patience ends."""
        assert self._bell is not None
        poll = select.poll()
        for handle, mask in events.items():
            poll.register(handle, mask)
        poll.register(self._bell[0].fileno(), select.POLLIN)
        ready = poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
        if self._aborted:
            raise self.called_off()
        if not ready:
            raise self.unheard()
        return [handle for handle, _ in ready]
