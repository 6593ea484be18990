"""The medium: all that lies between the agents hosted here and their neighbours, under conditions.

A round asks which links work, stamps and carries what is said over those, or codes of it, and mixes what is heard with
the weights that are left. Whoever hosts the agents only brings frames to where they are heard.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from raydream.agents.ledger import Ledger
from raydream.conditions.changing import Changing
from raydream.conditions.clock import CLOCK, Clock
from raydream.conditions.compression import MEMORY, Compression
from raydream.conditions.conditions import Conditions
from raydream.conditions.loss import REMEMBERED, ROUNDS, Alive, Loss
from raydream.conditions.wires import Wires
from raydream.kernels import Weights
from raydream.program import Said, frame_of, heard_as, parts_of
from raydream.types import Array, Numbers

Mask = npt.NDArray[np.bool_]
Carry = Callable[[Any, Array, Alive | None], tuple[Any, Array]]


class Carrier(Protocol):
    """What a host does for the medium."""

    def rows(self, said: Array, stamps: Array, alive: Alive | None) -> tuple[Array, Array]:
        """The rows and the stamps of all the wires' columns, of those of the hosted agents.

        Only links that are alive carry anything (None: all are); what nobody hears may be anything.
        """

    def links(self, said: Array, stamps: Array, alive: Alive | None) -> tuple[Array, Array]:
        """The same where something else is said on every link: a row for each, the other way, and all stamps."""


class Medium:
    """Clock, loss and compression of the agents hosted here, and the rounds that they make of what is said.

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
        self.wires, self.clock = wires, Clock(conditions, wires, seed)
        differ = wires.links > 0 and (conditions.lossy or changing is not None)
        self._loss = Loss(conditions, wires, W, seed, dtype, changing) if differ else None
        compressed = conditions.compression is not None and wires.links
        self._compression = Compression(conditions, wires, W, seed, dtype, changing) if compressed else None
        self._weighed = Weights(W.astype(dtype, copy=False))

    def reset(self) -> None:
        """As before the first round."""
        self.clock.seconds = np.zeros(len(self.wires.hosted))
        if self._loss is not None:
            self._loss.reset()
        if self._compression is not None:
            self._compression.reset()

    def begin(self, iteration: int) -> None:
        """Key all draws that follow to this iteration."""
        self.clock.begin(iteration)
        if self._loss is not None:
            self._loss.begin(iteration)
        if self._compression is not None:
            self._compression.begin(iteration)

    def exchange(self, said: Said, bytes: int, carrier: Carrier, ledger: Ledger) -> Said:
        """One round, billed: what each of the hosted agents hears."""
        alive = None if self._loss is None else self._loss.of_next_round()
        if self._compression is not None:
            return self._compressed(self._compression, said, alive, carrier, ledger)
        stack = self._carried(carrier.rows, frame_of(said), bytes, alive, ledger)
        weighed = self._weighed if self._loss is None or alive is None else self._loss.weights(*alive)
        return heard_as(said, weighed(stack))

    def _compressed(
        self, compression: Compression, said: Said, alive: Alive | None, carrier: Carrier, ledger: Ledger
    ) -> Said:
        """A round of codes, billed as they are."""
        parts = parts_of(said)
        codes = compression.encode(parts)
        carry = carrier.links if compression.by_link else carrier.rows
        heard = self._carried(carry, codes, codes.shape[1], alive, ledger)
        known = np.concatenate([codes, heard]) if compression.by_link else heard
        found = compression.decode(
            parts, known, None if alive is None else alive.arriving, None if self._loss is None else self._loss.links
        )
        return found if isinstance(said, tuple) else found[0]

    def _carried(self, carry: Carry, rows: Any, bytes: int, alive: Alive | None, ledger: Ledger) -> Any:
        """What is heard of these rows, each of so many bytes; the clock and the ledger know of it."""
        heard, stamps = carry(rows, self.clock.depart(bytes, None if alive is None else alive.leaving), alive)
        self.clock.arrive(stamps, None if alive is None else alive.arriving)
        if self._loss is None or alive is None:
            ledger.bill_round(len(self.wires.senders), bytes)
        else:
            sent = int(alive.arriving.sum())
            ledger.bill_round(sent, bytes, self._loss.there - sent, idle=True)
        return heard

    def arrays(self, everything: bool) -> dict[str, Array]:
        """The clocks, and what else is to be remembered: one row per hosted agent."""
        found = {CLOCK: self.clock.seconds}
        for part in (self._loss, self._compression):
            found |= part.arrays() if part is not None and everything else {}
        return found

    def restore(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """Remember what was remembered then; return the other arrays."""
        self.clock.seconds = arrays[CLOCK]
        for part in (self._loss, self._compression):
            if part is not None:
                part.restore(arrays)
        return {name: array for name, array in arrays.items() if not is_remembered(name)}


def is_remembered(name: str) -> bool:
    """Whether an array of a snapshot is of the conditions, not of the method."""
    return name in (CLOCK, ROUNDS, *REMEMBERED.values()) or name.startswith(MEMORY)
