"""What a method finds around it: the network under its conditions, what it allows, and what to be warned of."""

import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from raydream.algorithms.method import Method, kind_of
from raydream.conditions import Conditions
from raydream.conditions.changing import Changing, Facts
from raydream.conditions.distributions import Bursts
from raydream.errors import MixingWarning
from raydream.topology import Network, Topology


@dataclass(frozen=True)
class Surroundings:
    """A network and its conditions.

    changing  how rounds differ, where they do, as a run of seed 0 has it
    facts     of its rounds; what is measured of them holds for all seeds alike, so that methods settle alike
    """

    topology: Topology
    conditions: Conditions | None
    changing: Changing | None
    facts: Facts

    @property
    def network(self) -> Network:
        """What agents know of the network; of one that changes, an average round."""
        scheduled = self.conditions is not None and self.conditions.schedule is not None
        return Network(self.topology.m, self.facts.lam, 0.0) if scheduled else self.topology.network

    @property
    def name(self) -> str:
        """Of the network, or of how it changes."""
        return self.topology.name if self.changing is None else self.changing.name

    def refusal(self, method: Method) -> str | None:
        """Why a method cannot run here, or None."""
        return method.refuse_direction(self.facts.balanced) if self.facts.directed else None

    def check(self, method: Method) -> None:
        """Refuse a method that needs links to go both ways, and loss that would not leave a mean as it is."""
        sentence = self.refusal(method)
        if sentence:
            raise ValueError(f"`method` {kind_of(method).__name__} cannot run on {self.name}: {sentence}")
        if self.conditions is None or not self.facts.directed:
            return
        compressed = self.conditions.compression is not None
        remembered = bool(self.conditions.memory) and self.conditions.schedule is not None
        if compressed and (self.conditions.lossy or remembered or not self.facts.balanced):
            raise ValueError(
                "`compression` must be left out where links have a direction and the network does not balance, or "
                "messages are lost, or it changes and there is `memory`: what is cut off would not leave a mean as it "
                "is. Use a directed ring, or links both ways."
            )
        if self.conditions.lossy and {one.mixing for one in method.mixings()} != {"push-sum"}:
            raise ValueError(
                "`drop` and `asleep` must be left out where links have a direction, unless all mixing is by push-sum: "
                "what is lost goes back to its sender, and rows no longer sum to 1. Use "
                'DREAM(mixing="push-sum").'
            )

    def warn(self, method: Method) -> None:
        """Warn where K rounds need not bring agreement, and where FastMix meets a network that changes."""
        if self.topology.m == 1:
            return
        for rounds, mixing, momentum in dict.fromkeys(method.mixings()):
            if self.conditions is not None and self.conditions.schedule is not None:
                self._warn_of_change(mixing)
                continue
            low, high = self.topology.mixing_range(rounds, mixing, momentum)
            if not (low > -1 and high < 1):
                warnings.warn(
                    f"{rounds} rounds of {mixing} (momentum {momentum!r}) on {self.topology.name} have eigenvalues "
                    f"from {low:.3f} to {high:.3f} off consensus, so that disagreement need not shrink; use another "
                    '`K`, `momentum="optimal"`, or `topology.lazy()`.',
                    MixingWarning,
                    stacklevel=4,
                )

    def _warn_of_change(self, mixing: str) -> None:
        measured = f"{self.facts.rounds} rounds of {self.name} leave {self.facts.left:.3g} of disagreement at worst"
        if self.facts.lam >= 1 - 1e-12:
            text = f"{measured}, so that it need not shrink; add links, or weight of the agents' own."
            warnings.warn(text, MixingWarning, stacklevel=5)
        elif mixing == "fastmix":
            text = (
                f"FastMix is made for one W and meets another in every round; {measured}, and it assumes lambda = "
                f'{self.facts.lam:.4g}, the average of a round. `mixing="gossip"` assumes nothing.'
            )
            warnings.warn(text, MixingWarning, stacklevel=5)


def surroundings(topology: Topology, conditions: Conditions | None) -> Surroundings:
    """The network under its conditions, or a sentence that says what does not fit."""
    return _found(topology, checked_conditions(conditions))


def checked_conditions(conditions: Any) -> Conditions | None:
    """Refuse what is none."""
    if conditions is not None and not isinstance(conditions, Conditions):
        raise TypeError(f"`conditions` must be a raydream.Conditions, or None; got {conditions!r}.")
    return conditions


def _found(topology: Topology, conditions: Conditions | None) -> Surroundings:
    plain = Facts(1, 1.0, topology.directed, topology.balanced)
    if conditions is None:
        return Surroundings(topology, None, None, plain)
    changing = conditions.changing(topology, 0)
    wired = topology if changing is None else changing.links
    conditions.check_network(wired.neighbours)
    facts = plain if conditions.schedule is None or changing is None else _facts(conditions.schedule, topology)
    both_ways = all(set(row) == set(back) for row, back in zip(wired.neighbours, wired.listeners, strict=True))
    if not both_ways and any(isinstance(one, Bursts) for one in (conditions.drop, conditions.asleep)):
        raise ValueError(
            "`drop` and `asleep` must be chances, not bursts, where links have a direction; give a number."
        )
    return Surroundings(topology, conditions, changing, facts)


@lru_cache(maxsize=64)
def _facts(schedule: Any, topology: Topology) -> Facts:
    """Measured once: every run of a comparison asks."""
    facts: Facts = schedule.on(topology, 0).facts()
    return facts
