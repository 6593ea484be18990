"""A look at functions of one's own where the problem is made: one row of an agent, once and twice."""

from collections.abc import Callable
from typing import Any

import numpy as np

from raydream.problems.own.data import Arrays
from raydream.types import Array


class Probe:
    """Asks about the first row of agent i, at a point that must be fine: the start."""

    def __init__(self, agent: int, x: Array, y: Array, arrays: Arrays) -> None:
        self.agent, self.point = agent, (x, y)
        self.once, self.twice = (tuple(array[rows] for array in arrays) for rows in ([0], [0, 0]))

    def value(self, function: Callable[..., Any], name: str = "value") -> None:
        """Refuse a `value` (or what else it is called) that is no finite number, or no mean."""
        one, two = (self._number(self._ask(name, function, rows)) for rows in (self.once, self.twice))
        if not np.isfinite(one):
            raise ValueError(f"`{name}` must be finite at the start; for agent {self.agent} it is {one} on row 0.")
        self._check_mean(name, one, two)

    def gradient(self, function: Callable[..., Any]) -> None:
        """Refuse a `gradient` that is no pair of finite vectors as long as x and y, or no mean."""
        one, two = (self._pair(self._ask("gradient", function, rows)) for rows in (self.once, self.twice))
        for name, first, second in zip("xy", one, two, strict=True):
            if not np.isfinite(first).all():
                raise ValueError(
                    f"`gradient` must be finite at the start; for agent {self.agent} that in {name} is not, on row 0."
                )
            worst = int(np.abs(first - second).argmax())
            self._check_mean("gradient", float(first[worst]), float(second[worst]))

    def _ask(self, name: str, function: Callable[..., Any], rows: Arrays) -> Any:
        try:
            return function(*self.point, *rows)
        except Exception as error:
            error.add_note(f"`{name}` was asked about row 0 of agent {self.agent}.")
            raise

    def _number(self, found: Any) -> float:
        wanted = f"`value` must return one number; for agent {self.agent} it returned"
        if np.ndim(found):
            raise TypeError(f"{wanted} an array of shape {np.shape(found)}. Take the mean over the rows.")
        try:
            return float(found)
        except (TypeError, ValueError):
            raise TypeError(f"{wanted} {found!r}.") from None

    def _pair(self, found: Any) -> list[Array]:
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise TypeError(
                "`gradient` must return a pair (gradient in x, gradient in y); "
                f"for agent {self.agent} it returned {type(found).__name__}."
            )
        pair = [np.asarray(part, dtype=np.float64) for part in found]
        for name, part, point in zip("xy", pair, self.point, strict=True):
            if part.shape != point.shape:
                raise ValueError(
                    f"`gradient` must return a gradient in {name} of length {point.size}; "
                    f"for agent {self.agent} it has shape {part.shape}."
                )
        return pair

    def _check_mean(self, name: str, one: float, two: float) -> None:
        close = 1e-6 if self.point[0].dtype == np.float64 else 1e-3
        if abs(one - two) > close * (1.0 + abs(one)):
            raise ValueError(
                f"`{name}` must be the mean over the rows it is given; for agent {self.agent} row 0 gives {one:g}, "
                f"and the same row twice {two:g}. Divide by the number of rows."
            )
