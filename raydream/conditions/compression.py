"""Compression: what is heard of messages that are shortened, in a form that keeps the mean of all rows.

    v_i <- v_i + gamma sum_j w_ij (c_ji - c_ij)

where c_ij is what agent j has heard of agent i. Without memory it is C(v_i), of this message alone, and gamma is 1.
With memory both ends keep c_ij, and what travels is a difference, c_ij <- c_ij + C(v_i - c_ij), so that the error
vanishes where a method comes to rest. There is one memory for each yield of a step, by its place, and each array that
it carries; the rounds of `init`, which come only once, have none.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from raydream.agents.streams import Streams, of_conditions
from raydream.conditions.changing import Changing
from raydream.conditions.codes import Bytes, Code
from raydream.conditions.conditions import Conditions
from raydream.conditions.wires import Wires
from raydream.kernels import Weights
from raydream.types import Array, Indices, Numbers

Mask = npt.NDArray[np.bool_]
MEMORY = "sim_memory"  # with place, part and width: an array of a snapshot, of which a host needs all its columns' rows
Place = tuple[int, int, int]  # of a yield in a step, of an array in it, and the array's width


class Compression:
    """The codes that the agents hosted here say and hear, and their memories.

    Where every message arrives, all neighbours of an agent have heard the same of it: one memory for each column. Where
    links may fail, each link has its own, which moves on when it works.

    W         the rows of the hosted agents, with a column for each of the wires' columns
    changing  where it is another in every round
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
        self.code: Code = conditions.compression
        self._wires, self._dtype, self._memory = wires, dtype, conditions.memory
        self._streams = Streams(seed)
        self._iteration = self._round = 0
        self._kept: dict[Place, Array] = {}
        self._drawn: dict[tuple[int, int], Array] = {}
        self.by_link = bool(conditions.memory) and (conditions.lossy or changing is not None)
        self._receivers, senders = wires.ends
        links = np.arange(len(senders))
        rows = np.arange(len(wires.hosted))
        # Of each voice that is known here: who speaks; of each link: the voice of its near and of its far end.
        self._source = self._receivers if self.by_link else rows
        self._near = links if self.by_link else wires.own[self._receivers]
        self._far = len(links) + links if self.by_link else senders
        own, columns = wires.columns[wires.own], wires.columns
        self._speakers = np.concatenate([own[self._receivers], columns[senders]]) if self.by_link else columns
        self._mine = links if self.by_link else wires.own
        self._weigh(np.array([W[i, j] for i, j in zip(self._receivers, senders, strict=True)]))

    def _weigh(self, weights: Array) -> None:
        """Take these for the weights of the links."""
        links, rows = len(weights), len(self._wires.hosted)
        ends = np.append(self._wires.first, links)
        W = csr_array((weights.astype(self._dtype), np.arange(links), ends), shape=(rows, links))
        self._weighed = Weights(W)

    def begin(self, iteration: int) -> None:
        """Key all draws that follow to this iteration."""
        self._iteration, self._round = iteration, 0

    def reset(self) -> None:
        """Forget everything."""
        self._kept = {}

    def encode(self, parts: tuple[Array, ...]) -> Bytes:
        """What travels: a row for each of the hosted agents, or for each of their links."""
        self._drawn = {}
        codes = []
        for number, part in enumerate(parts):
            rows, heard = part[self._source], self._heard(number, part.shape[1])
            rows = rows if heard is None else rows - heard[self._mine]
            codes.append(self.code.encode(rows, self._speakers[self._mine], self._draw(number)))
        return np.concatenate(codes, axis=1)

    def decode(
        self, parts: tuple[Array, ...], codes: Bytes, alive: Mask | None, weights: Array | None = None
    ) -> tuple[Array, ...]:
        """What the hosted agents hear, of the codes of all voices that are known here.

        weights  of the links in this round, where they are other ones in every round
        """
        if weights is not None:
            self._weigh(weights)
        heard, begin = [], 0
        for number, part in enumerate(parts):
            width = part.shape[1]
            end = begin + self.code.size(width, self._dtype)
            found = self.code.decode(codes[:, begin:end], width, self._dtype, self._speakers, self._draw(number))
            heard.append(self._mixed(part, self._remembered(number, found, alive), alive))
            begin = end
        self._round += 1
        return tuple(heard)

    def arrays(self) -> dict[str, Array]:
        """The memories of what the hosted agents have said, one row for each."""
        return {"_".join(map(str, (MEMORY, *place))): self._saved(kept) for place, kept in self._kept.items()}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Remember what was remembered then; these arrays have a row for each of the wires' columns."""
        self._kept = {}
        for name, rows in arrays.items():
            if name.startswith(MEMORY):
                place, part, width = map(int, name.removeprefix(MEMORY + "_").split("_"))
                self._kept[place, part, width] = self._restored(rows)

    def _heard(self, number: int, width: int) -> Array | None:
        """What has been heard so far at this place."""
        return self._kept.get((self._round, number, width)) if self._memory and self._iteration else None

    def _remembered(self, number: int, found: Array, alive: Mask | None) -> Array:
        """What has been heard by now of each voice."""
        if not self._memory:
            return found
        width = found.shape[1]
        before = self._heard(number, width)
        moved = self.code.scale(width) * found
        if alive is not None:
            moved = np.where(np.concatenate([alive, alive])[:, None], moved, np.zeros((), dtype=moved.dtype))
        now = moved if before is None else before + moved
        if self._iteration:
            self._kept[self._round, number, width] = now
        return now

    def _mixed(self, part: Array, heard: Array, alive: Mask | None) -> Array:
        """v_i + gamma sum_j w_ij (c_ji - c_ij), in the order of links."""
        apart = heard[self._far] - heard[self._near]
        if alive is not None:
            apart[~alive] = 0.0
        sums = self._weighed(np.ascontiguousarray(apart))
        step = self.code.step(part.shape[1]) if self._memory is True else self._memory or 1.0
        return part + (sums if step == 1.0 else step * sums)

    def _saved(self, kept: Array) -> Array:
        if not self.by_link:
            return kept[self._wires.own]
        rows = np.zeros((len(self._wires.hosted), self._wires.width, kept.shape[1]), dtype=kept.dtype)
        rows[self._receivers, self._wires.places] = kept[self._near]
        return rows

    def _restored(self, rows: Array) -> Array:
        if not self.by_link:
            return rows
        wires = self._wires
        near = rows[wires.own[self._receivers], wires.places]
        return np.concatenate([near, rows[wires.senders, wires.there]])

    def _draw(self, number: int) -> Any:
        """Numbers in [0, 1) for some agents, keyed by iteration, round, array and agent; each is drawn once."""

        def draw(agents: Indices, width: int) -> Array:
            for agent in agents.tolist():
                if (number, agent) not in self._drawn:
                    purpose = of_conditions(f"compression of array {number}")
                    stream = self._streams.at(purpose, agent=agent, iteration=self._iteration, draw=self._round)
                    self._drawn[number, agent] = stream.random(width)
            return np.stack([self._drawn[number, agent] for agent in agents.tolist()])

        return draw
