"""How an actor carries a round's rows under conditions: over links that work, each row with its stamp."""

from dataclasses import dataclass

import numpy as np

from raydream.backends.ray.links import Links
from raydream.backends.ray.routing import Route
from raydream.conditions.medium import Mask
from raydream.types import Array


@dataclass
class Carrier:
    """Between the rows hosted here and those of the neighbouring actors."""

    links: Links
    route: Route

    def rows(self, said: Array, stamps: Array, alive: Mask | None) -> tuple[Array, Array]:
        """Rows and stamps of all columns. Stamps go before the rows, and are billed to nobody."""
        route, columns = self.route, len(self.route.columns)
        says, hears = (route.says, route.hears) if alive is None else route.over(alive)
        stack, stamped = np.zeros((columns, said.shape[1]), dtype=said.dtype), np.zeros(columns)
        stack[route.own], stamped[route.own] = said, stamps
        heard = {peer: np.empty(len(places)) for peer, places in hears.items()}
        self.links.exchange(
            {peer: [as_bytes(stamps[rows]), *(as_bytes(said[row]) for row in rows)] for peer, rows in says.items()},
            {peer: [as_bytes(heard[peer]), *(as_bytes(stack[at]) for at in places)] for peer, places in hears.items()},
        )
        for peer, theirs in heard.items():
            stamped[hears[peer]] = theirs
        return stack, stamped


def as_bytes(row: Array) -> memoryview:
    """What travels of it."""
    return row.view(np.uint8).data
