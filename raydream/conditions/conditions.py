"""Conditions: what is asked of the network and of the machines, said once and checked before anything runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from raydream.checks import not_negative, positive, probability, whole
from raydream.conditions.changing import Changing, Cycle
from raydream.conditions.codes import CODES, Code, Random, Top
from raydream.conditions.distributions import DURATIONS, FAILURES, Bursts, Distribution, Worded, from_words
from raydream.conditions.schedule import Schedule, schedule_from
from raydream.topology import Topology
from raydream.types import Indices

Edge = tuple[int, int, float]  # between two agents, in both directions


@dataclass(frozen=True)
class Conditions:
    """The network and the machines as they are.

    gradient_seconds  what one SFO call takes: a number, one for each agent, or a distribution, drawn anew for each
                      agent and each spell of work between two rounds
    latency           seconds from the end of sending a frame to its arrival: a number, {(i, j): seconds} for every
                      link, or a distribution, drawn anew for each frame
    bandwidth         bytes per second on each link
    uplink            bytes per second of an agent, which its links share
    drop              the chance that a link fails in a round, in both directions: nothing is sent, and its weight
                      goes back to both ends
    asleep            the chance that an agent neither sends nor hears anything in a round
    compression       what of a message travels, each array of a round by itself: "top-0.1" (the share of largest
                      magnitude, or a count: "top-20"), "random-0.1" (drawn by each agent), "shared-random-0.1" (drawn
                      for all), "qsgd-4" (bits for each number), "sign", "float32", "float16"
    memory            whether both ends remember what was heard, and only differences travel; a number is the step
                      towards the neighbours, which is otherwise made small where little travels
    schedule          how the network changes from round to round: words ("one-peer-exponential", "one-peer-hypercube",
                      "matchings" or "edge-markovian-0.1-0.5" of the topology's links, "ring,star"), a list of
                      topologies that take turns, or a function f(round, generator) of yours on the topology's links

    Distributions are objects of `raydream.conditions` or words: "exponential-0.001" (mean), "uniform-0.01-0.05",
    "lognormal-0.001-1.5" (median, spread). What is None costs no time. Chances are numbers, or "bursts-0.05-0.5": what
    works fails with the first chance, and what has failed works again with the second, from round to round.
    """

    gradient_seconds: Any = None
    latency: Any = None
    bandwidth: float | None = None
    uplink: float | None = None
    drop: Any = None
    asleep: Any = None
    compression: Any = None
    memory: Any = None
    schedule: Any = None

    def __post_init__(self) -> None:
        settled = {
            "gradient_seconds": _gradient_seconds(self.gradient_seconds),
            "latency": _latency(self.latency),
            **{
                name: None if getattr(self, name) is None else positive(name, getattr(self, name))
                for name in ("bandwidth", "uplink")
            },
            **{name: _chance(name, getattr(self, name)) for name in ("drop", "asleep")},
            "compression": _compression(self.compression),
            "memory": _memory(self.memory, self.compression),
            "schedule": schedule_from(self.schedule),
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    @property
    def lossy(self) -> bool:
        """Whether messages may be lost."""
        return bool(self.drop or self.asleep)

    @property
    def messages_take_time(self) -> bool:
        """Whether a round costs any."""
        return bool(self.latency or self.bandwidth or self.uplink)

    def changing(self, topology: Topology, seed: int) -> Changing | None:
        """How rounds differ on this network, where they do: by a schedule, or where what is lost has a direction."""
        if self.schedule is not None:
            found: Changing = self.schedule.on(topology, seed)
            return found
        return Cycle(topology.name, [topology.W]) if self.lossy and topology.directed else None

    def check_network(self, neighbours: Sequence[Indices]) -> None:
        """Refuse what does not fit a network: a price for each of other agents, or for links that are not there."""
        agents = len(neighbours)
        if isinstance(self.gradient_seconds, tuple) and len(self.gradient_seconds) != agents:
            raise ValueError(
                f"`gradient_seconds` must be a number, or one for each of the {agents} agents; "
                f"got {len(self.gradient_seconds)}."
            )
        if not isinstance(self.latency, tuple) or agents == 1:
            return
        links = {(min(i, int(j)), max(i, int(j))) for i, those in enumerate(neighbours) for j in those}
        given = {(i, j) for i, j, _ in self.latency}
        if given != links:
            wrong, what = (given - links, "has no link") if given - links else (links - given, "has the link")
            raise ValueError(
                f"`latency` must name every link of the network and no other; it {what} {min(wrong)}, and `latency` "
                f"{'names it' if what == 'has no link' else 'does not'}."
            )

    def check_messages(self, width: int) -> None:
        """Refuse to keep more numbers of a message than a problem of this dimension has."""
        kept = self.compression.kept if isinstance(self.compression, Top | Random) else 0
        if kept > width:
            raise ValueError(
                f"`compression` {str(self.compression)!r} must keep no more numbers than a message has, which are "
                f"dim_x + dim_y = {width} here; give fewer, or a share such as 0.1."
            )

    def to_json(self) -> dict[str, Any]:
        """What is set, as plain data."""
        return {field.name: _plain(value) for field in fields(self) if (value := getattr(self, field.name)) is not None}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "Conditions":
        """The conditions that plain data describe; an unknown one is refused: without it, it is another run."""
        return conditions_from(found)


def conditions_from(found: Mapping[str, Any], option: str = "conditions") -> Conditions:
    """Conditions by their names."""
    from raydream.checks import choice

    for name in found:
        choice(option, name, [field.name for field in fields(Conditions)])
    return Conditions(**found)


def _gradient_seconds(value: Any) -> Any:
    name = "gradient_seconds"
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) and np.ndim(value) > 0:
        return tuple(not_negative(f"{name}[{agent}]", one) for agent, one in enumerate(value))
    return _duration(name, value)


def _latency(value: Any) -> Any:
    """One price, or one for each link, as triples in order."""
    if isinstance(value, Mapping):
        value = [(*_pair(pair), seconds) for pair, seconds in value.items()]
    if not isinstance(value, Sequence) or isinstance(value, str):
        return _duration("latency", value)
    found: dict[tuple[int, int], float] = {}
    for one in value:
        if not isinstance(one, Sequence) or len(one) != 3:
            raise ValueError(f"`latency` must be a number, words, or {{(i, j): seconds}} for every link; got {one!r}.")
        i, j = _pair(one[:2])
        pair, seconds = (min(i, j), max(i, j)), not_negative(f"latency[{i}, {j}]", one[2])
        if found.setdefault(pair, seconds) != seconds:
            raise ValueError(f"`latency` must have one price for the link {pair}; got {found[pair]} and {seconds}.")
    return tuple((*pair, seconds) for pair, seconds in sorted(found.items()))


def _pair(value: Any) -> tuple[int, int]:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise ValueError(f"`latency` must name links as pairs of agents (i, j); got {value!r}.")
    return whole("latency", value[0]), whole("latency", value[1])


def _chance(name: str, value: Any) -> Any:
    """None, a number in [0, 1), or bursts."""
    if value is None or isinstance(value, Bursts):
        return value
    if isinstance(value, str):
        return from_words(name, value, FAILURES, "bursts-0.05-0.5")
    found = not_negative(name, value)
    if found >= 1:
        raise ValueError(f"`{name}` must be in [0, 1), or no message ever arrives; got {value!r}.")
    return found


def _compression(value: Any) -> Any:
    """None, or a code."""
    if value is None or isinstance(value, Code):
        return value
    if not isinstance(value, str):
        raise TypeError(f'`compression` must be words such as "top-0.1", or an object; got {value!r}.')
    return from_words("compression", value, CODES, "top-0.1")


def _memory(value: Any, compression: Any) -> Any:
    """None or False, True, or a step in (0, 1]."""
    if value is None or value is False:
        return value
    if compression is None:
        raise ValueError(f'`memory` needs `compression`, such as "top-0.1"; got memory={value!r} without it.')
    return True if value is True else probability("memory", value)


def _duration(name: str, value: Any) -> Any:
    """None, a number, or a distribution."""
    if value is None or isinstance(value, Distribution):
        return value
    if isinstance(value, str):
        return from_words(name, value, DURATIONS, "exponential-0.001")
    return not_negative(name, value)


def _plain(value: Any) -> Any:
    if isinstance(value, Worded):
        return str(value)
    if isinstance(value, Schedule):
        return value.to_json()
    if isinstance(value, tuple):
        return [list(one) if isinstance(one, tuple) else one for one in value]
    return value
