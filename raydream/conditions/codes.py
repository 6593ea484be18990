"""Codes: what of a row travels, in how many bytes, and what is heard of it.

A code is made row by row and has one length for all rows of a width, so that the receiver knows it. Decoding what was
encoded gives C(v), the compressed row, whoever does it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from raydream.agents.streams import EVERYBODY
from raydream.checks import number, whole
from raydream.conditions.distributions import Worded
from raydream.types import Array, Indices, Numbers

Bytes = npt.NDArray[np.uint8]
Draw = Callable[[Indices, int], Array]  # (agents, width): numbers in [0, 1), a row for each agent, keyed by it
SHORT = 1 << 16  # numbers of a row whose places have two bytes


class Code(Worded):
    """How rows are compressed. `senders` are the agents whose rows these are; `draw` is keyed by them."""

    def size(self, width: int, dtype: Numbers) -> int:
        """Bytes of a row."""
        raise NotImplementedError

    def encode(self, rows: Array, senders: Indices, draw: Draw) -> Bytes:
        """What travels of each row."""
        raise NotImplementedError

    def decode(self, codes: Bytes, width: int, dtype: Numbers, senders: Indices, draw: Draw) -> Array:
        """What is heard of each row."""
        raise NotImplementedError

    def scale(self, width: int) -> float:
        """By what C(v) is multiplied to come nearer to v.

        1 / (1 + omega) where E C(v) = v and E||C(v) - v||^2 <= omega ||v||^2
        """
        return 1.0

    def step(self, width: int) -> float:
        """The consensus step with memory, where none is given."""
        return 1.0


@dataclass(frozen=True)
class _Some(Code):
    """`kept` of the numbers of a row: a share of them such as 0.1, rounded up, or a count such as 20."""

    kept: Any

    def __post_init__(self) -> None:
        if isinstance(self.kept, float):
            share = number("kept", self.kept)
            if not 0 < share < 1:
                raise ValueError(
                    f"`kept` must be a share below 1 such as 0.1, or a count such as 20; got {self.kept!r}."
                )
        else:
            object.__setattr__(self, "kept", whole("kept", self.kept, 1))

    def count(self, width: int) -> int:
        """How many of so many; all, where there are no more."""
        wanted = math.ceil(round(self.kept * width, 9)) if isinstance(self.kept, float) else self.kept
        return max(1, min(width, wanted))


@dataclass(frozen=True)
class Top(_Some):
    """Those of largest magnitude, each with its place: 2 bytes where a row has at most 65536 numbers, else 4."""

    word = "top"
    __str__ = Worded.__str__

    def size(self, width: int, dtype: Numbers) -> int:
        return self.count(width) * (_places(width).itemsize + dtype.itemsize)

    def encode(self, rows: Array, senders: Indices, draw: Draw) -> Bytes:
        width = rows.shape[1]
        first = width - self.count(width)
        places = np.sort(np.argpartition(np.abs(rows), first, axis=1)[:, first:], axis=1)
        values = np.take_along_axis(rows, places, axis=1)
        return _joined(places.astype(_places(width)), values)

    def decode(self, codes: Bytes, width: int, dtype: Numbers, senders: Indices, draw: Draw) -> Array:
        cut = self.count(width) * _places(width).itemsize
        places = _read(codes[:, :cut], _places(width)).astype(np.int64)
        return _spread(places, _read(codes[:, cut:], dtype), width)

    def step(self, width: int) -> float:
        return min(1.0, 2.0 * self.count(width) / width)


@dataclass(frozen=True)
class Random(_Some):
    """Any, drawn anew for each agent and round. Both ends draw alike, so that no places are sent."""

    word = "random"
    __str__ = Worded.__str__

    def size(self, width: int, dtype: Numbers) -> int:
        return self.count(width) * dtype.itemsize

    def encode(self, rows: Array, senders: Indices, draw: Draw) -> Bytes:
        return _joined(np.take_along_axis(rows, self._chosen(senders, rows.shape[1], draw), axis=1))

    def decode(self, codes: Bytes, width: int, dtype: Numbers, senders: Indices, draw: Draw) -> Array:
        return _spread(self._chosen(senders, width, draw), _read(codes, dtype), width)

    def step(self, width: int) -> float:
        return 0.5 * self.count(width) / width

    def _chosen(self, senders: Indices, width: int, draw: Draw) -> Indices:
        kept = self.count(width)
        return np.sort(np.argpartition(draw(senders, width), kept - 1, axis=1)[:, :kept], axis=1)


@dataclass(frozen=True)
class SharedRandom(Random):
    """The same for all agents, drawn anew for each round: a round of the network as it is, of these numbers alone."""

    word = "shared-random"
    __str__ = Worded.__str__

    def _chosen(self, senders: Indices, width: int, draw: Draw) -> Indices:
        return super()._chosen(np.full(len(senders), EVERYBODY, dtype=np.uint64), width, draw)


@dataclass(frozen=True)
class QSGD(Code):
    """Signed levels 0, ..., s of |v_k| / ||v||, s = 2^(bits - 1) - 1, rounded up or down by chance, so that
    E C(v) = v; the norm goes before them. Levels are packed: width x bits, to whole bytes."""

    bits: int
    word = "qsgd"
    __str__ = Worded.__str__

    def __post_init__(self) -> None:
        if not 2 <= whole("bits", self.bits) <= 16:
            raise ValueError(f"`bits` must be from 2 (a sign and one level) to 16; got {self.bits!r}.")
        object.__setattr__(self, "bits", int(self.bits))

    @property
    def levels(self) -> int:
        """s."""
        return int(2 ** (self.bits - 1)) - 1

    def size(self, width: int, dtype: Numbers) -> int:
        return dtype.itemsize + -(-width * self.bits // 8)

    def encode(self, rows: Array, senders: Indices, draw: Draw) -> Bytes:
        norms = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
        there = np.isfinite(norms) & (norms > 0)
        ratio = np.where(there, np.abs(rows) / np.where(there, norms, 1.0), 0.0)
        levels = np.minimum(np.floor(ratio * self.levels + draw(senders, rows.shape[1])), self.levels).astype(np.uint16)
        signed = levels | np.where(np.signbit(rows), np.uint16(1 << (self.bits - 1)), np.uint16(0))
        return _joined(norms, _packed(signed, self.bits))

    def decode(self, codes: Bytes, width: int, dtype: Numbers, senders: Indices, draw: Draw) -> Array:
        norms, signed = (
            _read(codes[:, : dtype.itemsize], dtype),
            _unpacked(codes[:, dtype.itemsize :], width, self.bits),
        )
        levels = (signed & np.uint16(self.levels)).astype(dtype)
        values = levels * (norms / float(self.levels))
        heard: Array = np.where(signed >> np.uint16(self.bits - 1) != 0, -values, values)
        return heard

    def scale(self, width: int) -> float:
        return 1.0 / (1.0 + min(width / self.levels**2, math.sqrt(width) / self.levels))

    def step(self, width: int) -> float:
        return self.scale(width)


@dataclass(frozen=True)
class Sign(Code):
    """The signs, each with the mean of |v_k|, which goes before them: a bit for each number, to whole bytes."""

    word = "sign"
    __str__ = Worded.__str__

    def size(self, width: int, dtype: Numbers) -> int:
        return dtype.itemsize + -(-width // 8)

    def encode(self, rows: Array, senders: Indices, draw: Draw) -> Bytes:
        return _joined(np.abs(rows).mean(axis=1, keepdims=True), np.packbits(np.signbit(rows), axis=1))

    def decode(self, codes: Bytes, width: int, dtype: Numbers, senders: Indices, draw: Draw) -> Array:
        means, negative = _read(codes[:, : dtype.itemsize], dtype), _bits(codes[:, dtype.itemsize :], width)
        heard: Array = np.where(negative != 0, -means, means)
        return heard

    def step(self, width: int) -> float:
        return 0.5


@dataclass(frozen=True)
class _Rounded(Code):
    """Numbers of fewer digits."""

    kind: ClassVar[Numbers]

    def size(self, width: int, dtype: Numbers) -> int:
        return width * self.kind.itemsize

    def encode(self, rows: Array, senders: Indices, draw: Draw) -> Bytes:
        return _joined(rows.astype(self.kind))

    def decode(self, codes: Bytes, width: int, dtype: Numbers, senders: Indices, draw: Draw) -> Array:
        heard: Array = _read(codes, self.kind).astype(dtype)
        return heard


@dataclass(frozen=True)
class Float32(_Rounded):
    """Single precision."""

    kind = np.dtype(np.float32)
    word = "float32"
    __str__ = Worded.__str__


@dataclass(frozen=True)
class Float16(_Rounded):
    """Half precision: three digits, and nothing beyond 65504."""

    kind = np.dtype(np.float16)
    word = "float16"
    __str__ = Worded.__str__


CODES: dict[str, type[Worded]] = {kind.word: kind for kind in (Top, Random, SharedRandom, QSGD, Sign, Float32, Float16)}


def _places(width: int) -> Numbers:
    return np.dtype(np.uint16 if width <= SHORT else np.uint32)


def _joined(*parts: Any) -> Bytes:
    return np.concatenate([np.ascontiguousarray(part).view(np.uint8) for part in parts], axis=1)


def _read(codes: Bytes, dtype: Numbers) -> Any:
    return np.ascontiguousarray(codes).view(dtype)


def _spread(places: Indices, values: Array, width: int) -> Array:
    """Rows with these numbers in their places, and zeros."""
    rows = np.zeros((len(values), width), dtype=values.dtype)
    np.put_along_axis(rows, places, values, axis=1)
    return rows


def _packed(levels: npt.NDArray[np.uint16], bits: int) -> Bytes:
    """The lowest bits of each, side by side."""
    every = np.unpackbits(levels.astype(">u2").view(np.uint8).reshape(*levels.shape, 2), axis=2)
    return np.packbits(every[:, :, 16 - bits :].reshape(len(levels), -1), axis=1)


def _unpacked(codes: Bytes, width: int, bits: int) -> npt.NDArray[np.uint16]:
    every = np.zeros((len(codes), width, 16), dtype=np.uint8)
    every[:, :, 16 - bits :] = _bits(codes, width * bits).reshape(len(codes), width, bits)
    return np.packbits(every, axis=2).view(">u2").reshape(len(codes), width).astype(np.uint16)


def _bits(codes: Bytes, count: int) -> Bytes:
    return np.unpackbits(np.ascontiguousarray(codes), axis=1, count=count)
