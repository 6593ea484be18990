"""What a problem answers when it is asked, looked at before it is believed; and points that are lent, not given."""

from typing import Any

import numpy as np

from raydream.checks import shortened
from raydream.errors import NotANumber
from raydream.types import Array

AWAY = 1e8  # where only a run that diverges comes by


def lent(point: Array) -> Array:
    """The same numbers, not to be written to."""
    view = point.view()
    view.flags.writeable = False
    return view


def named(error: Exception, agent: int) -> Exception:
    """The same error with the agent's number in its text (as a note, where its text is not ours to change)."""
    text = f"agent {agent}: {error}"
    if len(error.args) <= 1 and all(isinstance(argument, str) for argument in error.args):
        error.args = (text,)
    else:
        error.add_note(text)
    return error


def told(error: Exception, part: str) -> Exception:
    """The error of a user's function; one that wrote to a point it was lent is told so."""
    if isinstance(error, ValueError) and "read-only" in str(error):
        return ValueError(f"its `{part}` must not write to x or y, nor to what it owns ({error}); copy before.")
    return error


def value_of(answer: Any, x: Array, y: Array, part: str = "value") -> float:
    """A value of f at (x, y) as a float, or an error."""
    if isinstance(answer, bool | np.bool_ | str) or np.ndim(answer) != 0 or np.iscomplexobj(answer):
        raise TypeError(f"its `{part}` must return a number; got {shortened(answer)}.")
    try:
        value = float(answer)
    except (TypeError, ValueError):
        raise TypeError(f"its `{part}` must return a number; got {shortened(answer)}.") from None
    if np.isnan(value) and near(x, y):
        raise NotANumber(f"its `{part}` must be finite at a finite point; got nan.")
    return value


def near(*points: Array) -> bool:
    """Whether points are where a run that does not diverge may be."""
    return all(float(np.abs(point).max(initial=0.0)) < AWAY for point in points)


def wrong_gradient(answer: Any, dim_x: int, dim_y: int) -> Exception:
    """What is wrong with the answer of a `gradient`."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        return TypeError(f"its `gradient` must return a pair of vectors, for x and for y; got {shortened(answer)}.")
    for name, part, size in (("x", answer[0], dim_x), ("y", answer[1], dim_y)):
        if np.iscomplexobj(part):
            return TypeError(f"its `gradient` must be real; got {np.asarray(part).dtype} for {name}.")
        if np.shape(part) != (size,):
            shape = np.shape(part)
            return ValueError(f"its `gradient` must return a vector of length {size} for {name}; got shape {shape}.")
    return TypeError(f"its `gradient` must return numbers; got {shortened(answer)}.")
