"""The medium: all that lies between the agents hosted here and their neighbours, under conditions.

A round asks which links work, stamps and carries what is said over those, and mixes what is heard with the weights
that are left. Whoever hosts the agents only brings frames to where they are heard.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from raydream.agents.ledger import Ledger
from raydream.conditions.clock import CLOCK, Clock
from raydream.conditions.conditions import Conditions
from raydream.conditions.loss import REMEMBERED, Loss
from raydream.conditions.wires import Wires
from raydream.kernels import Weights
from raydream.program import Said, frame_of, heard_as
from raydream.types import Array, Numbers

Mask = npt.NDArray[np.bool_]


class Carrier(Protocol):
    """What a host does for the medium."""

    def rows(self, said: Array, stamps: Array, alive: Mask | None) -> tuple[Array, Array]:
        """The rows and the stamps of all the wires' columns, of those of the hosted agents.

        Only links that are alive carry anything (None: all are); what nobody hears may be anything.
        """


class Medium:
    """Clock and loss of the agents hosted here, and the rounds that they make of what is said.

    W  the rows of the hosted agents, with a column for each of the wires' columns
    """

    def __init__(self, conditions: Conditions, wires: Wires, W: Any, seed: int, dtype: Numbers) -> None:
        self.wires, self.clock = wires, Clock(conditions, wires, seed)
        self._loss = Loss(conditions, wires, W, seed, dtype) if conditions.lossy and wires.links else None
        self._weighed = Weights(W.astype(dtype, copy=False))

    def reset(self) -> None:
        """As before the first round."""
        self.clock.seconds = np.zeros(len(self.wires.hosted))
        if self._loss is not None:
            self._loss.reset()

    def begin(self, iteration: int) -> None:
        """Key all draws that follow to this iteration."""
        self.clock.begin(iteration)
        if self._loss is not None:
            self._loss.begin(iteration)

    def exchange(self, said: Said, bytes: int, carrier: Carrier, ledger: Ledger) -> Said:
        """One round, billed: what each of the hosted agents hears."""
        alive = None if self._loss is None else self._loss.next()
        stack, stamps = carrier.rows(frame_of(said), self.clock.depart(bytes, alive), alive)
        self.clock.arrive(stamps, alive)
        links = len(self.wires.senders)
        sent = links if alive is None else int(alive.sum())
        ledger.bill_round(sent, bytes, links - sent)
        weighed = self._weighed if self._loss is None or alive is None else self._loss.weights(alive)
        return heard_as(said, weighed(stack))

    def arrays(self, everything: bool) -> dict[str, Array]:
        """The clocks, and what else is to be remembered: one row per hosted agent."""
        found = {CLOCK: self.clock.seconds}
        return found if self._loss is None or not everything else found | self._loss.arrays()

    def restore(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """Remember what was remembered then; return the other arrays."""
        self.clock.seconds = arrays[CLOCK]
        if self._loss is not None:
            self._loss.restore(arrays)
        return {name: array for name, array in arrays.items() if name not in (CLOCK, *REMEMBERED.values())}
