"""Files that appear whole or not at all, and JSON in the one way that this package writes it."""

import io
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import IO, Any

MOST_BYTES = 200_000_000  # of a study's own files


@contextmanager
def whole_file(path: Path, durable: bool = True) -> Iterator[IO[bytes]]:
    """A file that replaces `path` only when all of it has been written.

    durable  whether to wait until it is on the disk
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_json(path: Path, record: Any, durable: bool = True) -> None:
    """A record as indented JSON, whole or not at all."""
    with whole_file(path, durable) as file:
        file.write((json.dumps(record, indent=2) + "\n").encode())


def read_json(path: Path, most: int = MOST_BYTES) -> Any:
    """What a JSON file of at most so many bytes says, or a ValueError; that there is no file is an OSError."""
    try:
        return json.loads(read_bytes(path, most))
    except (RecursionError, MemoryError):
        raise ValueError(f"{path.name} is nested too deeply") from None


def next_free(folder: Path, stem: str) -> Path:
    """folder/stem-1, -2, ...: the first that does not exist."""
    return next(path for number in count(1) if not (path := folder / f"{stem}-{number}").exists())


def opened(path: Path, *, follow: bool = True) -> io.BufferedReader:
    """A plain file, open for reading; no pipe and no device, which might keep one waiting or reading for ever.

    follow  whether a link to a plain file will do
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW))
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(f"{path.name} is not a plain file")
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_bytes(path: Path, most: int) -> bytes:
    """All of a plain file that is not longer than `most` bytes."""
    with opened(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"{path.name} is longer than {most} bytes")
    return content
