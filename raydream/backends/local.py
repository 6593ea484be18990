"""All agents in this process: the same programs and the same bits, with no messages to wait for."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from raydream.agents import Agents
from raydream.agents.ledger import Ledger
from raydream.agents.streams import Streams
from raydream.backends.host import Host
from raydream.backends.layout import as_sent
from raydream.backends.protocol import Keep, Names, Place, Plan, Recovery, Snapshot
from raydream.conditions.loss import Alive
from raydream.conditions.medium import Medium
from raydream.conditions.wires import Wires
from raydream.kernels import Weights
from raydream.program import parts_of, weighed
from raydream.types import Array


@dataclass(frozen=True)
class LocalBackend:
    """Every agent in the calling process."""

    name: ClassVar[str] = "local"
    says: ClassVar[str] = "all agents in this process"
    in_process: ClassVar[bool] = True

    def open(self, plan: Plan) -> "LocalSession":
        """Build all rows here."""
        return LocalSession(plan)

    def describe(self) -> dict[str, Any]:
        """The name is all there is."""
        return {"name": self.name}

    def shared(self, agents: int) -> AbstractContextManager[None]:
        """There is nothing to share."""
        return nullcontext()

    def for_agents(self, agents: int) -> "LocalBackend":
        """Any number will do."""
        return self


class LocalSession:
    """The rows of all m agents, driven by one loop."""

    def __init__(self, plan: Plan) -> None:
        self.recoveries: list[Recovery] = []
        self.places: list[Place] = []
        self._weighed, m = Weights(plan.topology.W.astype(plan.dtype, copy=False)), plan.topology.m
        network = plan.network
        if plan.conditions is None:
            network = replace(network, at_once=self._rounds)
        agents = Agents(
            range(m),
            [as_sent(plan.problem.local(i)) for i in range(m)],
            network=network,
            constraint=plan.problem.constraint,
            start=plan.start,
            streams=Streams(plan.seed),
        )
        self._medium: Medium | None = None
        if plan.conditions is not None:
            wires = Wires.of(plan.wired.neighbours, range(m), np.arange(m))
            self._medium = Medium(plan.conditions, wires, plan.wired.W, plan.seed, plan.dtype, plan.changing)
            self._carrier = Everywhere(wires)
        self._host = Host(plan.method, agents, self._exchange, self._medium)
        self._edges = sum(len(those) for those in plan.topology.neighbours)
        self._ledger = Ledger()

    def init(self, collect: Names) -> Snapshot:
        """Run the method's `init`."""
        self._host.init()
        return self._report(collect)

    def advance(self, first: int, coins: Sequence[bool], keep: Keep | None, collect: Names) -> Snapshot:
        """Run steps first, first + 1, ..."""
        kept = self._host.advance(first, coins, keep)
        report = self._report(collect)
        report.kept = kept
        return report

    def note(self, row: Mapping[str, float]) -> None:
        """Nobody else watches."""

    def snapshot(self) -> Snapshot:
        """The whole state."""
        return self._report(None)

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from this state."""
        self._host.restore(snapshot.iteration, snapshot.arrays)
        self._ledger = snapshot.ledger.copy()
        self._host.agents.sfo = snapshot.ledger.sfo

    def close(self) -> None:
        """Nothing runs, so nothing ends."""

    def _report(self, collect: Names) -> Snapshot:
        self._ledger.sfo = self._host.agents.sfo
        # Steps make new arrays and never change old ones, so these need no copy.
        return Snapshot(self._host.iteration, self._ledger.copy(), self._host.arrays(collect))

    def _exchange(self, said: Any, bytes: int) -> Any:
        """One round: W times what was said."""
        if self._medium is not None:
            return self._medium.exchange(said, bytes, self._carrier, self._ledger)
        self._ledger.bill_round(self._edges, bytes)
        heard = tuple(self._weighed(V) for V in parts_of(said))
        return heard if isinstance(said, tuple) else heard[0]

    def _rounds(self, V: Array, count: int, eta: float | None) -> Array:
        """Several rounds of mixing at once, where there are no conditions."""
        _, bytes = weighed(V, len(self._host.agents.hosted), self._host.agents.dtype)
        for _ in range(count):
            self._ledger.bill_round(self._edges, bytes)
        return self._weighed.rounds(V, count, eta)


@dataclass(frozen=True)
class Everywhere:
    """Where all agents live, everything is where it is heard."""

    wires: Wires

    def rows(self, said: Array, stamps: Array, alive: Alive | None) -> tuple[Array, Array]:
        """As they are."""
        return said, stamps

    def links(self, said: Array, stamps: Array, alive: Alive | None) -> tuple[Array, Array]:
        """On each link what was said the other way."""
        return said[self.wires.back], stamps
