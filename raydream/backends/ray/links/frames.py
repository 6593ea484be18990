"""A connection between two actors, and a round's frames on it: a header that is checked, then rows of numbers.

The rows follow the header, or lie in memory that the sender shares with its neighbours on the same machine (see
`memory`); the header says where.
"""

import select
import socket
import struct
from typing import NamedTuple

from raydream.backends.ray.links.memory import OFFER, Window
from raydream.backends.ray.links.protocol import Buffers
from raydream.errors import LinkError, LinkLost

HEADER = struct.Struct("!16sIIQQQ")  # the fields of `Header`, in order
PIECES = 64  # buffers handed to one system call
INLINE = 0  # the place of rows that follow the header; any other is one more than where they begin in memory
FRESH = 1 << 63  # added to a place: the sender has new memory, of which it tells before anything else


class Header(NamedTuple):
    """What comes before a frame; `length` counts bytes."""

    run: bytes
    epoch: int
    sender: int
    round: int
    length: int
    place: int = INLINE


class Connection:
    """One socket, and what of the present round is still to be sent and heard on it.

    shares  whether the neighbour can read this actor's memory
    window  the neighbour's memory, once it has told of it
    """

    def __init__(self, connection: socket.socket, me: int, peer: int) -> None:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket, self.me, self.peer = connection, me, peer
        self.shares = False
        self.window: Window | None = None
        self._voice: list[memoryview] = []
        self._ear: list[memoryview] = []
        self._header, self._offer = bytearray(HEADER.size), bytearray(OFFER.size)
        self._hears: Buffers = ()
        self._expected: Header | None = None  # until it has come and been checked
        self._place = INLINE
        self.listens = False  # whether something of this round is still to be heard

    def begin(
        self,
        run: bytes,
        epoch: int,
        round: int,
        says: Buffers | None,
        hears: Buffers | None,
        place: int = INLINE,
        offer: bytes = b"",
    ) -> None:
        """Start a round; `place` says where in this actor's memory the rows lie, and `offer` is of new memory.

        None: nothing is said, or nothing heard, in this round.
        """
        if says is not None:
            length = sum(piece.nbytes for piece in says)
            header = Header(run, epoch, self.me, round, length, place | (FRESH if offer else 0))
            self._voice = [memoryview(HEADER.pack(*header) + offer), *(says if place == INLINE else ())]
        if hears is not None:
            self._ear, self._hears = [memoryview(self._header)], hears
            self._expected = Header(run, epoch, self.peer, round, sum(piece.nbytes for piece in hears))
            self.listens = True

    def events(self) -> int:
        """What to wait for."""
        return (select.POLLOUT if self._voice else 0) | (select.POLLIN if self.listens else 0)

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
        while self.listens:
            if not self._ear:
                self._go_on()
                continue
            try:
                heard, *_ = self.socket.recvmsg_into(self._ear[:PIECES])
            except BlockingIOError:
                return False
            if heard == 0:
                raise LinkLost(f"actor {self.me}: actor {self.peer} hung up.")
            _drop(self._ear, heard)
        return True

    def close(self) -> None:
        """End it."""
        self.socket.close()
        if self.window is not None:
            self.window.close()

    def _go_on(self) -> None:
        """What was waited for is there: the header, then word of new memory if there is any, then the rows."""
        if self._expected is not None:
            self._check(self._expected)
            self._expected = None
            if self._place & FRESH:
                self._ear = [memoryview(self._offer)]
                return
        elif self._place & FRESH:
            self._look_into(bytes(self._offer))
            self._place ^= FRESH
        if self._place == INLINE:
            self._ear, self._hears = list(self._hears), ()
            self.listens = bool(self._ear)
        else:
            self._read(self._place - 1)
            self.listens = False

    def _check(self, expected: Header) -> None:
        """Refuse a frame that is not the one expected now."""
        found = Header(*HEADER.unpack(self._header))
        self._place = found.place
        if found != expected._replace(place=found.place):
            wrong = next(name for name, a, b in zip(Header._fields, found, expected, strict=True) if a != b)
            raise LinkError(
                f"actor {self.me} refused a frame of actor {self.peer}: its {wrong} is not the expected one."
            )

    def _look_into(self, offer: bytes) -> None:
        """Open the memory that the neighbour has told of."""
        before, self.window = self.window, None
        if before is not None:
            before.close()
        try:
            self.window = Window(offer)
        except OSError as error:
            raise LinkError(f"actor {self.me} cannot read the memory of actor {self.peer} ({error}).") from None

    def _read(self, begin: int) -> None:
        """The rows, from the neighbour's memory."""
        length = sum(ear.nbytes for ear in self._hears)
        if self.window is None or begin + length > self.window.size:
            raise LinkError(f"actor {self.me} refused a frame of actor {self.peer}: its place is not the expected one.")
        source = self.window.bytes.data
        for ear in self._hears:
            ear[:] = source[begin : begin + ear.nbytes]
            begin += ear.nbytes


def _drop(buffers: list[memoryview], count: int) -> None:
    """Remove `count` bytes from the front."""
    while count:
        if count < buffers[0].nbytes:
            buffers[0] = buffers[0][count:]
            return
        count -= buffers[0].nbytes
        buffers.pop(0)
