"""The form for a new run, filled in: what it means. Names and numbers only, nothing to execute."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from raydream import checks, specs
from raydream.columns import LIMITED
from raydream.conditions.conditions import conditions_from
from raydream.conditions.distributions import WORDS
from raydream.dashboard.new.fields import (
    DATA,
    SYNTHETIC,
    backends,
    conditions,
    limits,
    links,
    method_fields,
    problem_fields,
    topology_fields,
)
from raydream.parameters import REQUIRED, Parameter
from raydream.problems.registry import takes_data
from raydream.steps import GUESS
from raydream.storage.settings import Limits
from raydream.studies.defaults import TOPOLOGY

USUAL = {"iterations": 300, "record_every": 5, "seed": 0}  # what a form begins with
FROM_ZERO = ("iterations", "seed")
MOST_AGENTS = 1000
LONGEST = 200  # characters of a field
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=+-]{0,79}")
WHOLE = re.compile(r"[+-]?\d{1,50}")
REAL = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+")
PACKING = re.compile(r"auto|\d{1,4}(,\d{1,4})*")


@dataclass(frozen=True)
class NewRun:
    """A run to start: its directory's name ("" for the next free one), its method, and arguments of `raydream run`.

    `form` is what was filled in, to be filled in again.
    """

    name: str
    method: str
    arguments: tuple[str, ...]
    form: dict[str, str]


def new_run(form: Mapping[str, Any]) -> NewRun:
    """The run that a filled form asks for, or one sentence about what is wrong with it.

    Parameters have the names problem.theta, topology.self_weight, method.eta and so on; an empty one is the default.
    """
    said = {name: _text(value) for name, value in form.items()}
    problem = checks.choice("problem", said.get("problem", ""), specs.PROBLEMS)
    data = checks.choice("data", said.get("data") or SYNTHETIC, DATA)
    topology = checks.choice("topology", said.get("topology", ""), specs.TOPOLOGIES)
    method = checks.choice("method", said.get("method", ""), specs.METHODS)
    agents = checks.whole("agents", _whole("agents", said.get("agents")), 1)
    if agents > MOST_AGENTS:
        raise ValueError(f"`agents` must be at most {MOST_AGENTS} here; got {agents}. Larger runs start from Python.")
    of_problem = _parameters(said, "problem", problem_fields(problem, data))
    of_topology = _parameters(said, "topology", topology_fields(topology))
    made = {"data": data, **specs.parse_parameters("problem", of_problem)}
    known = method_fields(method, problem, made)
    of_method = _parameters(said, "method", known)
    _check_network(topology, agents, of_topology)
    usual = {field.name: field.default for field in known if field.default is not REQUIRED}
    specs.build_method(method, {**usual, **specs.parse_parameters("method", of_method)})
    name = said.get("name", "")
    if name and not NAME.fullmatch(name):
        raise ValueError(f"`name` must be letters, digits and . _ = + - (at most 80, no slash); got {name!r}.")
    arguments = (
        *("--problem", problem, "--agents", str(agents), "--topology", topology, "--method", method),
        *(("--data", data) if takes_data(problem) else ()),
        *_settings("--problem-set", of_problem),
        *_settings("--topology-set", of_topology),
        *_method_settings(of_method),
        *_settings("--condition", _conditions(said)),
        *_limits(said),
        *_backend(said),
    )
    filled = {name: value for name, value in said.items() if value and name != "name"}
    return NewRun(name, method, arguments, filled)


def _parameters(said: Mapping[str, str], part: str, known: list[Parameter]) -> list[str]:
    """The filled-in parameters of one part, as name=value."""
    pairs = []
    for field in known:
        value = said.get(f"{part}.{field.name}", "")
        if not value or (field.words and value == str(field.default).lower()):  # left as it was
            if field.default is REQUIRED:
                raise ValueError(f"`{field.name}` of the {part} must be given.")
            if part == "topology" and field.name in TOPOLOGY[1] and field.default is not None:
                pairs.append(f"{field.name}={field.default}")  # which a network that is named has not by itself
            continue
        if field.words:
            checks.choice(field.name, value, field.words)
        elif value.lower() not in (*field.also, "none") and not REAL.fullmatch(value):
            raise ValueError(f"`{field.name}` must be a number; got {value!r}.")
        pair = f"{field.name}={value}"
        field.check(specs.parse_parameters(part, [pair])[field.name])
        pairs.append(pair)
    return pairs


def _check_network(topology: str, agents: int, pairs: list[str]) -> None:
    """Refuse a network that cannot be built; one that is drawn may take long, and is drawn by the run itself."""
    if all(field.name != "seed" for field in topology_fields(topology)):
        specs.build_topology(topology, agents, specs.parse_parameters("topology", pairs))


def _conditions(said: Mapping[str, str]) -> list[str]:
    """Of the network and the machines, as name=value: numbers, or words such as exponential-0.001."""
    pairs = [f"{name}={value}" for name in conditions() if (value := said.get(f"condition.{name}", ""))]
    for name, value in (pair.split("=", 1) for pair in pairs):
        if name == "schedule":
            if ":" in value:
                raise ValueError(f"`schedule` must be words such as one-peer-exponential; got {value!r}.")
        elif not REAL.fullmatch(value) and not WORDS.fullmatch(value):
            raise ValueError(f"`{name}` must be a number, or words such as exponential-0.001; got {value!r}.")
    conditions_from(specs.parse_parameters("condition", pairs))
    return pairs


def _settings(option: str, pairs: Iterable[str]) -> list[str]:
    return [word for pair in pairs for word in (option, pair)]


def _method_settings(pairs: list[str]) -> list[str]:
    """Steps have options of their own."""
    steps = {name: value for name, _, value in (pair.partition("=") for pair in pairs) if name in GUESS}
    words = [word for name, value in steps.items() for word in (f"--{name}", repr(float(value)))]
    return words + _settings("--set", [pair for pair in pairs if pair.partition("=")[0] not in GUESS])


def _limits(said: Mapping[str, str]) -> list[str]:
    """How long, how often recorded, from which seed."""
    chosen: dict[str, float] = {}
    for name in (*USUAL, "checkpoint_every"):
        value = _whole(name, said.get(name)) if said.get(name) else USUAL.get(name)
        if value is not None:
            chosen[name] = checks.whole(name, value, 0 if name in FROM_ZERO else 1)
    bounds: dict[str, Any] = {name: _bound(name, said[name]) for name in limits() if said.get(name)}
    Limits(**bounds)
    arguments = [
        word for name, value in (chosen | bounds).items() for word in (f"--{name.replace('_', '-')}", repr(value))
    ]
    return arguments + (["--diagnostics"] if said.get("diagnostics") else [])


def _bound(name: str, given: str) -> float:
    if LIMITED[name].integer:
        return _whole(name, given)
    if not REAL.fullmatch(given):
        raise ValueError(f"`{name}` must be a number; got {given!r}.")
    return checks.number(name, float(given))


def _backend(said: Mapping[str, str]) -> list[str]:
    backend = checks.choice("backend", said.get("backend") or "ray", backends())
    if backend != "ray":
        return ["--backend", backend]
    packing = said.get("agents_per_actor") or "1"
    if not PACKING.fullmatch(packing):
        raise ValueError(f"`agents_per_actor` must be a number, auto, or sizes such as 3,5; got {packing!r}.")
    chosen = checks.choice("links", said.get("links") or "direct", links())
    return ["--backend", "ray", "--agents-per-actor", packing, "--links", chosen]


def _text(value: Any) -> str:
    """What a control holds, as text: a ticked box is "1"."""
    if isinstance(value, list):
        value = value[0] if value else ""
    text = "" if value is None else str(value).strip()
    if len(text) > LONGEST:
        raise ValueError(f"a field must be at most {LONGEST} characters long; got {len(text)}.")
    return text


def _whole(name: str, value: str | None) -> int:
    """A whole number, exactly as it is written; 1e6 will do, and 3.0."""
    text = value or ""
    if WHOLE.fullmatch(text):
        return int(text)
    if not REAL.fullmatch(text) or not (number := float(text)).is_integer() or abs(number) > 2**53:
        raise ValueError(f"`{name}` must be a whole number; got {value!r}.")
    return int(number)
