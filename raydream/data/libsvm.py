"""LIBSVM text, plain or compressed, as a sparse matrix: a row reads `label index:value index:value ...`."""

import bz2
import gzip
import io
import lzma
import os
import re
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from raydream.checks import whole
from raydream.types import Array, Indices

_PACKED: dict[bytes, tuple[str, Any]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}
_LONGEST = 100  # times its packed length that a file may be: text such as this is 10 to 60 times as long
_LEAST = 2**26  # bytes that every file may have
LARGEST_INDEX = 2**31 - 1
_INDEX_DIGITS = 10

# Possessive quantifiers never step back, so the whole text is matched in one linear sweep.
_NUMBER = rb"[-+]?+(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?+\d++)?+"
_FEATURE = rb"\d{1,%d}+:%s" % (_INDEX_DIGITS, _NUMBER)
_LINE = rb"[ \t\r]*+(?:%s(?:[ \t\r]++%s)*+[ \t\r]*+)?+" % (_NUMBER, _FEATURE)
_is_number = re.compile(_NUMBER).fullmatch
_is_infinite = re.compile(rb"[-+]?(?:nan|inf|infinity)", re.IGNORECASE).fullmatch
_is_text = re.compile(rb"(?:%s\n)*+%s" % (_LINE, _LINE)).fullmatch
_find_binary = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]").search


class Rows(NamedTuple):
    """The numbers of a file: row r has `lengths[r]` entries, and indices count from 1."""

    labels: Array
    lengths: Indices
    indices: Indices
    values: Array


def read_libsvm(path: str | os.PathLike[str], *, features: int | None = None) -> tuple[csr_array, Array]:
    """The rows of a LIBSVM file and their labels: of the two values found the smaller as -1, the larger as +1.

    Plain text, gzip, bzip2 and xz are told apart by their first bytes. Rows without features are kept; blank
    lines and text after `#` are skipped. `features` fixes the number of columns, else the largest index does.
    """
    return parse(contents(path), os.fspath(path), features)


