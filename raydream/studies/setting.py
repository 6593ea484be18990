"""What methods are set against: one problem, network and start, pooled for methods of one machine."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from raydream.algorithms.method import Method, completed, facts_of
from raydream.backends.plan import Plan, check_network, checked_start
from raydream.backends.surroundings import surroundings
from raydream.columns.own import Metric, metrics_of
from raydream.conditions import Conditions
from raydream.errors import InnerMaximumError
from raydream.problems.completed import complete
from raydream.specs import Spec, spec_of
from raydream.storage.checkpoint import problem_mark, start_mark, topology_mark
from raydream.topology import Topology, ring

ENDLESS = 10**7  # iterations of a run that a limit is to end


@dataclass(frozen=True)
class Setting:
    """The problem and its network, and the problem on one machine where a method needs that.

    specs  how problem and network were named, which travels with them to other processes
    start  (x0, y0) where it is not the problem's own
    metrics  what is measured besides the usual columns, in the runs of all methods
    conditions  of the network and the machines, for all methods alike
    """

    problem: Any
    topology: Topology
    pooled: Any = None
    specs: tuple[Spec | None, Spec | None] = (None, None)
    start: tuple[Any, Any] | None = None
    metrics: dict[str, Metric] = field(default_factory=dict)
    conditions: Conditions | None = None

    @classmethod
    def around(
        cls,
        problem: Any,
        topology: Topology,
        methods: Iterable[Any],
        start: tuple[Any, Any] | None = None,
        metrics: Mapping[str, Any] | None = None,
        conditions: Conditions | None = None,
    ) -> "Setting":
        """Pool the problem only if one of the methods (or classes of methods) will ask for it."""
        whole = complete(problem)
        check_network(whole, topology)
        surroundings(topology, conditions)
        if conditions is not None:
            conditions.check_messages(whole.dim_x + whole.dim_y)
        alone = any(needs_one_machine(method) for method in methods) and whole.agents > 1
        pooled = problem.pooled() if alone and hasattr(problem, "pooled") else None
        begun = None if start is None else checked_start(whole, start)
        specs = spec_of(problem), spec_of(topology)
        return cls(problem, topology, pooled, specs, begun, metrics_of(problem, metrics), conditions)

    def of(self, method: Any) -> tuple[Any, Topology]:
        """The problem and the network on which this method runs."""
        if self._alone(method):
            return self.pooled, ring(1)
        return self.problem, self.topology

    def settled(self, method: Any) -> Method:
        """The method with the parameters filled in that depend on problem and network."""
        problem, topology = self.of(method)
        return completed(method).settled(complete(problem), surroundings(topology, self.conditions).network)

    def refusal(self, method: Any) -> str | None:
        """Why a method cannot solve this problem on this network, or None."""
        problem, topology = self.of(method)
        around = surroundings(topology, self.conditions)
        return completed(method).refuse(complete(problem)) or around.refusal(self.settled(method))

    def plan(self, method: Any, seed: int = 0, warn: bool = True) -> Plan:
        """One run."""
        problem, topology = self.of(method)
        specs = self._pooled_specs if self._alone(method) else self.specs
        plan = Plan.build(
            problem, topology, method,
            seed=seed, start=self.start, specs=specs, warn=warn, conditions=self.conditions,
        )  # fmt: skip
        return replace(plan, metrics=self.metrics)  # also where the pooled problem has others of its own

    def identity(self) -> dict[str, str]:
        """What tells this problem, network and start from others: digests, and the slope of P at the start."""
        whole = complete(self.problem)
        usual = checked_start(whole, None)
        # At x = 0 the value of a logistic loss is the same for all data; its slope is not.
        try:
            slope = float(np.linalg.norm(whole.primal_gradient(usual[0])))
        except InnerMaximumError:  # a problem whose P is switched off
            slope = float(np.linalg.norm(whole.gradient(*usual)[0]))
        return {
            "problem": f"{problem_mark(whole, usual)[:16]} {slope:.9e}",
            "topology": topology_mark(self.topology)[:16],
            "start": start_mark(checked_start(whole, self.start))[:16],
            **({} if self.conditions is None else {"conditions": json.dumps(self.conditions.to_json())}),
        }

    @property
    def _pooled_specs(self) -> tuple[Spec | None, Spec]:
        named = self.specs[0]
        return None if named is None else named.pooled(self.topology.m), Spec("ring", {})

    def _alone(self, method: Any) -> bool:
        return self.pooled is not None and needs_one_machine(method)


def needs_one_machine(method: Any) -> bool:
    """Whether a method (or its class) says of itself that it runs on one machine."""
    facts = facts_of(method)
    return facts is not None and facts.one_machine
