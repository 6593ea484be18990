"""What actors of one machine say to each other, through memory: each writes its own and reads its neighbours'.

Two slots take turns. An actor's word is 2 k + 1 when its frames of round k lie in its slot, and at least 2 k when it
has read all that it heard in the rounds before k. So a slot is written again when the words of all who read it say so.
Nobody waits for ever: whoever is furthest behind waits only for actors that are as far, or for words of rounds before.
"""

import struct
from collections.abc import Callable, Mapping, Sequence

from raydream.backends.ray.links.frames import HEADER, Header, checked
from raydream.backends.ray.links.memory import OFFER as MEMORY
from raydream.backends.ray.links.memory import Segment, Window
from raydream.backends.ray.links.protocol import Buffers, length_of
from raydream.errors import LinkError
from raydream.kernels.words import Words, publish

LEAST = 1 << 12  # bytes of a slot
SEAT = struct.Struct("!I")  # which of an actor's headers are for a neighbour
OFFER = MEMORY.size + SEAT.size  # bytes
LINE = 64  # bytes to which headers and frames are aligned

Wait = Callable[[tuple[int, ...], int], None]


class Shared:
    """The memory of one actor and of its neighbours on the same machine.

    wait(peers, value)  sleeps until the words of these neighbours have reached a number
    """

    def __init__(self, header: Header, peers: Sequence[int], wait: Wait) -> None:
        self._header, self._wait = header, wait
        self._seats = {peer: seat for seat, peer in enumerate(peers)}
        self._heads = 2 * len(peers) * LINE
        self._room = 0  # bytes of a slot
        self._segment = Segment(max(LINE, self._heads))
        self._windows: dict[int, Window] = {}
        self._their_seats: dict[int, int] = {}
        self._laid: list[tuple[int, tuple[int, ...]]] = [(0, ()), (0, ())]  # of each slot: the round, and who reads it
        self._words: dict[tuple[int, ...], Words] = {}

    def offer(self, peer: int) -> bytes:
        """What a neighbour needs to know."""
        return self._segment.offer + SEAT.pack(self._seats[peer])

    def accept(self, peer: int, offer: bytes) -> bool:
        """Look into a neighbour's memory; whether that can be done."""
        try:
            self._windows[peer] = Window(offer[: MEMORY.size])
        except OSError:
            return False
        (self._their_seats[peer],) = SEAT.unpack_from(offer, MEMORY.size)
        return True

    def forget(self, peer: int) -> None:
        """That neighbour is not on this machine."""
        window = self._windows.pop(peer, None)
        if window is not None:
            window.close()

    def say(self, round: int, says: Mapping[int, Buffers]) -> None:
        """Lay these frames; what is said to several, as one list, is laid once."""
        peers, slot = tuple(says), round % 2
        at = self._free(round, slot, says)
        self._laid[slot] = round, peers
        view, header, laid = self._segment.bytes, self._header, dict[int, tuple[int, int]]()
        for peer, pieces in says.items():
            place = laid.get(id(pieces))
            if place is None:
                begin = at
                for piece in pieces:
                    view[at : at + piece.nbytes] = piece
                    at += piece.nbytes
                place = laid[id(pieces)] = at - begin, begin
                at = -(-at // LINE) * LINE
            seat = LINE * (2 * self._seats[peer] + slot)
            HEADER.pack_into(view, seat, header.run, header.epoch, header.sender, round, *place)
        publish(self._segment.word, 2 * round + 1)

    def pass_by(self, round: int) -> None:
        """Say nothing in this round, but that all before has been read."""
        publish(self._segment.word, 2 * round)

    def hear(self, round: int, sizes: Mapping[int, int]) -> dict[int, int]:
        """Where in the memory of each of these neighbours its frame begins, when all are there.

        They stay until this actor says something, or passes, in a later round.
        """
        self._wait(tuple(sizes), 2 * round + 1)
        return {peer: self._found(peer, round, size) for peer, size in sizes.items()}

    def place(self, peer: int, begin: int) -> int:
        """The address of what begins there."""
        return self._windows[peer].place + begin

    def read(self, peer: int, begin: int, ears: Buffers) -> None:
        """Copy what begins there."""
        source = self._windows[peer].bytes
        for ear in ears:
            ear[:] = source[begin : begin + ear.nbytes]
            begin += ear.nbytes

    def reached(self, peers: tuple[int, ...], value: int, seconds: float) -> int:
        """How many of these neighbours' words have reached a number, counted from the first."""
        words = self._words.get(peers)
        if words is None:
            words = self._words[peers] = Words([self._windows[peer].word for peer in peers])
        return words.reached(value, seconds)

    def close(self) -> None:
        """Let go of all memory."""
        self._words.clear()
        for window in self._windows.values():
            window.close()
        self._windows = {}
        self._segment.close()

    def _free(self, round: int, slot: int, says: Mapping[int, Buffers]) -> int:
        """Where a slot begins that holds all this and is read by nobody any more."""
        size, known = 0, set[int]()
        for pieces in says.values():
            if id(pieces) not in known:
                known.add(id(pieces))
                size += -(-length_of(pieces) // LINE) * LINE
        if size > self._room:
            for before in self._laid:
                self._until_read(round, *before)
            self._room = max(LEAST, size)
            self._segment.grow(self._heads + 2 * self._room)
        else:
            self._until_read(round, *self._laid[slot])
        return self._heads + slot * self._room

    def _until_read(self, round: int, laid: int, peers: tuple[int, ...]) -> None:
        if peers and self.reached(peers, 2 * (laid + 1), 0.0) < len(peers):
            self.pass_by(round)  # whoever waits for the same of this actor goes on
            self._wait(peers, 2 * (laid + 1))

    def _found(self, peer: int, round: int, size: int) -> int:
        """Where a neighbour's frame begins, if it is the one expected now."""
        window, mine = self._windows[peer], self._header
        seat = LINE * (2 * self._their_seats[peer] + round % 2)
        expected = Header(mine.run, mine.epoch, peer, round, size)
        if seat + HEADER.size > len(window.bytes):
            raise LinkError(f"actor {mine.sender} refused a frame of actor {peer}: its header lies nowhere.")
        begin = checked(mine.sender, expected, window.bytes[seat : seat + HEADER.size])
        if begin + size > len(window.bytes):
            window.look_again()
            self._words.clear()
            if begin + size > len(window.bytes):
                raise LinkError(f"actor {mine.sender} refused a frame of actor {peer}: it lies nowhere.")
        return begin
