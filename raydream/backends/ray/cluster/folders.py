"""Folders for a Ray of a run's own: nobody else can enter, and who lives there holds a lock, which ends with them."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # a system without such locks never sweeps
    fcntl = None  # type: ignore[assignment]

LOCK = "lock"


@contextlib.contextmanager
def private_folder() -> Iterator[Path]:
    """A new folder for Ray's session. Its path is short, since those of Unix sockets have at most 107 characters."""
    base = tempfile.gettempdir()
    base = base if len(base) <= 20 else "/tmp"
    sweep(Path(base))
    folder, handle = _claimed(base)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def sweep(base: Path) -> None:
    """Remove what drivers that were killed left behind: folders of ours whose lock nobody holds.

    A process number would say nothing: the driver may live in another container that shares this folder.
    """
    for folder in base.glob("rd-*-*"):
        if not folder.is_symlink() and folder.is_dir() and folder.stat().st_uid == os.getuid():
            _remove_if_free(folder)


def _claimed(base: str) -> tuple[Path, int]:
    """A folder and its lock, which is ours."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"rd-{os.getpid()}-", dir=base))
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        if fcntl is None:
            return folder, handle
        with contextlib.suppress(OSError):  # a file system without locks, or swept before it was locked
            fcntl.flock(handle, fcntl.LOCK_EX)
        if (folder / LOCK).exists():
            return folder, handle
        os.close(handle)


def _remove_if_free(folder: Path) -> None:
    if fcntl is None:
        return
    try:
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:  # not one of ours, or not yet
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except OSError:  # somebody lives there, or nobody can know
        pass
    finally:
        os.close(handle)
