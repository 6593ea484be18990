"""Parameter errors in one wording: the argument, the rule, what came, and the remedy where there is one."""

import contextlib
import difflib
import math
import operator
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from raydream.types import Array, Numbers

MOST_AGENTS = 10**7


def shortened(value: Any) -> str:
    """A value in a few words."""
    text = f"an array of shape {value.shape}" if isinstance(value, np.ndarray) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def number(name: str, value: Any) -> float:
    """`value` as a finite float."""
    if isinstance(value, bool | str) or value is None:
        raise TypeError(f"`{name}` must be a number; got {value!r}.")
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"`{name}` must be a number; got {value!r}.") from None
    if not math.isfinite(result):
        raise ValueError(f"`{name}` must be finite; got {value!r}.")
    return result


def positive(name: str, value: Any) -> float:
    """`value` as a finite float above 0."""
    result = number(name, value)
    if result <= 0:
        raise ValueError(f"`{name}` must be positive; got {value!r}.")
    return result


def not_negative(name: str, value: Any) -> float:
    """`value` as a finite float, 0 or above."""
    result = number(name, value)
    if result < 0:
        raise ValueError(f"`{name}` must not be negative; got {value!r}.")
    return result


def probability(name: str, value: Any) -> float:
    """`value` as a float in (0, 1]."""
    result = number(name, value)
    if not 0 < result <= 1:
        raise ValueError(f"`{name}` must be in (0, 1]; got {value!r}.")
    return result


def whole(name: str, value: Any, at_least: int = 0) -> int:
    """`value` as an int not below `at_least`."""
    try:
        if isinstance(value, bool):
            raise TypeError
        result = operator.index(value)
    except TypeError:
        raise TypeError(f"`{name}` must be a whole number; got {value!r}.") from None
    if result < at_least:
        raise ValueError(f"`{name}` must be at least {at_least}; got {value!r}.")
    return result


def agents(name: str, value: Any) -> int:
    """`value` as a number of agents."""
    if (result := whole(name, value, 1)) > MOST_AGENTS:
        raise ValueError(f"`{name}` must be at most {MOST_AGENTS}; got {shortened(value)}.")
    return result


def flag(name: str, value: Any) -> bool:
    """`value` as true or false, where it is one of them."""
    if isinstance(value, np.ndarray):
        raise TypeError(f"`{name}` must be true or false; got {shortened(value)}.")
    return bool(value)


def path(name: str, value: Any) -> Path:
    """`value` as a path, which may or may not exist."""
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"`{name}` must be a path; got {shortened(value)}.")
    found = Path(value)
    if any(sign == "\0" or "\ud800" <= sign <= "\udfff" for sign in str(found)):
        raise ValueError(f"`{name}` must be a path; got {value!r}, which no file can be called.")
    return found


def choice(name: str, value: Any, options: Iterable[str]) -> str:
    """`value` as one of `options`, with the nearest one suggested."""
    known = sorted(options)
    if isinstance(value, str) and value in known:
        return str(value)
    near = difflib.get_close_matches(str(value).lower(), known, n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"`{name}` must be one of {', '.join(map(repr, known))}; got {value!r}.{hint}")


def real(name: str, value: Any) -> Any:
    """`value` itself, unless it is of complex numbers, whose imaginary part would be lost on the way."""
    kind = getattr(value, "dtype", None)
    found = np.asarray(value).dtype if kind is None else kind
    if getattr(found, "kind", "") == "c":
        raise TypeError(f"`{name}` must be real; got {found}.")
    return value


def numbers(name: str, value: Any) -> Numbers:
    """`value` as one of the two kinds of numbers that a run can be made of."""
    with contextlib.suppress(TypeError):
        dtype: Numbers = np.dtype(value)
        if dtype in (np.dtype(np.float64), np.dtype(np.float32)):
            return dtype
    raise TypeError(f"`{name}` must be float64 or float32; got {value!r}.")


def vector(name: str, value: npt.ArrayLike, size: int | None = None, dtype: npt.DTypeLike = np.float64) -> Array:
    """`value` as a finite one-dimensional array of float64, or of another `dtype`; of length `size` if given."""
    result: Array = np.ascontiguousarray(real(name, value), dtype=dtype)
    if result.ndim != 1 or (size is not None and result.size != size):
        wanted = "one-dimensional" if size is None else f"a vector of length {size}"
        raise ValueError(f"`{name}` must be {wanted}; got shape {result.shape}.")
    if not np.isfinite(result).all():
        place = int(np.flatnonzero(~np.isfinite(result))[0])
        raise ValueError(f"`{name}` must be finite; entry {place} is {result[place]}.")
    return result
