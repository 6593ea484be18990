"""Direct links: frames straight from actor to actor over TCP, one connection per pair of neighbouring actors.

A listener accepts only peers that prove the run's secret, which travels through Ray alone: the listener sends a
nonce, the caller answers with its name, a nonce of its own and a keyed hash over both, and the listener proves
itself in return. After that a round is one frame each way: a fixed header (run, epoch, round, sender, length) and
rows of float64. The receiver knows the length that it expects and refuses any other. Nothing is ever unpickled.
"""

import hmac
import secrets
import select
import socket
import struct
import time
from collections.abc import Mapping, Sequence

from raydream.errors import LinkError, LinkLost, LinkTimeout

NONCE = 32
HELLO = struct.Struct("!16sIII32s32s")  # run, epoch, sender, receiver, nonce, keyed hash
HEADER = struct.Struct("!16sIIQQ")  # run, epoch, sender, round, length in bytes
PROOF = 32
GREETING_SECONDS = 20.0  # how long a caller may take to introduce itself
GREETING_QUEUE = 64  # callers that may be introducing themselves at the same time
PIECES = 64  # buffers handed to one system call

Buffers = Sequence[memoryview]


class DirectLinks:
    """The links of one actor. `exchange` performs one round with all neighbouring actors at the same time."""

    def __init__(self, me: int, run: bytes, secret: bytes, patience: float) -> None:
        self.me, self.run, self.patience = me, run, patience
        self._secret = secret
        self._listener: socket.socket | None = None
        self._links: dict[int, _Link] = {}
        self._bell: tuple[socket.socket, socket.socket] | None = None
        self._aborted = False
        self.epoch = self.round = 0
        self.waits_for: tuple[int, ...] = ()

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

    def connect(self, addresses: Mapping[int, tuple[str, int]]) -> None:
        """Link with these neighbouring actors: call those with lower numbers, then answer those with higher ones."""
        deadline = time.monotonic() + self.patience
        try:
            for peer in sorted(peer for peer in addresses if peer < self.me):
                self._call(peer, addresses[peer], deadline)
            self._answer({peer for peer in addresses if peer > self.me}, deadline)
        except OSError as error:
            raise LinkLost(f"actor {self.me} could not link with its neighbours ({error}).") from None
        assert self._listener is not None
        self._listener.close()  # nobody else is expected
        self._listener = None

    def exchange(self, says: Mapping[int, Buffers], hears: Mapping[int, Buffers]) -> None:
        """One round: send each neighbour its buffers and fill those that are heard from it."""
        self.round += 1
        for peer, link in self._links.items():
            length = sum(piece.nbytes for piece in says[peer])
            header = HEADER.pack(self.run, self.epoch, self.me, self.round, length)
            link.begin([memoryview(header), *says[peer]], hears[peer])
        try:
            self._move()
        except BaseException as error:
            self._hang_up()
            if isinstance(error, OSError):
                raise LinkLost(f"actor {self.me}: the link broke ({error}).") from None
            raise

    def abort(self) -> None:
        """Wake up whoever waits in `exchange` or `connect`; may be called from another thread."""
        self._aborted = True
        if self._bell is not None:
            with _quietly():
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

    def _move(self) -> None:
        """Push and pull on all links until the round is complete."""
        busy = dict(self._links)
        while True:
            for peer, link in list(busy.items()):
                sent, heard = link.push(), link.pull(self)
                if sent and heard:
                    del busy[peer]
            if not busy:
                return
            self.waits_for = tuple(peer for peer, link in busy.items() if link.ear)
            self._wait(
                {link.socket.fileno(): link.events() for link in busy.values()}, time.monotonic() + self.patience
            )
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
            raise LinkLost(f"actor {self.me} was told to stop waiting.")
        if not ready:
            raise LinkTimeout(f"actor {self.me} heard nothing for {self.patience:g} s.", self.round, self.waits_for)
        return [handle for handle, _ in ready]

    def _call(self, peer: int, address: tuple[str, int], deadline: float) -> None:
        """Connect to a neighbour, and let each prove the secret to the other."""
        connection = socket.create_connection(address, timeout=max(0.1, deadline - time.monotonic()))
        try:
            connection.setblocking(False)
            theirs = self._read(connection, NONCE, deadline)
            mine = secrets.token_bytes(NONCE)
            proof = self._proof(b"caller", self.me, peer, theirs, mine)
            connection.sendall(HELLO.pack(self.run, self.epoch, self.me, peer, mine, proof))
            if not hmac.compare_digest(
                self._read(connection, PROOF, deadline), self._proof(b"listener", peer, self.me, mine, theirs)
            ):
                raise LinkError(f"actor {peer} did not prove the run's secret.")
        except BaseException:
            connection.close()
            raise
        self._links[peer] = _Link(connection, peer)

    def _read(self, connection: socket.socket, size: int, deadline: float) -> bytes:
        """Exactly `size` bytes, waiting for them with an ear on the bell."""
        data = b""
        while len(data) < size:
            self._wait({connection.fileno(): select.POLLIN}, deadline)
            with _quietly():
                piece = connection.recv(size - len(data))
                if not piece:
                    raise LinkLost(f"actor {self.me}: a neighbour hung up.")
                data += piece
        return data

    def _answer(self, expected: set[int], deadline: float) -> None:
        """Accept callers until every expected one has proved itself; the others are dropped, and hold up nobody."""
        assert self._listener is not None
        callers: dict[int, _Caller] = {}
        try:
            while expected:
                now = time.monotonic()
                late = [handle for handle, caller in callers.items() if now > caller.deadline]
                crowd = list(callers)[: max(0, len(callers) - GREETING_QUEUE - len(expected))]
                for handle in {*late, *crowd}:
                    callers.pop(handle).socket.close()
                events = dict.fromkeys([self._listener.fileno(), *callers], select.POLLIN)
                soonest = min([deadline, *(caller.deadline + 0.01 for caller in callers.values())])
                try:
                    ready = self._wait(events, soonest)
                except LinkTimeout:
                    if time.monotonic() < deadline:
                        continue
                    self.waits_for = tuple(sorted(expected))
                    raise LinkTimeout(f"actor {self.me} was not called.", 0, self.waits_for) from None
                for handle in ready:
                    if handle == self._listener.fileno():
                        self._greet(callers)
                    elif handle in callers and callers[handle].ready():
                        caller = callers.pop(handle)
                        sender = self._admit(caller, expected)
                        if sender is None:
                            caller.socket.close()
                        else:
                            expected.discard(sender)
                            self._links[sender] = _Link(caller.socket, sender)
        finally:
            for caller in callers.values():
                caller.socket.close()

    def _greet(self, callers: dict[int, "_Caller"]) -> None:
        """Take one connection and send it a nonce."""
        assert self._listener is not None
        with _quietly():
            connection, _ = self._listener.accept()
            connection.setblocking(False)
            caller = _Caller(connection)
            callers[connection.fileno()] = caller
            connection.send(caller.nonce)

    def _admit(self, caller: "_Caller", expected: set[int]) -> int | None:
        """The caller's number, if it is expected and knows the secret."""
        if len(caller.hello) != HELLO.size:
            return None
        run, epoch, sender, receiver, nonce, proof = HELLO.unpack(caller.hello)
        known = run == self.run and epoch == self.epoch and receiver == self.me and sender in expected
        wanted = self._proof(b"caller", sender, receiver, caller.nonce, nonce)
        if not (hmac.compare_digest(proof, wanted) and known):
            return None
        try:
            caller.socket.sendall(self._proof(b"listener", self.me, sender, nonce, caller.nonce))
        except OSError:
            return None
        return int(sender)

    def _proof(self, role: bytes, sender: int, receiver: int, challenge: bytes, nonce: bytes) -> bytes:
        """The keyed hash by which `sender` answers the challenge of `receiver`."""
        text = struct.pack("!16s16sIII", role, self.run, self.epoch, sender, receiver) + challenge + nonce
        return hmac.digest(self._secret, text, "sha256")


