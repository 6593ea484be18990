"""Frames through memory between actors of one machine: what is laid, when it is laid again, and what is refused."""

import numpy as np
import pytest
from counting import received
from linked import RUN, Group, bytes_of, complete, ring

from raydream.backends.ray.links.frames import HEADER, Header
from raydream.backends.ray.links.memory import available
from raydream.backends.ray.links.shared import LINE, Shared
from raydream.backends.ray.links.tcp import DirectLinks, TcpLinks
from raydream.errors import LinkError
from raydream.kernels.words import publish

pytestmark = pytest.mark.skipif(not available(), reason="this system has no memory whose words can be waited for")


class Waited(Exception):
    """Somebody would have to wait."""


class Circle:
    """An actor 0 with neighbours, none of whom waits."""

    def __init__(self, *peers):
        self.shared = {me: Shared(Header(RUN, 1, me, 0, 0), [0] if me else peers, self.wait(me)) for me in (0, *peers)}
        for peer in peers:
            assert self.shared[peer].accept(0, self.shared[0].offer(peer))
            assert self.shared[0].accept(peer, self.shared[peer].offer(0))

    def wait(self, me):
        def there(peers, value):
            if self.shared[me].reached(peers, value, 0.0) < len(peers):
                raise Waited(peers, value)

        return there

    def __enter__(self):
        return self.shared

    def __exit__(self, *_):
        for shared in self.shared.values():
            shared.close()


def say(shared, round, row, *peers):
    pieces = [bytes_of(row)]
    shared[0].say(round, dict.fromkeys(peers, pieces))


def heard(shared, me, round, width):
    begin, row = shared[me].hear(round, {0: 8 * width})[0], np.empty(width)
    shared[me].read(0, begin, [bytes_of(row)])
    return begin, row


@pytest.mark.parametrize(
    ("kinds", "carried"),
    [((DirectLinks,), 0), ((TcpLinks,), 4 * (80_000 + 48)), ((DirectLinks, TcpLinks), 4 * (80_000 + 48))],
    ids=["both", "tcp", "mixed"],
)
def test_frames_between_actors_of_one_machine_go_through_memory(kinds, carried):
    """The connection carries nothing; where one of the two does not share, all of it."""
    with Group(ring(2), kinds=kinds) as group:
        group.connect()
        sockets = [link.socket for links in group.links for link in links._links.values()]
        before = sum(map(received, sockets))
        group.rounds([10_000, 10_000])
        assert sum(map(received, sockets)) - before == carried


def test_what_is_said_to_several_is_laid_once_and_read_where_it_lies():
    """A slot holds one copy of the frame for all neighbours, and another where one is said something else."""
    row, other = np.arange(10_000.0), -np.arange(500.0)
    with Circle(1, 2, 5) as shared:
        pieces = [bytes_of(row)]
        shared[0].say(1, {1: pieces, 2: pieces, 5: [bytes_of(other)]})
        (first, one), (second, _), (third, five) = (heard(shared, me, 1, 10_000 if me < 5 else 500) for me in (1, 2, 5))
        assert first == second != third and np.array_equal(one, row) and np.array_equal(five, other)
        place = np.frombuffer(shared[1]._windows[0].bytes, dtype=np.float64, count=10_000, offset=first)
        assert place.__array_interface__["data"][0] == shared[1].place(0, first) and np.array_equal(place, row)
        del place


def test_a_slot_that_may_still_be_read_is_not_written():
    """Rounds take turns; the third has to wait until all who heard the first have come to a later round."""
    row = np.ones(100)
    with Circle(1, 2) as shared:
        say(shared, 1, row, 1, 2)
        say(shared, 2, row, 1)
        with pytest.raises(Waited, match=r"\(\(1, 2\), 4\)"):
            say(shared, 3, row, 1, 2)
        shared[1].pass_by(2)
        with pytest.raises(Waited):
            say(shared, 3, row, 1, 2)
        shared[2].pass_by(2)
        say(shared, 3, 3 * row, 1, 2)
        assert (heard(shared, 2, 3, 100)[1] == 3).all() and (heard(shared, 1, 2, 100)[1] == 1).all()


def test_memory_grows_only_when_nobody_reads_it():
    """Then both slots lie elsewhere; a neighbour finds the new one by itself."""
    with Circle(1) as shared:
        say(shared, 1, np.ones(10), 1)
        with pytest.raises(Waited):
            say(shared, 2, np.ones(100_000), 1)
        shared[1].pass_by(2)
        say(shared, 2, np.full(100_000, 2.0), 1)
        assert (heard(shared, 1, 2, 100_000)[1] == 2).all()


@pytest.mark.parametrize(
    ("place", "name"),
    [(0, "its run"), (1, "its epoch"), (2, "its sender"), (3, "its round"), (4, "its length"), (5, "it lies nowhere")],
)
def test_a_forged_header_is_refused(place, name):
    """A frame in memory of another run, epoch, sender, round or length, or one that reaches beyond the memory."""
    with Circle(1) as shared:
        say(shared, 1, np.ones(1), 1)
        fields = [RUN, 1, 0, 1, 8, LINE]
        fields[place] = b"q" * 16 if place == 0 else 2**30
        HEADER.pack_into(shared[0]._segment.bytes, LINE, *fields)
        with pytest.raises(LinkError, match=name):
            shared[1].hear(1, {0: 8})


def test_a_place_for_a_header_beyond_the_memory_is_refused():
    """As a neighbour whose offer was altered would name it; nothing is read there."""
    with Circle(1) as shared:
        say(shared, 1, np.ones(1), 1)
        for seat in (1 << 20, 2**32 - 1):
            shared[1]._their_seats[0] = seat
            with pytest.raises(LinkError, match="its header lies nowhere"):
                shared[1].hear(1, {0: 8})


@pytest.mark.parametrize("begin", [2**64 - 8, 2**63, 4096 * 64])
def test_a_frame_that_begins_beyond_the_memory_is_not_looked_at(begin):
    """Also where begin and length together would come round to a small number."""
    with Circle(1) as shared:
        say(shared, 1, np.ones(1), 1)
        HEADER.pack_into(shared[0]._segment.bytes, LINE, RUN, 1, 0, 1, 8, begin)
        with pytest.raises(LinkError, match="it lies nowhere"):
            shared[1].hear(1, {0: 8})


def test_a_word_that_runs_ahead_is_noticed_by_the_header():
    """A neighbour seems to have laid a frame that it has not."""
    with Circle(1) as shared:
        say(shared, 1, np.ones(1), 1)
        publish(shared[0]._segment.word, 7)
        with pytest.raises(LinkError, match="its round is not the expected one"):
            shared[1].hear(3, {0: 8})


def test_neighbours_that_take_no_part_in_a_round_hold_up_nobody():
    """Any subset of the pairs speaks in a round, as where messages are lost, and everybody hears the right rows."""
    m, rounds = 5, 60
    spoken = np.random.default_rng(0).random((rounds, m, m)) < 0.4

    with Group(complete(m)) as group:
        group.connect()

        def talk(i):
            for k in range(rounds):
                peers = [j for j in range(m) if j != i and (spoken[k, i, j] or spoken[k, j, i])]
                said, rows = np.full(50 + k, 100.0 * k + i), {j: np.empty(50 + k) for j in peers}
                group.links[i].exchange({j: [bytes_of(said)] for j in peers}, {j: [bytes_of(rows[j])] for j in peers})
                assert all((rows[j] == 100.0 * k + j).all() for j in peers)

        group.each(talk)
