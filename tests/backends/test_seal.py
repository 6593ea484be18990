"""Frames that cross a network, on real sockets with somebody between: changes are refused, cuts are told."""

import contextlib
import errno
import socket
import threading

import numpy as np
import pytest
from linked import RUN, SECRET, Group, bytes_of, ring

from raydream.backends.ray.links import Terms
from raydream.backends.ray.links.frames import HEADER
from raydream.backends.ray.links.greeting import HELLO, NONCE
from raydream.backends.ray.links.seal import Seal
from raydream.backends.ray.links.shared import OFFER
from raydream.backends.ray.links.tcp import TcpLinks
from raydream.errors import LinkError


class Between:
    """Somebody on the wire between a listener and whoever calls it, who changes the byte at a place of what passes."""

    def __init__(self, address, place=None, back=False):
        self.server = socket.create_server(("127.0.0.2", 0))
        self.address, self._to, self._place, self._back = self.server.getsockname(), address, place, back
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        caller, _ = self.server.accept()
        with caller, socket.create_connection(self._to, source_address=("127.0.0.2", 0)) as listener:
            answers = threading.Thread(target=self._pass_on, args=(listener, caller, self._back))
            answers.start()
            self._pass_on(caller, listener, not self._back)
            answers.join(60)

    def _pass_on(self, source, target, changing):
        seen = 0
        with contextlib.suppress(OSError):
            while piece := bytearray(source.recv(1 << 16)):
                if changing and self._place is not None and seen <= self._place < seen + len(piece):
                    piece[self._place - seen] ^= 1
                seen += len(piece)
                target.sendall(piece)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.server.close()
        self._thread.join(60)
        assert not self._thread.is_alive()


BEFORE = {False: HELLO.size + OFFER + 1, True: NONCE + 32 + OFFER + 1}  # bytes before the first frame, each way


def through_a_network(place, back=False, width=40_000):
    """Two actors, with somebody between them, exchange two rounds; what went wrong for each of them."""
    told = {}
    with Group(ring(2), patience=60, kinds=(TcpLinks,)) as group:
        between = Between(group.addresses[0], place, back)

        def talk(i):
            said, heard = np.full(width, 1.0 + i), np.zeros(width)
            try:
                for _ in range(2):
                    group.links[i].exchange({1 - i: [bytes_of(said)]}, {1 - i: [bytes_of(heard)]})
                assert (heard == 2.0 - i).all()
            except LinkError as error:
                told[i] = str(error)

        try:
            group.addresses[0] = between.address
            group.connect()
            assert all(link._links[1 - i].seal is not None for i, link in enumerate(group.links))
            group.each(talk)
        finally:
            for link in group.links:
                link.close()
            between.close()
    return told


def test_frames_that_cross_a_network_are_sealed_and_others_are_not():
    """On one machine they do not leave it."""
    assert through_a_network(None) == {}
    with Group(ring(2)) as group:
        group.connect()
        assert all(link._links[1 - i].seal is None for i, link in enumerate(group.links))


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("place", [HEADER.size, HEADER.size + 77_777, HEADER.size + 8 * 40_000 + 15])
def test_a_byte_that_is_changed_on_the_wire_is_noticed(place, back):
    """The first of the rows, one among them, the last of their hash: the frame is refused, whichever way it goes."""
    told = through_a_network(BEFORE[back] + place, back)
    assert told[int(back)] == f"actor {int(back)} refused a frame of actor {1 - back}: it was changed on its way."


def test_a_frame_does_not_stand_in_for_another():
    """Neither one of another round or epoch, nor what the receiver has said itself."""
    terms = Terms(RUN, SECRET, 1.0)
    mine, theirs = Seal(terms, 1, 0, 1), Seal(terms, 1, 1, 0)
    frame = [HEADER.pack(RUN, 1, 0, 1, 8, 0), bytes(8)]
    assert theirs.holds(frame, mine.made(frame))
    assert not mine.holds(frame, mine.made(frame))
    assert not Seal(terms, 2, 1, 0).holds(frame, mine.made(frame))
    assert not Seal(Terms(RUN, b"z" * 32, 1.0), 1, 1, 0).holds(frame, mine.made(frame))
    assert not theirs.holds([HEADER.pack(RUN, 1, 0, 2, 8, 0), bytes(8)], mine.made(frame))


def test_the_system_asks_whether_a_neighbour_is_still_there():
    """A link that goes down without a word is given up within 10 s, by rows that were sent or by none."""
    with Group(ring(2)) as group:
        group.connect()
        link = group.links[0]._links[1].socket
        names = ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT")
        tcp = [link.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in names]
        assert link.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) and tcp[0] + tcp[1] * tcp[2] < 10
        assert 0 < tcp[3] < 10_000


def test_two_that_are_cut_off_from_each_other_are_named_with_their_addresses():
    """As the system tells it."""
    with Group(ring(2), patience=60, kinds=(TcpLinks,)) as group:
        group.connect()
        connection, real = group.links[0]._links[1], group.links[0]._links[1].socket
        ends = [f"{host}:{port}" for host, port in (real.getsockname(), real.getpeername())]

        class Dead:
            def __getattr__(self, name):
                return getattr(real, name)

            def sendmsg(self, _):
                raise TimeoutError(errno.ETIMEDOUT, "Connection timed out")

        connection.socket = Dead()
        with pytest.raises(LinkError, match=f"actor 0 at {ends[0]} and actor 1 at {ends[1]} are cut off"):
            group.links[0].exchange({1: [bytes_of(np.zeros(9))]}, {1: [bytes_of(np.zeros(9))]})
