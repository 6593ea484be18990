"""The parts of a run, made again from its record; code that a record names runs only if the user repeats its name."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from raydream import specs
from raydream.algorithms import METHODS
from raydream.backends.plan import Plan
from raydream.columns.own import metrics_again
from raydream.conditions import Conditions
from raydream.storage.record import ProblemRecord, RunRecord, TopologyRecord
from raydream.storage.start import read_start
from raydream.topology import Topology, from_entries


def plan_again(
    folder: Path,
    record: RunRecord,
    problem: Any,
    topology: Topology | None,
    method: Any,
    metrics: Mapping[str, Any] | None = None,
    conditions: Conditions | None = None,
    measured: bool = True,
) -> Plan:
    """The plan of the run in a directory; its parts as they are given, else as the record says.

    measured  whether it must have all metrics that the run records
    """
    plan = Plan.build(
        problem_again(folder, record.problem, problem),
        topology_again(folder, record.topology) if topology is None else topology,
        _method(folder, record, method),
        seed=record.seed,
        start=read_start(folder),
        metrics=metrics,
        conditions=record.conditions if conditions is None else conditions,
    )
    if not measured:
        return replace(
            plan, metrics={name: one for name, one in plan.metrics.items() if name in record.settings.metrics}
        )
    return replace(plan, metrics=metrics_again(plan.metrics, metrics, record.settings.metrics, str(folder)))


def problem_again(folder: Path, record: ProblemRecord, given: Any = None) -> Any:
    """The problem that the user gives, or whose name the user repeats; without either, as the record says."""
    return _problem(folder, record) if given is None else _repeated(folder, record, given)


def _problem(folder: Path, record: ProblemRecord) -> Any:
    """The problem by its name; a callable is not believed, since the record may be somebody else's."""
    spec = record.spec
    if spec is None:
        raise ValueError(f"`problem` must be given: {str(folder)!r} does not say how it was made.")
    if spec.is_code:
        raise ValueError(
            f"`problem` must be repeated: {str(folder)!r} names {spec.name!r}, which is code from elsewhere. "
            f"If you trust it, give problem={spec.name!r} (--problem {spec.name}), or the problem itself."
        )
    return specs.build_problem(spec.name, record.agents, spec.parameters)


def _repeated(folder: Path, record: ProblemRecord, given: Any) -> Any:
    """The problem that the user gives, or the one whose name the user repeats."""
    if not isinstance(given, str):
        return given
    if record.spec is None or given != record.spec.name:
        known = "a problem" if record.spec is None else f"a problem, or {record.spec.name!r} as in its record"
        raise ValueError(f"`problem` of the run in {str(folder)!r} must be {known}; got {given!r}.")
    return specs.build_problem(given, record.agents, record.spec.parameters, never_from=folder)


def topology_again(folder: Path, record: TopologyRecord) -> Topology:
    """The network, from its matrix, else by its name."""
    if record.W is not None:
        network = from_entries(record.W, record.m, record.name)
        return network if record.spec is None else specs.remember(network, record.spec.name, record.spec.parameters)
    if record.spec is None:
        raise ValueError(f"`topology` must be given: {str(folder)!r} does not say how it was made.")
    return specs.build_topology(record.spec.name, record.m, record.spec.parameters)


def _method(folder: Path, record: RunRecord, given: Any) -> Any:
    """The method that the user gives, or whose class the user names; without either, as the record says."""
    if given is not None and not isinstance(given, str):
        return given
    name = record.method.name
    if given is None and name not in METHODS:
        raise ValueError(f"`method` must be given: {name!r} is not one of this package's.")
    if given is not None and given.rpartition(":")[2] != name:
        raise ValueError(f"`method` must be {name!r}, as in the record; got {given!r}.")
    return specs.build_method(given or name, record.method.parameters, never_from=folder)
