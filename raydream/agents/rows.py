"""The agents hosted here, as a method sees them: stacked rows, a billed oracle, private draws, the network."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from raydream.agents.oracle import Oracle
from raydream.agents.streams import EVERYBODY, Streams, own_purpose
from raydream.checks import whole
from raydream.constraints import Constraint, Everything, Simplex
from raydream.problems.answers import lent, named
from raydream.problems.protocol import LocalProblem
from raydream.topology.mixing import Network
from raydream.types import Array

MOST = 1000  # times a shard: no batch of so many samples is meant


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
        self._z0 = np.concatenate(start)
        self.dtype = self._z0.dtype
        self._dim_x = start[0].size
        self._streams = streams
        self._iteration = self._draws = 0
        for agent, shard in zip(self.hosted, self.shards, strict=True):
            _check_samples(agent, shard)
        self._numbers = np.array(self.hosted, dtype=np.int64)
        sizes = [shard.samples for shard in self.shards]
        self._sizes = None if None in sizes else np.array(sizes, dtype=np.int64)  # None: samples are drawn online
        self.oracle = Oracle(self.hosted, self.shards, start[0].size, start[1].size)

    @property
    def sfo(self) -> int:
        """Component gradients that these agents have asked for."""
        return self.oracle.sfo

    @sfo.setter
    def sfo(self, count: int) -> None:
        self.oracle.sfo = count

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
        moved = np.empty_like(Z)
        np.subtract(self.x(Z), gamma * eta * self.x(S), out=self.x(moved))
        np.multiply(self.y(S), eta, out=self.y(moved))
        self.y(moved)[...] += self.y(Z)
        return moved

    def project(self, Z: Array) -> Array:
        """Each row's y projected on Y."""
        if isinstance(self.constraint, Everything):
            return Z
        found = np.empty_like(Z)
        self.x(found)[...] = self.x(Z)
        if isinstance(self.constraint, Simplex) and Z.dtype == np.float64 and Z.flags.c_contiguous:
            self.constraint.project_into(self.y(Z), self.y(found))
        else:
            self.y(found)[...] = self.constraint.project(np.ascontiguousarray(self.y(Z)))
        return found

    def gradient(self, Z: Array, b: int | None = None) -> Array:
        """Each agent's mean gradient over b samples of its own, drawn with replacement, or over its whole shard."""
        return self.oracle.gradients(lent(Z), self._batches(b, self._next_draw()), b, self._when)

    def gradient_pair(self, Z: Array, Z_old: Array, b: int | None = None) -> tuple[Array, Array]:
        """The gradients at two points on the same samples, as recursive estimators need them (2b calls each)."""
        batches = self._batches(b, self._next_draw())
        G = self.oracle.gradients(lent(Z), batches, b, self._when)
        return G, self.oracle.gradients(lent(Z_old), batches, b, self._when)

    def correction(self, Z: Array, Z_old: Array, b: int | None = None, q: float = 1.0) -> Array:
        """omega(i)/q times the change of the mean gradient over b samples, with omega(i) private Bernoulli(q).

        An agent whose omega is 0 asks for no gradient and pays none.
        """
        draw, Z, Z_old = self._next_draw(), lent(Z), lent(Z_old)
        if q < 1:
            return self._thinned(Z, Z_old, b, q, draw)
        batches = self._batches(b, draw)
        D = self.oracle.gradients(Z, batches, b, self._when)
        D -= self.oracle.gradients(Z_old, batches, b, self._when)
        return D

    def _thinned(self, Z: Array, Z_old: Array, b: int | None, q: float, draw: int) -> Array:
        """The same where some agents do not take part."""
        D = np.zeros_like(Z)
        for row, agent in enumerate(self.hosted):
            if self._stream("participation", agent, draw).random() >= q:
                continue
            batch = self._batch(row, b, draw)
            D[row] = self.oracle.gradient(row, Z[row], batch, b, self._when)
            D[row] -= self.oracle.gradient(row, Z_old[row], batch, b, self._when)
            D[row] /= q
        return D

    def _batches(self, b: int | None, draw: int) -> Any:
        """Every row's batch; None: whole shards."""
        if b is None:
            return None
        if self._sizes is not None and b <= MOST * self._sizes.min():
            keyed = {"iteration": self._iteration, "draw": draw}
            found = self._streams.numbers("sample", self._numbers, self._sizes, b, **keyed)
            if found is not None:
                return found
        return [self._batch(row, b, draw) for row in range(len(self.hosted))]

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

    @property
    def _when(self) -> str:
        return "at the start" if self._iteration == 0 else f"in iteration {self._iteration - 1}"


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
