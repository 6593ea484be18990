"""Convex sets for y: each is an object with one operation, the Euclidean projection onto it.

`project` takes one vector or a block of rows. Each row is projected alone, so its bits do not depend on the
block it came in. Rows of float32 give rows of float32. A row that is not finite raises nothing and warns of nothing:
that is for the caller to see.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from raydream import checks, kernels
from raydream.types import Array


@runtime_checkable
class Constraint(Protocol):
    """A closed convex set with its projection P(y) = argmin_{u in the set} ||u - y||."""

    @property
    def size(self) -> int | None:
        """The dimension the set lives in, or None if it exists in every dimension."""

    def project(self, y: Array) -> Array:
        """The nearest point of the set, for a vector (d,) or for each row of (k, d), as a new array."""

    def contains(self, y: Array, tolerance: float = 1e-9) -> bool:
        """Whether the vector, or every row, is finite and in the set up to `tolerance`."""


@dataclass(frozen=True)
class Everything:
    """The whole space: P(y) = y."""

    size: ClassVar[None] = None

    def project(self, y: npt.ArrayLike) -> Array:
        return _kept(y, np.array(_checked(y)))

    def contains(self, y: npt.ArrayLike, tolerance: float = 1e-9) -> bool:
        return bool(np.isfinite(_checked(y)).all())


@dataclass(frozen=True)
class _OfRadius(ABC):
    """A set that one radius describes, in every dimension. `_onto` projects one row."""

    radius: float
    size: ClassVar[None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _radius(self.radius))

    def project(self, y: npt.ArrayLike) -> Array:
        return _row_by_row(self._onto, y)

    @abstractmethod
    def _onto(self, row: Array) -> Array: ...


@dataclass(frozen=True)
class Simplex(_OfRadius):
    """The scaled simplex {y >= 0, sum y = radius}: P(y) = max(y - tau, 0), where tau makes the sum right.

    The sum is right to 1e-14 at any dimension, and P(P(y)) = P(y) to 1e-15 radius.
    `contains` measures its tolerance in units of the radius.
    """

    radius: float = 1.0

    def _onto(self, row: Array) -> Array:
        return kernels.onto_simplex(row, self.radius)

    def project_into(self, rows: Array, out: Array) -> None:
        """`project` of rows of float64, written to `out`; numbers of one row must lie side by side in both."""
        with np.errstate(all="ignore"):
            kernels.rows_onto_simplex(rows, self.radius, out)

    def contains(self, y: npt.ArrayLike, tolerance: float = 1e-9) -> bool:
        rows, slack = _checked(y), tolerance * self.radius
        with np.errstate(all="ignore"):
            return bool((rows >= -slack).all() and (abs(rows.sum(axis=-1) - self.radius) <= slack).all())


@dataclass(frozen=True)
class L1Ball(_OfRadius):
    """The cross-polytope {||y||_1 <= radius}: P(y) = y inside, sign(y) P_simplex(|y|) outside.

    `contains` measures its tolerance in units of the radius.
    """

    def _onto(self, row: Array) -> Array:
        return _onto_l1_ball(row, self.radius)

    def contains(self, y: npt.ArrayLike, tolerance: float = 1e-9) -> bool:
        with np.errstate(all="ignore"):
            return bool((abs(_checked(y)).sum(axis=-1) <= self.radius * (1 + tolerance)).all())


@dataclass(frozen=True)
class Ball(_OfRadius):
    """The Euclidean ball {||y|| <= radius} around 0: P(y) = y min(1, radius / ||y||).

    `contains` measures its tolerance in units of the radius.
    """

    def _onto(self, row: Array) -> Array:
        return _onto_ball(row, self.radius)

    def contains(self, y: npt.ArrayLike, tolerance: float = 1e-9) -> bool:
        with np.errstate(all="ignore"):
            return bool((np.linalg.norm(_checked(y) / self.radius, axis=-1) <= 1 + tolerance).all())


@dataclass(frozen=True, eq=False)
class Box:
    """The box {low <= y <= high}, entry by entry: P(y) = min(max(y, low), high).

    `low` and `high` are numbers, for a box in every dimension, or vectors; they may be infinite.
    `contains` takes its tolerance as it is.
    """

    low: npt.ArrayLike
    high: npt.ArrayLike

    def __post_init__(self) -> None:
        low, high = _bound("low", self.low), _bound("high", self.high)
        if low.ndim and high.ndim and low.size != high.size:
            raise ValueError(f"`low` and `high` must be equally long; got {low.size} and {high.size} entries.")
        lows, highs = np.broadcast_arrays(np.atleast_1d(low), high)
        for i in np.flatnonzero(lows > highs):
            raise ValueError(f"`low` must not exceed `high`; entry {i} has {lows[i]} above {highs[i]}.")
        if np.any(low == np.inf) or np.any(high == -np.inf):
            raise ValueError("`low` must be below inf and `high` above -inf; got a box without a finite point.")
        object.__setattr__(self, "low", low if low.ndim else float(low))
        object.__setattr__(self, "high", high if high.ndim else float(high))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Box):
            return NotImplemented
        return np.array_equal(self.low, other.low) and np.array_equal(self.high, other.high)

    def __hash__(self) -> int:
        return hash((np.asarray(self.low).tobytes(), np.asarray(self.high).tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        # Built anew, because numpy's own unpickling would make the bounds writable.
        return Box, (self.low, self.high)

    @property
    def size(self) -> int | None:
        return next((bound.size for bound in (self.low, self.high) if isinstance(bound, np.ndarray)), None)

    def project(self, y: npt.ArrayLike) -> Array:
        return _kept(y, np.minimum(np.maximum(_checked(y, self.size), self.low), self.high))

    def contains(self, y: npt.ArrayLike, tolerance: float = 1e-9) -> bool:
        rows = _checked(y, self.size)
        inside = np.less_equal(self.low, rows + tolerance) & np.less_equal(rows - tolerance, self.high)
        return bool((inside & np.isfinite(rows)).all())


@dataclass(frozen=True)
class Product:
    """The product of sets on consecutive blocks of coordinates: P(y) = (P_1(y_1), P_2(y_2), ...).

    `parts` are pairs (constraint, size): each set with the number of coordinates it acts on.
    """

    parts: Sequence[tuple[Constraint, int]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(map(_part, self.parts)))
        if not self.parts:
            raise ValueError("`parts` must hold at least one (constraint, size) pair; got none.")

    @property
    def size(self) -> int:
        return sum(size for _, size in self.parts)

    def project(self, y: npt.ArrayLike) -> Array:
        rows = _checked(y, self.size)
        result = np.empty_like(rows)
        for part, columns in self._blocks():
            result[..., columns] = part.project(np.ascontiguousarray(rows[..., columns]))
        return _kept(y, result)

    def contains(self, y: npt.ArrayLike, tolerance: float = 1e-9) -> bool:
        rows = _checked(y, self.size)
        return all(part.contains(rows[..., columns], tolerance) for part, columns in self._blocks())

    def _blocks(self) -> Iterator[tuple[Constraint, slice]]:
        """Each part with its columns."""
        stop = 0
        for part, size in self.parts:
            stop += size
            yield part, slice(stop - size, stop)


def _row_by_row(project_row: Callable[[Array], Array], y: npt.ArrayLike) -> Array:
    """`project_row` on the vector, or on each row alone: steps and bits are the row's own."""
    rows = _checked(y)
    with np.errstate(all="ignore"):
        if rows.ndim == 1:
            return _kept(y, project_row(rows))
        result = np.empty_like(rows)
        for i, row in enumerate(rows):
            result[i] = project_row(row)
    return _kept(y, result)


