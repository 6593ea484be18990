"""The form for a new run: which fields it has, and what an order means. Names and numbers only, nothing to execute."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any
from urllib.parse import urlencode

from raydream import checks, specs
from raydream.algorithms import METHODS
from raydream.algorithms.tracking import FORMS
from raydream.data.splits import KINDS as SPLITS
from raydream.data.store import KNOWN
from raydream.data.synthetic import synthetic
from raydream.problems import OnlineQuadraticGame, QuadraticGame
from raydream.storage.settings import Limits
from raydream.topology import WEIGHTS
from raydream.topology.mixing import METHODS as MIXINGS
from raydream.topology.mixing import MOMENTA

DATA = ("synthetic", *KNOWN)
BACKENDS = {"ray": "Ray: every agent an actor", "local": "local: all agents in one process"}
LINKS = {"direct": "direct: actor to actor over TCP", "ray": "through Ray's own calls"}
WORDS: dict[str, tuple[str, ...]] = {  # fields that take one of a few words
    "split": SPLITS,
    "scaling": ("balanced", "paper"),
    "weights": WEIGHTS,
    "form": tuple(FORMS),
    "mixing": MIXINGS,
    "momentum": MOMENTA,
    "bias": ("false", "true"),
    "test": ("false", "true"),
}
STEPS = {"eta": 0.1, "gamma": 1.0}  # no method has a default for these, but a form begins with something
MOST_AGENTS = 1000
LONGEST = 200  # characters of a field
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=+-]{0,79}")
REAL = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+")
NUMBER = re.compile(REAL.pattern + r"|none|sqrt\(n\)")
PACKING = re.compile(r"auto|\d{1,4}(,\d{1,4})*")


@dataclass(frozen=True)
class Field:
    """A parameter: its name, its default (None: settled later; REQUIRED: must be given), and the words it takes."""

    name: str
    default: Any
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Order:
    """A run to start: its directory's name ("" for the next free one), its method, and arguments of `raydream run`.

    `form` is what was filled in, to be filled in again.
    """

    name: str
    method: str
    arguments: tuple[str, ...]
    form: dict[str, str]


REQUIRED = object()


def problem_fields(problem: str, data: str) -> list[Field]:
    """What can be said of a problem beside its data."""
    checks.choice("problem", problem, specs.PROBLEMS)
    if problem == "robust-logistic":
        own = _fields(specs.PROBLEMS[problem], {"data"})
        return own + (_fields(synthetic, set()) if data == "synthetic" else [])
    game: Any = QuadraticGame if problem == "quadratic" else OnlineQuadraticGame
    shape = [Field("heterogeneity", 1.0), Field("curvature", 0.5), Field("ball", None)]
    return _fields(game.random, {"constraint"}) + shape


def topology_fields(topology: str) -> list[Field]:
    """What can be said of a topology."""
    return _fields(specs.TOPOLOGIES[checks.choice("topology", topology, specs.TOPOLOGIES)], {"m"})


def method_fields(method: str) -> list[Field]:
    """The parameters of a method."""
    kind = METHODS[checks.choice("method", method, METHODS)]
    return [
        Field(f.name, STEPS.get(f.name, REQUIRED) if f.default is MISSING else f.default, WORDS.get(f.name, ()))
        for f in fields(kind)
    ]


def order(form: Mapping[str, Any]) -> Order:
    """The order that a filled form is, or one sentence about what is wrong with it.

    Parameters have the names problem.theta, topology.self_weight, method.eta and so on; an empty one is the default.
    """
    said = {name: _text(value) for name, value in form.items()}
    problem = checks.choice("problem", said.get("problem", ""), specs.PROBLEMS)
    data = checks.choice("data", said.get("data") or "synthetic", DATA)
    topology = checks.choice("topology", said.get("topology", ""), specs.TOPOLOGIES)
    method = checks.choice("method", said.get("method", ""), METHODS)
    agents = checks.whole("agents", _whole("agents", said.get("agents")), 1)
    if agents > MOST_AGENTS:
        raise ValueError(f"`agents` must be at most {MOST_AGENTS} here; got {agents}. Larger runs start from Python.")
    chosen = {
        "problem-set": _parameters(said, "problem", problem_fields(problem, data)),
        "topology-set": _parameters(said, "topology", topology_fields(topology)),
        "set": _parameters(said, "method", method_fields(method)),
    }
    specs.build_topology(topology, agents, specs.parse_parameters("topology", chosen["topology-set"]))
    built = specs.build_method(method, specs.parse_parameters("method", chosen["set"]))
    arguments = ["--problem", problem, "--agents", str(agents), "--topology", topology, "--method", method]
    if problem == "robust-logistic":
        arguments += ["--data", data]
    arguments += ["--eta", repr(float(built.eta)), "--gamma", repr(float(built.gamma))]
    for option, pairs in chosen.items():
        for pair in pairs:
            if pair.partition("=")[0] not in STEPS:
                arguments += [f"--{option}", pair]
    arguments += _limits(said) + _backend(said)
    name = said.get("name", "")
    if name and not NAME.fullmatch(name):
        raise ValueError(f"`name` must be letters, digits and . _ = + - (at most 80, no slash); got {name!r}.")
    filled = {name: value for name, value in said.items() if value and name != "name"}
    return Order(name, method, tuple(arguments), filled)


def again(record: Mapping[str, Any], ordered: Mapping[str, Any]) -> str | None:
    """The link to a form that is filled in as a run was ordered; None where a form cannot order it.

    record   its run.json, which says how problem and network were made if a form or the command line made them
    ordered  the form that it was ordered with, where it was
    """
    if ordered:
        return f"/new?{urlencode({str(name): str(value) for name, value in ordered.items()})}"
    problem, topology = ((record.get(part) or {}).get("spec") or {} for part in ("problem", "topology"))
    made, woven = problem.get("parameters") or {}, topology.get("parameters") or {}
    known = problem.get("name") in specs.PROBLEMS and topology.get("name") in specs.TOPOLOGIES
    if not known or made.get("data", "synthetic") not in DATA or record["method"].get("name") not in METHODS:
        return None
    backend = record.get("backend") or {}
    said = {
        "problem": problem["name"],
        "data": made.get("data"),
        "agents": record["topology"].get("m"),
        "topology": topology["name"],
        "method": record["method"]["name"],
        **{f"problem.{name}": value for name, value in made.items() if name != "data"},
        **{f"topology.{name}": value for name, value in woven.items()},
        **{f"method.{name}": value for name, value in (record.get("asked") or {}).items()},
        **{name: record.get(name) for name in ("iterations", "record_every", "seed", "checkpoint_every")},
        **(record.get("limits") or {}),
        "diagnostics": "1" if record.get("diagnostics") else None,
        "backend": backend.get("name"),
        "agents_per_actor": backend.get("agents_per_actor"),
        "links": backend.get("links"),
    }
    return f"/new?{urlencode({name: _plain(value) for name, value in said.items() if value is not None})}"


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _fields(maker: Callable[..., Any], without: set[str]) -> list[Field]:
    found = []
    for parameter in inspect.signature(maker).parameters.values():
        if parameter.name in without | {"agents"} or parameter.kind is parameter.VAR_KEYWORD:
            continue
        default = REQUIRED if parameter.default is parameter.empty else parameter.default
        found.append(Field(parameter.name, default, WORDS.get(parameter.name, ())))
    return found


def _parameters(said: Mapping[str, str], part: str, known: list[Field]) -> list[str]:
    """The filled-in parameters of one part, as name=value."""
    pairs = []
    for field in known:
        value = said.get(f"{part}.{field.name}", "")
        if not value or (field.words and value == str(field.default).lower()):  # left as it was
            if field.default is REQUIRED:
                raise ValueError(f"`{field.name}` of the {part} must be given.")
            if field.name in STEPS:
                pairs.append(f"{field.name}={field.default}")
            continue
        if field.words:
            checks.choice(field.name, value, field.words)
        elif not NUMBER.fullmatch(value.lower()):
            raise ValueError(f"`{field.name}` must be a number; got {value!r}.")
        pairs.append(f"{field.name}={value}")
    return pairs


def _limits(said: Mapping[str, str]) -> list[str]:
    """How long, how often recorded, from which seed."""
    chosen: dict[str, Any] = {}
    for name, default in (("iterations", 300), ("record_every", 5), ("seed", 0), ("checkpoint_every", None),
                          ("max_sfo", None), ("max_rounds", None)):  # fmt: skip
        value = _whole(name, said.get(name)) if said.get(name) else default
        if value is not None:
            chosen[name] = checks.whole(name, value, 0 if name in ("iterations", "seed") else 1)
    for name in ("target_grad_norm", "target_primal", "max_seconds"):
        if given := said.get(name):
            if not REAL.fullmatch(given):
                raise ValueError(f"`{name}` must be a number; got {given!r}.")
            chosen[name] = checks.number(name, float(given))
    Limits(**{name: value for name, value in chosen.items() if name.startswith(("max_", "target_"))})
    arguments = [word for name, value in chosen.items() for word in (f"--{name.replace('_', '-')}", repr(value))]
    return arguments + (["--diagnostics"] if said.get("diagnostics") else [])


def _backend(said: Mapping[str, str]) -> list[str]:
    backend = checks.choice("backend", said.get("backend") or "ray", BACKENDS)
    if backend == "local":
        return ["--backend", "local"]
    packing = said.get("agents_per_actor") or "1"
    if not PACKING.fullmatch(packing):
        raise ValueError(f"`agents_per_actor` must be a number, auto, or sizes such as 3,5; got {packing!r}.")
    links = checks.choice("links", said.get("links") or "direct", LINKS)
    return ["--backend", "ray", "--agents-per-actor", packing, "--links", links]


def _text(value: Any) -> str:
    """What a control holds, as text: a ticked box is "1"."""
    if isinstance(value, list):
        value = value[0] if value else ""
    text = "" if value is None else str(value).strip()
    if len(text) > LONGEST:
        raise ValueError(f"a field must be at most {LONGEST} characters long; got {len(text)}.")
    return text


def _whole(name: str, value: str | None) -> int:
    try:
        number = float(value or "")
    except ValueError:
        raise ValueError(f"`{name}` must be a whole number; got {value!r}.") from None
    if not number.is_integer():
        raise ValueError(f"`{name}` must be a whole number; got {value!r}.")
    return int(number)
