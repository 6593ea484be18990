"""The billed oracle: mean gradients of the rows hosted here, all at once where their shards can answer together."""

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from raydream.errors import GradientError
from raydream.problems.answers import named, told, wrong_gradient
from raydream.problems.protocol import LocalProblem
from raydream.types import Array


class Stack(Protocol):
    """Several shards that answer together, each row with the bits that its shard gives it alone."""

    def gradient(self, Z: Array, batches: Any, G: Array) -> None:
        """Write the mean gradient of every row of Z to G, over its batch, or over its shard where batches are None."""


def far(rows: Array) -> float:
    """A point this far out is on its way to infinity: a gradient that overflows there is divergence, not an error."""
    return 1e12 if rows.dtype == np.float32 else 1e100


class Oracle:
    """What the agents hosted here own. Every component gradient is billed to `sfo`."""

    def __init__(self, hosted: Sequence[int], shards: Sequence[LocalProblem], dim_x: int, dim_y: int) -> None:
        self.hosted, self.shards, self._dim_x, self._dim_y = hosted, shards, dim_x, dim_y
        self.sfo = 0
        self.calls: list[int] | None = None  # of each row since last asked, where a clock wants to know
        self._stack = _stacked(shards)
        self._all = sum(shard.samples or 0 for shard in shards)

    def gradients(self, Z: Array, batches: Any, b: int | None, when: str) -> Array:
        """The mean gradient of every row over its batch of b samples, or over its shard."""
        G = np.empty_like(Z)
        if self._together(Z, batches, G):
            if self.calls is None:
                self.sfo += self._all if b is None else b * len(Z)
            else:
                for row in range(len(Z)):
                    self._bill(row, b)
            return G
        for row in range(len(Z)):
            G[row] = self.gradient(row, Z[row], None if batches is None else batches[row], b, when)
        return G

    def gradient(self, row: int, z: Array, batch: Any, b: int | None, when: str) -> Array:
        """One agent's, as one vector."""
        self._bill(row, b)
        try:
            answer = self.shards[row].gradient(z[: self._dim_x], z[self._dim_x :], batch)
        except Exception as error:
            raise named(told(error, "gradient"), self.hosted[row]) from None
        g = self._joined(row, answer, z)
        # The product is quick and finite where g is, unless g is enormous; then look closer.
        if not math.isfinite(g @ g) and not np.isfinite(g).all() and np.abs(z).max() < far(z):
            raise GradientError(self._blame(row, z, batch, when))
        return g

    def taken(self) -> list[int]:
        """The calls of each row since this was last asked."""
        calls, self.calls = self.calls, [0] * len(self.shards)
        return calls or self.calls

    def _bill(self, row: int, b: int | None) -> None:
        price = (self.shards[row].samples or 0) if b is None else b
        self.sfo += price
        if self.calls is not None:
            self.calls[row] += price

    def _together(self, Z: Array, batches: Any, G: Array) -> bool:
        """Whether all rows were answered at once, and nothing is wrong with the answer: else look at each alone."""
        if self._stack is None or Z.dtype != np.float64:
            return False
        self._stack.gradient(Z, batches, G)
        flat = G.reshape(-1)
        return math.isfinite(flat @ flat)

    def _joined(self, row: int, answer: Any, z: Array) -> Array:
        """The two parts of a gradient as one vector."""
        try:
            gx, gy = answer
            if np.shape(gx) == (self._dim_x,) and np.shape(gy) == (self._dim_y,):
                g: Array = np.concatenate([gx, gy])
                if g.dtype.kind == "f":
                    return g
                if g.dtype.kind in "iu":
                    return g.astype(z.dtype)
        except (TypeError, ValueError):
            pass
        raise named(wrong_gradient(answer, self._dim_x, self._dim_y), self.hosted[row])

    def _blame(self, row: int, z: Array, batch: Any, when: str) -> str:
        """Which agent, iteration and sample gave a gradient that is not finite."""
        shard = self.shards[row]
        sample = ""
        if shard.samples is not None:
            for j in range(shard.samples) if batch is None else np.unique(batch):
                parts = shard.gradient(z[: self._dim_x], z[self._dim_x :], np.array([j]))
                if not all(np.isfinite(part).all() for part in parts):
                    sample = f", sample {int(j)}"
                    break
        return f"agent {self.hosted[row]}{sample}: the gradient is not finite at a finite point, {when}."


def _stacked(shards: Sequence[LocalProblem]) -> Stack | None:
    """The shards as one, if they are of one kind that knows how."""
    kinds = {type(shard) for shard in shards}
    make = getattr(kinds.pop(), "stacked", None) if len(kinds) == 1 else None
    found: Stack | None = None if make is None else make(shards)
    return found
