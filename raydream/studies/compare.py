"""compare(): several methods and seeds on one problem and network; every run is kept, and none hides another."""

import contextlib
import json
import re
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from raydream.algorithms import METHODS
from raydream.backends.registry import backend_from
from raydream.checks import whole
from raydream.errors import Interrupted
from raydream.running.plan import warn_of_mixing
from raydream.running.progress import Progress
from raydream.running.run import run
from raydream.running.stopping import Limits
from raydream.specs import build_method
from raydream.storage.record import describe, parameters_of, read_record
from raydream.storage.result import OUTCOMES, Result, load
from raydream.studies.comparison import Comparison, Key, folder_of, read_index, write_failure, write_index
from raydream.studies.setting import ENDLESS, Worlds, needs_one_machine
from raydream.topology import Topology

Outcomes = Generator[tuple[int, Result | Exception], None, None]  # numbers of jobs, and what came of them
NAMES = re.compile(r"\w[\w .+=-]*")


@dataclass(frozen=True)
class _Job:
    """One run to make, in this process or in a Ray task."""

    key: Key
    method: Any
    settings: dict[str, Any]
    backend: Any
    folder: Path | None


def compare(
    problem: Any,
    topology: Topology,
    methods: Mapping[str, Any] | Iterable[Any],
    *,
    seeds: Iterable[int] = (0, 1, 2),
    iterations: int | None = None,
    backend: Any = "ray",
    directory: Any = None,
    parallel: bool | None = None,
    record_every: int = 10,
    start: tuple[Any, Any] | None = None,
    max_sfo: int | None = None,
    max_rounds: int | None = None,
    max_seconds: float | None = None,
    target_grad_norm: float | None = None,
    target_primal: float | None = None,
    diagnostics: bool = False,
    progress: bool | None = None,
) -> Comparison:
    """Run every method with every seed on one problem and network, and return the `Comparison`.

    methods     name -> method, or a list of methods (named as on the command line)
    seeds       one run of each method per seed
    iterations  as in `run`; None where max_sfo, max_rounds or max_seconds ends the runs
    backend     as in `run`. On Ray the runs follow one another in one Ray; "local" runs go side by side
    directory   where each run is kept, in <method>/seed-<seed>; runs that are finished there are not run again
    parallel    whether local runs go side by side as Ray tasks (default), or one by one in this process: same bits
    progress    True: a bar on a terminal, lines elsewhere; False: neither; None: a bar on a terminal

    Methods of one machine (GDA, SGDA) get `problem.pooled()`. A run that ends with an error is kept as a failure
    with its sentence. Ctrl-C leaves what is finished in `directory` and in the exception's `comparison`.
    The other arguments are those of `run`.
    """
    named, numbers = named_methods(methods), checked_seeds(seeds)
    limits = {"max_sfo": max_sfo, "max_rounds": max_rounds, "max_seconds": max_seconds}
    targets = {"target_grad_norm": target_grad_norm, "target_primal": target_primal}
    Limits(**limits, **targets)  # type: ignore[arg-type]
    settings = {
        "iterations": _checked_iterations(iterations, limits, named),
        "record_every": whole("record_every", record_every, 1),
        "diagnostics": bool(diagnostics),
        "start": start,
        **limits,
        **targets,
    }
    where = backend_from(backend)
    local = where.describe().get("name") == "local"
    if parallel and not local:
        raise ValueError('`parallel` needs backend="local": on Ray every agent is a process already.')
    worlds = Worlds.around(problem, topology, named.values())
    root = None if directory is None else Path(directory)
    comparison = Comparison({}, identity=worlds.identity(start), directory=root)
    jobs = [
        _Job((name, seed), method, settings, where, None if root is None else folder_of(root.resolve(), (name, seed)))
        for seed in numbers
        for name, method in named.items()
    ]
    if root is not None:
        index = _index_of_the_same(root, comparison.identity)
        comparison.results = {job.key: load(job.folder) for job in jobs if job.folder and _is_finished(worlds, job)}
        known = {*index.get("seeds", []), *numbers}
        write_index(root, comparison.identity, index.get("methods", {}) | _described(named), sorted(known))
    waiting = [job for job in jobs if job.key not in comparison.results]
    side_by_side = local and len(waiting) > 1 and (parallel or (parallel is None and _cpus() > 1))
    outcomes = _side_by_side(worlds, waiting) if side_by_side else _in_turn(worlds, waiting, where)
    try:
        with Progress("compare", len(waiting), progress) as told, contextlib.closing(outcomes):
            for number, outcome in outcomes:
                told.step(_keep(comparison, waiting[number], outcome))
    except KeyboardInterrupt as stop:
        kept = "" if root is None else f"; those are kept in {root}, and the same command goes on"
        raise Interrupted(f"stopped after {len(comparison.results)} of {len(jobs)} runs{kept}", comparison) from stop
    finally:
        _sort(comparison, named, numbers)
    return comparison


