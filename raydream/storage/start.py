"""start.npz: a start of the user's own, beside what began there."""

from pathlib import Path

import numpy as np

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
    with open(folder / "start.npz", "rb") as raw, np.load(raw, allow_pickle=False) as file:
        return file["x0"], file["y0"]
