"""Some of a run's agents in this process: their rows, their state, and the programs that drive them."""

from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from raydream.agents import Agents
from raydream.backends.allocator import keep_freed_memory
from raydream.backends.protocol import Keep, Names, arrays_of
from raydream.conditions.clock import CLOCK
from raydream.conditions.medium import Medium
from raydream.program import KEEP_DTYPE, perform, weighed
from raydream.types import Array


class Host:
    """Drives a method's programs over the rows hosted here.

    exchange(said, bytes) carries one round, whose rows are billed as so many bytes each. A medium, where there are
    conditions, is told of every step, and its clock of the agents' work before every round and after every step.

    This is the one place where a step is taken, whatever the backend.
    """

    def __init__(
        self,
        method: Any,
        agents: Agents,
        exchange: Callable[[Any, int], Any],
        medium: Medium | None = None,
    ) -> None:
        keep_freed_memory()
        self.method, self.agents, self._exchange = method, agents, exchange
        self.medium = medium
        self._dtype = agents.dtype
        self.state: Any = None
        self.iteration = 0

    def init(self) -> None:
        """Run the method's `init`."""
        if self.medium is not None:
            self.medium.reset()
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
        """Arrays of the state, and those of the conditions."""
        found = arrays_of(self.state, names)
        if self.medium is not None and (names is None or CLOCK in names):
            found |= self.medium.arrays(everything=names is None)
        return found

    def restore(self, iteration: int, arrays: dict[str, Array]) -> None:
        """Go on from these arrays, as they were after `iteration` steps."""
        self.iteration = iteration
        if self.medium is not None:
            arrays = self.medium.restore(arrays)
        # A method reads its state by name, so any object with these names will do.
        self.state = SimpleNamespace(**{name: np.ascontiguousarray(array) for name, array in arrays.items()})

    def _perform(self, iteration: int, program: Callable[[], Any]) -> None:
        self.agents.begin(iteration)
        if self.medium is not None:
            self.agents.oracle.taken()
            self.medium.begin(iteration)
        with np.errstate(all="ignore"):  # a diverging run may overflow
            self.state = perform(program(), self._hear)
        if self.medium is not None:
            self.medium.clock.work(self.agents.oracle.taken())
        self.iteration = iteration
        for name, array in arrays_of(self.state).items():
            if array.dtype.kind == "f" and array.dtype != self._dtype:
                raise TypeError(
                    f"`method` must keep the {self._dtype} of its rows; its state's `{name}` is {array.dtype}. "
                    f"{KEEP_DTYPE}"
                )

    def _hear(self, said: Any) -> Any:
        """What comes of one round."""
        if self.medium is not None:
            self.medium.clock.work(self.agents.oracle.taken())
        return self._exchange(*weighed(said, len(self.agents.hosted), self._dtype))
