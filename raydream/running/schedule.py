"""When the next record is due."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


class Schedule(Protocol):
    """Which iterations are recorded, besides the first and the last."""

    def after(self, iteration: int) -> int:
        """The first record after this iteration."""

    def note(self, row: Mapping[str, float]) -> None:
        """A record was made."""


@dataclass(frozen=True)
class Every:
    """A record at every multiple of a number."""

    iterations: int

    def after(self, iteration: int) -> int:
        """The next multiple."""
        return (iteration // self.iterations + 1) * self.iterations

    def note(self, row: Mapping[str, float]) -> None:
        """Whatever it says, the next one is due when it is due."""