def contents(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file, unpacked if they are compressed."""
    where = Path(path)
    if where.is_dir():
        raise IsADirectoryError(f"`{where}` is a folder; give the path of a file in it.")
    if not where.exists():
        raise FileNotFoundError(f"`{where}` does not exist; check the path.")
    if not where.is_file():
        raise ValueError(f"`{where}` must be a plain file; a device or a pipe may have no end. Copy it to a file.")
    return unpack(where.read_bytes(), str(where))


def unpack(data: bytes, origin: str) -> bytes:
    """`data` without its compression, if it has one; `origin` says in errors where it came from.

    Of what becomes so long that it can be no data, no more is unpacked than is needed to find out.
    """
    for magic, (kind, open_packed) in _PACKED.items():
        if data.startswith(magic):
            most = max(_LEAST, _LONGEST * len(data))
            try:
                with open_packed(io.BytesIO(data)) as file:
                    text: bytes = file.read(most + 1)
            except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as problem:
                raise ValueError(f"`{origin}` is a damaged or truncated {kind} file; fetch it again.") from problem
            if len(text) > most:
                raise ValueError(
                    f"`{origin}` unpacks to more than {most} bytes, {_LONGEST} times its length, as no data do; "
                    "unpack it yourself if you trust it."
                )
            return text
    return data


def parse(text: bytes, origin: str, features: int | None = None) -> tuple[csr_array, Array]:
    """The matrix and the labels -1 and +1 that `text` describes."""
    if features is not None:
        features = whole("features", features, at_least=1)
    rows = quick(text, features)
    if rows is None:
        rows = careful(text, origin, features)
    if not rows.labels.size:
        raise ValueError(f"`{origin}` is empty; it must hold at least one row of each class.")
    if features is None and not rows.indices.size:
        raise ValueError(f"`{origin}` has labels but no features; give `features` to read it.")
    width = features if features is not None else int(rows.indices.max())
    starts = np.concatenate(([0], np.cumsum(rows.lengths)))
    # 32-bit integers, where they suffice, halve what every product with the matrix reads beside the values
    kind = np.int32 if max(rows.values.size, width) < 2**31 else np.int64
    parts = (rows.values, (rows.indices - 1).astype(kind), starts.astype(kind))
    matrix = csr_array(parts, shape=(rows.labels.size, width))
    return matrix, _signs(rows.labels, origin)


def quick(text: bytes, features: int | None) -> Rows | None:
    """The rows of a faultless text, converted all at once; None if anything in it needs a closer look."""
    if b"#" in text:
        text = re.sub(rb"#[^\n]*", b"", text)
    if not _is_text(text):
        return None
    tokens = text.replace(b":", b" ").split()
    # Most tokens occur many times: each distinct one is converted once, by float(), which rounds correctly.
    number = {token: float(token) for token in set(tokens)}
    numbers = np.fromiter(map(number.__getitem__, tokens), dtype=np.float64, count=len(tokens))
    lengths = np.array([line.count(b":") for line in text.split(b"\n") if line.strip()], dtype=np.int64)
    is_label = np.zeros(numbers.size, dtype=bool)
    is_label[np.cumsum(1 + 2 * lengths) - (1 + 2 * lengths)] = True
    pairs = numbers[~is_label].reshape(-1, 2)
    indices = pairs[:, 0].astype(np.int64)
    row = np.repeat(np.arange(lengths.size), lengths)
    ascending = (np.diff(row * 2**32 + indices) > 0).all()
    largest = LARGEST_INDEX if features is None else features
    in_range = ((indices >= 1) & (indices <= largest)).all()
    if not (ascending and in_range and np.isfinite(numbers).all()):
        return None
    return Rows(numbers[is_label], lengths, indices, pairs[:, 1].copy())


def careful(text: bytes, origin: str, features: int | None) -> Rows:
    """The rows of a text read line by line; the first fault is an error that names its line."""
    labels: list[float] = []
    lengths: list[int] = []
    indices: list[int] = []
    values: list[float] = []
    for line, raw in enumerate(text.split(b"\n"), start=1):
        where = f"`{origin}` line {line}"
        told = raw.partition(b"#")[0]
        if binary := _find_binary(told):
            raise ValueError(f"{where}: byte 0x{binary[0].hex()} is not text; give a LIBSVM text file.")
        words = told.split()
        if not words:
            continue
        labels.append(_label(words[0], where))
        previous = 0
        for word in words[1:]:
            index, value = _feature(word, where)
            if index <= previous:
                raise ValueError(f"{where}: indices must ascend; got {index} after {previous}.")
            if features is not None and index > features:
                raise ValueError(f"{where}: index {index} is above `features` = {features}.")
            indices.append(index)
            values.append(value)
            previous = index
        lengths.append(len(words) - 1)
    return Rows(
        np.array(labels, dtype=np.float64),
        np.array(lengths, dtype=np.int64),
        np.array(indices, dtype=np.int64),
        np.array(values, dtype=np.float64),
    )


def _label(word: bytes, where: str) -> float:
    """A label as a finite number."""
    if not _is_number(word) or not np.isfinite(float(word)):
        raise ValueError(f"{where}: a label must be a finite number; got {_shown(word)}.")
    return float(word)


def _feature(word: bytes, where: str) -> tuple[int, float]:
    """An `index:value` word as its two numbers."""
    index, colon, value = word.partition(b":")
    if not index or not colon or not (_is_number(value) or _is_infinite(value)):
        raise ValueError(f"{where}: a feature must read index:value; got {_shown(word)}.")
    if not index.isdigit() or not index.strip(b"0"):
        raise ValueError(f"{where}: an index must be a positive whole number; got {_shown(word)}.")
    if len(index) > _INDEX_DIGITS or int(index) > LARGEST_INDEX:
        raise ValueError(f"{where}: an index must be at most {LARGEST_INDEX}; got {_shown(word)}.")
    if not np.isfinite(float(value)):
        raise ValueError(f"{where}: a value must be finite; got {_shown(word)}.")
    return int(index), float(value)


def _shown(word: bytes) -> str:
    """A word of the file as an error shows it, cut when it is long."""
    return repr(word[:40].decode("utf-8", "backslashreplace") + ("..." if len(word) > 40 else ""))


def _signs(labels: Array, origin: str) -> Array:
    """The labels as -1 for the smaller of their two values and +1 for the larger."""
    found = np.unique(labels)
    if found.size != 2:
        named = ", ".join(f"{value:g}" for value in found[:5]) + (", ..." if found.size > 5 else "")
        count = "one class only" if found.size == 1 else f"{found.size} classes"
        raise ValueError(f"`{origin}` must have two classes of labels; got {count}: {named}.")
    return np.where(labels == found[1], 1.0, -1.0)
