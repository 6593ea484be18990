"""Memory that one actor writes and its neighbours on the same machine read.

A segment has no name: it is a file in memory (memfd) that a neighbour opens through its owner's entry in /proc, so
that whoever is killed, nothing is left behind. What is found there must begin with the token that the owner told, over
a connection on which both have proved the run's secret: in another container the same numbers lead elsewhere.
"""

import contextlib
import mmap
import os
import secrets
import struct
import sys

import numpy as np
import numpy.typing as npt

TOKEN = 32
OFFER = struct.Struct(f"!QQQ{TOKEN}s")  # process, file, bytes, token

Bytes = npt.NDArray[np.uint8]


def available() -> bool:
    """Whether this system has such memory."""
    return sys.platform == "linux" and hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd")


class Segment:
    """Memory of one's own, which others may read."""

    def __init__(self, size: int) -> None:
        self.size, self._token = size, secrets.token_bytes(TOKEN)
        self._file = os.memfd_create("raydream", os.MFD_CLOEXEC)
        try:
            os.ftruncate(self._file, TOKEN + size)
            self._map = mmap.mmap(self._file, TOKEN + size)
        except BaseException:
            os.close(self._file)
            raise
        self._map[:TOKEN] = self._token
        self.bytes: Bytes = np.frombuffer(self._map, dtype=np.uint8, offset=TOKEN)

    @property
    def offer(self) -> bytes:
        """What a neighbour needs to read it."""
        return OFFER.pack(os.getpid(), self._file, self.size, self._token)

    def close(self) -> None:
        """Let go of it; the memory goes when the last neighbour has let go of it too."""
        self.bytes = np.empty(0, dtype=np.uint8)
        with contextlib.suppress(BufferError):  # somebody here still looks at it: it goes with the last look
            self._map.close()
        os.close(self._file)


class Window:
    """A neighbour's segment, to be read."""

    def __init__(self, offer: bytes) -> None:
        process, file, self.size, token = OFFER.unpack(offer)
        handle = os.open(f"/proc/{process}/fd/{file}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            if os.fstat(handle).st_size != TOKEN + self.size:
                raise OSError("it has another size")
            self._map = mmap.mmap(handle, TOKEN + self.size, prot=mmap.PROT_READ)
        except ValueError as error:  # an empty file, or one that is no file
            raise OSError(str(error)) from None
        finally:
            os.close(handle)
        if not secrets.compare_digest(self._map[:TOKEN], token):
            raise OSError("it is another's")
        self.bytes: Bytes = np.frombuffer(self._map, dtype=np.uint8, offset=TOKEN)

    def close(self) -> None:
        """Let go of it."""
        self.bytes = np.empty(0, dtype=np.uint8)
        with contextlib.suppress(BufferError):
            self._map.close()
