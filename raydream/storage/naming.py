"""What a run is on, by one name everywhere: robust-logistic on a9a, ring of 8 (self_weight=0.5)."""

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

from raydream.problems.registry import PROBLEMS, takes_data
from raydream.specs import LAZY, POOLED

Part = Mapping[str, Any]


def setting_name(config: Part) -> str:
    """Problem, data, network and agents, as far as a run.json, or a setting that is kept, knows them."""
    problem, topology = config.get("problem") or {}, config.get("topology") or {}
    return f"{problem_name(problem)}, {network_name(topology, problem)}"


def shared_name(configs: Iterable[Part]) -> str:
    """That of several runs on one problem, some of which may have it pooled on one machine."""
    every = list(configs)
    return setting_name(max(every, key=lambda one: (one.get("topology") or {}).get("m") or 0)) if every else ""


def problem_name(problem: Part) -> str:
    """The problem, and its data where it is posed on some."""
    spec = problem.get("spec") or {}
    name = str(spec.get("name") or _listed(str(problem.get("name") or "a problem")))
    if spec.get("name") not in PROBLEMS or not takes_data(name):
        return name
    return f"{name} on {PurePath(str((spec.get('parameters') or {}).get('data', 'synthetic'))).name}"


def network_name(topology: Part, problem: Part | None = None) -> str:
    """The network, how many agents it has, and what was said of it."""
    spec, agents = topology.get("spec") or {}, topology.get("m", "?")
    pooled = (((problem or {}).get("spec") or {}).get("parameters") or {}).get(POOLED)
    if agents == 1:
        return "one machine" if pooled is None else f"{pooled} agents pooled on one machine"
    said = {name: value for name, value in (spec.get("parameters") or {}).items() if name != LAZY}
    words = ", ".join(f"{name}={value}" for name, value in said.items())
    return f"{str(topology.get('name', '')).replace('_', ' ')} of {agents}" + (f" ({words})" if words else "")


def _listed(kind: str) -> str:
    """The name of a class of problems, as the command line has it."""
    return next((name for name, make in PROBLEMS.items() if make.__name__ == kind), kind)
