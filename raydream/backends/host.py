"""Some of a run's agents in this process: their rows, their state, and the programs that drive them."""

from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from raydream.agents import Agents
from raydream.backends.allocator import keep_freed_memory
from raydream.backends.protocol import Keep, Names, arrays_of
from raydream.program import parts_of, perform
from raydream.types import Array


class Host:
    """Drives a method's programs over the rows hosted here; `exchange` carries one round.

    This is the one place where a step is taken, whatever the backend.
    """

    def __init__(self, method: Any, agents: Agents, exchange: Callable[[Any], Any]) -> None:
        keep_freed_memory()
        self.method, self.agents, self._exchange = method, agents, exchange
        self._dtype = agents.dtype
        self.state: Any = None
        self.iteration = 0

    def init(self) -> None:
        """Run the method's `init`."""
        self._perform(0, partial(self.method.init, self.agents))

    def advance(self, first: int, coins: Sequence[bool], keep: Keep | None) -> Array | None:
        """Run steps first, first + 1, ...; return the row to keep if its agent lives here."""
        kept: Array | None = None
        for t, coin in enumerate(coins, first):
            if keep is not None and keep.iteration == t and keep.agent in self.agents.hosted:
                kept = self.agents.x(self.state.Z)[self.agents.hosted.index(keep.agent)].copy()
            self._perform(t + 1, partial(self.method.step, self.state, self.agents, t, coin))
        return kept

    def arrays(self, names: Names) -> dict[str, Array]:
        """Arrays of the state."""
        return arrays_of(self.state, names)

    def restore(self, iteration: int, arrays: dict[str, Array]) -> None:
        """Go on from these arrays, as they were after `iteration` steps."""
        self.iteration = iteration
        # A method reads its state by name, so any object with these names will do.
        self.state = SimpleNamespace(**{name: np.ascontiguousarray(array) for name, array in arrays.items()})

    def _perform(self, iteration: int, program: Callable[[], Any]) -> None:
        self.agents.begin(iteration)
        with np.errstate(all="ignore"):  # a diverging run may overflow
            self.state = perform(program(), self._hear)
        self.iteration = iteration
        for name, array in arrays_of(self.state).items():
            if array.dtype.kind == "f":
                self._check(f"its state's `{name}`", array)

    def _hear(self, said: Any) -> Any:
        """One round, of rows that all have the run's dtype."""
        for part in parts_of(said):
            self._check("what it says", part)
        if isinstance(said, tuple):
            return self._exchange(tuple(part.astype(self._dtype, copy=False) for part in said))
        return self._exchange(said.astype(self._dtype, copy=False))

    def _check(self, what: str, rows: Array) -> None:
        """Refuse rows that would have to be rounded: float64 in a float32 run."""
        if not np.can_cast(rows.dtype, self._dtype):
            raise TypeError(
                f"`method` must keep the {self._dtype} of its rows; {what} is {rows.dtype}. Multiply rows by Python "
                "numbers, such as float(eta): NumPy's own float64 makes float64 of them."
            )
