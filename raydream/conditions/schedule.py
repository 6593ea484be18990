"""Schedules: how a network changes from round to round, said in words, as a list, or as a function.

one-peer-exponential    agent i is heard by i + 2^k modulo m alone, for every 2^k < m in turn
one-peer-hypercube      agents whose numbers differ in one binary digit average, for each digit in turn; m is 2^k
matchings               agents meet in pairs, by a random matching of the topology's links
edge-markovian-B-D      each of the topology's links appears with the chance B when missing, and goes with the chance D
ring,star,...           topologies that take turns, by the names of their builders

Rounds are counted across iterations. Where a method's rounds in an iteration and a list's length have a common factor,
an array may meet some of the list alone; those with one peer begin each time around with another, so that it meets all.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, eye_array

from raydream.checks import choice, probability
from raydream.conditions.changing import Changing, Cycle, EdgeMarkovian, Matchings, Own
from raydream.conditions.distributions import NUMBER
from raydream.topology import TOPOLOGIES, Topology, from_entries
from raydream.types import Sparse

WORDS = ("one-peer-exponential", "one-peer-hypercube", "matchings")
MARKOVIAN = re.compile(rf"edge-markovian-({NUMBER})-({NUMBER})")


@dataclass(frozen=True)
class Schedule:
    """A schedule as it was given: words, topologies that take turns, or a function (with its name)."""

    words: str
    turns: tuple[Any, ...] = ()  # names of builders, topologies, or matrices as rows of numbers
    function: Callable[[int, Any], Any] | None = None

    def on(self, topology: Topology, seed: int) -> Changing:
        """It at work on a network, in a run of this seed."""
        m = topology.m
        if self.turns:
            return Cycle(self.words, [_matrix(one, m) for one in self.turns])
        if self.function is not None:
            return Own(self.words, topology, seed, self.function)
        if self.words.startswith("one-peer"):
            peers = _one_peer(self.words, m)
            return Cycle(self.words, peers, _rotated(len(peers)))
        if ":" in self.words:
            raise ValueError(
                f"`schedule` must be given again: {self.words!r} is code of yours, which no record can "
                "bring; give `conditions=rd.Conditions(schedule=...)`."
            )
        if topology.directed:
            raise ValueError(
                f"`schedule` {self.words} draws links that go both ways, and those of {topology.name} have a "
                "direction; give a topology whose links go both ways, or a list of directed ones."
            )
        found = MARKOVIAN.fullmatch(self.words)
        if found is not None:
            return EdgeMarkovian(self.words, topology, seed, float(found[1]), float(found[2]))
        return Matchings(self.words, topology, seed)

    def to_json(self) -> Any:
        """The words; or a list, where there are matrices in it."""
        named = all(isinstance(one, str) for one in self.turns)
        return self.words if named else [_plain(one) for one in self.turns]


def schedule_from(given: Any) -> Schedule | None:
    """The schedule that was given, checked as far as it can be without a network."""
    if given is None or isinstance(given, Schedule):
        return given
    if isinstance(given, str):
        return _from_words(given.strip())
    if callable(given) and not isinstance(given, type | Topology):
        return Schedule(f"{given.__module__}:{getattr(given, '__qualname__', type(given).__name__)}", (), given)
    if isinstance(given, Sequence) and len(given):
        turns = tuple(_turn(one) for one in given)
        names = [one if isinstance(one, str) else getattr(one, "name", "matrix") for one in turns]
        return Schedule(",".join(names), turns)
    raise TypeError(
        f"`schedule` must be words such as {WORDS[0]!r}, a list of topologies, or a function of the round and a "
        f"generator; got {given!r}."
    )


def _from_words(text: str) -> Schedule:
    if text in WORDS or ":" in text:
        return Schedule(text)
    found = MARKOVIAN.fullmatch(text)
    if found is not None:
        for name, chance in zip(("birth", "death"), found.groups(), strict=True):
            probability(f"schedule {name}", float(chance))
        return Schedule(text)
    if text.startswith("edge-markovian"):
        raise ValueError(f"`schedule` must read edge-markovian-BIRTH-DEATH, with chances; got {text!r}.")
    if "," in text or text in TOPOLOGIES:
        return Schedule(text, tuple(_turn(one.strip()) for one in text.split(",")))
    choice("schedule", text, [*WORDS, "edge-markovian-0.1-0.5"])
    raise AssertionError("unreachable")


def _turn(one: Any) -> Any:
    """One of those that take turns, checked as far as it can be."""
    if isinstance(one, str):
        return choice("schedule", one.replace("_", "-"), TOPOLOGIES)
    if isinstance(one, dict):
        return from_entries(one, one.get("m"), one.get("name", "matrix"))
    if isinstance(one, Topology):
        return one
    rows = np.asarray(one.toarray() if hasattr(one, "toarray") else one, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"`schedule` must be a list of topologies, their names, or matrices; got {one!r} in it.")
    return tuple(map(tuple, rows.tolist()))


def _matrix(one: Any, m: int) -> Sparse:
    if isinstance(one, str):
        one = TOPOLOGIES[one](m)
    W = one.W if isinstance(one, Topology) else csr_array(np.array(one))
    if W.shape != (m, m):
        raise ValueError(f"`schedule` must have {m} agents in every round, as the problem has; got {W.shape[0]}.")
    return W


def _plain(one: Any) -> Any:
    if not isinstance(one, Topology):
        return one if isinstance(one, str) else [list(row) for row in one]
    parts = {part: getattr(one.W, part).tolist() for part in ("indptr", "indices", "data")}
    return {"name": one.name, "m": one.m, **parts}


def _rotated(count: int) -> list[int]:
    """0, 1, 2, 1, 2, 0, 2, 0, 1: every time around begins one later."""
    return [(start + k) % count for start in range(count) for k in range(count)]


def _one_peer(words: str, m: int) -> list[Sparse]:
    """The matrices of a period: each agent averages with one other."""
    i = np.arange(m)
    steps = [1 << k for k in range((m - 1).bit_length())]
    if words == "one-peer-hypercube" and m & (m - 1):
        near = 1 << (m.bit_length() - 1)
        raise ValueError(f"`schedule` {words} needs a power of two of agents; got {m}. Use {near} or {2 * near}.")
    hears = [i ^ step if words == "one-peer-hypercube" else (i - step) % m for step in steps]
    half = eye_array(m, format="csr") / 2
    return [half + coo_array((np.full(m, 0.5), (i, j)), shape=(m, m)).tocsr() for j in hears] or [2 * half]
