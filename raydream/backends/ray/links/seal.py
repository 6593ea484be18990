"""What makes sure that a frame which crosses a network is what its sender said: a keyed hash that follows it.

TCP's own sums miss a wrong byte now and then, and anybody on the way can mend them. Between actors of one machine
frames do not leave it, and go without.
"""

import hashlib
import hmac
import socket
import struct
from collections.abc import Iterable

from raydream.backends.ray.links.protocol import Terms

SIZE = 16  # bytes of a hash
Piece = bytes | bytearray | memoryview


class Seal:
    """The hashes of one connection, by a key of the run's secret for each of its directions in each epoch.

    The header is hashed with the rows, and says the round: a frame cannot stand in for another.
    """

    def __init__(self, terms: Terms, epoch: int, me: int, peer: int) -> None:
        self._mine, self._theirs = _key(terms, epoch, me, peer), _key(terms, epoch, peer, me)

    def made(self, pieces: Iterable[Piece]) -> bytes:
        """What follows a frame of this actor's."""
        return _hash(self._mine, pieces)

    def holds(self, pieces: Iterable[Piece], found: Piece) -> bool:
        """Whether this is what follows such a frame of the neighbour's."""
        return hmac.compare_digest(_hash(self._theirs, pieces), bytes(found))


def crosses_a_network(connection: socket.socket) -> bool:
    """Whether its two ends have different addresses: those of one machine have the same."""
    return bool(connection.getsockname()[0] != connection.getpeername()[0])


def _key(terms: Terms, epoch: int, sender: int, receiver: int) -> bytes:
    text = struct.pack("!16s16sIII", b"frames", terms.run, epoch, sender, receiver)
    return hmac.digest(terms.secret, text, "sha256")


def _hash(key: bytes, pieces: Iterable[Piece]) -> bytes:
    total = hashlib.blake2b(key=key, digest_size=SIZE)
    for piece in pieces:
        total.update(piece)
    return total.digest()
