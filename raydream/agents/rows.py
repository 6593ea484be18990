"""The agents hosted here, as a method sees them: stacked rows, a billed oracle, private draws, the network."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from raydream.agents.streams import EVERYBODY, Streams, own_purpose
from raydream.checks import whole
from raydream.constraints import Constraint, Everything
from raydream.errors import GradientError
from raydream.problems.answers import lent, named, told, wrong_gradient
from raydream.problems.protocol import LocalProblem
from raydream.topology.mixing import Network
from raydream.types import Array

MOST = 1000  # times a shard: no batch of so many samples is meant


def far(rows: Array) -> float:
    """A point this far out is on its way to infinity: a gradient that overflows there is divergence, not an error."""
    return 1e12 if rows.dtype == np.float32 else 1e100


class Agents:
    """Some or all of the m agents: row r of every array belongs to agent `hosted[r]`.

    The rows never mix here: each is computed from its own shard, its own draws and its own row alone, so that it
    has the same bits whoever else is hosted. Every gradient is billed to `sfo`. All rows have the `dtype` of the start.
    """

    def __init__(
        self,
        hosted: Sequence[int],
        shards: Sequence[LocalProblem],
        *,
        network: Network,
        constraint: Constraint,
        start: tuple[Array, Array],
        streams: Streams,
    ) -> None:
        self.hosted = tuple(hosted)
        self.shards = tuple(shards)
        self.network = network
        self.constraint = constraint
        self.sfo = 0
        self._z0 = np.concatenate(start)
        self.dtype = self._z0.dtype
        self._dim_x = start[0].size
        self._streams = streams
        self._iteration = self._draws = 0
        for agent, shard in zip(self.hosted, self.shards, strict=True):
            _check_samples(agent, shard)

    def begin(self, iteration: int) -> None:
        """Key all draws that follow to this iteration (0 is the initialisation, t + 1 is step t)."""
        self._iteration, self._draws = iteration, 0

    def stream(self, purpose: str) -> Iterator[np.random.Generator]:
        """A private generator for each row, for draws of a method's own; use one before asking for the next.

        They are keyed by the run's seed, the purpose, the agent, the iteration, and how many were asked for before.
        """
        name, draw = own_purpose(purpose), self._next_draw()
        return (self._stream(name, agent, draw) for agent in self.hosted)

    def shared_stream(self, purpose: str) -> np.random.Generator:
        """The same generator for all agents, wherever they live; valid until the next draw."""
        return self._stream(own_purpose(purpose), EVERYBODY, self._next_draw())

    def start(self) -> Array:
        """Every agent at the common starting point."""
        return np.tile(self._z0, (len(self.hosted), 1))

    def x(self, Z: Array) -> Array:
        """The x part of rows (a view)."""
        return Z[:, : self._dim_x]

    def y(self, Z: Array) -> Array:
        """The y part of rows (a view)."""
        return Z[:, self._dim_x :]

    def descend_ascend(self, Z: Array, S: Array, eta: float, gamma: float) -> Array:
        """One step along S: down by gamma * eta in x, up by eta in y."""
        Z = Z.copy()
        self.x(Z)[...] -= gamma * eta * self.x(S)
        self.y(Z)[...] += eta * self.y(S)
        return Z

    def project(self, Z: Array) -> Array:
        """Each row's y projected on Y."""
        if isinstance(self.constraint, Everything):
            return Z
        Z = Z.copy()
        self.y(Z)[...] = self.constraint.project(np.ascontiguousarray(self.y(Z)))
        return Z

    def gradient(self, Z: Array, b: int | None = None) -> Array:
        """Each agent's mean gradient over b samples of its own, drawn with replacement, or over its whole shard."""
        draw, Z = self._next_draw(), lent(Z)
        G = np.empty_like(Z)
        for row in range(len(self.hosted)):
            G[row] = self._oracle(row, Z[row], self._batch(row, b, draw), b)
        return G

    def gradient_pair(self, Z: Array, Z_old: Array, b: int | None = None) -> tuple[Array, Array]:
        """The gradients at two points on the same samples, as recursive estimators need them (2b calls each)."""
        draw, Z, Z_old = self._next_draw(), lent(Z), lent(Z_old)
        G, G_old = np.empty_like(Z), np.empty_like(Z)
        for row in range(len(self.hosted)):
            batch = self._batch(row, b, draw)
            G[row] = self._oracle(row, Z[row], batch, b)
            G_old[row] = self._oracle(row, Z_old[row], batch, b)
        return G, G_old

    def correction(self, Z: Array, Z_old: Array, b: int | None = None, q: float = 1.0) -> Array:
        """omega(i)/q times the change of the mean gradient over b samples, with omega(i) private Bernoulli(q).

        An agent whose omega is 0 asks for no gradient and pays none.
        """
        draw, Z, Z_old = self._next_draw(), lent(Z), lent(Z_old)
        D = np.zeros_like(Z)
        for row, agent in enumerate(self.hosted):
            if q < 1 and self._stream("participation", agent, draw).random() >= q:
                continue
            batch = self._batch(row, b, draw)
            D[row] = self._oracle(row, Z[row], batch, b)
            D[row] -= self._oracle(row, Z_old[row], batch, b)
            if q < 1:
                D[row] /= q
        return D

    def _next_draw(self) -> int:
        self._draws += 1
        return self._draws - 1

    def _stream(self, purpose: str, agent: int, draw: int) -> np.random.Generator:
        return self._streams.at(purpose, agent=agent, iteration=self._iteration, draw=draw)

    def _batch(self, row: int, b: int | None, draw: int) -> Any:
        """b private samples of this row's agent: numbers for a finite sum, fresh samples for an online problem."""
        if b is None:
            return None
        stream = self._stream("sample", self.hosted[row], draw)
        shard = self.shards[row]
        if shard.samples is not None:
            if b > MOST * shard.samples:
                raise named(ValueError(_too_many(b, shard.samples)), self.hosted[row])
            return stream.integers(shard.samples, size=b)
        try:
            return shard.draw(stream, b)  # type: ignore[attr-defined]
        except Exception as error:
            raise named(error, self.hosted[row]) from None

    def _oracle(self, row: int, z: Array, batch: Any, b: int | None) -> Array:
        """One billed call: the mean gradient at z over the batch, as one vector."""
        shard = self.shards[row]
        self.sfo += (shard.samples or 0) if b is None else b
        try:
            answer = shard.gradient(z[: self._dim_x], z[self._dim_x :], batch)
        except Exception as error:
            raise named(told(error, "gradient"), self.hosted[row]) from None
        g = self._joined(row, answer)
        # The product is quick and finite where g is, unless g is enormous; then look closer.
        if not math.isfinite(g @ g) and not np.isfinite(g).all() and np.abs(z).max() < far(z):
            raise GradientError(self._blame(row, z, batch))
        return g

    def _joined(self, row: int, answer: Any) -> Array:
        """The two parts of a gradient as one vector."""
        dim_y = self._z0.size - self._dim_x
        try:
            gx, gy = answer
            if np.shape(gx) == (self._dim_x,) and np.shape(gy) == (dim_y,):
                g: Array = np.concatenate([gx, gy])
                if g.dtype.kind == "f":
                    return g
                if g.dtype.kind in "iu":
                    return g.astype(self._z0.dtype)
        except (TypeError, ValueError):
            pass
        raise named(wrong_gradient(answer, self._dim_x, dim_y), self.hosted[row])

    def _blame(self, row: int, z: Array, batch: Any) -> str:
        """Which agent, iteration and sample gave a gradient that is not finite."""
        shard = self.shards[row]
        sample = ""
        if shard.samples is not None:
            for j in range(shard.samples) if batch is None else np.unique(batch):
                parts = shard.gradient(z[: self._dim_x], z[self._dim_x :], np.array([j]))
                if not all(np.isfinite(part).all() for part in parts):
                    sample = f", sample {int(j)}"
                    break
        when = "at the start" if self._iteration == 0 else f"in iteration {self._iteration - 1}"
        return f"agent {self.hosted[row]}{sample}: the gradient is not finite at a finite point, {when}."


def _check_samples(agent: int, shard: LocalProblem) -> None:
    """The number of an agent's samples is one."""
    if shard.samples is None:
        return
    try:
        whole("samples", shard.samples, 1)
    except (TypeError, ValueError) as error:
        raise named(error, agent) from None


def _too_many(b: int, samples: int) -> str:
    return (
        f"a batch of {b} of its {samples} samples is more than {MOST} times what there is; give a smaller `b` or "
        "`b_large`, or None for the whole shard."
    )
