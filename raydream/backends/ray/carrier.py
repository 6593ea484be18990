"""How an actor carries a round's rows under conditions: over links that work, each row with its stamp."""

from dataclasses import dataclass

import numpy as np

from raydream.backends.ray.links import Links
from raydream.backends.ray.routing import Route
from raydream.conditions.loss import Alive
from raydream.types import Array


@dataclass
class Carrier:
    """Between the rows hosted here and those of the neighbouring actors."""

    frames: Links
    route: Route

    def rows(self, said: Array, stamps: Array, alive: Alive | None) -> tuple[Array, Array]:
        """Rows and stamps of all columns. Stamps go before the rows, and are billed to nobody."""
        route, columns = self.route, len(self.route.columns)
        says, hears = (route.says, route.hears) if alive is None else route.over(alive)
        stack, stamped = np.zeros((columns, said.shape[1]), dtype=said.dtype), np.zeros(columns)
        stack[route.own], stamped[route.own] = said, stamps
        heard = {peer: np.empty(len(places)) for peer, places in hears.items()}
        self.frames.exchange(
            {peer: [as_bytes(stamps[rows]), *(as_bytes(said[row]) for row in rows)] for peer, rows in says.items()},
            {peer: [as_bytes(heard[peer]), *(as_bytes(stack[at]) for at in places)] for peer, places in hears.items()},
        )
        for peer, theirs in heard.items():
            stamped[hears[peer]] = theirs
        return stack, stamped

    def links(self, said: Array, stamps: Array, alive: Alive | None) -> tuple[Array, Array]:
        """What was said the other way on each link, and the stamps of all columns; every row has its stamp.

        Both ends take the links between two actors in the order of sender and receiver.
        """
        wires, hosts = self.route.wires, self.route.hosts
        assert wires is not None and hosts is not None
        receivers, senders = wires.ends
        works = np.ones(len(senders), dtype=np.bool_) if alive is None else alive.arriving
        heard, stamped = np.zeros_like(said), np.zeros(len(wires.columns))
        stamped[wires.own] = stamps
        near = np.flatnonzero(hosts == self.frames.me)
        heard[near] = said[np.searchsorted(wires.numbers, wires.back[near])]
        busy = {peer: np.flatnonzero(works & (hosts == peer)) for peer in self.route.says}
        says = {peer: links for peer, links in busy.items() if len(links)}
        hears = {peer: links[np.argsort(senders[links], kind="stable")] for peer, links in says.items()}
        out = {peer: stamps[receivers[links]] for peer, links in says.items()}
        come = {peer: np.empty(len(links)) for peer, links in hears.items()}
        self.frames.exchange(
            {peer: [as_bytes(out[peer]), *(as_bytes(said[link]) for link in links)] for peer, links in says.items()},
            {peer: [as_bytes(come[peer]), *(as_bytes(heard[link]) for link in links)] for peer, links in hears.items()},
        )
        for peer, theirs in come.items():
            stamped[senders[hears[peer]]] = theirs
        return heard, stamped


def as_bytes(row: Array) -> memoryview:
    """What travels of it."""
    return row.view(np.uint8).data
