"""What agents own, as it is given: a tuple of arrays for each, checked and copied once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sparse

from raydream.checks import vector
from raydream.types import Array, Numbers

Arrays = tuple[Any, ...]  # of one agent: as many rows in each


def checked_data(data: Any, dtype: Numbers, thin: bool = True) -> list[Arrays]:
    """Copies of the agents' arrays, in C order and not to be written to, or a sentence.

    Floating-point numbers become `dtype`; whole numbers and flags stay as they are. thin: whether CSR matrices will do.
    """
    try:
        given = list(data)
    except TypeError:
        raise TypeError(f"`data` must hold one tuple of arrays for each agent; got {_shown(data)}.") from None
    if not given:
        raise ValueError("`data` must hold one tuple of arrays for each agent; got no agent.")
    owned = [_checked_arrays(f"data[{i}]", arrays, dtype, thin) for i, arrays in enumerate(given)]
    for i, arrays in enumerate(owned):
        _check_alike(i, arrays, owned[0])
    return owned


def checked_weights(weights: Any, data: Any, agents: int) -> Array:
    """w_1, ..., w_m with sum 1: as they are given, else as the data have them, else all alike."""
    found = getattr(data, "weights", None) if weights is None else weights
    if found is None:
        return np.full(agents, 1.0 / agents)
    shares = vector("weights", found, agents)
    for i in np.flatnonzero(shares <= 0):
        raise ValueError(f"`weights` must be positive; that of agent {i} is {shares[i]:g}.")
    if abs(shares.sum() - 1.0) > 1e-9:
        raise ValueError(f"`weights` must add up to 1; they add up to {shares.sum():g}. Divide them by their sum.")
    return shares


def rows_in(arrays: Arrays) -> int:
    """How many rows an agent has."""
    return int(arrays[0].shape[0])


def joined(owned: Sequence[Arrays]) -> Arrays:
    """The rows of all agents, one after another."""
    return tuple(_locked(_stacked(parts)) for parts in zip(*owned, strict=True))


def parted(whole: Arrays, owned: Sequence[Arrays]) -> list[Arrays]:
    """The agents' arrays as parts of all rows; a sparse one stays as it is, since a part of it would be a copy."""
    ends = np.cumsum([rows_in(arrays) for arrays in owned])
    return [
        tuple(
            one if sparse.issparse(one) else every[end - len(one) : end]
            for one, every in zip(arrays, whole, strict=True)
        )
        for arrays, end in zip(owned, ends, strict=True)
    ]


def _stacked(parts: tuple[Any, ...]) -> Any:
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts))
    return np.concatenate(parts)


def _checked_arrays(name: str, given: Any, dtype: Numbers, thin: bool) -> Arrays:
    """One agent's."""
    if not isinstance(given, tuple | list):
        raise TypeError(f"`{name}` must be a tuple of arrays; got {_shown(given)}. Write (array,).")
    arrays = tuple(_checked_array(f"{name}[{k}]", array, dtype, thin) for k, array in enumerate(given))
    if not arrays:
        raise ValueError(f"`{name}` must be a tuple of arrays; got an empty one.")
    rows = [array.shape[0] for array in arrays]
    if len({*rows}) > 1:
        raise ValueError(f"`{name}` must have arrays of equally many rows; got {' and '.join(map(str, rows))}.")
    if rows[0] == 0:
        raise ValueError(f"`{name}` must have at least one row; got none.")
    return arrays


def _checked_array(name: str, given: Any, dtype: Numbers, thin: bool) -> Any:
    if sparse.issparse(given):
        if not thin:
            raise TypeError(f"`{name}` must be a dense array; got a sparse one. Use `.toarray()`.")
        found = sparse.csr_array(given, copy=True).sorted_indices()
    else:
        try:
            found = np.array(given, order="C")
        except (ValueError, TypeError):
            raise ValueError(
                f"`{name}` must be an array of numbers, with rows of equal length; got {_shown(given)}."
            ) from None
    if found.dtype.kind not in "biuf":
        raise TypeError(f"`{name}` must be an array of real numbers; got {found.dtype}.")
    if found.ndim == 0:
        raise ValueError(f"`{name}` must have rows; got a single number.")
    if found.dtype.kind == "f":
        with np.errstate(over="ignore"):
            found = found.astype(dtype, copy=False)
        _check_finite(name, found)
    return _locked(found)


def _check_finite(name: str, array: Any) -> None:
    numbers = array.data if sparse.issparse(array) else array
    wrong = np.argwhere(~np.isfinite(numbers))
    if not wrong.size:
        return
    place = tuple(wrong[0])
    row = np.searchsorted(array.indptr, place[0], side="right") - 1 if sparse.issparse(array) else place[0]
    where = " in float32" if numbers.dtype == np.float32 else ""
    raise ValueError(f"`{name}` must be finite; row {row} holds {numbers[place]}{where}.")


def _check_alike(i: int, arrays: Arrays, first: Arrays) -> None:
    """One function is asked about every agent's arrays."""
    if len(arrays) != len(first):
        raise ValueError(f"`data[{i}]` must have as many arrays as that of agent 0, {len(first)}; got {len(arrays)}.")
    for k, (one, other) in enumerate(zip(arrays, first, strict=True)):
        if one.shape[1:] != other.shape[1:]:
            raise ValueError(
                f"`data[{i}][{k}]` must have rows like those of agent 0, of shape {other.shape[1:]}; "
                f"got {one.shape[1:]}."
            )
        if one.dtype != other.dtype:
            raise TypeError(
                f"`data[{i}][{k}]` must have numbers like those of agent 0, {other.dtype}; got {one.dtype}."
            )


def _locked(array: Any) -> Any:
    """As it is, but not to be written to, as arrays on actors are not."""
    for part in (array.data, array.indices, array.indptr) if sparse.issparse(array) else (array,):
        part.flags.writeable = False
    return array


def _shown(value: Any) -> str:
    if hasattr(value, "shape"):
        return f"an array of shape {tuple(value.shape)}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
