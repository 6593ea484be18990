"""The problem's own code, asked with care: copies go in, and what is raised says whose it is."""

from collections.abc import Callable
from typing import Any

import numpy as np

from raydream.errors import ProblemRaised
from raydream.types import Array


def asked(what: str, function: Callable[..., Any], *arguments: Any, agent: int | None = None) -> Any:
    """What a function of the problem returns; what it raises comes with its name and the agent's number."""
    try:
        return function(*arguments)
    except Exception as error:
        raise ProblemRaised(what, error, agent) from error


class Owned:
    """What one agent owns."""

    def __init__(self, agent: int, shard: Any) -> None:
        self.agent, self.shard = agent, shard

    @property
    def samples(self) -> int | None:
        """n, or None where samples are drawn."""
        samples: int | None = self.shard.samples
        return samples

    def value(self, x: Array, y: Array) -> float:
        """f_i(x, y)."""
        return float(asked("value", lambda: float(self.shard.value(x.copy(), y.copy())), agent=self.agent))

    def gradient(self, x: Array, y: Array, batch: Any = None) -> Array:
        """The gradients in x and in y as one vector, as the package takes them."""

        def both() -> Array:
            gx, gy = self.shard.gradient(x.copy(), y.copy(), batch)
            return np.concatenate([gx, gy]).astype(np.float64)

        found: Array = asked("gradient", both, agent=self.agent)
        return found
