"""What problems on data share: rows dealt to agents, some of them held out for metrics."""

import copy
from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np

from raydream.checks import whole
from raydream.data.synthetic import synthetic
from raydream.parameters import Rule
from raydream.problems.dealt import DealtRows, share
from raydream.problems.protocol import LocalProblem
from raydream.problems.rows import checked_rows
from raydream.types import Array

Metric = Callable[[Array, Array], float]
HeldOut = Annotated[float, Rule(share), "share of each agent's rows that is kept for metrics alone"]


class OnRows(DealtRows):
    """A problem on rows with metrics: those held out serve `metrics` alone; where none are, they use the others.

    A kind of problem says with `shard(rows)` what is owned by whoever owns these rows, and with `measures` what can
    be measured on rows.
    """

    def __init__(self, features: Any, labels: Any, agents: int | None, held_out: float) -> None:
        super().__init__(features, labels, agents, held_out)
        self.dim_x = self.dim_y = int(self.features.shape[1])

    @classmethod
    def random(
        cls, agents: int = 8, *, samples: int = 25, features: int = 6, density: float = 0.5, seed: int = 0, **own: Any
    ) -> Self:
        """The problem on synthetic rows drawn from `seed`, `samples` of them for each agent."""
        rows = whole("samples", samples, 1) * whole("agents", agents, 1)
        return cls(*synthetic(rows, features, density=density, seed=seed), agents, **own)

    def shard(self, rows: slice) -> LocalProblem:
        """What the owner of these rows owns."""
        raise NotImplementedError

    def measures(self, features: Any, labels: Array) -> dict[str, Metric]:
        """What can be measured on rows."""
        raise NotImplementedError

    def local(self, i: int) -> LocalProblem:
        """The rows of agent i."""
        return self.scaled(i, self.shard(self.own(i)))

    def pooled(self) -> Self:
        """The same problem with all rows on one agent."""
        one = copy.copy(self)
        one._deal(np.array([self.total]))
        return one

    @cached_property
    def whole(self) -> Any:
        """What one agent would own that had all rows."""
        return self.shard(slice(0, self.total))

    def value(self, x: Array, y: Array) -> float:
        """f(x, y)."""
        return float(self.whole.value(x, y))

    def gradient(self, x: Array, y: Array) -> tuple[Array, Array]:
        """The gradients of f in x and in y."""
        gx, gy = self.whole.gradient(x, y)
        return gx, gy

    def start(self) -> tuple[Array, Array]:
        """Both 0."""
        return np.zeros(self.dim_x), np.zeros(self.dim_y)

    @property
    def metrics(self) -> dict[str, Metric]:
        """f(x, y) by name, on the rows held out, or where there are none on those in use."""
        if self.held.size:
            return self.measures(self.held_features, self.held_labels)
        return self.measures(self.features, self.labels)

    def metrics_on(self, features: Any, labels: Any) -> dict[str, Metric]:
        """The same on rows of yours, such as a published test set."""
        data, labels = checked_rows(features, labels)
        if data.shape[1] != self.features.shape[1]:
            raise ValueError(f"`features` must have {self.features.shape[1]} columns; got {data.shape[1]}.")
        return self.measures(data, labels)

    def root_mean_square(self, norms: Array) -> float:
        """The largest of s_i times the root mean square of a number per row of agent i."""
        each = [np.sqrt(np.mean(norms[self.own(i)] ** 2)) for i in range(self.agents)]
        return float(np.max(self.scales * each))


def block_norms(xx: Array, xy: Array, yy: Array) -> Array:
    """Bounds on the norms of Hessians, from bounds on the norms of their blocks."""
    xx, xy, yy = np.broadcast_arrays(xx, xy, yy)
    blocks = np.stack([np.stack([xx, xy], axis=-1), np.stack([xy, yy], axis=-1)], axis=-1)
    found: Array = np.linalg.norm(blocks, 2, axis=(-2, -1))
    return found
