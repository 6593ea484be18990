"""A small game whose gradients take a while on actors: time enough to be struck in the middle of anything."""

import os
import time
from typing import Any

from raydream.problems import QuadraticGame

PACE = "CHAOS_PACE"  # seconds that a gradient takes; an undisturbed run in one process takes none
PACED = "0.004"


class Slow:
    """What one agent owns, at a pace."""

    def __init__(self, shard: Any) -> None:
        self.shard, self.samples, self.value = shard, shard.samples, shard.value

    def gradient(self, x: Any, y: Any, batch: Any = None) -> Any:
        time.sleep(float(os.environ.get(PACE, "0")))
        return self.shard.gradient(x, y, batch)


class Paced(QuadraticGame):
    """A quadratic game of slow agents."""

    def local(self, i: int) -> Any:
        return Slow(super().local(i))


def make(agents: int) -> Paced:
    """A game of so many agents."""
    return Paced.random(agents=agents, samples=7, dim_x=3, dim_y=4, seed=3)
