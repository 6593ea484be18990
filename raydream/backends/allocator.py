"""Memory that is freed and wanted again at once: rounds make and drop arrays of megabytes."""

import contextlib
import ctypes
import sys
from functools import cache

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # names of glibc's mallopt(3)


@cache
def keep_freed_memory() -> None:
    """Ask the C library to keep freed memory for the next array instead of giving it back to the system.

    Otherwise every round pays for fresh pages, which took nearly half of a DREAM iteration on a9a (10.8 against
    6.1 ms). At most half a gigabyte is kept. Elsewhere than on glibc this does nothing.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(MMAP_THRESHOLD, 32 * 2**20)
    mallopt(TRIM_THRESHOLD, 512 * 2**20)
    mallopt(TOP_PAD, 64 * 2**20)


def give_back_freed_memory() -> None:
    """Give the system what the C library keeps of freed memory: a driver that has built a problem need not hold it.

    (A game of 1000 agents leaves as much behind as it holds.) Elsewhere than on glibc this does nothing.
    """
    if not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
