"""Direct links between actors, tested on real sockets without Ray."""

import contextlib
import os
import socket
import struct
import threading

import numpy as np
import pytest

from raydream.backends.ray.links import LINKS, Links, Terms
from raydream.backends.ray.links.frames import FRESH, HEADER, Connection
from raydream.backends.ray.links.greeting import HELLO, NONCE, _Caller, _dismiss
from raydream.backends.ray.links.memory import OFFER, Segment, Window, available
from raydream.backends.ray.links.shared import Slots
from raydream.backends.ray.links.tcp import DirectLinks, TcpLinks
from raydream.errors import LinkError, LinkLost, LinkTimeout

RUN, SECRET = b"r" * 16, b"s" * 32


def bytes_of(array):
    return memoryview(array).cast("B")


class Group:
    """Some linked actors, each driven by a thread of its own."""

    def __init__(self, neighbours, patience=300.0, secret_of=lambda i: SECRET, kinds=(DirectLinks,)):
        self.neighbours = neighbours
        self.links = [kinds[i % len(kinds)](i, Terms(RUN, secret_of(i), patience)) for i in range(len(neighbours))]
        self.addresses = [link.listen("127.0.0.1", 1) for link in self.links]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for link in self.links:
            link.close()

    def connect(self):
        self.each(lambda i: self.links[i].connect({j: self.addresses[j] for j in self.neighbours[i]}))
        return self

    def each(self, action, who=None):
        """action(i) in parallel; the first exception is raised."""
        errors = []

        def guarded(i):
            try:
                action(i)
            except BaseException as error:
                errors.append(error)

        threads = [
            threading.Thread(target=guarded, args=(i,)) for i in (range(len(self.links)) if who is None else who)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
        assert not any(thread.is_alive() for thread in threads), "deadlock"
        if errors:
            raise errors[0]

    def rounds(self, widths):
        """Everybody says its number (times the round) to everybody, and checks what it hears."""

        def talk(i):
            for k, width in enumerate(widths):
                said = np.full(width, 100.0 * k + i)
                heard = {j: np.full(width, np.nan) for j in self.neighbours[i]}
                self.links[i].exchange(
                    {j: [bytes_of(said)] for j in self.neighbours[i]}, {j: [bytes_of(heard[j])] for j in heard}
                )
                assert all((heard[j] == 100.0 * k + j).all() for j in heard)

        self.each(talk)


def ring(m):
    return [sorted({(i - 1) % m, (i + 1) % m}) for i in range(m)]


def complete(m):
    return [[j for j in range(m) if j != i] for i in range(m)]


@pytest.mark.parametrize("kinds", [(DirectLinks,), (TcpLinks,), (DirectLinks, TcpLinks)], ids=["both", "tcp", "mixed"])
@pytest.mark.parametrize("neighbours", [ring(2), ring(5), complete(6), [[1, 2, 3], [0], [0], [0]]])
def test_rounds_of_changing_width(neighbours, kinds):
    """Any degree from 1 to m - 1; the width of a frame may change from round to round, through memory or not."""
    with Group(neighbours, kinds=kinds) as group:
        group.connect().rounds([1, 7, 1000, 3, 5000, 5000, 20_000, 1, 2000, 100_000, 1])


shared = pytest.mark.skipif(not available(), reason="this system has no memory without a name")


@shared
def test_long_frames_between_actors_of_one_machine_go_through_memory(monkeypatch):
    """The connection carries headers alone; where one of the two does not share, all of it."""
    carried = []
    push = Connection.push

    def witness(link):
        carried.append((type(group.links[link.me]), sum(piece.nbytes for piece in link._voice)))
        return push(link)

    monkeypatch.setattr(Connection, "push", witness)
    for kinds, least, most in (
        ((DirectLinks,), 0, 200),
        ((TcpLinks,), 80_000, 80_200),
        ((DirectLinks, TcpLinks), 80_000, 80_200),
    ):
        carried.clear()
        with Group(ring(2), kinds=kinds) as group:
            group.connect().rounds([10_000])
        assert least <= max(size for _, size in carried) <= most


@shared
def test_what_is_said_to_several_is_laid_into_memory_once():
    """A slot holds one copy of the frame for all neighbours, and two where they differ."""
    slots, row, other = Slots(), np.ones(10_000), np.ones(10_000)
    first = slots.lay(1, {1: [bytes_of(row)], 2: [bytes_of(row)], 5: [bytes_of(other)]}, {})
    assert first[1] == first[2] != first[5] and first[1][1] == first[5][1] != b""
    window, begin = Window(first[1][1]), first[5][0] - 1
    assert (window.bytes[begin : begin + 80_000].view(np.float64) == 1.0).all()
    second = slots.lay(2, {1: [bytes_of(row)], 5: [bytes_of(other)]}, {1: 1, 2: 1, 5: 1})
    assert {news for _, news in second.values()} == {b""}, "they know of it"
    assert {place for place, _ in second.values()}.isdisjoint(place for place, _ in first.values()), "rounds take turns"
    window.close()
    slots.close()


@shared
def test_a_slot_that_may_still_be_read_is_not_written():
    """A neighbour that took no part in a round may be reading the one before: nobody is lost, and nothing is laid."""
    slots, row = Slots(), np.ones(10_000)

    def lay(round, peers, heard):
        return slots.lay(round, {peer: [bytes_of(row)] for peer in peers}, heard)

    assert lay(1, [1, 2], {}) and lay(2, [1], {1: 1, 2: 1})
    assert lay(3, [1, 2], {1: 2, 2: 1}) == {}, "2 was last heard in round 1, and may be reading it"
    assert lay(5, [1, 2], {1: 4, 2: 3}), "now it has spoken in a later round"
    slots.close()


@shared
def test_memory_that_was_replaced_can_be_opened_until_everybody_has_read_it():
    """A neighbour may open what it was told of when its owner has gone on to the next round."""
    slots, row, long = Slots(), np.ones(10_000), np.ones(100_000)
    (_, first) = slots.lay(1, {1: [bytes_of(row)]}, {})[1]
    (_, second) = slots.lay(2, {1: [bytes_of(long)]}, {1: 1})[1]
    assert second not in (b"", first)
    Window(first).close()
    slots.lay(3, {1: [bytes_of(long)]}, {1: 2})
    with pytest.raises(OSError):
        Window(first)
    slots.close()


@shared
@pytest.mark.parametrize(
    ("place", "offer", "words"),
    [
        (1, b"", "its place is not the expected one"),
        (FRESH | 1, b"\0" * OFFER.size, "cannot read the memory of actor 1"),
    ],
)
def test_a_frame_that_lies_nowhere_is_refused(place, offer, words):
    """A place in memory that was never told of, or that cannot be opened."""
    with Group(ring(2)) as group:
        group.connect()
        group.links[1]._links[0].socket.sendall(HEADER.pack(RUN, 1, 1, 1, 8, place) + offer)
        with pytest.raises(LinkError, match=words):
            group.links[0].exchange({1: [bytes_of(np.zeros(1))]}, {1: [bytes_of(np.zeros(1))]})


@shared
def test_a_frame_that_reaches_beyond_the_memory_is_refused():
    segment = Segment(100)
    with Group(ring(2)) as group:
        group.connect()
        forged = HEADER.pack(RUN, 1, 1, 1, 80, FRESH | 22) + segment.offer
        group.links[1]._links[0].socket.sendall(forged)
        with pytest.raises(LinkError, match="its place is not the expected one"):
            group.links[0].exchange({1: [bytes_of(np.zeros(10))]}, {1: [bytes_of(np.zeros(10))]})
    segment.close()


@shared
def test_links_that_end_leave_nothing_open():
    files = len(os.listdir("/proc/self/fd"))
    with Group(complete(4)) as group:
        group.connect().rounds([10_000, 50_000, 3])
    assert len(os.listdir("/proc/self/fd")) == files


def test_large_frames_do_not_deadlock(monkeypatch):
    """Both directions at once, far beyond the sockets' buffers, in a complete graph."""
    begin = Connection.__init__

    def small(self, connection, me, peer):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        begin(self, connection, me, peer)

    monkeypatch.setattr(Connection, "__init__", small)
    with Group(complete(4)) as group:
        group.connect().rounds([40_000, 5, 20_000])


def test_a_frame_of_many_rows():
    """More rows than one system call takes, in both directions."""
    with Group(ring(2)) as group:
        group.connect()
        rows = [np.arange(500.0).reshape(250, 2), -np.arange(500.0).reshape(250, 2)]
        heard = [np.empty((250, 2)), np.empty((250, 2))]

        def talk(i):
            group.links[i].exchange(
                {1 - i: [bytes_of(row) for row in rows[i]]}, {1 - i: [bytes_of(row) for row in heard[i]]}
            )

        group.each(talk)
        assert np.array_equal(heard[0], rows[1]) and np.array_equal(heard[1], rows[0])


def test_a_listener_accepts_nobody_without_the_secret():
    """Garbage, a wrong secret, a silent caller and one that hangs up hold up nobody, and nobody of them gets in."""
    with Group(ring(3)) as group:
        callers = [attack(address, kind) for address in group.addresses for kind in ATTACKS]
        group.connect().rounds([5, 5])
        for link in group.links:
            assert len(link._links) == 2 and link._listener is None
        for caller in callers:
            caller.close()


ATTACKS = ("silent", "garbage", "flood", "wrong secret", "half a greeting", "gone")


def attack(address, kind):
    """An open connection to a listener, of this kind."""
    caller = socket.create_connection(address, timeout=60)
    if kind == "garbage":
        caller.sendall(b"GET / HTTP/1.1\r\n\r\n" * 20)
    elif kind == "flood":
        caller.sendall(b"\xff" * 100_000)
    elif kind == "half a greeting":
        caller.sendall(b"x" * (HELLO.size // 2))
    elif kind == "gone":
        caller.close()
    elif kind == "wrong secret":
        # The nonce comes when the listener answers; a proof made of anything but the secret is refused.
        caller.sendall(HELLO.pack(RUN, 1, 2, 0, b"n" * NONCE, b"p" * 32))
    return caller


def test_a_caller_with_another_secret_is_refused():
    """A peer with the right name and the wrong secret does not get in, and does not take the listener for real."""
    secrets = [SECRET, b"z" * 32]
    with Group(ring(2), 2.0, secrets.__getitem__) as group, pytest.raises((LinkTimeout, LinkLost, LinkError)):
        group.connect()


def test_a_flood_of_connections_while_linking_keeps_no_peer_out():
    """Three threads connect as fast as they can and say nothing; who is sent away calls again."""
    with Group(ring(3)) as group:
        over, held = threading.Event(), []

        def flood(address):
            while not over.is_set():
                with contextlib.suppress(OSError):
                    held.append(socket.create_connection(address, timeout=1))
                if len(held) > 600:
                    held.pop(0).close()

        floods = [threading.Thread(target=flood, args=(address,)) for address in group.addresses]
        for one in floods:
            one.start()
        try:
            group.connect().rounds([5, 5])
        finally:
            over.set()
            for one in floods:
                one.join(300)
            for one in held:
                one.close()


def test_a_caller_that_is_sent_away_calls_again():
    """As often as it takes in a crowd; where nobody listens it gives up at once."""
    with Group(ring(2), patience=60) as group, socket.create_server(("127.0.0.1", 0)) as between:
        real = group.addresses[0]

        def forward():
            for _ in range(5):
                between.accept()[0].close()
            caller, _ = between.accept()
            with caller, socket.create_connection(real) as listener:
                pump = threading.Thread(target=pass_on, args=(listener, caller))
                pump.start()
                pass_on(caller, listener)
                pump.join(60)

        def pass_on(source, target):
            with contextlib.suppress(OSError):
                while piece := source.recv(1000):
                    target.sendall(piece)
                target.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=forward)
        thread.start()
        group.addresses[0] = between.getsockname()
        group.connect().rounds([5])
        for link in group.links:
            link.close()
        thread.join(60)
        between.close()
        assert not thread.is_alive()
        with pytest.raises(LinkLost, match="could not link"):
            group.links[1].listen("127.0.0.1", 2)
            group.links[1].connect({0: group.addresses[0]})


def test_in_a_crowd_of_one_address_others_stay():
    """And in one of a single address it may hit anybody, not the eldest for sure."""
    for addresses, sure in ((["other"] + ["crowd"] * 100, True), (["crowd"] * 101, False)):
        pairs = [socket.socketpair() for _ in addresses]
        survived = 0
        for _ in range(20):
            callers = {i: _Caller(pairs[i][0].dup(), address) for i, address in enumerate(addresses)}
            _dismiss(callers, 64)
            assert len(callers) == 64
            survived += 0 in callers
            for one in callers.values():
                one.socket.close()
        assert survived == 20 if sure else survived > 0
        for pair in pairs:
            for end in pair:
                end.close()


def test_a_frame_of_another_length_is_refused():
    """The receiver knows the length that it expects: an oversized one is refused before it is read."""
    with Group(ring(2)) as group:
        group.connect()

        def talk(i):
            size = (3, 10**6)[i]
            said, heard = np.zeros(size), np.zeros(3)
            with contextlib.suppress(*[LinkLost] * i):  # the sender may see the line go dead before all is sent
                group.links[i].exchange({1 - i: [bytes_of(said)]}, {1 - i: [bytes_of(heard)]})

        with pytest.raises(LinkError, match="its length is not the expected one"):
            group.each(talk, who=[0, 1])


@pytest.mark.parametrize(("place", "name"), [(0, "run"), (1, "epoch"), (2, "sender"), (3, "round"), (4, "length")])
def test_every_field_of_the_header_is_checked(place, name):
    """A frame of another run, epoch, sender, round or length is refused by that name."""
    with Group(ring(2)) as group:
        group.connect()
        fields = [RUN, 1, 1, 1, 8, 0]
        fields[place] = b"q" * 16 if place == 0 else 2**30
        group.links[1]._links[0].socket.sendall(HEADER.pack(*fields) + struct.pack("d", 0.0))
        one = np.zeros(1)
        with pytest.raises(LinkError, match=f"its {name} is not"):
            group.links[0].exchange({1: [bytes_of(one)]}, {1: [bytes_of(np.zeros(1))]})


def test_a_neighbour_that_is_gone_is_noticed_at_once():
    """EOF ends the wait long before patience does."""
    with Group(ring(2), patience=3600) as group:
        group.connect()
        group.links[1].close()
        with pytest.raises(LinkLost):
            group.links[0].exchange({1: [bytes_of(np.zeros(9))]}, {1: [bytes_of(np.zeros(9))]})


def test_an_order_to_stop_interrupts_the_wait():
    """abort() from another thread ends a wait."""
    with Group(ring(2), patience=3600) as group:
        group.connect()
        timer = threading.Timer(0.2, group.links[0].abort)
        timer.start()
        with pytest.raises(LinkLost, match="told to stop"):
            group.links[0].exchange({1: [bytes_of(np.zeros(9))]}, {1: [bytes_of(np.zeros(9))]})
        timer.join()


def test_patience_ends_and_names_who_was_waited_for():
    """A neighbour that says nothing is named."""
    with Group(ring(3), patience=0.3) as group:
        group.connect()
        zero, heard = np.zeros(1), {j: np.zeros(1) for j in (1, 2)}
        group.links[2]._links[0].socket.sendall(HEADER.pack(RUN, 1, 2, 1, 8, 0) + struct.pack("d", 0.0))
        with pytest.raises(LinkTimeout) as caught:
            group.links[0].exchange({j: [bytes_of(zero)] for j in heard}, {j: [bytes_of(heard[j])] for j in heard})
        assert caught.value.waits_for == (1,) and caught.value.round == 1


@pytest.mark.parametrize("name", LINKS)
def test_every_transport_says_what_it_is(name):
    """In one line, which help and forms show; and errors are told by name."""
    kind = LINKS.find(name)
    assert Links in kind.__mro__ and kind.says and "\n" not in kind.says


def test_links_without_calls_refuse_a_delivery():
    """A frame that comes as a call is refused where frames come over sockets."""
    with pytest.raises(LinkError, match="actor 3 was handed a frame of actor 1"):
        DirectLinks(3, Terms(RUN, SECRET, 1.0)).deliver(1, 1, 1, b"")


def test_the_secret_is_never_printed():
    """Terms appear in tracebacks and logs without it."""
    assert "secret" not in repr(Terms(RUN, SECRET, 1.0))
