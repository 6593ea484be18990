"""Problems, topologies and methods from plain words and numbers: what the command line and run.json speak."""

import contextlib
import importlib
import json
import sys
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from raydream import checks, steps
from raydream.algorithms import METHODS
from raydream.parameters import PLAIN, call, parameters_of
from raydream.problems.registry import PROBLEMS
from raydream.topology import TOPOLOGIES, Topology

__all__ = [
    "METHODS",
    "PROBLEMS",
    "TOPOLOGIES",
    "Spec",
    "build_method",
    "build_problem",
    "build_topology",
    "parse_parameters",
    "remember",
    "spec_of",
]

Thing = TypeVar("Thing")
AGENTS = 8  # where nobody says how many
POOLED, LAZY = "pooled", "lazy"  # what can be said of every problem, and of every topology


@dataclass(frozen=True)
class Spec:
    """How a problem or a topology was named: what builds it again."""

    name: str
    parameters: dict[str, Any]

    @property
    def is_code(self) -> bool:
        """Whether the name is that of a callable, `package.module:make`, and not one of this package's."""
        return ":" in self.name

    def pooled(self, agents: int) -> "Spec":
        """How the problem is named that is this one of so many agents, pooled on one."""
        return Spec(self.name, {**self.parameters, POOLED: agents})


_SPECS: dict[int, Spec] = {}  # of things that are alive, by their identity


def spec_of(thing: Any) -> Spec | None:
    """How a thing was named, if it was built here."""
    return _SPECS.get(id(thing))


def method_kind(name: str, never_from: Path | None = None) -> type[Any]:
    """A class of methods by its name on the command line, or by `package.module:Class`, which is yours.

    never_from  a folder from which nothing is imported
    """
    if ":" in name:
        kind: type[Any] = _import("method", name, never_from)
        return kind
    return METHODS[checks.choice("method", name, METHODS)]


def build_method(name: str, parameters: Mapping[str, Any], *, never_from: Path | None = None) -> Any:
    """A method by name."""
    return call(method_kind(name, never_from), name, parameters)


@dataclass(frozen=True)
class Usual:
    """The parameters that a method has on a problem where nobody gives any, and whether they were settled for it."""

    parameters: dict[str, Any]
    settled: bool


def usual_parameters(method: str, problem: Any) -> Usual:
    """Those that were settled for the problem and its data; else a guess of the steps, as far as it has any."""
    spec = spec_of(problem)
    found = None if spec is None else steps.settled(method, spec.name, spec.parameters)
    if found is not None:
        return Usual(found, True)
    known = parameters_of(method_kind(method))
    return Usual({step: value for step, value in steps.GUESS.items() if step in known}, False)


def named_method(method: Any, problem: Any) -> Any:
    """The method itself; or, of a name, one with the usual parameters on this problem."""
    return build_method(method, usual_parameters(method, problem).parameters) if isinstance(method, str) else method


def build_topology(name: str, agents: int, parameters: Mapping[str, Any]) -> Topology:
    """A topology by its builder's name; `lazy`, which all of them take, makes it (W + I)/2."""
    builder = TOPOLOGIES[checks.choice("topology", name.replace("_", "-"), TOPOLOGIES)]
    own = {key: value for key, value in parameters.items() if key != LAZY}
    built: Topology = call(builder, name, own, agents)
    lazy = parameters.get(LAZY, False)
    PLAIN[bool].check(LAZY, lazy)
    return remember(built.lazy() if lazy else built, name, parameters)


def build_problem(
    name: str, agents: int | None, parameters: Mapping[str, Any], *, never_from: Path | None = None
) -> Any:
    """A problem by name, or by `package.module:make`, a callable of yours that is called with the parameters.

    agents      how many (default: 8, or as many as your callable makes); your callable may take it by this name
    parameters  `pooled`, which all of them take, makes the problem for so many agents and pools it on one
    never_from  a folder from which nothing is imported
    """
    if POOLED in parameters:
        return _pooled(name, agents, parameters, never_from)
    if ":" not in name:
        maker = PROBLEMS[checks.choice("problem", name, PROBLEMS)]
        return remember(call(maker, name, parameters, AGENTS if agents is None else agents), name, parameters)
    maker = _import("problem", name, never_from)
    asked = {} if agents is None or "agents" not in parameters_of(maker) else {"agents": agents}
    made = call(maker, name, {**asked, **parameters})
    if agents is not None and getattr(made, "agents", agents) != agents:
        raise ValueError(f"`agents` must be {made.agents}, as {name} makes them; got {agents}. Leave it out.")
    return remember(made, name, parameters)


def _pooled(name: str, agents: int | None, parameters: Mapping[str, Any], never_from: Path | None) -> Any:
    if agents not in (None, 1):
        raise ValueError(f"`agents` must be 1 where a problem is `pooled`; got {agents}.")
    own = {key: value for key, value in parameters.items() if key != POOLED}
    return pooled(build_problem(name, checks.whole(POOLED, parameters[POOLED], 1), own, never_from=never_from))


def pooled(problem: Any) -> Any:
    """The problem on one agent, named as it was, or a sentence where it cannot be pooled."""
    if not hasattr(problem, "pooled"):
        raise ValueError(f"`problem` {type(problem).__name__} cannot be pooled on one machine; make it with 1 agent.")
    one, spec = problem.pooled(), spec_of(problem)
    return one if spec is None else remember(one, *vars(spec.pooled(problem.agents)).values())


def remember(thing: Thing, name: str, parameters: Mapping[str, Any]) -> Thing:
    """Note beside a thing how it was built, so that run.json can say it; what cannot be followed goes without."""
    with contextlib.suppress(TypeError):
        weakref.finalize(thing, _SPECS.pop, id(thing), None).atexit = False
        _SPECS[id(thing)] = Spec(name, dict(parameters))
    return thing


def parse_parameters(option: str, words: list[str]) -> dict[str, Any]:
    """`["p=0.2", "b_large=none"]` as {"p": 0.2, "b_large": None}."""
    parameters = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key.isidentifier():
            raise ValueError(f"`{option}` must read name=value; got {word!r}.")
        parameters[key] = _value(text)
    return parameters


def _value(text: str) -> Any:
    """A number, true, false, none, a list of these, or the text itself."""
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, int | float | list) else text


def _import(what: str, name: str, never_from: Path | None) -> Any:
    """The callable behind `package.module:make`; modules beside the caller's working folder are found too."""
    module_name, _, attribute = name.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)  # and it stays: actors look for the module along the driver's path
    if never_from is not None:
        _shun(what, never_from.resolve(), module_name)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ValueError(f"`{what}` must name an importable module; {module_name!r} is not ({error}).") from error
    maker = getattr(module, attribute, None)
    if not callable(maker):
        form = "package.module:make" if what == "problem" else "package.module:Class"
        raise ValueError(f"`{what}` must read {form}; {module_name!r} has no callable {attribute!r}.")
    return maker


def _shun(what: str, folder: Path, module_name: str) -> None:
    """See to it that a module is not found in a folder, neither along the path nor by a name that leads there."""
    sys.path[:] = [entry for entry in sys.path if not Path(entry).resolve().is_relative_to(folder)]
    if any(Path(entry, *module_name.split(".")).resolve().is_relative_to(folder) for entry in sys.path):
        raise ValueError(f"`{what}` must not be code from the run directory; {module_name!r} lies there.")
