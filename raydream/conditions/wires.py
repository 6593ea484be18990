"""The directed links that end at some agents, in the one order in which all hosts number them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from raydream.types import Indices


@dataclass(frozen=True)
class Wires:
    """What a host knows of the links at its agents.

    agents   in the whole network
    hosted   those whose links these are
    columns  they and their neighbours, in agent order
    own      where they stand among the columns
    senders  for each link that ends at one of them, by receiver and sender: where its sender stands there
    first    for each of them, the first of its links
    numbers  the number of each link among all of the network
    links    of the whole network
    pair     the number of each link among the undirected ones, the same for both directions
    pairs    how many of these there are
    width    the most links that an agent of the network has
    back     the number of the link the other way, where links go both ways, and
    there    where that one stands among those of its receiver
    leaving  for each link that begins at one of them, by sender and receiver: its number among all of the network
    speakers    which of the hosted agents it leaves, and
    listeners   the agent where it ends
    out_pair    its number among the undirected ones
    """

    agents: int
    hosted: tuple[int, ...]
    columns: Indices
    own: Indices
    senders: Indices
    first: Indices
    numbers: Indices
    links: int
    pair: Indices
    pairs: int
    width: int
    back: Indices
    there: Indices
    leaving: Indices
    speakers: Indices
    listeners: Indices
    out_pair: Indices

    @classmethod
    def of(cls, neighbours: Sequence[Indices], hosted: Sequence[int], columns: Indices) -> "Wires":
        """Those of some agents, whose neighbours and they themselves are the columns.

        neighbours  for each agent of the network those that it hears
        """
        counts = np.array([len(those) for those in neighbours], dtype=np.int64)
        begins = np.concatenate([[0], np.cumsum(counts)])
        mine = [neighbours[i] for i in hosted]
        senders = np.concatenate(mine) if mine else np.empty(0, dtype=np.int64)
        near, far = np.repeat(np.arange(len(neighbours)), counts), np.concatenate(neighbours)
        back = np.searchsorted(near * len(neighbours) + far, far * len(neighbours) + near)
        ends, pair = np.unique(np.minimum(near, far) * len(neighbours) + np.maximum(near, far), return_inverse=True)
        numbers = np.concatenate([np.arange(begins[i], begins[i + 1]) for i in hosted]).astype(np.int64)
        order = np.lexsort((near, far))
        leaving = order[np.isin(far[order], np.asarray(hosted, dtype=np.int64))]
        return cls(
            agents=len(neighbours),
            hosted=tuple(int(i) for i in hosted),
            columns=columns,
            own=np.searchsorted(columns, np.asarray(hosted, dtype=np.int64)),
            senders=np.searchsorted(columns, senders),
            first=np.concatenate([[0], np.cumsum([len(those) for those in mine])[:-1]]).astype(np.int64),
            numbers=numbers,
            links=int(begins[-1]),
            pair=pair[numbers].astype(np.int64),
            pairs=len(ends),
            width=int(counts.max()),
            back=back[numbers].astype(np.int64),
            there=(back - begins[far])[numbers].astype(np.int64),
            leaving=leaving,
            speakers=np.searchsorted(np.asarray(hosted, dtype=np.int64), far[leaving]),
            listeners=near[leaving],
            out_pair=pair[leaving].astype(np.int64),
        )

    @property
    def degrees(self) -> Indices:
        """How many each of the hosted agents hears."""
        return np.diff(np.append(self.first, len(self.senders)))

    @property
    def out(self) -> Indices:
        """How many hear each of the hosted agents."""
        return np.bincount(self.speakers, minlength=len(self.hosted))

    @property
    def both_ways(self) -> bool:
        """Whether every link has one in the other direction: those that leave are then in the order of those that
        end."""
        return 2 * self.pairs == self.links

    @property
    def ends(self) -> tuple[Indices, Indices]:
        """Receiver (among the hosted) of each link, and its sender (among the columns)."""
        return np.repeat(np.arange(len(self.hosted)), self.degrees), self.senders

    @property
    def places(self) -> Indices:
        """Where each link stands among those of its receiver."""
        return np.arange(len(self.senders)) - self.first[self.ends[0]]
