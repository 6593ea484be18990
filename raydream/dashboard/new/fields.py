"""Which fields the form has: the parameters of what is chosen, as its maker declares them, and what may be chosen."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from raydream.backends.ray.links import LINKS
from raydream.backends.registry import BACKENDS
from raydream.checks import choice
from raydream.columns import LIMITED
from raydream.conditions.schedule import WORDS as SCHEDULES
from raydream.data.store import KNOWN
from raydream.data.synthetic import synthetic
from raydream.parameters import PLAIN, Parameter, parameters_of
from raydream.specs import LAZY, METHODS, PROBLEMS, TOPOLOGIES
from raydream.steps import GUESS, settled
from raydream.storage.settings import Limits
from raydream.studies.defaults import TOPOLOGY

SYNTHETIC = "synthetic"
DATA = (SYNTHETIC, *KNOWN)


def problem_fields(problem: str, data: str) -> list[Parameter]:
    """What can be said of a problem beside its agents and its data; of synthetic data last what they are like."""
    own = _after_the_first(PROBLEMS[choice("problem", problem, PROBLEMS)])
    drawn = parameters_of(synthetic) if "data" in own else {}
    always = [one for name, one in own.items() if name != "data" and name not in drawn]
    return always + [own[name] for name in drawn if name in own and data == SYNTHETIC]


def topology_fields(topology: str) -> list[Parameter]:
    """What can be said of a topology beside its agents; that of a run that nothing is said of begins as there."""
    known = _after_the_first(TOPOLOGIES[choice("topology", topology, TOPOLOGIES)])
    usual = dict(TOPOLOGY[1]) if topology == TOPOLOGY[0] else {}
    lazy = Parameter(LAZY, False, (PLAIN[bool],), help="whether to mix with (W + I)/2, which is positive semidefinite")
    return [*(replace(one, default=usual.get(name, one.default)) for name, one in known.items()), lazy]


def method_fields(method: str, problem: str, made: Mapping[str, Any]) -> list[Parameter]:
    """The parameters of a method, as they are settled for a problem that is made with these."""
    known = parameters_of(METHODS[choice("method", method, METHODS)])
    usual = settled(method, problem, made) or GUESS
    return [replace(one, default=usual.get(name, one.default)) for name, one in known.items()]


def limits() -> dict[str, str]:
    """What may end a run before its last iteration, and what to call it; not by what only some runs spend."""
    return {field.name: _bound(field.name) for field in fields(Limits) if not LIMITED[field.name].conditional}


def conditions() -> dict[str, str]:
    """What networks and machines may be like, and what to call it."""
    return {
        "gradient_seconds": "seconds per gradient",
        "latency": "seconds per message",
        "bandwidth": "bytes/s on a link",
        "uplink": "bytes/s of an agent",
        "drop": "a link fails (chance)",
        "asleep": "an agent sleeps",
        "compression": "what of a message travels",
        "memory": "memory (true, or a step)",
        "schedule": "how links change",
    }


EXAMPLES = {
    "gradient_seconds": ("0.001", "exponential-0.001"),
    "latency": ("0.01", "exponential-0.01"),
    "drop": ("0.1", "bursts-0.1-0.5"),
    "asleep": ("0.05", "bursts-0.1-0.5"),
    "compression": ("top-0.1", "random-0.1", "qsgd-4", "sign", "float32", "float16"),
    "memory": ("true", "0.5"),
    "schedule": (*SCHEDULES, "edge-markovian-0.1-0.5", "ring,star"),
}  # of conditions, offered as one types


def backends() -> dict[str, str]:
    """Where agents can live, each in a line."""
    return {name: f"{name}: {kind.says}" for name, kind in BACKENDS.items()}


def links() -> dict[str, str]:
    """How actors can reach each other, each in a line."""
    return {name: f"{name}: {kind.says}" for name, kind in LINKS.items()}


def _after_the_first(maker: object) -> dict[str, Parameter]:
    """What a maker takes besides the number of agents, which comes first."""
    assert callable(maker)
    return dict([*parameters_of(maker).items()][1:])


def _bound(limit: str) -> str:
    column = LIMITED[limit]
    if column.kind == "cost":
        return f"at most {column.short}"
    return f"until {column.short} {'≤' if column.better == 'less' else '≥'}"
