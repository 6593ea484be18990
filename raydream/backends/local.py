"""All agents in this process: the same programs and the same bits, with no messages to wait for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from raydream.agents import Agents
from raydream.backends import Keep, Plan, Snapshot, arrays_of
from raydream.ledger import Ledger
from raydream.mixing import perform
from raydream.streams import Streams
from raydream.types import Array


@dataclass(frozen=True)
class LocalBackend:
    """Every agent in the calling process."""

    def open(self, plan: Plan) -> "LocalSession":
        """Build all rows here."""
        return LocalSession(plan)

    def describe(self) -> dict[str, Any]:
        """The name is all there is."""
        return {"name": "local"}


class LocalSession:
    """The rows of all m agents, driven by one loop."""

    def __init__(self, plan: Plan) -> None:
        self.method, self.W = plan.method, plan.topology.W
        m = plan.topology.m
        self.agents = Agents(
            range(m),
            [plan.problem.local(i) for i in range(m)],
            network=plan.topology.network,
            constraint=plan.problem.constraint,
            start=plan.start,
            streams=Streams(plan.seed),
        )
        self._directed_edges = sum(len(those) for those in plan.topology.neighbours)
        self._ledger = Ledger()
        self._state: Any = None
        self._done = 0

    def init(self) -> None:
        """Run the method's `init`."""
        self._run(self.method.init(self.agents), 0)

    def advance(self, first: int, coins: Sequence[bool], keep: Keep | None) -> Array | None:
        """Run steps first, first + 1, ..."""
        kept: Array | None = None
        for t, coin in enumerate(coins, first):
            if keep is not None and keep.iteration == t:
                kept = self.agents.x(self._state.Z)[keep.agent].copy()
            self._run(self.method.step(self._state, self.agents, t, coin), t + 1)
        return kept

    def snapshot(self) -> Snapshot:
        """The state as it is; steps make new arrays and never change old ones."""
        self._ledger.sfo = self.agents.sfo
        return Snapshot(self._done, arrays_of(self._state), Ledger(**self._ledger.as_dict()))

    def close(self) -> None:
        """Nothing runs, so nothing ends."""

    def _run(self, program: Any, iteration: int) -> None:
        self.agents.begin(iteration)
        with np.errstate(all="ignore"):  # a diverging run may overflow
            self._state = perform(program, self._exchange)
        self._done = iteration

    def _exchange(self, said: Any) -> Any:
        """One round: W times what was said."""
        frame = said if isinstance(said, tuple) else (said,)
        self._ledger.rounds += 1
        self._ledger.messages += self._directed_edges
        self._ledger.bytes += self._directed_edges * sum(V.shape[1] * V.itemsize for V in frame)
        heard = tuple(self.W @ V for V in frame)
        return heard if isinstance(said, tuple) else heard[0]
