"""Programs that speak by yielding: what they say, what they hear, and who drives them.

A program yields the rows it says (one array, or a tuple of arrays that share a frame) and is sent what its agents
hear: for each row the weighted sum over the neighbourhood. What it returns is its result.
"""

from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from raydream.types import Array

Said = Array | tuple[Array, ...]  # what one round carries
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


def frame_of(said: Said) -> Array:
    """The arrays of one round side by side, as they travel."""
    return np.concatenate(said, axis=1) if isinstance(said, tuple) else np.ascontiguousarray(said)


def heard_as(said: Said, frame: Array) -> Said:
    """What was heard, cut as `said` was put together."""
    if not isinstance(said, tuple):
        return frame
    cuts = np.cumsum([part.shape[1] for part in said])[:-1]
    return tuple(np.ascontiguousarray(part) for part in np.split(frame, cuts, axis=1))
