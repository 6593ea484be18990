"""Rows dealt to agents: what problems on data share, whether agents own as many rows or not."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from raydream.checks import number, whole
from raydream.data.sharding import Shards
from raydream.problems.protocol import Danskin, LocalProblem
from raydream.problems.rows import checked_rows
from raydream.types import Array, Indices

Parts = Sequence[Indices]


def share(name: str, value: Any) -> float:
    """`value` as a float in [0, 1)."""
    result = number(name, value)
    if not 0 <= result < 1:
        raise ValueError(f"`{name}` must be in [0, 1); got {value!r}.")
    return result


class DealtRows(Danskin):
    """N rows, of which agent i uses n_i; f is the mean over all of them, whoever owns which.

        f = sum_i (n_i/N) f_i = (1/m) sum_i s_i f_i,    s_i = m n_i / N

    where f_i is the mean over agent i's rows: agent i owns the function s_i f_i, and all s_i are 1 where agents own
    as many. Rows come with their labels and a number of agents, of whom i owns i n to (i+1) n, and rows beyond m n
    are left out; or as `Shards`, which say who owns what. Of each agent's rows the last `held_out` of them are held
    out; where shards have a test part, that part is, and nothing else.

    sizes, scales     n_i and s_i; `samples` is their mean N/m, rounded up
    features, labels  of the rows in use, agent after agent
    used, held, cut   the numbers of the rows in use, held out and left out, as they came
    """

    def __init__(self, features: Any, labels: Any, agents: int | None, held_out: float = 0.0) -> None:
        kept = share("held_out", held_out)
        shards = _checked(features, labels, agents) if isinstance(features, Shards) else None
        data, labels = (
            checked_rows(features, labels) if shards is None else checked_rows(shards.features, shards.labels)
        )
        parts, apart, self.cut = _evenly(data.shape[0], agents) if shards is None else _as_dealt(shards)
        used = [part[: part.size - int(kept * part.size) if apart is None else None] for part in parts]
        held = [part[own.size :] for part, own in zip(parts, used, strict=True)]
        self.used: Indices = np.concatenate(used)
        self.held: Indices = np.concatenate(held) if apart is None else apart
        self.held_owners = np.repeat(np.arange(len(parts)), [part.size for part in held]) if apart is None else None
        self._deal(np.array([own.size for own in used], dtype=np.int64))
        self.features, self.labels = data[self.used], labels[self.used]
        self.held_features, self.held_labels = data[self.held], labels[self.held]

    def _deal(self, sizes: Indices) -> None:
        """Let agents own so many rows each, in turn."""
        self.sizes, self.agents, self.total = sizes, sizes.size, int(sizes.sum())
        self.samples = -(-self.total // self.agents)
        self.scales: Array = self.agents * sizes / self.total
        self._ends = [0, *np.cumsum(sizes).tolist()]

    def own(self, i: int) -> slice:
        """The places of agent i's rows among those in use."""
        return slice(self._ends[i], self._ends[i + 1])

    def scaled(self, i: int, shard: LocalProblem) -> LocalProblem:
        """s_i f_i, from f_i."""
        return shard if self.scales[i] == 1 else Scaled(shard, float(self.scales[i]))


def _evenly(rows: int, agents: int | None) -> tuple[Parts, None, Indices]:
    """The row numbers of each agent, and those left out."""
    m = whole("agents", agents, 1)
    if m > rows:
        raise ValueError(f"`agents` must be at most the {rows} samples; got {m}.")
    order = np.arange(rows)
    return [*order[: rows // m * m].reshape(m, -1)], None, order[rows // m * m :]


def _as_dealt(shards: Shards) -> tuple[Parts, Indices | None, Indices]:
    """The row numbers of each agent, those of the test part where there is one, and those left out."""
    return shards.rows, shards.test_rows if shards.test_rows.size else None, shards.cut


def _checked(shards: Shards, labels: Any, agents: int | None) -> Shards:
    """Shards on which a problem can be posed, or a sentence."""
    if labels is not None or agents is not None:
        raise TypeError("`labels` and `agents` must be left out where `features` are Shards, which hold both.")
    if shards.labels is None:
        raise ValueError("`features` must be Shards with labels; give `label` to raydream.data.shards.")
    if len(shards.features.shape) != 2:
        raise ValueError(f"`features` must be Shards of a matrix; got features of shape {shards.features.shape}.")
    if shards.weighting != "size" and np.ptp(shards.sizes):
        raise ValueError(
            "`features` must be Shards with weights='size' where sizes differ, since f is the mean over all rows; "
            "got weights='equal': deal equal shards (cut=True), or pose f with functions of your own."
        )
    return shards


class Scaled:
    """s f_i, where f_i is what a shard knows."""

    def __init__(self, shard: LocalProblem, scale: float) -> None:
        self.shard, self.scale = shard, scale

    @property
    def samples(self) -> int | None:
        """Of the shard."""
        return self.shard.samples

    def value(self, x: Array, y: Array) -> float:
        """s f_i(x, y)."""
        return self.scale * self.shard.value(x, y)

    def gradient(self, x: Array, y: Array, batch: Any = None) -> tuple[Array, Array]:
        """s times the mean gradient over the batch, or that of f_i."""
        gx, gy = self.shard.gradient(x, y, batch)
        return self.scale * gx, self.scale * gy
