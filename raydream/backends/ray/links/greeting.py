"""How two actors make sure of each other before a frame travels between them.

The listener sends a nonce, the caller answers with its name, a nonce of its own and a keyed hash over both, and the
listener proves itself in return. The key is the run's secret, which travels through Ray alone.
"""

import contextlib
import hmac
import secrets
import select
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from raydream.errors import LinkError, LinkLost, LinkTimeout

NONCE = 32
PROOF = 32
HELLO = struct.Struct("!16sIII32s32s")  # run, epoch, sender, receiver, nonce, keyed hash
GREETING_SECONDS = 20.0  # how long a caller may take to introduce itself
GREETING_QUEUE = 64  # callers that may be introducing themselves at the same time
CONNECT_SECONDS = 5.0  # for a connection: its system answers also for a neighbour that is busy
CALLS = 20  # times that a caller tries before it gives up: in a crowd anybody may be sent away
PAUSE = 0.2  # the longest, in seconds, between two of them

Wait = Callable[[Mapping[int, int], float], list[int]]


class Greeting:
    """One actor's part in greetings: it calls neighbours and answers them.

    wait  sleeps until some of the sockets {number: events} are ready and returns their numbers, or LinkTimeout
    """

    def __init__(self, me: int, run: bytes, epoch: int, secret: bytes, wait: Wait) -> None:
        self.me, self.run, self.epoch = me, run, epoch
        self._secret, self._wait = secret, wait

    def call(self, peer: int, address: tuple[str, int], deadline: float) -> socket.socket:
        """Connect to a neighbour, and let each prove the secret to the other; again, where it hangs up."""
        for attempt in range(1, CALLS):
            try:
                return self._call(peer, address, deadline)
            except (_HungUp, ConnectionResetError, BrokenPipeError):
                pause = min(deadline, time.monotonic() + min(PAUSE, 0.005 * 2**attempt))
                with contextlib.suppress(LinkTimeout):
                    self._wait({}, pause)
        return self._call(peer, address, deadline)

    def _call(self, peer: int, address: tuple[str, int], deadline: float) -> socket.socket:
        seconds = min(CONNECT_SECONDS, max(0.1, deadline - time.monotonic()))
        connection = socket.create_connection(address, timeout=seconds)
        try:
            connection.setblocking(False)
            theirs = self.read(connection, NONCE, deadline)
            mine = secrets.token_bytes(NONCE)
            proof = self._proof(b"caller", self.me, peer, theirs, mine)
            connection.sendall(HELLO.pack(self.run, self.epoch, self.me, peer, mine, proof))
            wanted = self._proof(b"listener", peer, self.me, mine, theirs)
            if not hmac.compare_digest(self.read(connection, PROOF, deadline), wanted):
                raise LinkError(f"actor {peer} did not prove the run's secret.")
        except BaseException:
            connection.close()
            raise
        return connection

    def answer(
        self, listener: socket.socket, expected: set[int], deadline: float
    ) -> Iterator[tuple[int, socket.socket]]:
        """Accept callers until every expected one has proved itself; the others are dropped, and hold up nobody."""
        expected, callers = set(expected), dict[int, _Caller]()
        try:
            while expected:
                _dismiss(callers, GREETING_QUEUE + len(expected))
                for handle in self._ready(listener, callers, expected, deadline):
                    if handle == listener.fileno():
                        _greet(listener, callers)
                    elif handle in callers and callers[handle].ready():
                        caller = callers.pop(handle)
                        sender = self._admit(caller, expected)
                        if sender is None:
                            caller.socket.close()
                        else:
                            expected.discard(sender)
                            yield sender, caller.socket
        finally:
            for caller in callers.values():
                caller.socket.close()

    def _ready(
        self, listener: socket.socket, callers: Mapping[int, "_Caller"], expected: set[int], deadline: float
    ) -> list[int]:
        """The sockets that have news; none when a caller has taken too long to introduce itself."""
        events = dict.fromkeys([listener.fileno(), *callers], select.POLLIN)
        try:
            return self._wait(events, min([deadline, *(caller.deadline + 0.01 for caller in callers.values())]))
        except LinkTimeout:
            if time.monotonic() < deadline:
                return []
            raise LinkTimeout(f"actor {self.me} was not called.", 0, tuple(sorted(expected))) from None

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

    def read(self, connection: socket.socket, size: int, deadline: float) -> bytes:
        """Exactly `size` bytes."""
        data = b""
        while len(data) < size:
            self._wait({connection.fileno(): select.POLLIN}, deadline)
            with contextlib.suppress(BlockingIOError):
                piece = connection.recv(size - len(data))
                if not piece:
                    raise _HungUp(f"actor {self.me}: a neighbour hung up.")
                data += piece
        return data

    def _proof(self, role: bytes, sender: int, receiver: int, challenge: bytes, nonce: bytes) -> bytes:
        """The keyed hash by which `sender` answers the challenge of `receiver`."""
        text = struct.pack("!16s16sIII", role, self.run, self.epoch, sender, receiver) + challenge + nonce
        return hmac.digest(self._secret, text, "sha256")


class _HungUp(LinkLost):
    """The other end has closed the connection."""


class _Caller:
    """Somebody who has connected from an address and not yet proved anything."""

    def __init__(self, connection: socket.socket, address: str) -> None:
        self.socket, self.address = connection, address
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


def _greet(listener: socket.socket, callers: dict[int, _Caller]) -> None:
    """Take one connection and send it a nonce."""
    with contextlib.suppress(OSError):
        connection, address = listener.accept()
        connection.setblocking(False)
        caller = _Caller(connection, str(address[0]))
        callers[connection.fileno()] = caller
        connection.send(caller.nonce)


def _dismiss(callers: dict[int, _Caller], most: int) -> None:
    """Drop those who have taken too long; in a crowd, whoever it hits, of the address that most callers have.

    Not the eldest: then whoever connects often enough would drop everybody else for sure.
    """
    now = time.monotonic()
    for handle in [handle for handle, caller in callers.items() if now > caller.deadline]:
        callers.pop(handle).socket.close()
    while len(callers) > most:
        crowded = Counter(caller.address for caller in callers.values()).most_common(1)[0][0]
        handle = secrets.choice([handle for handle, caller in callers.items() if caller.address == crowded])
        callers.pop(handle).socket.close()
