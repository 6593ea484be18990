"""Waiting for things to happen, however slow the machine is, and ending what a test has started."""

import contextlib
import subprocess
import sys
import threading
import time

PATIENCE = 300  # seconds: for a machine ten times slower than this one, and busy
TERMINATION = 30  # seconds that a program may take to end in good order

# In the background of a script SIGINT is ignored, and a child inherits that: this one hears Ctrl-C again. And if the
# tests themselves are killed, Linux ends it too (prctl(PR_SET_PDEATHSIG)).
_CHILD = """
import ctypes, os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
os.execv(sys.argv[1], sys.argv[1:])
"""


def wait_until(fact, what="it", seconds=PATIENCE):
    """Until a fact holds; what it returned."""
    deadline = time.monotonic() + seconds
    while not (found := fact()):
        assert time.monotonic() < deadline, f"waited in vain for {what() if callable(what) else what}"
        threading.Event().wait(0.05)
    return found


@contextlib.contextmanager
def started(words, **settings):
    """A program in a session of its own, while this lasts; whatever happens, it has ended afterwards.

    Ctrl-C reaches it, however the tests themselves were started.
    """
    words = [sys.executable, "-ISc", _CHILD, *words]
    process = subprocess.Popen(words, start_new_session=True, text=True, **settings)
    try:
        yield process
    finally:
        end(process)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def end(process):
    """End a program by asking, and then by force."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=TERMINATION)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=PATIENCE)
