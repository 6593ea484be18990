"""start.npz: a start of the user's own, beside what began there."""

from pathlib import Path

import numpy as np

from raydream.errors import RecordError
from raydream.storage.arrays import read_arrays
from raydream.storage.files import whole_file
from raydream.types import Array


def write_start(folder: Path, start: tuple[Array, Array]) -> None:
    """Keep (x0, y0)."""
    with whole_file(folder / "start.npz") as file:
        np.savez(file, x0=start[0], y0=start[1])


def read_start(folder: Path) -> tuple[Array, Array] | None:
    """(x0, y0), or None where the start was the problem's own."""
    if not (folder / "start.npz").exists():
        return None
    try:
        found = read_arrays(folder / "start.npz")
        return found["x0"], found["y0"]
    except (OSError, ValueError, KeyError) as error:
        raise RecordError(f"`directory` {str(folder)!r} has a start.npz that cannot be read ({error}).") from None
