"""A connection between two actors, and a round's frames on it: a header that is checked, and rows as they are."""

import select
import socket
import struct
from typing import NamedTuple

from raydream.backends.ray.links.protocol import Buffers
from raydream.errors import LinkError, LinkLost

HEADER = struct.Struct("!16sIIQQ")  # the fields of `Header`, in order
PIECES = 64  # buffers handed to one system call


class Header(NamedTuple):
    """What comes before a frame; `length` counts bytes."""

    run: bytes
    epoch: int
    sender: int
    round: int
    length: int


class Connection:
    """One socket, and what of the present round is still to be sent and heard on it."""

    def __init__(self, connection: socket.socket, me: int, peer: int) -> None:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket, self.me, self.peer = connection, me, peer
        self._voice: list[memoryview] = []
        self._ear: list[memoryview] = []
        self._header = bytearray(HEADER.size)
        self._expected: Header | None = None  # until it has come and been checked

    @property
    def listens(self) -> bool:
        """Whether something of this round is still to be heard."""
        return bool(self._ear)

    def begin(self, run: bytes, epoch: int, round: int, says: Buffers, hears: Buffers) -> None:
        """Start a round."""
        header = Header(run, epoch, self.me, round, sum(piece.nbytes for piece in says))
        self._voice = [memoryview(HEADER.pack(*header)), *says]
        self._ear = [memoryview(self._header), *hears]
        self._expected = Header(run, epoch, self.peer, round, sum(piece.nbytes for piece in hears))

    def events(self) -> int:
        """What to wait for."""
        return (select.POLLOUT if self._voice else 0) | (select.POLLIN if self._ear else 0)

    def push(self) -> bool:
        """Send what the socket takes; True when all is sent."""
        while self._voice:
            try:
                sent = self.socket.sendmsg(self._voice[:PIECES])
            except BlockingIOError:
                return False
            _drop(self._voice, sent)
        return True

    def pull(self) -> bool:
        """Take what has arrived; True when the frame is complete."""
        while self._ear:
            try:
                heard, *_ = self.socket.recvmsg_into(self._ear[:PIECES])
            except BlockingIOError:
                return False
            if heard == 0:
                raise LinkLost(f"actor {self.me}: actor {self.peer} hung up.")
            before = len(self._ear)
            _drop(self._ear, heard)
            if self._expected is not None and len(self._ear) < before:
                self._check(self._expected)
        return True

    def _check(self, expected: Header) -> None:
        """Refuse a frame that is not the one expected now."""
        found = HEADER.unpack(self._header)
        if found != expected:
            wrong = next(name for name, a, b in zip(Header._fields, found, expected, strict=True) if a != b)
            raise LinkError(
                f"actor {self.me} refused a frame of actor {self.peer}: its {wrong} is not the expected one."
            )
        self._expected = None


def _drop(buffers: list[memoryview], count: int) -> None:
    """Remove `count` bytes from the front."""
    while count:
        if count < buffers[0].nbytes:
            buffers[0] = buffers[0][count:]
            return
        count -= buffers[0].nbytes
        buffers.pop(0)
