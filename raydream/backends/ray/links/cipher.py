"""Frames that nobody on the way can read or change: their rows are encrypted and authenticated, with their header, by
AES-256-GCM.

A key serves one direction of one connection, and its frames are numbered: no number is used twice with a key, and a
frame that comes twice, or out of its turn, is refused.
"""

import struct
from importlib.util import find_spec
from typing import Any

from raydream.backends.ray.links.protocol import Buffers, Terms, length_of
from raydream.backends.ray.links.seal import Piece, key_of

TAG = 16  # bytes that follow the rows
NONCE = struct.Struct("!4xQ")  # the number of a frame


def refuse_without_library() -> None:
    """Frames are encrypted by a library of an extra."""
    if find_spec("cryptography") is None:
        raise ImportError(
            "`secure` needs cryptography, which is not installed here: pip install 'raydream[secure]', on every node."
        )


class Cipher:
    """The encryption of one connection; `closed` and `opened` must be called once for each frame, in their order."""

    def __init__(self, terms: Terms, epoch: int, me: int, peer: int) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._mine: Any = AESGCM(key_of(b"rows", terms, epoch, me, peer))
        self._theirs: Any = AESGCM(key_of(b"rows", terms, epoch, peer, me))
        self._sent = self._heard = 0
        self._out, self._in = bytearray(), bytearray()

    def closed(self, header: Piece, pieces: Buffers) -> list[memoryview]:
        """What travels after the header. It stays until the next."""
        self._out = _fitting(self._out, length_of(pieces) + TAG)
        self._sent += 1
        self._mine.encrypt_into(NONCE.pack(self._sent), _joined(pieces), header, self._out)
        return [memoryview(self._out)]

    def room(self, hears: Buffers) -> list[memoryview]:
        """Where to put what comes after the neighbour's header."""
        self._in = _fitting(self._in, length_of(hears) + TAG)
        return [memoryview(self._in)]

    def opened(self, header: Piece, hears: Buffers) -> bool:
        """Fill the buffers with what has come; whether it is what the neighbour said."""
        from cryptography.exceptions import InvalidTag

        self._heard += 1
        try:
            if len(hears) == 1:
                self._theirs.decrypt_into(NONCE.pack(self._heard), self._in, header, hears[0])
                return True
            rows = memoryview(self._theirs.decrypt(NONCE.pack(self._heard), self._in, header))
        except InvalidTag:
            return False
        for ear in hears:
            ear[:] = rows[: ear.nbytes]
            rows = rows[ear.nbytes :]
        return True


def _joined(pieces: Buffers) -> Piece:
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _fitting(buffer: bytearray, size: int) -> bytearray:
    """The same buffer if it has this size, else a new one: what was sent of the old one may still be looked at."""
    return buffer if len(buffer) == size else bytearray(size)
