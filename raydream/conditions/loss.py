"""Loss: links that fail and agents that sleep, a round at a time, known to both ends without a word.

A link that fails in a round carries nothing, and its weight goes back to the diagonals of both its ends, so that every
round's W is symmetric and doubly stochastic:

    W_ij -> 0,   W_ii -> W_ii + W_ij,   W_jj -> W_jj + W_ij
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from raydream.agents.streams import EVERYBODY, Streams, of_conditions
from raydream.conditions.conditions import Conditions
from raydream.conditions.wires import Wires
from raydream.kernels import Weights
from raydream.types import Array, Numbers

Mask = npt.NDArray[np.bool_]


class Loss:
    """Which of the links that end at the agents hosted here work in a round, and the weights that are left.

    Draws are made for all links and agents at once, keyed by iteration and round, as those of the clock are.

    W  the rows of the hosted agents, with a column for each of the wires' columns
    """

    def __init__(self, conditions: Conditions, wires: Wires, W: Any, seed: int, dtype: Numbers) -> None:
        self.conditions, self.wires, self._dtype = conditions, wires, dtype
        self._streams = Streams(seed)
        self._iteration = self._round = 0
        self._receivers, senders = wires.ends
        rows, self._hosted = len(wires.hosted), np.array(wires.hosted, dtype=np.int64)
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
            failed = self._drawn("drop", self.wires.pairs) < self.conditions.drop
            alive &= ~failed[self.wires.pair]
        if self.conditions.asleep:
            asleep = self._drawn("asleep", self.wires.agents) < self.conditions.asleep
            alive &= ~(asleep[self.wires.columns[self.wires.senders]] | asleep[self._hosted][self._receivers])
        self._round += 1
        return alive

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