def named_methods(methods: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    """The methods by names that can be folders; those of a list are named as on the command line, made unique."""
    if isinstance(methods, Mapping):
        named = {str(name): _method(method) for name, method in methods.items()}
    else:
        named = {}
        for method in [methods] if isinstance(methods, str) or not isinstance(methods, Iterable) else methods:
            built, number = _method(method), 1
            base = name = _command_name(built)
            while name in named:
                number += 1
                name = f"{base}-{number}"
            named[name] = built
    if not named:
        raise ValueError("`methods` must name at least one method; got none.")
    for name in named:
        if not NAMES.fullmatch(name):
            raise ValueError(f"`methods` must have names of letters, digits, spaces and . + = - _; got {name!r}.")
    return named


def checked_seeds(seeds: Iterable[int]) -> list[int]:
    """Different whole numbers, at least one."""
    numbers = [whole("seeds", seed) for seed in ([seeds] if isinstance(seeds, int) else seeds)]
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"`seeds` must be different whole numbers, at least one; got {numbers}.")
    return numbers


def _method(method: Any) -> Any:
    """A method object; a bare name is refused with what it lacks, or with the nearest name."""
    return build_method(method, {}) if isinstance(method, str) else method


def _command_name(method: Any) -> str:
    return METHODS.name_of(type(method)) or type(method).__name__


def _described(named: dict[str, Any]) -> dict[str, Any]:
    """The methods as plain data."""
    return {
        name: {"name": _command_name(method), "parameters": parameters_of(method)} for name, method in named.items()
    }


def _checked_iterations(iterations: int | None, limits: dict[str, Any], named: dict[str, Any]) -> int:
    """The number of iterations; None is fine where a limit is sure to end every run."""
    if iterations is not None:
        return whole("iterations", iterations)
    given = [name for name, value in limits.items() if value is not None]
    if not given:
        raise ValueError("`iterations` must be given, or one of `max_sfo`, `max_rounds` and `max_seconds`.")
    alone = [name for name, method in named.items() if needs_one_machine(method)]
    if given == ["max_rounds"] and alone:
        raise ValueError(f"`max_rounds` never ends {alone[0]}, which has no rounds; give `iterations` as well.")
    return ENDLESS


def _attempt(worlds: Worlds, job: _Job) -> Result | Exception:
    """One run; its error is a value, so that the others go on."""
    problem, topology = worlds.of(job.method)
    backend = job.backend
    if topology.m < worlds.topology.m and hasattr(backend, "agents_per_actor"):
        backend = replace(backend, agents_per_actor=1)
    if job.folder is not None:  # what an earlier attempt left that did not finish
        for name in ("run.json", "history.csv", "start.npz", "failure.json"):
            (job.folder / name).unlink(missing_ok=True)
    try:
        return run(
            problem,
            topology,
            job.method,
            seed=job.key[1],
            backend=backend,
            directory=job.folder,
            progress=False,
            **job.settings,
        )
    except Exception as error:
        return error


def _in_turn(worlds: Worlds, jobs: list[_Job], where: Any) -> Outcomes:
    """One run after another, all in one Ray where they need one."""
    with _one_ray(where, worlds.topology.m) if jobs else contextlib.nullcontext():
        for number, job in enumerate(jobs):
            yield number, _attempt(worlds, job)


