"""What an actor says in a round, laid into memory that its neighbours on the same machine read.

Two slots take turns. In round k + 2 the slot of round k is written again: by then every neighbour has said what it says
in round k + 1, which it does only when it has read round k.
"""

from collections.abc import Mapping

import numpy as np

from raydream.backends.ray.links.memory import Segment
from raydream.backends.ray.links.protocol import Buffers

LEAST = 1 << 16  # bytes of a slot
LINE = 64  # bytes to which frames are aligned


class Slots:
    """The memory of one actor."""

    def __init__(self) -> None:
        self._segment: Segment | None = None
        self._before: Segment | None = None  # what it replaced in the last round, and somebody may not have read

    def lay(self, round: int, says: Mapping[int, Buffers]) -> tuple[dict[int, int], bytes]:
        """Where in the memory each neighbour's frame begins; and what to tell all of them, if the memory is new.

        What is said to several is laid once.
        """
        if self._before is not None:
            self._before.close()  # by now everybody has
            self._before = None
        frames: dict[tuple[tuple[int, int], ...], list[int]] = {}
        for peer, pieces in says.items():
            frames.setdefault(tuple(map(_place_of, pieces)), []).append(peer)
        sizes = [-(-sum(size for _, size in frame) // LINE) * LINE for frame in frames]
        offer = self._reserve(sum(sizes))
        assert self._segment is not None
        begin, places = (round % 2) * (self._segment.size // 2), dict[int, int]()
        for peers, size in zip(frames.values(), sizes, strict=True):
            at = begin
            for piece in says[peers[0]]:
                self._segment.bytes[at : at + piece.nbytes] = np.frombuffer(piece, dtype=np.uint8)
                at += piece.nbytes
            places |= dict.fromkeys(peers, begin)
            begin += size
        return places, offer

    @property
    def offer(self) -> bytes:
        """What a neighbour needs to read it."""
        assert self._segment is not None
        return self._segment.offer

    def close(self) -> None:
        """Let go of it."""
        for segment in (self._segment, self._before):
            if segment is not None:
                segment.close()
        self._segment = self._before = None

    def _reserve(self, size: int) -> bytes:
        """See to it that a slot holds so many bytes; what to tell the neighbours where the memory is new."""
        if self._segment is not None and 2 * size <= self._segment.size:
            return b""
        self._before = self._segment
        self._segment = Segment(2 * max(LEAST, -(-size // LINE) * LINE))
        return self._segment.offer


def _place_of(piece: memoryview) -> tuple[int, int]:
    """Where a piece lies, and its length."""
    return np.frombuffer(piece, dtype=np.uint8).__array_interface__["data"][0], piece.nbytes
