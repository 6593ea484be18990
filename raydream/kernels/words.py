"""Words in memory that processes share: one writes its own, others wait until it has reached a number."""

from collections.abc import Sequence

import numpy as np

from raydream.kernels.library import address, compiled

WRAP = 1 << 32


def can_wait() -> bool:
    """Whether words can be waited for: that takes the compiled loops."""
    return compiled() is not None


def publish(word: int, value: int) -> None:
    """The word at this address becomes `value`, after all that was written before, and whoever waits wakes up."""
    compiled().publish(word, value % WRAP)


class Words:
    """Words at these addresses, to be waited for."""

    def __init__(self, places: Sequence[int]) -> None:
        self._places, self._reached = np.array(places, dtype=np.uint64), compiled().reached
        self._where = len(places), address(self._places)

    def reached(self, value: int, seconds: float) -> int:
        """How many have reached `value`, counted from the first; waits for those that have not, for about so long."""
        count: int = self._reached(*self._where, value % WRAP, int(seconds * 1e9))
        return count
