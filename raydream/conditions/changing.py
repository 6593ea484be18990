"""Networks that change from round to round: each round's weights on the links that some round uses.

Rounds are counted from the start of a run, across iterations. Whoever knows the count knows the round's network: it is
a function of the round, keyed by the run's seed where it is random, so that every host makes the same one by itself.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from raydream.agents.streams import EVERYBODY, Streams, of_conditions
from raydream.topology import Topology
from raydream.topology.assumptions import checked_round, is_balanced, is_symmetric
from raydream.topology.mixing import Network
from raydream.topology.spectrum import one_thread
from raydream.topology.weights import metropolis
from raydream.types import Array, Indices, Sparse

WINDOW = 1000  # rounds within which a schedule without a period must have connected all agents
ENOUGH = 1e-6  # of disagreement left: then it is known how fast a schedule mixes
ROUNDING = 1e-13  # what is left of disagreement where nothing is


class Entries(NamedTuple):
    """A round's weights: of every link of the union, in order, and of every agent's own."""

    links: Array
    own: Array


class Facts(NamedTuple):
    """What the first rounds are like, measured.

    rounds    that were looked at: a period, or as many as it took to see agreement come about
    left      of disagreement after them, at worst: the norm of their product off consensus
    directed  whether some of them have links in one direction
    balanced  whether all of them are doubly stochastic
    """

    rounds: int
    left: float
    directed: bool
    balanced: bool

    @property
    def lam(self) -> float:
        """What a round leaves of disagreement, on average."""
        return 0.0 if self.left < ROUNDING else min(1.0, self.left ** (1 / self.rounds))


class Changing:
    """A network whose matrix is another in every round.

    name    in words
    links   the network of all links that some round may use: those that agents are wired for
    period  after so many rounds it begins again; None where it does not
    """

    name: str
    links: Topology
    period: int | None = None

    def matrix(self, round: int) -> Sparse:
        """W of this round, unchecked."""
        raise NotImplementedError

    def entries(self, round: int) -> Entries:
        """The weights of this round on the wires, checked."""
        return self._placed(checked_round(self.matrix(round), self.links.m, self._when(round)), round)

    def _when(self, round: int) -> str:
        return f"round {round} of the schedule {self.name}"

    def _placed(self, W: Sparse, round: int) -> Entries:
        """The weights of a matrix on the wires."""
        coo, m = W.tocoo(), self.links.m
        rows, columns = coo.coords
        off = rows != columns
        keys = rows[off].astype(np.int64) * m + columns[off]
        known = self._keys()
        places = np.minimum(np.searchsorted(known, keys), max(0, len(known) - 1))
        if len(keys) and (not len(known) or (known[places] != keys).any()):
            wrong = int(keys[0] if not len(known) else keys[known[places] != keys][0])
            raise ValueError(
                f"`schedule` must use links of `topology` alone; in round {round} agent {wrong // m} hears "
                f"{wrong % m}, and {self.links.name} has no such link; complete({m}) has it."
            )
        links = np.zeros(len(known))
        links[places] = coo.data[off]
        return Entries(links, np.asarray(W.diagonal()))

    def _keys(self) -> Indices:
        """Of every link its receiver and sender as one number, ascending."""
        those = self.links.neighbours
        return np.concatenate([i * self.links.m + row for i, row in enumerate(those)]).astype(np.int64)

    def facts(self) -> Facts:
        """What the rounds are like; a sentence where they never connect the agents."""
        m, most = self.links.m, self.period or WINDOW
        product, union = np.eye(m) - 1 / m, csr_array((m, m))
        directed, balanced, left, rounds, joined = False, True, 1.0, 0, m == 1
        with one_thread():
            while rounds < most and not (joined and self.period is None and left <= ENOUGH):
                W = checked_round(self.matrix(rounds), m, self._when(rounds))
                directed, balanced = directed or not is_symmetric(W), balanced and is_balanced(W)
                product, union, rounds = W @ product, union + W, rounds + 1
                if rounds & (rounds - 1) == 0 or rounds == most or rounds % 50 == 0:
                    left, joined = float(np.linalg.norm(product, 2)), joined or _joins(union)
        if not joined:
            over = f"a period of {most} rounds" if self.period else f"its first {most} rounds"
            raise ValueError(
                f"`schedule` must connect all agents sooner or later; over {over} {self.name} leaves some that never "
                "hear, even by way of others, of all the rest."
            )
        return Facts(rounds, left, directed, balanced)

    def rounds_to_mix(self, tolerance: float) -> int | None:
        """The first rounds that leave at most this share of disagreement; None where a thousand do not."""
        left = np.eye(self.links.m) - 1 / self.links.m
        with one_thread():
            for round in range(WINDOW):
                left = self.matrix(round) @ left
                if np.linalg.norm(left, 2) <= max(tolerance, ROUNDING):
                    return round + 1
        return None

    def network(self) -> Network:
        """What an agent knows of it: an average round."""
        lam = self.facts().lam
        return Network(self.links.m, lam, 0.0)


class Cycle(Changing):
    """Matrices that take turns.

    order  in which they do (default: as they are listed)
    """

    def __init__(self, name: str, matrices: Sequence[Any], order: Sequence[int] | None = None) -> None:
        m = matrices[0].shape[0]
        self._order = list(range(len(matrices)) if order is None else order)
        self.name, self.period = name, len(self._order)
        self._matrices = [checked_round(W, m, self._when(k)) for k, W in enumerate(matrices)]
        union = csr_array(sum(self._matrices[1:], self._matrices[0]) / len(matrices))
        if not _joins(union):
            self.links = Topology(np.full((m, m), 1 / m))  # of no use but to say so
            self.facts()
        self.links = Topology(union, name, directed=True)
        self._entries = [self._placed(W, k) for k, W in enumerate(self._matrices)]

    def matrix(self, round: int) -> Sparse:
        return self._matrices[self._order[round % len(self._order)]]

    def entries(self, round: int) -> Entries:
        return self._entries[self._order[round % len(self._order)]]


class Drawn(Changing):
    """Another random part of the topology's links in every round, keyed by the run's seed and the round."""

    def __init__(self, name: str, topology: Topology, seed: int) -> None:
        self.name, self.links = name, topology
        self._seed, self._streams = seed, Streams(seed)
        ends = [(i, int(j)) for i, row in enumerate(topology.neighbours) for j in row if i < j]
        self._ends = np.array(ends, dtype=np.int64).reshape(-1, 2)

    def __reduce__(self) -> Any:
        return _again, (type(self), {**self.__dict__, "_streams": None}, self._seed)

    def _stream(self, round: int) -> np.random.Generator:
        return self._streams.at(of_conditions("schedule"), agent=EVERYBODY, iteration=0, draw=round)


class Matchings(Drawn):
    """Agents that meet in pairs and average: links in a random order, each taken if both its ends are free."""

    def matrix(self, round: int) -> Sparse:
        m, free = self.links.m, np.ones(self.links.m, dtype=np.bool_)
        W = np.arange(m)  # whom each meets; itself, if nobody
        for one in self._stream(round).permutation(len(self._ends)):
            i, j = self._ends[one]
            if free[i] and free[j]:
                free[i] = free[j] = False
                W[i], W[j] = j, i
        here = np.arange(m)
        return csr_array((np.full(2 * m, 0.5), (np.append(here, here), np.append(here, W))), shape=(m, m))


class EdgeMarkovian(Drawn):
    """Links that come and go, each on its own: one that is missing appears with the chance `birth`, one that is there
    goes with the chance `death`. Weights are those of Metropolis on what is there.

    A chain depends on all rounds before; where one is asked for out of order, it is gone through again.
    """

    def __init__(self, name: str, topology: Topology, seed: int, birth: float, death: float) -> None:
        super().__init__(name, topology, seed)
        self._birth, self._death = birth, death
        self._at, self._there = -1, np.zeros(len(self._ends), dtype=np.bool_)

    def matrix(self, round: int) -> Sparse:
        if round < self._at:
            self._at = -1
        while self._at < round:
            self._at += 1
            drawn = self._stream(self._at).random(len(self._ends))
            usual = drawn < self._birth / (self._birth + self._death)
            stays = np.where(self._there, drawn >= self._death, drawn < self._birth)
            self._there = usual if self._at == 0 else stays
        i, j = self._ends[self._there].T
        graph = csr_array((np.ones(2 * len(i)), (np.append(i, j), np.append(j, i))), shape=(self.links.m,) * 2)
        return metropolis(graph)


class Own(Drawn):
    """A function of the user's: of the round, and of a generator that is keyed by the run's seed and the round."""

    def __init__(self, name: str, topology: Topology, seed: int, function: Callable[[int, Any], Any]) -> None:
        super().__init__(name, topology, seed)
        self._function = function

    def matrix(self, round: int) -> Sparse:
        found = self._function(round, self._stream(round))
        return found.W if isinstance(found, Topology) else found


def _again(kind: type[Drawn], parts: dict[str, Any], seed: int) -> Drawn:
    """One that has travelled: its streams are made anew."""
    found = kind.__new__(kind)
    found.__dict__.update({**parts, "_streams": Streams(seed)})
    return found


def _joins(union: Sparse) -> bool:
    """Whether everybody reaches everybody."""
    from scipy.sparse.csgraph import connected_components

    count, _ = connected_components(union, directed=True, connection="strong")
    return bool(count == 1)