class _Caller:
    """Somebody who has connected and not yet proved anything."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.nonce = secrets.token_bytes(NONCE)
        self.hello = b""
        self.deadline = time.monotonic() + GREETING_SECONDS

    def ready(self) -> bool:
        """Whether the whole greeting is here, or will never be."""
        try:
            piece = self.socket.recv(HELLO.size - len(self.hello))
        except BlockingIOError:
            return False
        except OSError:
            return True
        self.hello += piece
        return not piece or len(self.hello) == HELLO.size


class _Link:
    """One connection, and what of the present round is still to be sent and heard on it."""

    def __init__(self, connection: socket.socket, peer: int) -> None:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket, self.peer = connection, peer
        self.voice: list[memoryview] = []
        self.ear: list[memoryview] = []
        self._header = bytearray(HEADER.size)
        self._expected = 0
        self._checked = True

    def begin(self, voice: list[memoryview], ear: Buffers) -> None:
        """Start a round."""
        self.voice = voice
        self.ear = [memoryview(self._header), *ear]
        self._expected = sum(piece.nbytes for piece in ear)
        self._checked = False

    def events(self) -> int:
        """What to wait for."""
        return (select.POLLOUT if self.voice else 0) | (select.POLLIN if self.ear else 0)

    def push(self) -> bool:
        """Send what the socket takes; True when all is sent."""
        while self.voice:
            try:
                sent = self.socket.sendmsg(self.voice[:PIECES])
            except BlockingIOError:
                return False
            _drop(self.voice, sent)
        return True

    def pull(self, links: DirectLinks) -> bool:
        """Take what has arrived; True when the frame is complete."""
        while self.ear:
            try:
                heard, *_ = self.socket.recvmsg_into(self.ear[:PIECES])
            except BlockingIOError:
                return False
            if heard == 0:
                raise LinkLost(f"actor {links.me}: actor {self.peer} hung up in round {links.round}.")
            before = len(self.ear)
            _drop(self.ear, heard)
            if not self._checked and len(self.ear) < before:
                self._check(links)
        return True

    def _check(self, links: DirectLinks) -> None:
        """Refuse a frame that is not the one expected now."""
        wanted = (links.run, links.epoch, self.peer, links.round, self._expected)
        found = HEADER.unpack(self._header)
        if found != wanted:
            names = ("run", "epoch", "sender", "round", "length")
            wrong = next(name for name, a, b in zip(names, found, wanted, strict=True) if a != b)
            raise LinkError(
                f"actor {links.me} refused a frame of actor {self.peer}: its {wrong} is not the expected one."
            )
        self._checked = True


def _drop(buffers: list[memoryview], count: int) -> None:
    """Remove `count` bytes from the front."""
    while count:
        if count < buffers[0].nbytes:
            buffers[0] = buffers[0][count:]
            return
        count -= buffers[0].nbytes
        buffers.pop(0)


class _quietly:
    """A connection that is not ready or has gone is no event here."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, OSError)
