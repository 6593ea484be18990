"""What an actor says in a round, laid into memory that its neighbours on the same machine read.

Two slots take turns. A slot is written again when all who read it have been heard in a later round: whoever speaks in
round k has read everything of the rounds before. Where a neighbour takes part in every round, that is so when its turn
comes; where it does not, and the slot may still be read, the frame goes with its header instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from raydream.backends.ray.links.memory import Segment
from raydream.backends.ray.links.protocol import Buffers

LEAST = 1 << 16  # bytes of a slot
LINE = 64  # bytes to which frames are aligned

Heard = Mapping[int, int]  # the last round in which each neighbour was heard


@dataclass
class Laid:
    """Memory, who was told of it, and the last round in which each neighbour was to read each slot."""

    segment: Segment
    told: set[int] = field(default_factory=set)
    readers: tuple[dict[int, int], dict[int, int]] = field(default_factory=lambda: ({}, {}))

    def is_free(self, slot: int, heard: Heard) -> bool:
        """Whether nobody can still be reading a slot."""
        return all(heard.get(peer, 0) > round for peer, round in self.readers[slot].items())


class Slots:
    """The memory of one actor."""

    def __init__(self) -> None:
        self._now: Laid | None = None
        self._before: list[Laid] = []  # what was replaced, and somebody may still have to read

    def lay(self, round: int, says: Mapping[int, Buffers], heard: Heard) -> dict[int, tuple[int, bytes]]:
        """Each neighbour's place of its frame, one more than where it begins, and word of the memory if that is new.

        What is said to several is laid once. Nothing, where a slot may still be read.
        """
        frames: dict[tuple[tuple[int, int], ...], list[int]] = {}
        for peer, pieces in says.items():
            frames.setdefault(tuple(map(_place_of, pieces)), []).append(peer)
        sizes = [-(-sum(size for _, size in frame) // LINE) * LINE for frame in frames]
        laid = self._reserve(sum(sizes), heard)
        slot = round % 2
        if not laid.is_free(slot, heard):
            return {}
        begin, found = slot * (laid.segment.size // 2), dict[int, tuple[int, bytes]]()
        for peers, size in zip(frames.values(), sizes, strict=True):
            at = begin
            for piece in says[peers[0]]:
                laid.segment.bytes[at : at + piece.nbytes] = np.frombuffer(piece, dtype=np.uint8)
                at += piece.nbytes
            found |= {peer: (begin + 1, b"" if peer in laid.told else laid.segment.offer) for peer in peers}
            begin += size
        laid.told.update(says)
        laid.readers[slot].update(dict.fromkeys(says, round))
        return found

    def close(self) -> None:
        """Let go of it."""
        for laid in (self._now, *self._before):
            if laid is not None:
                laid.segment.close()
        self._now, self._before = None, []

    def _reserve(self, size: int, heard: Heard) -> Laid:
        """Memory whose slots hold so many bytes; what it replaces goes when nobody can still be reading it."""
        if self._now is None or 2 * size > self._now.segment.size:
            self._before += [] if self._now is None else [self._now]
            self._now = Laid(Segment(2 * max(LEAST, -(-size // LINE) * LINE)))
        done = [laid for laid in self._before if laid.is_free(0, heard) and laid.is_free(1, heard)]
        for laid in done:
            laid.segment.close()
        self._before = [laid for laid in self._before if laid not in done]
        return self._now


def _place_of(piece: memoryview) -> tuple[int, int]:
    """Where a piece lies, and its length."""
    return np.frombuffer(piece, dtype=np.uint8).__array_interface__["data"][0], piece.nbytes
