"""Loss: links that fail and agents that sleep, a round at a time, known to both ends without a word.

A link that fails in a round carries nothing, and its weight goes back to the diagonals of both its ends, so that every
round's W is symmetric and doubly stochastic:

    W_ij -> 0,   W_ii -> W_ii + W_ij,   W_jj -> W_jj + W_ij
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from raydream.agents.streams import EVERYBODY, Streams, of_conditions
from raydream.conditions.conditions import Conditions
from raydream.conditions.distributions import Bursts
from raydream.conditions.wires import Wires
from raydream.kernels import Weights
from raydream.types import Array, Numbers

Mask = npt.NDArray[np.bool_]
REMEMBERED = {"drop": "sim_failed", "asleep": "sim_asleep"}  # among the arrays of a snapshot


class Loss:
    """Which of the links that end at the agents hosted here work in a round, and the weights that are left.

    Draws are made for all links and agents at once, keyed by iteration and round, as those of the clock are. Of bursts
    it is remembered what has failed: a row for each hosted agent, with itself and its links in order.

    W  the rows of the hosted agents, with a column for each of the wires' columns
    """

    def __init__(self, conditions: Conditions, wires: Wires, W: Any, seed: int, dtype: Numbers) -> None:
        self.conditions, self.wires, self._dtype = conditions, wires, dtype
        self._streams = Streams(seed)
        self._iteration = self._round = 0
        self._failed: dict[str, Mask] = {}  # of bursts: the links that have, and of the columns the agents that sleep
        self._receivers, senders = wires.ends
        rows, self._hosted = len(wires.hosted), np.array(wires.hosted, dtype=np.int64)
        self._place = 1 + wires.places
        self._links = np.array([W[i, j] for i, j in zip(self._receivers, senders, strict=True)], dtype=np.float64)
        self._own = np.array([W[row, place] for row, place in enumerate(wires.own)], dtype=np.float64)
        # Links and diagonals together, by row and column: the order of every sum.
        self._rows = np.concatenate([self._receivers, np.arange(rows)])
        self._columns = np.concatenate([senders, wires.own])
        self._order = np.lexsort((self._columns, self._rows))

    def begin(self, iteration: int) -> None:
        """Key all draws that follow to this iteration."""
        self._iteration, self._round = iteration, 0

    def next(self) -> Mask:
        """Which links work in the next round."""
        alive = np.ones(len(self.wires.senders), dtype=np.bool_)
        if self.conditions.drop:
            alive &= ~self._fails("drop", self._drawn("drop", self.wires.pairs)[self.wires.pair])
        if self.conditions.asleep:
            asleep = self._fails("asleep", self._drawn("asleep", self.wires.agents)[self.wires.columns])
            alive &= ~(asleep[self.wires.senders] | asleep[self.wires.own][self._receivers])
        self._round += 1
        return alive

    def reset(self) -> None:
        """Forget what has failed, as before the first round."""
        self._failed = {}

    def arrays(self) -> dict[str, Any]:
        """What is remembered, one row per hosted agent; nothing without bursts, and before the first round."""
        found = {}
        for name, failed in self._failed.items():
            rows = np.zeros((len(self._hosted), self.wires.width + 1), dtype=np.uint8)
            rows[self._receivers, self._place] = failed if name == "drop" else failed[self.wires.senders]
            rows[:, 0] = 0 if name == "drop" else failed[self.wires.own]
            found[REMEMBERED[name]] = rows
        return found

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Remember what was remembered then."""
        self._failed = {}
        for name, key in REMEMBERED.items():
            if key in arrays:
                rows = arrays[key] != 0
                links = rows[self._receivers, self._place]
                self._failed[name] = links if name == "drop" else self._by_column(rows[:, 0], links)

    def _by_column(self, own: Mask, links: Mask) -> Mask:
        columns = np.zeros(len(self.wires.columns), dtype=np.bool_)
        columns[self.wires.senders] = links
        columns[self.wires.own] = own
        return columns

    def _fails(self, name: str, drawn: Array) -> Mask:
        """Which fail in this round, from a draw in [0, 1) for each."""
        chance = getattr(self.conditions, name)
        if not isinstance(chance, Bursts):
            return np.asarray(drawn < chance)
        before = self._failed.get(name)
        now = drawn < chance.share if before is None else np.where(before, drawn >= chance.leave, drawn < chance.enter)
        self._failed[name] = np.asarray(now)
        return self._failed[name]

    def weights(self, alive: Mask) -> Weights:
        """The rows of this round's W."""
        lost = np.bincount(self._receivers[~alive], self._links[~alive], minlength=len(self._own))
        data = np.concatenate([np.where(alive, self._links, 0.0), self._own + lost])[self._order]
        kept = data != 0.0
        order = self._order[kept]
        ends = np.cumsum(np.bincount(self._rows[order], minlength=len(self._own)))
        shape = len(self._own), len(self.wires.columns)
        W = csr_array((data[kept].astype(self._dtype), self._columns[order], np.concatenate([[0], ends])), shape=shape)
        return Weights(W)

    def _drawn(self, what: str, size: int) -> Array:
        stream = self._streams.at(of_conditions(what), agent=EVERYBODY, iteration=self._iteration, draw=self._round)
        return stream.random(size)
