"""Memory that one actor writes and its neighbours on the same machine read.

A segment has no name: it is a file in memory (memfd) that a neighbour opens through its owner's entry in /proc, so
that whoever is killed, nothing is left behind. What is found there must begin with the token that the owner told, over
a connection on which both have proved the run's secret: in another container the same numbers lead elsewhere.

After the token comes a word that says how far the owner has come, for which neighbours can wait.
"""

import contextlib
import mmap
import os
import secrets
import struct
import sys

import numpy as np

from raydream.kernels.library import address
from raydream.kernels.words import can_wait

TOKEN = 32
WORD = 64  # where the word lies
HEAD = 128  # bytes before those that `bytes` shows
OFFER = struct.Struct(f"!QQ{TOKEN}s")  # process, file, token


def available() -> bool:
    """Whether this system has such memory, and words in it can be waited for."""
    return sys.platform == "linux" and hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd") and can_wait()


class Segment:
    """Memory of one's own, which others may read.

    bytes  all of it but its head
    place  the address at which they begin
    word   the address of the word
    """

    def __init__(self, size: int) -> None:
        self._token = secrets.token_bytes(TOKEN)
        self._file = os.memfd_create("raydream", os.MFD_CLOEXEC)
        try:
            self._show(size)
        except BaseException:
            os.close(self._file)
            raise

    def grow(self, size: int) -> None:
        """Show so many bytes; those that were there stay, where they were in the file."""
        before = self.bytes, self._map
        self._show(size)
        _let_go(*before)

    @property
    def offer(self) -> bytes:
        """What a neighbour needs to read it."""
        return OFFER.pack(os.getpid(), self._file, self._token)

    def close(self) -> None:
        """Let go of it; the memory goes when the last neighbour has let go of it too."""
        _let_go(self.bytes, self._map)
        os.close(self._file)

    def _show(self, size: int) -> None:
        os.ftruncate(self._file, HEAD + size)
        self._map = mmap.mmap(self._file, HEAD + size)
        self._map[:TOKEN] = self._token
        self.bytes, self.place = _shown(self._map)
        self.word = self.place - HEAD + WORD


class Window:
    """A neighbour's segment, to be read; `bytes`, `place` and `word` are as there."""

    def __init__(self, offer: bytes) -> None:
        process, file, token = OFFER.unpack(offer)
        self._file = os.open(f"/proc/{process}/fd/{file}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._look()
            if not secrets.compare_digest(self._map[:TOKEN], token):
                raise OSError("it is another's")
        except BaseException:
            os.close(self._file)
            raise

    def look_again(self) -> None:
        """Show all that the owner has made of it since."""
        before = self.bytes, self._map
        self._look()
        _let_go(*before)

    def close(self) -> None:
        """Let go of it."""
        _let_go(self.bytes, self._map)
        os.close(self._file)

    def _look(self) -> None:
        size = os.fstat(self._file).st_size
        if size <= HEAD:
            raise OSError("it has another size")
        try:
            self._map = mmap.mmap(self._file, size, prot=mmap.PROT_READ)
        except ValueError as error:  # one that is no file
            raise OSError(str(error)) from None
        self.bytes, self.place = _shown(self._map)
        self.word = self.place - HEAD + WORD


def _shown(whole: mmap.mmap) -> tuple[memoryview, int]:
    """What follows the head, and the address at which it begins."""
    return memoryview(whole)[HEAD:], address(np.frombuffer(whole, dtype=np.uint8, offset=HEAD))


def _let_go(shown: memoryview, whole: mmap.mmap) -> None:
    with contextlib.suppress(BufferError):  # somebody here still looks at it: it goes with the last look
        shown.release()
        whole.close()