def _onto_l1_ball(y: Array, radius: float) -> Array:
    """One row onto the cross-polytope."""
    magnitude = np.abs(y)
    if magnitude.sum() <= radius:
        return y.copy()
    return np.copysign(kernels.onto_simplex(magnitude, radius), y)


def _onto_ball(y: Array, radius: float) -> Array:
    """One row onto the ball; divided by its largest entry first, because squares overflow and underflow."""
    largest = float(np.abs(y).max())
    if not math.isfinite(largest):
        return np.full_like(y, np.nan)
    if largest == 0:
        return y.copy()
    direction = y / largest
    length = math.sqrt(float((direction * direction).sum()))
    if largest <= radius / length:
        return y.copy()
    direction *= radius / length
    return direction


def _checked(y: npt.ArrayLike, size: int | None = None) -> Array:
    """`y` as C-contiguous float64, a vector or rows, of width `size` if given; copied only if need be."""
    rows = np.asarray(y, dtype=np.float64, order="C")
    if rows.ndim not in (1, 2):
        raise ValueError(f"`y` must be a vector or a block of rows; got shape {rows.shape}.")
    width = rows.shape[-1]
    if width == 0 or size not in (None, width):
        raise ValueError(f"`y` must have rows of length {size or 'at least 1'}; got shape {rows.shape}.")
    return rows


def _kept(y: npt.ArrayLike, result: Array) -> Array:
    """The projection, as float32 where y was: it is taken in float64 and rounded once."""
    return result.astype(np.float32) if getattr(y, "dtype", None) == np.float32 else result


def _radius(value: Any) -> float:
    """`value` as a radius whose square, and whose sum over any row, stays in range."""
    radius = checks.positive("radius", value)
    if not 1e-100 <= radius <= 1e100:
        raise ValueError(f"`radius` must be between 1e-100 and 1e100; got {value!r}. Rescale the problem.")
    return radius


def _bound(name: str, value: npt.ArrayLike) -> Array:
    """`value` as a read-only number or vector; adding 0 gives bounds that are equal (0 and -0) equal bits."""
    try:
        bound = np.asarray(np.array(value, dtype=np.float64) + 0.0)
    except (TypeError, ValueError):
        raise TypeError(f"`{name}` must be a number or a vector; got {value!r}.") from None
    if bound.ndim > 1 or bound.size == 0:
        raise ValueError(f"`{name}` must be a number or a vector; got shape {bound.shape}.")
    if np.isnan(bound).any():
        raise ValueError(f"`{name}` must not be NaN; got {value!r}. Leave a side open with inf.")
    bound.flags.writeable = False
    return bound


def _part(pair: Any) -> tuple[Constraint, int]:
    """`pair` as a set and the number of coordinates it acts on."""
    if not (isinstance(pair, Sequence) and len(pair) == 2 and isinstance(pair[0], Constraint)):
        raise TypeError(f"`parts` must hold (constraint, size) pairs; got {pair!r}.")
    constraint, size = pair[0], checks.whole("size", pair[1], at_least=1)
    if constraint.size not in (None, size):
        raise ValueError(f"`size` must be {constraint.size}, the dimension of {constraint!r}; got {size}.")
    return constraint, size
