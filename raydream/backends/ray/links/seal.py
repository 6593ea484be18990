"""What makes sure that a frame which crosses a network is what its sender said: a keyed hash that follows it.

TCP's own sums miss a wrong byte now and then, and anybody on the way can mend them. Between actors of one machine
frames do not leave it, and go without. Where nobody is to read them either, there is `cipher`.
"""

import hashlib
import hmac
import socket
import struct
from collections.abc import Iterable
from typing import Protocol

from raydream.backends.ray.links.protocol import Buffers, Terms

SIZE = 16  # bytes of a hash
Piece = bytes | bytearray | memoryview


class Guard(Protocol):
    """What becomes of a frame between its header and the wire, and back."""

    def closed(self, header: Piece, pieces: Buffers) -> list[memoryview]:
        """What travels after the header."""

    def room(self, hears: Buffers) -> list[memoryview]:
        """Where to put what comes after the neighbour's header."""

    def opened(self, header: Piece, hears: Buffers) -> bool:
        """Fill the buffers, unless they are what was filled; whether it is what the neighbour said."""


class Seal:
    """The hashes of one connection, by a key of the run's secret for each of its directions in each epoch.

    The header is hashed with the rows, and says the round: a frame cannot stand in for another.
    """

    def __init__(self, terms: Terms, epoch: int, me: int, peer: int) -> None:
        self._mine, self._theirs = (key_of(b"frames", terms, epoch, *pair) for pair in ((me, peer), (peer, me)))
        self._tag = bytearray(SIZE)

    def closed(self, header: Piece, pieces: Buffers) -> list[memoryview]:
        """The rows, and the hash."""
        return [*pieces, memoryview(self.made([header, *pieces]))]

    def room(self, hears: Buffers) -> list[memoryview]:
        """The rows where they belong, and the hash."""
        return [*hears, memoryview(self._tag)]

    def opened(self, header: Piece, hears: Buffers) -> bool:
        """Whether the hash is right."""
        return self.holds([header, *hears], self._tag)

    def made(self, pieces: Iterable[Piece]) -> bytes:
        """What follows a frame of this actor's."""
        return _hash(self._mine, pieces)

    def holds(self, pieces: Iterable[Piece], found: Piece) -> bool:
        """Whether this is what follows such a frame of the neighbour's."""
        return hmac.compare_digest(_hash(self._theirs, pieces), bytes(found))


def crosses_a_network(connection: socket.socket) -> bool:
    """Whether its two ends have different addresses: those of one machine have the same."""
    return bool(connection.getsockname()[0] != connection.getpeername()[0])


def key_of(purpose: bytes, terms: Terms, epoch: int, sender: int, receiver: int) -> bytes:
    """A key of the run's secret, for what one actor sends another in an epoch."""
    text = struct.pack("!16s16sIII", purpose, terms.run, epoch, sender, receiver)
    return hmac.digest(terms.secret, text, "sha256")


def _hash(key: bytes, pieces: Iterable[Piece]) -> bytes:
    total = hashlib.blake2b(key=key, digest_size=SIZE)
    for piece in pieces:
        total.update(piece)
    return total.digest()
