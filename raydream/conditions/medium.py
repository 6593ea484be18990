"""The medium: all that lies between the agents hosted here and their neighbours, under conditions.

A round asks which links work, stamps and carries what is said over those, or codes of it, and mixes what is heard with
the weights that are left. Whoever hosts the agents only brings frames to where they are heard.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from raydream.agents.ledger import Ledger
from raydream.conditions.clock import CLOCK, Clock
from raydream.conditions.compression import MEMORY, Compression
from raydream.conditions.conditions import Conditions
from raydream.conditions.loss import REMEMBERED, Loss
from raydream.conditions.wires import Wires
from raydream.kernels import Weights
from raydream.program import Said, frame_of, heard_as, parts_of
from raydream.types import Array, Numbers

Mask = npt.NDArray[np.bool_]
Carry = Callable[[Any, Array, Mask | None], tuple[Any, Array]]


class Carrier(Protocol):
    """What a host does for the medium."""

    def rows(self, said: Array, stamps: Array, alive: Mask | None) -> tuple[Array, Array]:
        """The rows and the stamps of all the wires' columns, of those of the hosted agents.

        Only links that are alive carry anything (None: all are); what nobody hears may be anything.
        """

    def links(self, said: Array, stamps: Array, alive: Mask | None) -> tuple[Array, Array]:
        """The same where something else is said on every link: a row for each, the other way, and all stamps."""


class Medium:
    """Clock, loss and compression of the agents hosted here, and the rounds that they make of what is said.

    W  the rows of the hosted agents, with a column for each of the wires' columns
    """

    def __init__(self, conditions: Conditions, wires: Wires, W: Any, seed: int, dtype: Numbers) -> None:
        self.wires, self.clock = wires, Clock(conditions, wires, seed)
        self._loss = Loss(conditions, wires, W, seed, dtype) if conditions.lossy and wires.links else None
        compressed = conditions.compression is not None and wires.links
        self._compression = Compression(conditions, wires, W, seed, dtype) if compressed else None
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
        alive = None if self._loss is None else self._loss.next()
        if self._compression is not None:
            return self._compressed(self._compression, said, alive, carrier, ledger)
        stack = self._carried(carrier.rows, frame_of(said), bytes, alive, ledger)
        weighed = self._weighed if self._loss is None or alive is None else self._loss.weights(alive)
        return heard_as(said, weighed(stack))

    def _compressed(
        self, compression: Compression, said: Said, alive: Mask | None, carrier: Carrier, ledger: Ledger
    ) -> Said:
        """A round of codes, billed as they are."""
        parts = parts_of(said)
        codes = compression.encode(parts)
        carry = carrier.links if compression.by_link else carrier.rows
        heard = self._carried(carry, codes, codes.shape[1], alive, ledger)
        known = np.concatenate([codes, heard]) if compression.by_link else heard
        found = compression.decode(parts, known, alive)
        return found if isinstance(said, tuple) else found[0]

    def _carried(self, carry: Carry, rows: Any, bytes: int, alive: Mask | None, ledger: Ledger) -> Any:
        """What is heard of these rows, each of so many bytes; the clock and the ledger know of it."""
        heard, stamps = carry(rows, self.clock.depart(bytes, alive), alive)
        self.clock.arrive(stamps, alive)
        links = len(self.wires.senders)
        sent = links if alive is None else int(alive.sum())
        ledger.bill_round(sent, bytes, links - sent)
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
    return name in (CLOCK, *REMEMBERED.values()) or name.startswith(MEMORY)
