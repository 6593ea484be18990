"""Words in memory that processes share: one writes its own, others wait until it has reached a number."""

from typing import Any

from raydream.kernels.library import address, compiled

WRAP = 1 << 32


def can_wait() -> bool:
    """Whether words can be waited for: that takes the compiled loops."""
    return compiled() is not None


def publish(word: int, value: int) -> None:
    """The word at this address becomes `value`, after all that was written before, and whoever waits wakes up."""
    compiled().publish(word, value % WRAP)


def reached(words: Any, value: int, seconds: float) -> int:
    """How many of the words at these addresses have reached `value`, counted from the first.

    Waits for those that have not, for about so many seconds.
    """
    count: int = compiled().reached(len(words), address(words), value % WRAP, int(seconds * 1e9))
    return count
