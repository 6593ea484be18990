"""Files that appear whole or not at all, and JSON in the one way that this package writes it."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import IO, Any


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


def next_free(folder: Path, stem: str) -> Path:
    """folder/stem-1, -2, ...: the first that does not exist."""
    return next(path for number in count(1) if not (path := folder / f"{stem}-{number}").exists())
