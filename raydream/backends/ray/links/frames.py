"""A connection between two actors, and a round's frames on it: a header that is checked, and rows of numbers, which are
sealed or encrypted where it crosses a network.

In memory that actors share (see `shared`) the same header says where the rows lie.
"""

import errno
import select
import socket
import struct
from typing import NamedTuple

from raydream.backends.ray.links.protocol import Buffers, length_of
from raydream.backends.ray.links.seal import Guard
from raydream.errors import LinkCut, LinkError, LinkLost

Address = tuple[str, int]

HEADER = struct.Struct("!16sIIQQQ")  # the fields of `Header`, in order
PIECES = 64  # buffers handed to one system call
CUT_OFF = (errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN)
# Where a link goes down nobody hangs up: the system asks the other end now and then whether it is still there, also
# while this actor computes, and gives it up within about 5 s.
_ASKING = {"TCP_KEEPIDLE": 3, "TCP_KEEPINTVL": 1, "TCP_KEEPCNT": 4, "TCP_USER_TIMEOUT": 5000}
BEATS = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *((socket.IPPROTO_TCP, getattr(socket, name), value) for name, value in _ASKING.items() if hasattr(socket, name)),
]


class Header(NamedTuple):
    """What comes before a frame; `length` counts bytes, and `place` is where they begin in memory, or 0."""

    run: bytes
    epoch: int
    sender: int
    round: int
    length: int
    place: int = 0


def checked(me: int, expected: Header, header: bytes | bytearray | memoryview) -> int:
    """The place of a frame, which is refused if it is not the one expected now."""
    found = HEADER.unpack(header)
    if found[:-1] != expected[:-1]:
        wrong = next(name for name, a, b in zip(Header._fields, found, expected, strict=True) if a != b)
        raise LinkError(f"actor {me} refused a frame of actor {expected.sender}: its {wrong} is not the expected one.")
    place: int = found[-1]
    return place


class Connection:
    """One socket, and what of the present round is still to be sent and heard on it.

    guard  of frames that cross a network
    """

    def __init__(self, connection: socket.socket, me: int, peer: int, guard: Guard | None = None) -> None:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for level, option, value in BEATS:
            connection.setsockopt(level, option, value)
        self.socket, self.me, self.peer, self.guard = connection, me, peer, guard
        self._ends = connection.getsockname()[:2], connection.getpeername()[:2]
        self._voice: list[memoryview] = []
        self._ear: list[memoryview] = []
        self._header = bytearray(HEADER.size)
        self._hears: Buffers = ()
        self._expected: Header | None = None  # until it has come and been checked
        self.listens = False  # whether something of this round is still to be heard

    def begin(self, run: bytes, epoch: int, round: int, says: Buffers | None, hears: Buffers | None) -> None:
        """Start a round; None: nothing is said, or nothing heard, in this round."""
        if says is not None:
            header = HEADER.pack(*Header(run, epoch, self.me, round, length_of(says)))
            self._voice = [memoryview(header), *(says if self.guard is None else self.guard.closed(header, says))]
        if hears is not None:
            self._ear, self._hears = [memoryview(self._header)], hears
            self._expected = Header(run, epoch, self.peer, round, length_of(hears))
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
            except OSError as error:
                raise self._lost(error) from None
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
            except OSError as error:
                raise self._lost(error) from None
            if heard == 0:
                raise self._lost()
            _drop(self._ear, heard)
        return True

    def check(self) -> None:
        """Notice a neighbour that is gone, where its frames do not come this way."""
        try:
            heard = self.socket.recv(1)
        except BlockingIOError:
            return
        except OSError as error:
            raise self._lost(error) from None
        if heard:
            raise LinkError(f"actor {self.me} was sent what it does not expect by actor {self.peer}.")
        raise self._lost()

    def close(self) -> None:
        """End it."""
        self.socket.close()

    def _lost(self, error: OSError | None = None) -> LinkError:
        if error is None or error.errno not in CUT_OFF:
            why = "" if error is None else f" ({error.strerror})"
            return LinkLost(f"actor {self.me}: actor {self.peer} hung up{why}.")
        return cut_off((self.me, self.peer), *self._ends, error)

    def _go_on(self) -> None:
        """What was waited for is there: the header, or the rows and what guards them."""
        if self._expected is not None:
            if checked(self.me, self._expected, self._header):
                raise LinkError(f"actor {self.me} refused a frame of actor {self.peer}: its place is not here.")
            self._expected = None
            self._ear = [*(self._hears if self.guard is None else self.guard.room(self._hears))]
            return
        if self.guard is not None and not self.guard.opened(self._header, self._hears):
            raise LinkError(f"actor {self.me} refused a frame of actor {self.peer}: it was changed on its way.")
        self._hears, self.listens = (), False


def cut_off(pair: tuple[int, int], here: Address, there: Address, error: OSError) -> LinkCut:
    """Between these two actors, at these addresses, there is no network any more."""
    (me, peer), (mine, theirs) = pair, (f"{host}:{port}" for host, port in (here, there))
    why = error.strerror or str(error)
    return LinkCut(f"actor {me} at {mine} and actor {peer} at {theirs} are cut off from each other ({why}).", pair)


def _drop(buffers: list[memoryview], count: int) -> None:
    """Remove `count` bytes from the front."""
    while count:
        if count < buffers[0].nbytes:
            buffers[0] = buffers[0][count:]
            return
        count -= buffers[0].nbytes
        buffers.pop(0)
