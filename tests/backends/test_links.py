"""Direct links between actors, tested on real sockets without Ray."""

import contextlib
import os
import socket
import struct
import threading

import numpy as np
import pytest
from linked import RUN, SECRET, Group, bytes_of, complete, ring

from raydream.backends.ray.links import LINKS, Links, Terms
from raydream.backends.ray.links.frames import HEADER, Connection
from raydream.backends.ray.links.greeting import HELLO, NONCE, _Caller, _dismiss
from raydream.backends.ray.links.memory import available
from raydream.backends.ray.links.tcp import DirectLinks, TcpLinks
from raydream.errors import LinkError, LinkLost, LinkTimeout


@pytest.mark.parametrize("kinds", [(DirectLinks,), (TcpLinks,), (DirectLinks, TcpLinks)], ids=["both", "tcp", "mixed"])
@pytest.mark.parametrize("neighbours", [ring(2), ring(5), complete(6), [[1, 2, 3], [0], [0], [0]]])
def test_rounds_of_changing_width(neighbours, kinds):
    """Any degree from 1 to m - 1; the width of a frame may change from round to round, through memory or not."""
    with Group(neighbours, kinds=kinds) as group:
        group.connect().rounds([1, 7, 1000, 3, 5000, 5000, 20_000, 1, 2000, 100_000, 1])


KINDS = pytest.mark.parametrize("kind", [DirectLinks, TcpLinks])
shared = pytest.mark.skipif(not available(), reason="this system has no memory without a name")


@shared
def test_links_that_end_leave_nothing_open():
    files = len(os.listdir("/proc/self/fd"))
    with Group(complete(4)) as group:
        group.connect().rounds([10_000, 50_000, 3])
    assert len(os.listdir("/proc/self/fd")) == files


def test_large_frames_do_not_deadlock(monkeypatch):
    """Both directions at once, far beyond the sockets' buffers, in a complete graph."""
    begin = Connection.__init__

    def small(self, connection, *more):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        begin(self, connection, *more)

    monkeypatch.setattr(Connection, "__init__", small)
    with Group(complete(4), kinds=(TcpLinks,)) as group:
        group.connect().rounds([40_000, 5, 20_000])


@KINDS
def test_a_frame_of_many_rows(kind):
    """More rows than one system call takes, in both directions."""
    with Group(ring(2), kinds=(kind,)) as group:
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


@KINDS
def test_a_frame_of_another_length_is_refused(kind):
    """The receiver knows the length that it expects: an oversized one is refused before it is read."""
    with Group(ring(2), kinds=(kind,)) as group:
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
    with Group(ring(2), kinds=(TcpLinks,)) as group:
        group.connect()
        fields = [RUN, 1, 1, 1, 8, 0]
        fields[place] = b"q" * 16 if place == 0 else 2**30
        group.links[1]._links[0].socket.sendall(HEADER.pack(*fields) + struct.pack("d", 0.0))
        one = np.zeros(1)
        with pytest.raises(LinkError, match=f"its {name} is not"):
            group.links[0].exchange({1: [bytes_of(one)]}, {1: [bytes_of(np.zeros(1))]})


@KINDS
def test_a_neighbour_that_is_gone_is_noticed_at_once(kind):
    """EOF ends the wait long before patience does."""
    with Group(ring(2), patience=3600, kinds=(kind,)) as group:
        group.connect()
        group.links[1].close()
        with pytest.raises(LinkLost):
            group.links[0].exchange({1: [bytes_of(np.zeros(9))]}, {1: [bytes_of(np.zeros(9))]})


@KINDS
def test_an_order_to_stop_interrupts_the_wait(kind):
    """abort() from another thread ends a wait."""
    with Group(ring(2), patience=3600, kinds=(kind,)) as group:
        group.connect()
        timer = threading.Timer(0.2, group.links[0].abort)
        timer.start()
        with pytest.raises(LinkLost, match="told to stop"):
            group.links[0].exchange({1: [bytes_of(np.zeros(9))]}, {1: [bytes_of(np.zeros(9))]})
        timer.join()


@KINDS
def test_patience_ends_and_names_who_was_waited_for(kind):
    """A neighbour that says nothing is named."""
    with Group(ring(3), patience=0.3, kinds=(kind,)) as group:
        group.connect()
        zero, heard = np.zeros(1), {j: np.zeros(1) for j in (1, 2)}
        if group.links[2]._shared is not None:
            group.links[2]._shared.say(1, {0: [bytes_of(zero)]})
        else:
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