def _side_by_side(worlds: Worlds, jobs: list[_Job]) -> Outcomes:
    """Every run a Ray task."""
    from raydream.backends.ray.tasks import tasks

    _warn_here(worlds, {job.key[0]: job.method for job in jobs})
    with tasks(worlds, min(_cpus(), len(jobs))) as each, contextlib.closing(each(_attempt, jobs)) as outcomes:
        yield from outcomes


def _warn_here(worlds: Worlds, methods: dict[str, Any]) -> None:
    """Warn of mixing in this process: what a task warns of, nobody sees."""
    for method in methods.values():
        try:
            settled = worlds.settled(method)
        except Exception:  # its run will say what is wrong
            continue
        warn_of_mixing(worlds.of(method)[1], settled)


def _one_ray(where: Any, agents: int) -> contextlib.AbstractContextManager[None]:
    """A Ray that is started once for all runs."""
    from raydream.backends.ray import RayBackend

    if not isinstance(where, RayBackend):
        return contextlib.nullcontext()
    from raydream.backends.ray.routing import block_sizes
    from raydream.backends.ray.runtime import attached

    return attached(where.address, max(1, len(block_sizes(where.agents_per_actor, agents, _cpus()))))


def _cpus() -> int:
    from raydream.backends.ray.tasks import cpus

    return cpus()


def _index_of_the_same(root: Path, identity: dict[str, str]) -> dict[str, Any]:
    """comparison.json, if it is of the same problem, network and start."""
    index = read_index(root)
    before = index.get("identity", identity)
    other = [part for part in identity if before.get(part) != identity[part]]
    if other:
        raise FileExistsError(
            f"`directory` holds another comparison: {str(root)!r} differs in its {other[0]}. Choose another directory."
        )
    return index


def _is_finished(worlds: Worlds, job: _Job) -> bool:
    """Whether this very run is in its folder already; a folder that holds another one is refused."""
    assert job.folder is not None
    if not (job.folder / "run.json").exists():
        return False
    record, wanted = read_record(job.folder), json.loads(json.dumps(_configuration(worlds, job)))
    other = [part for part in wanted if _plain(record.get(part)) != _plain(wanted[part])]
    if other:
        raise FileExistsError(
            f"`directory` holds another run: {str(job.folder)!r} differs in its {other[0]}. "
            "Choose another directory, or remove that folder."
        )
    return record["outcome"] in OUTCOMES


def _configuration(worlds: Worlds, job: _Job) -> dict[str, Any]:
    """What a run's record must say for the run to be this one."""
    described = describe(worlds.plan(job.method, job.key[1], job.settings["start"]))
    limits = {name: value for name, value in job.settings.items() if name.startswith(("max_", "target_"))}
    return {
        **{part: described[part] for part in ("problem", "topology", "method", "seed")},
        **{part: job.settings[part] for part in ("iterations", "record_every", "diagnostics")},
        "limits": {name: value for name, value in limits.items() if value is not None},
    }


def _plain(part: Any) -> Any:
    """A part of a record without the note on how it was built."""
    return {name: value for name, value in part.items() if name != "spec"} if isinstance(part, dict) else part


def _keep(comparison: Comparison, job: _Job, outcome: Result | Exception) -> str:
    """Add a run to the comparison; return what to tell of it."""
    name, seed = job.key
    if isinstance(outcome, Result):
        comparison.results[job.key] = outcome
        last = outcome.history.iloc[-1]
        return f"{name}, seed {seed}: {outcome.outcome}, P={last.primal:.6g}, |grad P|={last.grad_norm:.3g}"
    sentence = str(outcome) or type(outcome).__name__
    comparison.failures[job.key] = sentence
    if job.folder is not None:
        write_failure(job.folder, job.key, sentence)
    return f"{name}, seed {seed}: failed: {sentence}"


def _sort(comparison: Comparison, named: dict[str, Any], seeds: list[int]) -> None:
    """Methods and seeds in the order in which they were given, not that in which they finished."""
    keys = [(name, seed) for name in named for seed in seeds]
    comparison.results = {key: comparison.results[key] for key in keys if key in comparison.results}
    comparison.failures = {key: comparison.failures[key] for key in keys if key in comparison.failures}
