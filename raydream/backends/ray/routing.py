"""The router: which actor hosts which agents, and what travels between neighbouring actors in a round."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from raydream.checks import whole
from raydream.conditions.changing import Changing
from raydream.conditions.loss import Alive
from raydream.conditions.wires import Wires
from raydream.topology import Topology
from raydream.types import Indices

Packing = int | str | Sequence[int]


@dataclass(frozen=True)
class Route:
    """One actor's part of the network.

    hosted    its agents, in order
    W         their rows of the mixing matrix, with a column for each agent in `columns`
    columns   its agents and all that they hear, in agent order (so that sums have the same order everywhere)
    own       where its agents stand among the columns
    says      for each actor that hears it, the rows (among its own) that this actor sends it
    hears     for each actor that it hears, the places (among the columns) of the rows it receives
    messages  directed edges that end at its agents: the logical messages of a round, packed or not
    wires     the links at its agents, and
    hosts     for each of those that end here the actor that hosts its sender, and
    ears      for each of those that leave the actor that hosts its receiver; None where there are no conditions
    changing  how the network changes from round to round, where it does
    """

    hosted: tuple[int, ...]
    W: Any
    columns: tuple[int, ...]
    own: Indices
    says: dict[int, Indices]
    hears: dict[int, Indices]
    messages: int
    wires: Wires | None = None
    hosts: Indices | None = None
    ears: Indices | None = None
    changing: Changing | None = None

    @property
    def peers(self) -> set[int]:
        """The actors with which it is linked."""
        return {*self.says, *self.hears}

    def over(self, alive: Alive) -> tuple[dict[int, Indices], dict[int, Indices]]:
        """What is said to and heard from each neighbouring actor in a round in which only some of the wires work."""
        assert self.wires is not None and self.hosts is not None and self.ears is not None
        says = {peer: np.unique(self.wires.speakers[alive.leaving & (self.ears == peer)]) for peer in self.says}
        hears = {peer: np.unique(self.wires.senders[alive.arriving & (self.hosts == peer)]) for peer in self.hears}
        return (
            {peer: rows for peer, rows in says.items() if len(rows)},
            {peer: places for peer, places in hears.items() if len(places)},
        )


class Router:
    """The topology cut into blocks of consecutive agents, one block per actor."""

    def __init__(
        self, topology: Topology, sizes: Sequence[int], clocked: bool = False, changing: Changing | None = None
    ) -> None:
        self._clocked, self._changing = clocked, changing
        self.bounds = np.concatenate([[0], np.cumsum(sizes)])
        self.host_of = np.repeat(np.arange(len(sizes)), sizes)
        self.routes = [self._route(topology, number) for number in range(len(sizes))]

    def hosted(self, actor: int) -> range:
        """The agents of an actor."""
        return range(int(self.bounds[actor]), int(self.bounds[actor + 1]))

    def named(self, actor: int) -> str:
        """The agents of an actor, in words."""
        hosted = self.hosted(actor)
        return f"agent {hosted.start}" if len(hosted) == 1 else f"agents {hosted.start}-{hosted.stop - 1}"

    def _route(self, topology: Topology, actor: int) -> Route:
        hosted = self.hosted(actor)
        near = set(hosted).union(*(topology.neighbours[i].tolist() for i in hosted))
        columns = np.array(sorted(near), dtype=np.int64)
        says: dict[int, Indices] = {}
        hears: dict[int, Indices] = {}
        for other in sorted({int(self.host_of[j]) for i in hosted for j in topology.listeners[i]} - {actor}):
            theirs = self.hosted(other)
            sent = [row for row, i in enumerate(hosted) if any(j in theirs for j in topology.listeners[i])]
            says[other] = np.array(sent, dtype=np.int64)
        for other in sorted({int(self.host_of[j]) for j in columns} - {actor}):
            hears[other] = np.flatnonzero(self.host_of[columns] == other)
        W = topology.W[hosted.start : hosted.stop][:, columns]
        W.sort_indices()
        wires = Wires.of(topology.neighbours, hosted, columns) if self._clocked else None
        return Route(
            hosted=tuple(hosted),
            W=W,
            columns=tuple(int(j) for j in columns),
            own=np.flatnonzero(self.host_of[columns] == actor),
            says=says,
            hears=hears,
            messages=sum(len(topology.neighbours[i]) for i in hosted),
            wires=wires,
            hosts=None if wires is None else self.host_of[columns[wires.senders]],
            ears=None if wires is None else self.host_of[wires.listeners],
            changing=self._changing,
        )


def block_sizes(packing: Packing, agents: int, cpus: int) -> list[int]:
    """How many agents each actor hosts: k each, spread evenly over the CPUs ("auto"), or as listed."""
    if isinstance(packing, str):
        if packing != "auto":
            raise ValueError(f'`agents_per_actor` must be a number, "auto" or a list; got {packing!r}.')
        actors = max(1, min(agents, cpus))
        return [agents // actors + (number < agents % actors) for number in range(actors)]
    if isinstance(packing, Sequence):
        sizes = [whole("agents_per_actor", size, 1) for size in packing]
        if sum(sizes) != agents:
            raise ValueError(f"`agents_per_actor` must add up to the {agents} agents; {sizes} adds up to {sum(sizes)}.")
        return sizes
    size = whole("agents_per_actor", packing, 1)
    full, rest = divmod(agents, size)
    return [size] * full + ([rest] if rest else [])
