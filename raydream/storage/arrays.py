"""Arrays in .npz files, perhaps a stranger's: nothing is unpickled, and no more is unpacked than the file holds."""

import math
import os
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

from raydream.storage.files import opened
from raydream.types import Array

MOST_ARRAYS = 256
NUMBERS = "fiu"  # kinds of numbers that are written
BROKEN = (BadZipFile, OSError, EOFError, RuntimeError, ValueError, TypeError, SyntaxError, MemoryError, OverflowError)


def read_arrays(path: Path) -> dict[str, Array]:
    """The arrays of a file by name, or a ValueError that says why not; that there is no file is an OSError."""
    with opened(path) as file:
        return arrays_in(file)


def arrays_in(file: IO[bytes]) -> dict[str, Array]:
    """The arrays of an open file by name.

    They are written as they are, so that all together are no longer than the file: one that is packed, or says that it
    is longer, or of another length than its shape, is somebody's trap.
    """
    length = file.seek(0, os.SEEK_END)
    try:
        with ZipFile(file) as archive:
            members = archive.infolist()
            if len(members) > MOST_ARRAYS:
                raise ValueError(f"it has {len(members)} arrays, more than {MOST_ARRAYS}")
            if any(member.compress_type != ZIP_STORED for member in members):
                raise ValueError("its arrays are packed")
            if sum(member.file_size for member in members) > length:
                raise ValueError("its arrays say that they are longer than the file")
            return {member.filename.removesuffix(".npy"): _array(archive, member) for member in members}
    except BROKEN as error:
        raise ValueError(str(error) or type(error).__name__) from None


def _array(archive: ZipFile, member: ZipInfo) -> Array:
    """One array, once it is known to be as long as its shape says."""
    name = ascii(member.filename)[:60]
    with archive.open(member) as file:
        shape, kind = _header(file)
        if kind.kind not in NUMBERS:
            raise ValueError(f"{name} does not hold numbers")
        if math.prod(shape) * kind.itemsize != member.file_size - file.tell():
            raise ValueError(f"{name} is not as long as its shape says")
    with archive.open(member) as file:
        found: Array = np.lib.format.read_array(file, allow_pickle=False)
        return found


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """The shape and the kind that an array says it has."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"arrays of version {version} are not written")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, kind = read(file)
    return shape, kind
