"""Memory between processes of one machine: read by those who were told of it, and gone with its owner."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from raydream.backends.ray.links.memory import OFFER, Segment, Window, available
from raydream.kernels.words import Words, publish

pytestmark = pytest.mark.skipif(not available(), reason="this system has no memory without a name")

OWNER = """
import sys
from raydream.backends.ray.links.memory import Segment
segment = Segment(64)
segment.bytes[:5] = b"hello"
print(segment.offer.hex(), flush=True)
for line in sys.stdin:
    segment.bytes[0] = int(line)
    print("written", flush=True)
"""


@pytest.fixture
def owner():
    """Another process with a segment of 64 bytes."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    yield process
    process.kill()
    process.communicate(timeout=60)


def told(owner):
    return bytes.fromhex(owner.stdout.readline())


def test_what_one_process_writes_another_reads(owner):
    """Also what is written later; and it cannot be written to."""
    window = Window(told(owner))
    assert bytes(window.bytes[:5]) == b"hello" and len(window.bytes) == 64
    owner.stdin.write("7\n")
    assert owner.stdout.readline() == "written\n" and window.bytes[0] == 7
    with pytest.raises(TypeError):
        window.bytes[0] = 1
    window.close()


def test_it_outlives_its_killed_owner_only_while_it_is_read(owner):
    """And has no name that could stay behind."""
    before = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    window = Window(told(owner))
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait(timeout=60)
    assert bytes(window.bytes[:5]) == b"hello"
    window.close()
    after = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    assert not [name for name in after - before if "raydream" in name]


def test_a_segment_that_is_another_one_is_refused(owner):
    """Where the same numbers lead elsewhere, as in another container, the token differs."""
    process, file, token = OFFER.unpack(told(owner))
    for wrong in (
        OFFER.pack(process, file, b"?" * 32),
        OFFER.pack(process, 0, token),
        OFFER.pack(process, 10_000, token),
        OFFER.pack(2**40, file, token),
    ):
        with pytest.raises(OSError):
            Window(wrong)


def test_nothing_stays_open():
    """Files and maps are closed with their objects."""
    files = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        segment = Segment(1 << 20)
        window = Window(segment.offer)
        segment.bytes[:] = b"3" * (1 << 20)
        segment.grow(2 << 20)
        segment.bytes[-1:] = b"4"
        window.look_again()
        assert bytes(window.bytes) == b"3" * (1 << 20) + bytes((1 << 20) - 1) + b"4"
        window.close()
        segment.close()
    assert len(os.listdir("/proc/self/fd")) == files
    with open("/proc/self/maps") as maps:
        assert "memfd:raydream" not in maps.read()


def test_a_view_that_is_still_looked_at_stays_valid():
    segment = Segment(80)
    segment.bytes[:] = np.ones(10).tobytes()
    numbers = np.frombuffer(segment.bytes, dtype=np.float64)
    segment.close()
    assert (numbers == 1.0).all()


def test_a_word_is_waited_for_and_may_wrap():
    """Whoever waits goes on when the word has reached a number, also beyond 32 bits; what never comes is not there."""
    segment = Segment(64)
    window = Window(segment.offer)
    words = Words([window.word])
    assert words.reached(1, 0.0) == 0 == words.reached(1, 0.001)
    for value in (1, 5, 2**31, 2**32 - 1, 2**32 + 3):
        publish(segment.word, value)
        assert words.reached(value, 0.0) == 1 and words.reached(value + 1, 0.0) == 0
    timer = threading.Timer(0.05, publish, (segment.word, 2**32 + 4))
    timer.start()
    while not words.reached(2**32 + 4, 10.0):
        pass
    timer.join()
    window.close()
    segment.close()
