"""How to make a run again: a command where the record knows how its parts were built, else a sketch in Python.

A start of one's own has no place in a command: such a run is made again in Python.

What is told here is copied and run, and records come from anywhere: only names that this package knows are called,
values are quoted, and code that a record names is for the reader to put there.
"""

import json
import shlex
from collections.abc import Mapping
from keyword import iskeyword
from typing import Any

from raydream.algorithms import METHODS
from raydream.backends.registry import BACKENDS
from raydream.report.collect import Run
from raydream.specs import PROBLEMS, TOPOLOGIES, Spec
from raydream.storage.record import RunRecord

OPTIONS = ("agents_per_actor", "links", "placement", "address")  # what the command line can set


def reproduce(runs: list[Run]) -> str:
    """The command, or the sketch, for runs that differ in the seed alone."""
    record = runs[0].record
    seeds = [run.seed for run in runs if run.seed is not None]
    if record is None:
        return _outline(runs[0], seeds)
    problem, topology = record.problem.spec, record.topology.spec
    if problem is None or topology is None or record.own_start or not _is_plain(record, problem, topology):
        return _sketch(record, seeds)
    return _command(record, problem, topology, seeds)


def _is_plain(record: RunRecord, problem: Spec, topology: Spec) -> bool:
    """Whether all that a command would name is known."""
    known = record.method.name in METHODS and problem.name in PROBLEMS and _is_topology(topology.name)
    given = (*problem.parameters, *topology.parameters, *record.method.parameters)
    return known and record.backend.get("name", "ray") in BACKENDS and all(map(str.isidentifier, given))


def _is_topology(name: str) -> bool:
    return name.replace("_", "-") in TOPOLOGIES


def _command(record: RunRecord, problem: Spec, topology: Spec, seeds: list[Any]) -> str:
    settings = record.settings
    groups = [
        ["raydream", "run"],
        ["--problem", problem.name, "--agents", str(record.problem.agents)],
        *_in_lines(_settings("--problem-set", problem.parameters)),
        ["--topology", topology.name, *_settings("--topology-set", topology.parameters)],
        *_in_lines(["--method", record.method.name, *_method(record.method.parameters)]),
        ["--iterations", str(settings.iterations), "--record-every", str(settings.record_every)],
        [word for name, value in settings.limits.given().items() for word in (_option(name), _text(value))],
        *_in_lines(_settings("--condition", {} if record.conditions is None else record.conditions.to_json())),
        [*_backend(record.backend), *(["--diagnostics"] if settings.diagnostics else [])],
    ]
    lines = [" ".join(shlex.quote(word) for word in group) for group in groups if group]
    if len(seeds) <= 1:
        return " \\\n    ".join([*lines, f"--seed {shlex.quote(str(seeds[0])) if seeds else 0}"])
    loop = " \\\n    ".join([*lines, '--seed "$seed"'])
    return f"for seed in {shlex.join(map(str, seeds))}; do\n  {loop}\ndone"


def _in_lines(words: list[str], pairs: int = 5) -> list[list[str]]:
    """Options and their values, a few to a line."""
    return [words[place : place + 2 * pairs] for place in range(0, len(words), 2 * pairs)]


def _method(parameters: dict[str, Any]) -> list[str]:
    steps = [word for name in ("eta", "gamma") if name in parameters for word in (f"--{name}", str(parameters[name]))]
    return steps + _settings("--set", {k: v for k, v in parameters.items() if k not in ("eta", "gamma")})


def _backend(backend: dict[str, Any]) -> list[str]:
    words = ["--backend", str(backend.get("name", "ray"))]
    for name in OPTIONS:
        value = backend.get(name)
        if isinstance(value, list):
            value = ",".join(map(str, value))
        words += [_option(name), str(value)] if value is not None else []
    return words


def _settings(option: str, parameters: dict[str, Any]) -> list[str]:
    return [word for name, value in parameters.items() for word in (option, f"{name}={_text(value)}")]


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return json.dumps(value)
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _sketch(record: RunRecord, seeds: list[Any]) -> str:
    """A program that makes the run again, with gaps where the record does not know how a part was built."""
    problem, topology, settings = record.problem, record.topology, record.settings
    given = {name: getattr(settings, name) for name in ("iterations", "record_every", "diagnostics")}
    words = [f"{name}={value!r}" for name, value in (given | settings.limits.given()).items()]
    if record.conditions is not None:
        words.append(f"conditions=rd.Conditions({_arguments(record.conditions.to_json())})")
    words += _backend_in_python(record.backend)
    lines = ["import numpy as np"] if record.own_start else []
    lines.append("import raydream as rd")
    if problem.spec or topology.spec:
        lines.append("from raydream import specs")
    lines.append("")
    if record.own_start:
        lines.append('start = np.load("start.npz")  # in the directory of the run')
        words.append('start=(start["x0"], start["y0"])')
    sizes = ", ".join(f"{name}={getattr(problem, name)}" for name in ("agents", "samples", "dim_x", "dim_y"))
    network = f"m={topology.m}, second_eigenvalue={topology.second_eigenvalue}"
    lines.append(_built("problem", problem.spec, problem.agents, f"{problem.name}: {sizes}"))
    lines.append(_built("topology", topology.spec, topology.m, f"{topology.name}: {network}"))
    return "\n".join([*lines, *_calls(record.method.name, record.method.parameters, words, seeds)])


def _outline(run: Run, seeds: list[Any]) -> str:
    """What can be said where there is no record: the method alone."""
    lines = ["import raydream as rd", "", _built("problem", None, 0, "yours"), _built("topology", None, 0, "yours")]
    return "\n".join([*lines, *_calls(run.method, run.parameters, ["iterations=..."], seeds)])


def _calls(method: str, parameters: dict[str, Any], words: list[str], seeds: list[Any]) -> list[str]:
    """The lines that build the method and run it."""
    given = _arguments(parameters)
    made = f"rd.{METHODS[method].__name__}({given})" if method in METHODS else f"...  # {_remark(f'{method}({given})')}"
    run = f"rd.run(problem, topology, method, {', '.join(words)}, seed="
    many = f"results = [{run}seed) for seed in {seeds}]"
    return [
        f"method = {made}",
        many if len(seeds) > 1 else f"result = {run}{seeds[0] if seeds else 0!r})",
    ]


def _arguments(given: Mapping[str, Any]) -> str:
    """Values by name, as they stand in a call."""
    plain = [f"{name}={value!r}" for name, value in given.items() if name.isidentifier() and not iskeyword(name)]
    rest = {name: value for name, value in given.items() if not name.isidentifier() or iskeyword(name)}
    return ", ".join([*plain, *([f"**{rest!r}"] if rest else [])])


def _remark(text: str) -> str:
    """Text that stays on its line."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def _built(part: str, spec: Spec | None, agents: int, facts: str) -> str:
    """The line that builds a problem or a topology, or says what to put there."""
    if spec is not None and (spec.name in PROBLEMS if part == "problem" else _is_topology(spec.name)):
        return f"{part} = specs.build_{part}({spec.name!r}, {agents!r}, {spec.parameters!r})"
    made = "" if spec is None else f", made by {spec.name} with {spec.parameters}, which is not this package's"
    return f"{part} = ...  # {_remark(facts + made)}"


def _backend_in_python(backend: dict[str, Any]) -> list[str]:
    name, settings = str(backend.get("name", "")), {key: value for key, value in backend.items() if key != "name"}
    if name in BACKENDS and settings:
        return [f"backend=rd.{BACKENDS[name].__name__}({_arguments(settings)})"]
    return [f"backend={name!r}"] if name else []
