"""Frames that cross a network, on real sockets with somebody between: changes are refused, cuts are told."""

import contextlib
import errno
import socket
import threading
from importlib.util import find_spec

import numpy as np
import pytest
from laws import assert_same_bits, run
from linked import RUN, SECRET, Group, bytes_of, ring

import raydream as rd
from raydream.backends.ray.links import LINKS, Terms, cipher
from raydream.backends.ray.links.cipher import Cipher
from raydream.backends.ray.links.frames import HEADER
from raydream.backends.ray.links.greeting import HELLO, NONCE
from raydream.backends.ray.links.seal import Seal
from raydream.backends.ray.links.shared import OFFER
from raydream.backends.ray.links.tcp import TcpLinks
from raydream.errors import LinkError


class Between:
    """Somebody on the wire between a listener and whoever calls it, who hears it, and changes the byte at a place."""

    def __init__(self, address, place=None, back=False):
        self.heard = bytearray()
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
                self.heard += piece if changing else b""
                target.sendall(piece)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.server.close()
        self._thread.join(60)
        assert not self._thread.is_alive()


ENCRYPTED = pytest.mark.skipif(find_spec("cryptography") is None, reason="needs the extra `secure`")
BEFORE = {False: HELLO.size + OFFER + 1, True: NONCE + 32 + OFFER + 1}  # bytes before the first frame, each way


def through_a_network(place, back=False, width=40_000, secure=False, pieces=1, wire=None):
    """Two actors, with somebody between them, exchange two rounds; what went wrong for each of them.

    pieces  of a frame
    wire    gets what was heard of one direction
    """
    told = {}
    with Group(ring(2), patience=60, kinds=(TcpLinks,), secure=secure) as group:
        between = Between(group.addresses[0], place, back)

        def talk(i):
            said, heard = np.full(width, 1.0 + i), np.zeros(width)
            try:
                for _ in range(2):
                    says, hears = (list(map(bytes_of, np.array_split(rows, pieces))) for rows in (said, heard))
                    group.links[i].exchange({1 - i: says}, {1 - i: hears})
                assert (heard == 2.0 - i).all()
            except LinkError as error:
                told[i] = str(error)

        try:
            group.addresses[0] = between.address
            group.connect()
            assert all(link._links[1 - i].guard is not None for i, link in enumerate(group.links))
            group.each(talk)
        finally:
            for link in group.links:
                link.close()
            between.close()
            if wire is not None:
                wire.extend(between.heard)
    return told


def test_frames_that_cross_a_network_are_sealed_and_others_are_not():
    """On one machine they do not leave it."""
    assert through_a_network(None) == {}
    with Group(ring(2)) as group:
        group.connect()
        assert all(link._links[1 - i].guard is None for i, link in enumerate(group.links))


@pytest.mark.parametrize("secure", [False, pytest.param(True, marks=ENCRYPTED)], ids=["hashed", "encrypted"])
@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("place", [HEADER.size, HEADER.size + 77_777, HEADER.size + 8 * 40_000 + 15])
def test_a_byte_that_is_changed_on_the_wire_is_noticed(place, back, secure):
    """The first of the rows, one among them, the last of their hash: the frame is refused, whichever way it goes."""
    told = through_a_network(BEFORE[back] + place, back, secure=secure)
    assert told[int(back)] == f"actor {int(back)} refused a frame of actor {1 - back}: it was changed on its way."


@ENCRYPTED
@pytest.mark.parametrize("pieces", [1, 3])
def test_rows_that_are_encrypted_arrive_and_cannot_be_read_on_the_wire(pieces):
    """Whoever listens hears nothing of them, where a hash alone lets them be read; and no two frames look alike."""
    seen, hidden, width = bytearray(), bytearray(), 40_000
    row = np.full(width, 2.0).tobytes()  # what the caller says, in both rounds
    assert through_a_network(None, wire=seen, pieces=pieces, width=width) == {}
    assert through_a_network(None, wire=hidden, pieces=pieces, width=width, secure=True) == {}
    assert seen.count(row) == 2 and row[:16] not in hidden
    frame = HEADER.size + len(row) + 16
    first = hidden[BEFORE[False] + HEADER.size :][: len(row)]
    second = hidden[BEFORE[False] + frame + HEADER.size :][: len(row)]
    assert len(second) == len(row) and not any(first[at : at + 16] == second[at : at + 16] for at in range(0, 9600, 16))


@ENCRYPTED
def test_an_encrypted_frame_is_opened_once_in_its_turn_and_by_its_receiver_alone():
    """Its number, its direction, its epoch, the run's secret and the header all belong to it."""
    terms, head, rows = Terms(RUN, SECRET, 1.0, True), HEADER.pack(RUN, 1, 0, 1, 32, 0), [memoryview(bytes(range(32)))]

    def opened(theirs, frame, header=head):
        ears = [memoryview(bytearray(32))]
        theirs.room(ears)[0][:] = frame
        return theirs.opened(header, ears) and bytes(ears[0]) == bytes(range(32))

    mine = Cipher(terms, 1, 0, 1)
    first, second = (bytes(mine.closed(head, rows)[0]) for _ in range(2))
    assert first != second
    theirs = Cipher(terms, 1, 1, 0)
    assert opened(theirs, first) and not opened(theirs, first)  # sent again
    assert not opened(Cipher(terms, 1, 1, 0), second)  # before its turn
    assert not opened(Cipher(terms, 1, 0, 1), first)  # back to its sender
    assert not opened(Cipher(terms, 2, 1, 0), first)
    assert not opened(Cipher(Terms(RUN, b"z" * 32, 1.0, True), 1, 1, 0), first)
    assert not opened(Cipher(terms, 1, 1, 0), first, HEADER.pack(RUN, 1, 0, 2, 32, 0))


def test_links_that_cannot_encrypt_and_a_missing_library_are_named(monkeypatch):
    """Before anything is started, and by an actor whose node lacks it."""
    with pytest.raises(ValueError, match=r'`secure` needs links that can encrypt: "direct" or "tcp"; got `links` .ray'):
        rd.RayBackend(secure=True, links="ray")
    with pytest.raises(TypeError, match="`secure` must be True or False; got 1"):
        rd.RayBackend(secure=1)
    monkeypatch.setattr(cipher, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"`secure` needs cryptography, .* pip install 'raydream\[secure\]'"):
        rd.RayBackend(secure=True)
    with pytest.raises(ImportError, match="on every node"):
        TcpLinks(0, Terms(RUN, SECRET, 1.0, True)).listen("127.0.0.1", 1)


@ENCRYPTED
@pytest.mark.usefixtures("shared_ray")
def test_a_run_whose_rows_are_encrypted_has_the_same_bits(monkeypatch):
    """On actors that reach each other at different addresses."""

    class Apart(TcpLinks):
        def listen(self, host, epoch):
            return super().listen(f"127.0.1.{self.me + 1}", epoch)

        def connect(self, peers):
            super().connect(peers)
            assert all(type(link.guard).__name__ == "Cipher" for link in self._links.values())

    monkeypatch.setitem(LINKS._known, "apart", Apart)
    game, network = rd.problems.QuadraticGame.random(agents=4, samples=7, dim_x=3, dim_y=4, seed=3), rd.topology.ring(4)
    backend = rd.RayBackend(links="apart", secure=True, agents_per_actor=[1, 2, 1])
    found = rd.run(game, network, rd.DREAM(eta=0.05, gamma=0.3, b=3), iterations=12, backend=backend)
    assert_same_bits(found, run(game, network, rd.DREAM(eta=0.05, gamma=0.3, b=3), iterations=12))


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
