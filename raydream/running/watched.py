"""All agents in this process, with an eye on what every round does to their disagreement."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from raydream.backends.local import LocalSession
from raydream.columns.metrics import spread
from raydream.program import parts_of
from raydream.types import Array


@dataclass(frozen=True)
class Exchange:
    """One round, or several of mixing at once.

    before, after  ||V - 1 v_bar||^2 of what was said, all arrays of it together, and of what was heard
    """

    rounds: int
    messages: int
    bytes: int
    dropped: int
    before: float
    after: float


class WatchedSession(LocalSession):
    """The local backend's session; where `watched` is a list, every exchange is noted in it."""

    watched: list[Exchange] | None = None

    def _exchange(self, said: Any, bytes: int) -> Any:
        bill = self._ledger.copy()
        heard = super()._exchange(said, bytes)
        self._note(bill, said, heard)
        return heard

    def _rounds(self, V: Array, count: int, eta: float | None) -> Array:
        bill, said = self._ledger.copy(), V.copy()
        heard = super()._rounds(V, count, eta)
        self._note(bill, said, heard)
        return heard

    def _note(self, bill: Any, said: Any, heard: Any) -> None:
        if self.watched is None:
            return
        paid = {name: getattr(self._ledger, name) - getattr(bill, name) for name in vars(bill) if name != "sfo"}
        with np.errstate(all="ignore"):
            before, after = (sum(spread(np.asarray(V)) for V in parts_of(one)) for one in (said, heard))
        self.watched.append(Exchange(**paid, before=before, after=after))
