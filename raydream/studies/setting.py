"""What methods are set against: one problem and network, pooled for methods of one machine, and told from others."""

from collections.abc import Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from raydream.algorithms.method import facts_of
from raydream.backends.protocol import Plan
from raydream.problems.completed import complete
from raydream.running.plan import check_fit, checked_start
from raydream.storage.checkpoint import fingerprint
from raydream.topology import Topology, ring

ENDLESS = 10**7  # iterations of a run that a limit is to end


@dataclass(frozen=True)
class Worlds:
    """The problem and its network, and the problem on one machine where a method needs that."""

    problem: Any
    topology: Topology
    pooled: Any = None

    @classmethod
    def around(cls, problem: Any, topology: Topology, methods: Iterable[Any]) -> "Worlds":
        """Pool the problem only if one of the methods (or classes of methods) will ask for it."""
        whole = complete(problem)
        any_method = SimpleNamespace(init=complete, step=complete)  # problem and topology are looked at here
        check_fit(whole, topology, any_method)
        alone = any(needs_one_machine(method) for method in methods) and whole.agents > 1
        return cls(problem, topology, problem.pooled() if alone and hasattr(problem, "pooled") else None)

    def of(self, method: Any) -> tuple[Any, Topology]:
        """The problem and the network on which this method runs."""
        if self.pooled is not None and needs_one_machine(method):
            return self.pooled, ring(1)
        return self.problem, self.topology

    def settled(self, method: Any) -> Any:
        """The method with the parameters filled in that depend on problem and network."""
        problem, topology = self.of(method)
        return method.settled(complete(problem), topology.network) if hasattr(method, "settled") else method

    def plan(self, method: Any, seed: int, start: tuple[Any, Any] | None) -> Plan:
        """One run, not yet checked."""
        problem, topology = self.of(method)
        whole = complete(problem)
        return Plan(whole, topology, self.settled(method), seed, checked_start(whole, start))

    def identity(self, start: tuple[Any, Any] | None = None) -> dict[str, str]:
        """What tells this problem, network and start from others: digests, and the slope of P at the start."""
        whole = complete(self.problem)
        usual = checked_start(whole, None)
        marks = fingerprint(Plan(whole, self.topology, None, 0, usual))
        # At x = 0 the value of a logistic loss is the same for all data; its slope is not.
        slope = float(np.linalg.norm(whole.primal_gradient(usual[0])))
        begun = fingerprint(Plan(whole, self.topology, None, 0, checked_start(whole, start)))
        return {
            "problem": f"{marks['problem'][:16]} {slope:.9e}",
            "topology": marks["topology"][:16],
            "start": begun["start"][:16],
        }


def needs_one_machine(method: Any) -> bool:
    """Whether a method (or its class) says of itself that it runs on one machine."""
    facts = facts_of(method)
    return facts is not None and facts.one_machine
