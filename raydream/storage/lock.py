"""One driver to a run directory: whoever runs there holds the directory's lock, which ends with the process."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # a system without such locks goes without
    fcntl = None  # type: ignore[assignment]

PATIENCE = 1.0  # seconds to wait: whoever looks whether a directory is locked holds it for a moment


@contextlib.contextmanager
def locked(folder: Path | None) -> Iterator[None]:
    """While in use, nobody else can run in this folder; it is made if need be, and goes again if it stays empty."""
    if folder is None or fcntl is None:
        yield
        return
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        _claim(handle, folder)
        yield
    finally:
        os.close(handle)
        with contextlib.suppress(OSError):  # the first that is not empty
            for one in made:
                one.rmdir()


def is_locked(folder: Path) -> bool | None:
    """Whether somebody runs in this folder; None where that cannot be found out."""
    if fcntl is None:
        return None
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return None
    else:
        return False
    finally:
        os.close(handle)


def _claim(handle: int, folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"`directory` {str(folder)!r} is being run already; stop that run first, or choose another."
                ) from None
            time.sleep(0.05)
        except OSError:  # a file system without locks
            return
        else:
            return
