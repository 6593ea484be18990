"""Pytrees as one vector: nested dicts, lists and tuples of arrays, in one order (dicts by their sorted keys)."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from raydream.checks import vector
from raydream.types import Array


class Layout:
    """Arrays of these shapes, one after another in a vector."""

    def __init__(self, shapes: list[tuple[int, ...]]) -> None:
        self.shapes = shapes
        self.ends = np.cumsum([math.prod(shape) for shape in shapes]).tolist()

    def cut(self, flat: Any) -> list[Any]:
        """The arrays in a vector, as views: of NumPy's, of torch's or of JAX's."""
        begins = [0, *self.ends[:-1]]
        parts = zip(begins, self.ends, self.shapes, strict=True)
        return [flat[begin:end].reshape(shape) for begin, end, shape in parts]


def shape_of(given: Any) -> tuple[int, ...] | None:
    """The shape that is meant, if it is one: a whole number, or a tuple (or list) of them."""
    if isinstance(given, int) and not isinstance(given, bool):
        return (given,)
    if isinstance(given, tuple | list) and all(isinstance(size, int) and not isinstance(size, bool) for size in given):
        return tuple(given) if given or isinstance(given, tuple) else None
    return None


def leaves_of(tree: Any) -> Iterator[Any]:
    """What a nest of dicts, lists and tuples holds, in order."""
    if isinstance(tree, Mapping):
        for key in sorted(tree):
            yield from leaves_of(tree[key])
    elif isinstance(tree, tuple | list):
        for part in tree:
            yield from leaves_of(part)
    else:
        yield tree


def tree_of(like: Any, leaves: Iterator[Any]) -> Any:
    """The same nest with other leaves."""
    if isinstance(like, Mapping):
        found = {key: tree_of(like[key], leaves) for key in sorted(like)}
        return {key: found[key] for key in like}
    if isinstance(like, tuple | list):
        parts = [tree_of(part, leaves) for part in like]
        return type(like)(*parts) if hasattr(like, "_fields") else type(like)(parts)
    return next(leaves)


def flattened(name: str, arrays: list[Any]) -> Array:
    """Arrays as one finite vector of float64."""
    return vector(name, np.concatenate([np.asarray(array, dtype=np.float64).ravel() for array in arrays]))


def started(name: str, shape: tuple[int, ...]) -> Array:
    """The zeros at which an array of this shape starts."""
    if any(size < 1 for size in shape):
        raise ValueError(f"`{name}` must hold at least one number; got the shape {shape}.")
    return np.zeros(math.prod(shape))
