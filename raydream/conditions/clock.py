"""The virtual clock: every agent has its own, work and messages move it on, and a delay travels as frames do.

out_i = t_i + bytes max(1 / bandwidth, listeners_i / uplink)       the agent's frames are out
t_i  <- max(out_i, max over neighbours j of out_j + latency_ji)    and those of its neighbours are in

over the links that work in this round; an agent without any waits for nobody.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from raydream.agents.streams import EVERYBODY, Streams, of_conditions
from raydream.conditions.conditions import Conditions
from raydream.conditions.distributions import Distribution
from raydream.conditions.wires import Wires
from raydream.types import Array, Indices

Mask = npt.NDArray[np.bool_]
CLOCK = "sim_clock"  # among the arrays of a snapshot: the agents' clocks


class Clock:
    """The clocks of the agents hosted here, in seconds.

    Draws are made for all agents or links at once, keyed by iteration and round, and each host takes its own: a clock
    has the same bits wherever its agent lives, resumed or recovered.
    """

    def __init__(self, conditions: Conditions, wires: Wires, seed: int) -> None:
        self.conditions, self.wires = conditions, wires
        self.seconds: Array = np.zeros(len(wires.hosted))
        self._streams = Streams(seed)
        self._hosted = np.array(wires.hosted, dtype=np.int64)
        self._iteration = self._spell = self._round = 0
        per_link = 0.0 if conditions.bandwidth is None else 1.0 / conditions.bandwidth
        self._per_link = per_link
        self._per_byte = self._pace(wires.out)
        self._per_call = self._fixed_calls()
        self._latency = self._fixed_latency()

    def begin(self, iteration: int) -> None:
        """Key all draws that follow to this iteration."""
        self._iteration, self._spell, self._round = iteration, 0, 0

    def work(self, calls: Sequence[int]) -> None:
        """Each agent has made so many SFO calls since it was last asked."""
        price = self.conditions.gradient_seconds
        self._spell += 1
        if price is None or not any(calls):
            return
        if isinstance(price, Distribution):
            stream = self._streams.at(
                of_conditions("gradient_seconds"), agent=EVERYBODY, iteration=self._iteration, draw=self._spell - 1
            )
            self.seconds = self.seconds + np.asarray(calls) * price.draw(stream, self.wires.agents)[self._hosted]
        else:
            self.seconds = self.seconds + np.asarray(calls) * self._per_call

    def depart(self, bytes: int, leaving: Mask | None = None) -> Array:
        """When the frames of each agent are out: the stamps that they carry.

        leaving  which of the links that leave these agents work in this round (default: all)
        """
        if not self.wires.links:
            return self.seconds
        if leaving is None:
            return self.seconds + bytes * self._per_byte
        degrees = np.bincount(self.wires.speakers[leaving], minlength=len(self._hosted))
        out: Array = self.seconds + bytes * np.where(degrees > 0, self._pace(degrees), 0.0)
        return out

    def arrive(self, out: Array, alive: Mask | None = None) -> None:
        """The round ends for each agent when its own frames are out and those of its neighbours, so stamped, are in.

        out  the stamps of all columns, of which those that nobody hears may be anything
        """
        if not self.wires.links:
            return
        arrived = out[self.wires.senders] + self._latencies()
        if alive is not None:
            arrived[~alive] = -np.inf
        self.seconds = np.maximum(out[self.wires.own], np.maximum.reduceat(arrived, self.wires.first))
        self._round += 1

    def _pace(self, degrees: Indices) -> Array:
        """Seconds for each byte of a frame to all of so many neighbours."""
        shared = 0.0 if self.conditions.uplink is None else degrees / self.conditions.uplink
        return np.maximum(self._per_link, shared) * np.ones(len(self._hosted))

    def _latencies(self) -> Array | float:
        latency = self.conditions.latency
        if not isinstance(latency, Distribution):
            return self._latency
        stream = self._streams.at(
            of_conditions("latency"), agent=EVERYBODY, iteration=self._iteration, draw=self._round
        )  # fmt: skip
        return latency.draw(stream, self.wires.links)[self.wires.numbers]

    def _fixed_calls(self) -> Array | float:
        price = self.conditions.gradient_seconds
        if isinstance(price, tuple):
            return np.array(price)[self._hosted]
        return price if isinstance(price, float) else 0.0

    def _fixed_latency(self) -> Array | float:
        latency = self.conditions.latency
        if not isinstance(latency, tuple):
            return latency if isinstance(latency, float) else 0.0
        known = {(i, j): seconds for i, j, seconds in latency}
        receivers, senders = self.wires.ends
        pairs = zip(self._hosted[receivers], self.wires.columns[senders], strict=True)
        return np.array([known[min(i, j), max(i, j)] for i, j in pairs])
