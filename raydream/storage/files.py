"""Files that appear whole or not at all, and JSON in the one way that this package writes it."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that replaces `path` only when all of it has been written."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_json(path: Path, record: Any) -> None:
    """A record as indented JSON, whole or not at all."""
    with whole_file(path) as file:
        file.write((json.dumps(record, indent=2) + "\n").encode())


def next_free(folder: Path, name: str) -> Path:
    """folder/name-1, -2, ...: the first that does not exist."""
    number = 1
    while (folder / f"{name}-{number}").exists():
        number += 1
    return folder / f"{name}-{number}"
