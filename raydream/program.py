"""Programs that speak by yielding: what they say, what they hear, and who drives them.

A program yields the rows it says (one array, or a tuple of arrays that share a frame) and is sent what its agents
hear: for each row the weighted sum over the neighbourhood. What it returns is its result.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from raydream.checks import shortened, whole
from raydream.types import Array, Numbers

KEEP_DTYPE = "Multiply rows by Python numbers, such as float(eta): NumPy's own float64 makes float64 of them."
Said = Array | tuple[Array, ...]  # what one round carries


@dataclass(frozen=True)
class Frame:
    """What one round carries, billed as so many bytes for each row: for a method that sends a code of its rows.

    `yield Frame(V, bytes_per_row=20)` is heard as `yield V` is. The rows travel as they are; only the bill is that of
    the code.
    """

    said: Said
    bytes_per_row: int

    def __post_init__(self) -> None:
        whole("bytes_per_row", self.bytes_per_row)


Program = Generator[Any, Any, Any]


def perform(program: Any, hear: Callable[[Any], Any]) -> Any:
    """The result of `program` when every round's rows V are answered with `hear(V)`.

    What a plain function returned, which had nothing to say, is its own result.
    """
    if not isinstance(program, Generator):
        return program
    try:
        said = next(program)
        while True:
            said = program.send(hear(said))
    except StopIteration as end:
        return end.value


def parts_of(said: Said) -> tuple[Array, ...]:
    """The arrays of one round, also of a round that carries only one."""
    return said if isinstance(said, tuple) else (said,)


def weighed(said: Any, rows: int, dtype: Numbers) -> tuple[Said, int]:
    """What is said, if it can travel, and its bytes for each row."""
    frame, price = (said.said, said.bytes_per_row) if isinstance(said, Frame) else (said, None)
    parts = parts_of(frame)
    if not parts or not all(isinstance(part, np.ndarray) for part in parts):
        raise TypeError(f"what a method yields must be an array, or a tuple of arrays; got {shortened(frame)}.")
    for part in parts:
        if part.ndim != 2 or len(part) != rows:
            raise ValueError(
                f"what a method yields must have one row for each of the {rows} agents here; got shape {part.shape}."
            )
        if part.dtype != dtype:
            raise TypeError(f"what a method yields must be of {dtype}, as the run is; got {part.dtype}. {KEEP_DTYPE}")
    return frame, sum(part.itemsize * part.shape[1] for part in parts) if price is None else price


def frame_of(said: Said) -> Array:
    """The arrays of one round side by side, as they travel."""
    return np.concatenate(said, axis=1) if isinstance(said, tuple) else np.ascontiguousarray(said)


def heard_as(said: Said, frame: Array) -> Said:
    """What was heard, cut as `said` was put together."""
    if not isinstance(said, tuple):
        return frame
    cuts = np.cumsum([part.shape[1] for part in said])[:-1]
    return tuple(np.ascontiguousarray(part) for part in np.split(frame, cuts, axis=1))
