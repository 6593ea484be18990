"""Direct links: frames straight from actor to actor, one TCP connection per pair of neighbouring actors.

A listener accepts only peers that prove the run's secret (see `greeting`). After that a round is one frame each way
(see `frames`): the receiver knows the length that it expects and refuses any other. Nothing is ever unpickled. Between
actors that can read each other's memory long rows lie there, and the connection only tells of them (see `shared`).
"""

import contextlib
import select
import socket
import time
from collections.abc import Mapping
from typing import ClassVar

from raydream.backends.ray.links.frames import INLINE, Connection
from raydream.backends.ray.links.greeting import Greeting
from raydream.backends.ray.links.memory import OFFER, Segment, Window, available
from raydream.backends.ray.links.protocol import Buffers, Links, Terms
from raydream.backends.ray.links.shared import LINE, Slots
from raydream.errors import LinkLost, LinkTimeout

LONG = 1 << 13  # bytes of a frame that are laid into memory, where that is shared: shorter ones go with their header


class DirectLinks(Links):
    """The links of one actor. `exchange` performs one round with all neighbouring actors at the same time."""

    says: ClassVar[str] = "through shared memory on one machine, else TCP"
    shares: ClassVar[bool] = True  # whether memory is used where it can be

    def __init__(self, me: int, terms: Terms) -> None:
        super().__init__(me, terms)
        self._listener: socket.socket | None = None
        self._links: dict[int, Connection] = {}
        self._bell: tuple[socket.socket, socket.socket] | None = None
        self._aborted = False
        self._slots = Slots()
        self._heard: dict[int, int] = {}  # the last round in which each neighbour was heard

    def listen(self, host: str, epoch: int) -> tuple[str, int]:
        """Open a listener on this host and a free port; earlier links, of earlier epochs, are gone."""
        self.close()
        self.epoch, self.round, self._heard = epoch, 0, {}
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
            self._agree(greeting, deadline)
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
        try:
            # What is laid into memory is free again when its readers have been heard; others are sent their frames.
            near = {
                peer: pieces
                for peer, pieces in says.items()
                if peer in hears and self._links[peer].shares and _is_long(pieces)
            }
            laid = self._slots.lay(self.round, near, self._heard) if near else {}
            busy = {peer: self._links[peer] for peer in says.keys() | hears.keys()}
            for peer, link in busy.items():
                place, news = laid.get(peer, (INLINE, b""))
                ears = says.get(peer), hears.get(peer)
                link.begin(self.terms.run, self.epoch, self.round, *ears, place, news)
            self._move(busy)
            self._heard |= dict.fromkeys(hears, self.round)
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
        """Close every socket, and let go of all memory."""
        self._hang_up()
        self._slots.close()
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
            link.close()
        self._links = {}

    def _agree(self, greeting: Greeting, deadline: float) -> None:
        """Find out with each neighbour who can read whose memory, by trying.

        All say first and listen then, so that nobody waits for somebody who waits.
        """
        trial = Segment(LINE) if self.shares and available() else None
        try:
            for link in self._links.values():
                link.socket.sendall(b"\0" * OFFER.size if trial is None else trial.offer)
            for link in self._links.values():
                offered = greeting.read(link.socket, OFFER.size, deadline)
                link.socket.sendall(b"y" if trial is not None and _readable(offered) else b"n")
            for link in self._links.values():
                link.shares = greeting.read(link.socket, 1, deadline) == b"y" and trial is not None
        finally:
            if trial is not None:
                trial.close()

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


class TcpLinks(DirectLinks):
    """The same without shared memory."""

    says: ClassVar[str] = "over TCP alone"
    shares: ClassVar[bool] = False


def _is_long(pieces: Buffers) -> bool:
    return sum(piece.nbytes for piece in pieces) >= LONG


def _readable(offer: bytes) -> bool:
    """Whether what is offered can be read from here."""
    try:
        Window(offer).close()
    except OSError:
        return False
    return True
