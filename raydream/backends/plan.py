"""A run as every backend needs it, put together in one way: completed, found to fit together, settled."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from raydream.algorithms.method import Method, completed, kind_of, parameters_of
from raydream.backends.surroundings import surroundings
from raydream.checks import vector, whole
from raydream.columns.own import Metric, metrics_of
from raydream.conditions import Conditions
from raydream.conditions.changing import Changing
from raydream.constraints import Everything
from raydream.problems.completed import complete, dtype_of
from raydream.problems.protocol import Problem
from raydream.specs import Spec, spec_of
from raydream.topology import Network, Topology
from raydream.types import Array, Numbers


@dataclass(frozen=True)
class Plan:
    """One run: the completed problem, the network, the settled method, seed and start, which has the run's dtype.

    problem_spec, topology_spec  how problem and network were named, where they were built by name
    asked                        the method's parameters as they were given, before it settled the others
    metrics                      what is measured besides the usual columns
    conditions                   of the network and the machines, where they are not ideal
    changing                     how the network changes from round to round, where it does
    """

    problem: Problem
    topology: Topology
    method: Method
    seed: int
    start: tuple[Array, Array]
    problem_spec: Spec | None = None
    topology_spec: Spec | None = None
    asked: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, Metric] = field(default_factory=dict)
    conditions: Conditions | None = None
    changing: Changing | None = None

    @classmethod
    def build(
        cls,
        problem: Any,
        topology: Topology,
        method: Any,
        *,
        seed: int = 0,
        start: tuple[Any, Any] | None = None,
        specs: tuple[Spec | None, Spec | None] | None = None,
        warn: bool = True,
        metrics: Mapping[str, Any] | None = None,
        conditions: Conditions | None = None,
    ) -> "Plan":
        """The plan of a run, or a sentence that says which parts do not belong together.

        specs  of problem and topology; by default as they are known for these very objects
        warn   whether to warn of mixing that need not bring agreement
        metrics  functions f(x_bar, y_bar), beside the problem's own
        conditions  of the network and the machines
        """
        known = (spec_of(problem), spec_of(topology)) if specs is None else specs
        whole_problem = complete(problem)
        check_network(whole_problem, topology)
        number, begun = whole("seed", seed), checked_start(whole_problem, start)
        around = surroundings(topology, conditions)
        if conditions is not None:
            conditions.check_messages(whole_problem.dim_x + whole_problem.dim_y)
        whole_method = completed(method)
        _check_method(whole_problem, whole_method)
        settled = whole_method.settled(whole_problem, around.network)
        around.check(settled)
        if warn:
            around.warn(settled)
        changing = None if conditions is None else conditions.changing(topology, number)
        asked, measured = parameters_of(whole_method), metrics_of(problem, metrics)
        return cls(
            whole_problem, topology, settled, number, begun, *known,
            asked=asked, metrics=measured, conditions=conditions, changing=changing,
        )  # fmt: skip

    @property
    def own_start(self) -> bool:
        """Whether the start is the user's own, and not the problem's."""
        return not all(map(np.array_equal, self.start, checked_start(self.problem, None)))

    @property
    def wired(self) -> Topology:
        """The network of all links that some round uses."""
        return self.topology if self.changing is None else self.changing.links

    @property
    def network(self) -> Network:
        """What agents know of the network."""
        return surroundings(self.topology, self.conditions).network

    @property
    def dtype(self) -> Numbers:
        """What states and frames are made of: float64, or float32 where the problem asks for it."""
        return self.start[0].dtype


def check_network(problem: Problem, topology: Any) -> None:
    """Refuse a network that is none, or that is another problem's."""
    if not isinstance(topology, Topology):
        raise TypeError(f"`topology` must be a Topology; got {topology!r}. Build one with raydream.topology.")
    if topology.m != problem.agents:
        raise ValueError(f"`topology` has {topology.m} agents but `problem` has {problem.agents} shards.")


def checked_start(problem: Problem, start: tuple[Any, Any] | None) -> tuple[Array, Array]:
    """(x0, y0) in the problem's dtype, with y0 in Y."""
    given = problem.start() if start is None else start
    try:
        x0, y0 = given
    except (TypeError, ValueError):
        raise ValueError("`start` must be a pair (x0, y0).") from None
    dtype = dtype_of(problem)
    x0, y0 = vector("start[0]", x0, problem.dim_x, dtype), vector("start[1]", y0, problem.dim_y, dtype)
    distance = float(np.abs(problem.constraint.project(y0) - y0).max(initial=0.0))
    rounding = 1e-8 if dtype == np.float64 else 1e-5
    if distance > rounding * (1.0 + float(np.abs(y0).max(initial=0.0))):
        raise ValueError(
            f"`start[1]` must be in Y; it is {distance:.3g} away from its projection. Use `constraint.project(y0)`."
        )
    return x0, y0


def _check_method(problem: Problem, method: Method) -> None:
    """Refuse a method that cannot solve the problem, and a constraint that no method can work with."""
    sentence = method.refuse(problem)
    if sentence:
        raise ValueError(f"`method` {kind_of(method).__name__} cannot solve this `problem`: {sentence}")
    if not isinstance(problem.constraint, Everything):
        _check_projection(problem)


def _check_projection(problem: Problem) -> None:
    """A projection must treat rows as it treats each row alone, else runs would depend on where agents live."""
    rows = np.random.default_rng(0).normal(size=(3, problem.dim_y)).astype(dtype_of(problem))
    together = np.asarray(problem.constraint.project(rows))
    alone = np.stack([problem.constraint.project(row) for row in rows])
    if together.shape != rows.shape or not np.array_equal(together, alone):
        raise ValueError(
            "`constraint.project` must accept rows and give each row the bits it gives that row alone; "
            "loop over the rows if in doubt."
        )
