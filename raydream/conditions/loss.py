"""The links of a round: those that the network has then, without those that fail or whose ends sleep.

All is known to both ends without a word. A link that fails in a round carries nothing, and its weight goes back to its
sender's diagonal; where links go both ways, to those of both its ends, so that every round's W is symmetric and doubly
stochastic:

    W_ij -> 0,   W_jj -> W_jj + W_ij
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from raydream.agents.streams import EVERYBODY, Streams, of_conditions
from raydream.conditions.changing import Changing
from raydream.conditions.conditions import Conditions
from raydream.conditions.distributions import Bursts
from raydream.conditions.wires import Wires
from raydream.kernels import Weights
from raydream.types import Array, Numbers

Mask = npt.NDArray[np.bool_]
REMEMBERED = {"drop": "sim_failed", "asleep": "sim_asleep"}  # among the arrays of a snapshot
ROUNDS = "sim_rounds"  # among them too: the rounds of a network that changes


class Alive(NamedTuple):
    """Which links work in a round: of those that end at the hosted agents, and of those that leave them."""

    arriving: Mask
    leaving: Mask


class Loss:
    """Which of the links at the agents hosted here work in a round, and the weights that are left.

    Draws are made for all links and agents at once, keyed by iteration and round, as those of the clock are. Of bursts
    it is remembered what has failed: a row for each hosted agent, with itself and its links in order.

    W         the rows of the hosted agents, with a column for each of the wires' columns
    changing  where it is another in every round; rounds are counted from the start
    """

    def __init__(
        self,
        conditions: Conditions,
        wires: Wires,
        W: Any,
        seed: int,
        dtype: Numbers,
        changing: Changing | None = None,
    ) -> None:
        self.conditions, self.wires, self._dtype, self._changing = conditions, wires, dtype, changing
        self._rounds = 0
        self._streams = Streams(seed)
        self._iteration = self._round = 0
        self._failed: dict[str, Mask] = {}  # of bursts: the links that have, and of the columns the agents that sleep
        self._receivers, senders = wires.ends
        rows, self._hosted = len(wires.hosted), np.array(wires.hosted, dtype=np.int64)
        self._place = 1 + wires.places
        self._links = np.array([W[i, j] for i, j in zip(self._receivers, senders, strict=True)], dtype=np.float64)
        self._own = np.array([W[row, place] for row, place in enumerate(wires.own)], dtype=np.float64)
        self._out = self._links  # of the links that leave: the same where all go both ways
        # Links and diagonals together, by row and column: the order of every sum.
        self._rows = np.concatenate([self._receivers, np.arange(rows)])
        self._columns = np.concatenate([senders, wires.own])
        self._order = np.lexsort((self._columns, self._rows))

    def begin(self, iteration: int) -> None:
        """Key all draws that follow to this iteration."""
        self._iteration, self._round = iteration, 0

    def next(self) -> Mask:
        """Which of the links that end here work in the next round."""
        return self.of_next_round().arriving

    def of_next_round(self) -> Alive:
        """Which links work in the next round."""
        if self._changing is not None:
            links, own = self._changing.entries(self._rounds)
            self._links, self._out, self._own = links[self.wires.numbers], links[self.wires.leaving], own[self._hosted]
            self._rounds += 1
        alive = self._met_both_ways() if self.wires.both_ways else self._met()
        self._round += 1
        return Alive(alive.arriving & (self._links > 0), alive.leaving & (self._out > 0))

    @property
    def links(self) -> Array | None:
        """The weights of the links that end here, where they are other ones in every round."""
        return None if self._changing is None else self._links

    @property
    def there(self) -> int:
        """How many of the links that end here the network has in this round, whether they work or not."""
        return int((self._links > 0).sum())

    def _met_both_ways(self) -> Alive:
        """Which links do not fail, where each fails as the one in the other direction does."""
        alive = np.ones(len(self.wires.senders), dtype=np.bool_)
        if self.conditions.drop:
            alive &= ~self._fails("drop", self._drawn("drop", self.wires.pairs)[self.wires.pair])
        if self.conditions.asleep:
            asleep = self._fails("asleep", self._drawn("asleep", self.wires.agents)[self.wires.columns])
            alive &= ~(asleep[self.wires.senders] | asleep[self.wires.own][self._receivers])
        return Alive(alive, alive)

    def _met(self) -> Alive:
        """The same where some links have a direction: of chances alone, without bursts."""
        wires = self.wires
        arriving, leaving = (np.ones(len(those), dtype=np.bool_) for those in (wires.senders, wires.leaving))
        if self.conditions.drop:
            fails = self._drawn("drop", wires.pairs) < self.conditions.drop
            arriving, leaving = arriving & ~fails[wires.pair], leaving & ~fails[wires.out_pair]
        if self.conditions.asleep:
            asleep = self._drawn("asleep", wires.agents) < self.conditions.asleep
            here = asleep[self._hosted]
            arriving &= ~(asleep[wires.columns][wires.senders] | here[self._receivers])
            leaving &= ~(asleep[wires.listeners] | here[wires.speakers])
        return Alive(arriving, leaving)

    def reset(self) -> None:
        """Forget what has failed, as before the first round."""
        self._failed, self._rounds = {}, 0

    def arrays(self) -> dict[str, Any]:
        """What is remembered, one row per hosted agent: of bursts, after the first round, and of a schedule."""
        found: dict[str, Any] = {}
        if self._changing is not None:
            found[ROUNDS] = np.full(len(self._hosted), self._rounds, dtype=np.int64)
        for name, failed in self._failed.items():
            rows = np.zeros((len(self._hosted), self.wires.width + 1), dtype=np.uint8)
            rows[self._receivers, self._place] = failed if name == "drop" else failed[self.wires.senders]
            rows[:, 0] = 0 if name == "drop" else failed[self.wires.own]
            found[REMEMBERED[name]] = rows
        return found

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Remember what was remembered then."""
        self._failed = {}
        if self._changing is not None:
            self._rounds = int(arrays[ROUNDS][0])
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

    def weights(self, alive: Mask, leaving: Mask | None = None) -> Weights:
        """The rows of this round's W.

        leaving  which of the links that leave work; by default as those that end do
        """
        gone = ~(alive if leaving is None else leaving)
        lost = np.bincount(self.wires.speakers[gone], self._out[gone], minlength=len(self._own))
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
