"""Direct links: frames straight from actor to actor, one TCP connection per pair of neighbouring actors.

A listener accepts only peers that prove the run's secret (see `greeting`). After that a round is one frame each way
(see `frames`): the receiver knows the length that it expects and refuses any other, and one that was changed on its way
through a network (see `seal`, and `cipher` where nobody may read it either). Nothing is ever unpickled. Between actors
that can read each other's memory frames lie there (see `shared`), and the connection only tells of an end.
"""

import contextlib
import select
import socket
import time
from collections.abc import Mapping
from typing import ClassVar

from raydream.backends.ray.links.cipher import Cipher, refuse_without_library
from raydream.backends.ray.links.frames import CUT_OFF, Address, Connection, Header, cut_off
from raydream.backends.ray.links.greeting import Greeting
from raydream.backends.ray.links.memory import available
from raydream.backends.ray.links.protocol import Buffers, Links, Terms, length_of
from raydream.backends.ray.links.seal import Seal, crosses_a_network
from raydream.backends.ray.links.shared import OFFER, Shared
from raydream.errors import LinkLost, LinkTimeout

NAP = 0.05  # seconds after which an actor that waits for memory looks whether its neighbour is still there


class DirectLinks(Links):
    """The links of one actor. `exchange` performs one round with all neighbouring actors at the same time."""

    says: ClassVar[str] = "through shared memory on one machine, else TCP"
    encrypts: ClassVar[bool] = True
    shares: ClassVar[bool] = True  # whether memory is used where it can be

    def __init__(self, me: int, terms: Terms) -> None:
        super().__init__(me, terms)
        self._listener: socket.socket | None = None
        self._links: dict[int, Connection] = {}
        self._bell: tuple[socket.socket, socket.socket] | None = None
        self._aborted = False
        self._shared: Shared | None = None
        self._near: set[int] = set()  # the neighbours whose frames go through memory

    def listen(self, host: str, epoch: int) -> Address:
        """Open a listener on this host and a free port; earlier links, of earlier epochs, are gone."""
        self.close()
        if self.terms.secure:
            refuse_without_library()
        self.epoch, self.round = epoch, 0
        self._aborted = False
        self._bell = socket.socketpair()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family, backlog=1024)
        self._listener.setblocking(False)
        address: Address = self._listener.getsockname()[:2]
        return address

    def connect(self, peers: Mapping[int, Address]) -> None:
        """Link with these neighbouring actors: call those with lower numbers, then answer those with higher ones."""
        assert self._listener is not None
        deadline = time.monotonic() + self.terms.patience
        greeting = Greeting(self.me, self.terms.run, self.epoch, self.terms.secret, self._wait)
        try:
            for peer in sorted(peer for peer in peers if peer < self.me):
                self._links[peer] = self._linked(peer, self._called(greeting, peer, peers[peer], deadline))
            callers = {peer for peer in peers if peer > self.me}
            for peer, connection in greeting.answer(self._listener, callers, deadline):
                self._links[peer] = self._linked(peer, connection)
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
        for peer, begin in self._round(says, hears).items():
            assert self._shared is not None
            self._shared.read(peer, begin, hears[peer])

    def look(self, says: Mapping[int, Buffers], hears: Mapping[int, Buffers]) -> Mapping[int, int]:
        """The same; what a neighbour on this machine says is left in its memory."""
        found, shared = self._round(says, hears), self._shared
        return {peer: shared.place(peer, begin) for peer, begin in found.items()} if shared is not None else {}

    def abort(self) -> None:
        """Wake up whoever waits in `exchange` or `connect`; may be called from another thread."""
        self._aborted = True
        if self._bell is not None:
            with contextlib.suppress(OSError):
                self._bell[1].send(b"!")

    def close(self) -> None:
        """Close every socket, and let go of all memory."""
        self._hang_up()
        if self._shared is not None:
            self._shared.close()
            self._shared = None
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        if self._bell is not None:
            for end in self._bell:
                end.close()
            self._bell = None

    def _called(self, greeting: Greeting, peer: int, address: Address, deadline: float) -> socket.socket:
        """A neighbour that has answered; where there is no network between both, the pair is named."""
        assert self._listener is not None
        try:
            return greeting.call(peer, address, deadline)
        except OSError as error:
            if not isinstance(error, TimeoutError) and error.errno not in CUT_OFF:
                raise
            raise cut_off((self.me, peer), self._listener.getsockname()[:2], address, error) from None

    def _linked(self, peer: int, connection: socket.socket) -> Connection:
        """A connection to a neighbour that has proved itself, whose frames are guarded where they cross a network."""
        if not crosses_a_network(connection):
            return Connection(connection, self.me, peer)
        guard = Cipher if self.terms.secure else Seal
        return Connection(connection, self.me, peer, guard(self.terms, self.epoch, self.me, peer))

    def _hang_up(self) -> None:
        """End all links, so that the neighbours stop waiting too, and theirs in turn."""
        for link in self._links.values():
            link.close()
        self._links, self._near = {}, set()

    def _agree(self, greeting: Greeting, deadline: float) -> None:
        """Find out with each neighbour whether both can read the other's memory, by trying.

        All say first and listen then, so that nobody waits for somebody who waits.
        """
        if self.shares and available():
            header = Header(self.terms.run, self.epoch, self.me, 0, 0)
            self._shared = Shared(header, sorted(self._links), self._until)
        shared, read = self._shared, set[int]()
        for peer, link in self._links.items():
            link.socket.sendall(b"\0" * OFFER if shared is None else shared.offer(peer))
        for peer, link in self._links.items():
            offered = greeting.read(link.socket, OFFER, deadline)
            if shared is not None and shared.accept(peer, offered):
                read.add(peer)
            link.socket.sendall(b"y" if peer in read else b"n")
        for peer, link in self._links.items():
            if greeting.read(link.socket, 1, deadline) == b"y" and peer in read:
                self._near.add(peer)
            elif shared is not None:
                shared.forget(peer)

    def _round(self, says: Mapping[int, Buffers], hears: Mapping[int, Buffers]) -> Mapping[int, int]:
        """One round: fill what comes over connections, and find where in its memory a neighbour's frame begins.

        All speak before they listen, so that nobody waits for somebody who waits.
        """
        self.round += 1
        try:
            if self._shared is not None:
                said = _among(says, self._near)
                self._shared.say(self.round, said) if said else self._shared.pass_by(self.round)
            if len(self._near) < len(self._links):
                self._talk(says, hears)
            near = _among(hears, self._near)
            if not near or self._shared is None:
                return {}
            return self._shared.hear(self.round, {peer: length_of(ears) for peer, ears in near.items()})
        except BaseException as error:
            self._hang_up()
            if isinstance(error, OSError):
                raise LinkLost(f"actor {self.me}: the link broke ({error}).") from None
            raise

    def _talk(self, says: Mapping[int, Buffers], hears: Mapping[int, Buffers]) -> None:
        """The round with those whose frames go over connections."""
        far = {peer: self._links[peer] for peer in (says.keys() | hears.keys()) - self._near}
        for peer, link in far.items():
            link.begin(self.terms.run, self.epoch, self.round, says.get(peer), hears.get(peer))
        if far:
            self._move(far)

    def _until(self, peers: tuple[int, ...], value: int) -> None:
        """Sleep until these neighbours' words have reached a number, one is gone, the bell rings, or patience ends."""
        assert self._shared is not None
        self.waits_for = peers
        if self._shared.reached(peers, value, NAP) < len(peers):
            deadline = time.monotonic() + self.terms.patience
            while late := tuple(peer for peer in peers if not self._shared.reached((peer,), value, 0.0)):
                self.waits_for = late
                for peer in late:
                    self._links[peer].check()
                if self._aborted:
                    raise self.called_off()
                if time.monotonic() > deadline:
                    raise self.unheard()
                self._shared.reached(late, value, NAP)
        self.waits_for = ()

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


def _among(frames: Mapping[int, Buffers], near: set[int]) -> Mapping[int, Buffers]:
    """Those of or for these neighbours."""
    return frames if frames.keys() <= near else {peer: frames[peer] for peer in frames if peer in near}
