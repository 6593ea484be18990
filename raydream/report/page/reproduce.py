"""How to make a run again: a command where the record knows how its parts were built, else a sketch in Python.

A start of one's own has no place in a command: such a run is made again in Python.
"""

import json
import shlex
from typing import Any

from raydream.algorithms import METHODS
from raydream.report.collect import Run

BACKEND = ("agents_per_actor", "links", "placement", "address")  # what the command line can set


def reproduce(runs: list[Run]) -> str:
    """The command, or the sketch, for runs that differ in the seed alone."""
    config = runs[0].config
    seeds = [run.seed for run in runs if run.seed is not None]
    known = all((config.get(part) or {}).get("spec") for part in ("problem", "topology"))
    if known and config.get("method", {}).get("name") in METHODS and not config.get("own_start"):
        return _command(config, seeds)
    return _sketch(config, seeds)


def _command(config: dict[str, Any], seeds: list[Any]) -> str:
    problem, topology, method = config["problem"], config["topology"], config["method"]
    groups = [
        ["raydream", "run"],
        ["--problem", problem["spec"]["name"], "--agents", str(problem["agents"])],
        *_in_lines(_settings("--problem-set", problem["spec"]["parameters"])),
        ["--topology", topology["spec"]["name"], *_settings("--topology-set", topology["spec"]["parameters"])],
        *_in_lines(["--method", method["name"], *_method(method["parameters"])]),
        ["--iterations", str(config.get("iterations")), "--record-every", str(config.get("record_every", 10))],
        [word for name, value in config.get("limits", {}).items() for word in (_option(name), _text(value))],
        [*_backend(config.get("backend") or {}), *(["--diagnostics"] if config.get("diagnostics") else [])],
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
    for name in BACKEND:
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


def _sketch(config: dict[str, Any], seeds: list[Any]) -> str:
    problem, topology, method = (config.get(part) or {} for part in ("problem", "topology", "method"))
    name, given = str(method.get("name", "?")), method.get("parameters", {})
    kind = f"rd.{METHODS[name].__name__}" if name in METHODS else name
    options = {key: config[key] for key in ("iterations", "record_every", "diagnostics") if config.get(key) is not None}
    words = [f"{key}={value!r}" for key, value in (options | config.get("limits", {})).items()]
    words += _backend_in_python(config.get("backend") or {})
    facts = ", ".join(f"{key}={problem[key]}" for key in ("agents", "samples", "dim_x", "dim_y") if key in problem)
    network = f"m={topology.get('m', '?')}, second_eigenvalue={topology.get('second_eigenvalue', '?')}"
    lines = ["import numpy as np"] if config.get("own_start") else []
    lines.append("import raydream as rd")
    if problem.get("spec") or topology.get("spec"):
        lines.append("from raydream import specs")
    lines.append("")
    if config.get("own_start"):
        lines.append('start = np.load("start.npz")  # in the directory of the run')
        words.append('start=(start["x0"], start["y0"])')
    run = f"rd.run(problem, topology, method, {', '.join(words)}{', ' if words else ''}seed="
    many = f"results = [{run}seed) for seed in {seeds}]"
    return "\n".join(
        [
            *lines,
            _built("problem", problem, problem.get("agents"), facts),
            _built("topology", topology, topology.get("m"), network),
            f"method = {kind}({', '.join(f'{key}={value!r}' for key, value in given.items())})",
            many if len(seeds) > 1 else f"result = {run}{seeds[0] if seeds else 0})",
        ]
    )


def _built(part: str, described: dict[str, Any], agents: Any, facts: str) -> str:
    """The line that builds a problem or a topology, or says what to put there."""
    spec = described.get("spec")
    if spec:
        return f"{part} = specs.build_{part}({spec['name']!r}, {agents!r}, {spec['parameters']!r})"
    return f"{part} = ...  # {described.get('name', 'yours')}: {facts}".rstrip(": ")


def _backend_in_python(backend: dict[str, Any]) -> list[str]:
    settings = ", ".join(f"{name}={value!r}" for name, value in backend.items() if name != "name")
    if backend.get("name") == "ray" and settings:
        return [f"backend=rd.RayBackend({settings})"]
    return [f"backend={backend['name']!r}"] if "name" in backend else []
