"""A round as an actor takes part in it: rows to the neighbours, rows from the neighbours, and their weighted sums."""

from typing import Any

import numpy as np

from raydream.backends.ray.links import Links
from raydream.backends.ray.links.protocol import Buffers
from raydream.backends.ray.routing import Route
from raydream.kernels import Weights
from raydream.kernels.library import address
from raydream.types import Array, Indices, Numbers

Spans = tuple[tuple[int, int], ...]


class Neighbourhood:
    """The rows of an actor and of its neighbours. Rows are summed where they lie, if the compiled loops are there."""

    def __init__(self, route: Route, links: Links, dtype: Numbers) -> None:
        self._route, self._links = route, links
        self._weights = Weights(route.W.astype(dtype, copy=False))
        spoken: dict[Spans, list[int]] = {}
        for peer, rows in route.says.items():
            spoken.setdefault(spans(rows), []).append(peer)
        self._spoken = [(rows, tuple(peers)) for rows, peers in spoken.items()]
        self._room = _Room(route, 0, np.dtype(dtype))

    def hear(self, V: Array) -> Array:
        """What the rows V, said here, and those that the neighbours say come to."""
        if self._room.width != V.shape[1]:
            self._room = _Room(self._route, V.shape[1], V.dtype)
        room, says = self._room, self._says(V)
        if not self._weights.takes_places:
            self._links.exchange(says, room.hears)
            room.stack[self._route.own] = V
            return self._weights(room.stack)
        found = self._links.look(says, room.hears)
        room.lie(room.own, address(V))
        for peer, place in found.items():
            room.lie(room.heard[peer], place)
        return self._weights.of_rows(room.places, room.width)

    def _says(self, V: Array) -> dict[int, Buffers]:
        """The rows for each neighbour; those for whom they are the same get the same list."""
        whole, apart = V.view(np.uint8).reshape(-1).data, V.strides[0]
        said: dict[int, Buffers] = {}
        for rows, peers in self._spoken:
            pieces = [whole[first * apart : last * apart] for first, last in rows]
            for peer in peers:
                said[peer] = pieces
        return said


class _Room:
    """What rounds of one width need again and again.

    stack   room for the row of each column; what is heard is written there or stays where it is
    hears   for each neighbour, its part of that
    places  the address of each column's row
    own, heard  which columns are the actor's own, and each neighbour's: one, or several and how far apart they lie
    """

    def __init__(self, route: Route, width: int, dtype: Any) -> None:
        self.width, self.apart = width, np.uint64(width * dtype.itemsize)
        self.stack = np.empty((len(route.columns), width), dtype=dtype)
        whole, apart = self.stack.view(np.uint8).reshape(-1).data, int(self.apart)
        self.hears: dict[int, Buffers] = {
            peer: [whole[first * apart : last * apart] for first, last in spans(at)] for peer, at in route.hears.items()
        }
        self.places = address(self.stack) + self.apart * np.arange(len(route.columns), dtype=np.uint64)
        self.own = self._columns(route.own)
        self.heard = {peer: self._columns(at) for peer, at in route.hears.items()}

    def lie(self, columns: Any, place: int) -> None:
        """The rows of these columns lie one behind the other from this address on."""
        if isinstance(columns, int):  # as with one agent in each actor, where it is ten times as fast
            self.places[columns] = place
        else:
            at, steps = columns
            self.places[at] = place + steps

    def _columns(self, at: Indices) -> Any:
        return int(at[0]) if len(at) == 1 else (at, self.apart * np.arange(len(at), dtype=np.uint64))


def spans(rows: Indices) -> Spans:
    """Row numbers as runs of neighbouring ones: the first, and one more than the last."""
    cuts = np.flatnonzero(np.diff(rows) != 1) + 1
    return tuple((int(run[0]), int(run[-1]) + 1) for run in np.split(rows, cuts) if len(run))
