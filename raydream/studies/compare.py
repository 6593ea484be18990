"""compare(): several methods and seeds on one problem and network; every run is kept, and none hides another."""

import contextlib
import json
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from raydream.algorithms.method import completed
from raydream.backends.protocol import Backend
from raydream.backends.registry import backend_from
from raydream.backends.workers import cpus, workers
from raydream.checking.quick import refuse_wrong
from raydream.checks import path, whole
from raydream.columns.evaluation import Evaluation
from raydream.columns.own import directions_of
from raydream.conditions import Conditions
from raydream.errors import Interrupted, RayLost
from raydream.running.progress import Progress
from raydream.running.run import run_plan
from raydream.storage.describe import describe, described_method
from raydream.storage.reading import read_record
from raydream.storage.record import RunRecord
from raydream.storage.result import Result, load
from raydream.storage.settings import Limits, Settings
from raydream.studies.comparison import Comparison, Key, folder_of, read_index, write_failure, write_index
from raydream.studies.named import checked_seeds, named_methods
from raydream.studies.setting import ENDLESS, Setting, needs_one_machine
from raydream.studies.tuned import taken_from
from raydream.topology import Topology

SEEDS, SEEDS_OF_ACTORS = 10, 3  # runs of each method that are made without being asked for
Outcomes = Generator[tuple[int, Result | Exception], None, None]  # numbers of jobs, and what came of them
DRIVEN = (
    "iterations",
    "record_every",
    "diagnostics",
    "limits",
    "metrics",
    "targets",
    "evaluation",
)  # settings that runs share
LEFT = ("run.json", "history.csv", "start.npz", "failure.json")  # by an attempt that did not finish


@dataclass(frozen=True)
class _Job:
    """One run to make, in this process or in another."""

    key: Key
    method: Any
    settings: Settings
    backend: Backend
    folder: Path | None


def compare(
    problem: Any = None,
    topology: Topology | None = None,
    methods: Mapping[str, Any] | Iterable[Any] | None = None,
    *,
    best: Any = None,
    seeds: Iterable[int] | None = None,
    iterations: int | None = None,
    backend: Any = "ray",
    directory: Any = None,
    parallel: bool | None = None,
    record_every: int | None = None,
    start: tuple[Any, Any] | None = None,
    max_sfo: int | None = None,
    max_rounds: int | None = None,
    max_seconds: float | None = None,
    target_grad_norm: float | None = None,
    target_primal: float | None = None,
    target: Mapping[str, float] | None = None,
    conditions: Conditions | None = None,
    max_sim_seconds: float | None = None,
    metrics: Mapping[str, Any] | None = None,
    evaluation: Evaluation | None = None,
    diagnostics: bool = False,
    check: bool = True,
    progress: bool | None = None,
) -> Comparison:
    """Run every method with every seed on one problem and network, and return the `Comparison`.

    methods     name -> method, or a list of methods (named as on the command line)
    best        a `Tuning`, or the directory of one: its winners are compared (`methods` names some of them) on its
                problem, network and start, up to its budget, with other seeds than its own
    seeds       one run of each method per seed (default: ten in this process, three where every agent is another)
    iterations  as in `run`; None where max_sfo, max_rounds, max_seconds or max_sim_seconds ends the runs
    backend     as in `run`. Runs whose agents are processes follow one another; "local" runs go side by side
    directory   where each run is kept, in <method>/seed-<seed>; runs that are finished there are not run again
    record_every  as in `run` (default: 10; 1 for the winners of a tuning, which were judged where the budget ends)
    parallel    whether local runs go side by side in other processes (default), or one by one in this one: same bits
    progress    True: a bar on a terminal, lines elsewhere; False: neither; None: a bar on a terminal

    Methods of one machine (GDA, SGDA) get `problem.pooled()`. A run that ends with an error is kept as a failure
    with its sentence. Ctrl-C leaves what is finished in `directory` and in the exception's `comparison`.
    The other arguments are those of `run`.
    """
    where = backend_from(backend)
    if parallel and not where.in_process:
        raise ValueError('`parallel` needs backend="local": elsewhere every agent is a process already.')
    limits = Limits(max_sfo, max_rounds, max_seconds, target_grad_norm, target_primal, max_sim_seconds)
    usual = SEEDS if where.in_process else SEEDS_OF_ACTORS
    title, missing = "", {}
    if best is not None:
        tuned = taken_from(best, problem, topology, methods, start, conditions)
        (problem, topology, start), methods = tuned.parts, tuned.winners
        seeds = tuned.fresh_seeds(usual) if seeds is None else seeds
        metrics = tuned.setting.metrics if metrics is None else metrics
        conditions = tuned.setting.conditions if conditions is None else conditions
        if iterations is None and not limits.given():
            limits = Limits(**tuned.limits)
        tuned.warn(checked_seeds(seeds), limits.given())
        title, missing = tuned.title, tuned.missing
    if problem is None or topology is None or methods is None:
        raise TypeError("`problem`, `topology` and `methods` must be given, or `best`, a tuning that says them.")
    numbers = checked_seeds(range(usual) if seeds is None else seeds)
    named = named_methods(methods)
    every = record_every if record_every is not None else 10 if best is None else 1
    limits.check_conditions(conditions is not None)
    setting = Setting.around(problem, topology, named.values(), start, metrics, conditions)
    own, most = directions_of(setting.metrics), _iterations(iterations, limits, named, conditions)
    settings = Settings(most, every, None, diagnostics, limits, own, target or {}, evaluation or Evaluation())
    root = None if directory is None else path("directory", directory)
    comparison = Comparison({}, identity=setting.identity(), directory=root, tuned=title, missing=missing)
    jobs = [
        _Job((name, seed), method, settings, where, _folder(root, name, seed))
        for seed in numbers
        for name, method in named.items()
    ]
    if root is not None:
        _take_finished(root, comparison, setting, jobs, named, numbers)
    waiting = [job for job in jobs if job.key not in comparison.results]
    if waiting:
        refuse_wrong(problem, check, setting.start)
    spread = where.in_process and len(waiting) > 1 and (parallel or (parallel is None and cpus() > 1))
    outcomes = _side_by_side(setting, waiting) if spread else _in_turn(setting, waiting, where)
    try:
        with Progress("compare", len(waiting), progress) as bar, contextlib.closing(outcomes):
            for number, outcome in outcomes:
                bar.step(_keep(comparison, waiting[number], outcome))
    except (KeyboardInterrupt, RayLost) as stop:
        kept = "" if root is None else f"; those are kept in {root}, and the same command goes on"
        text = f"stopped after {len(comparison.results)} of {len(jobs)} runs{kept}"
        if isinstance(stop, RayLost):
            raise RayLost(f"{stop}: {text}") from None
        raise Interrupted(text, comparison) from stop
    finally:
        _sort(comparison, named, numbers)
    return comparison


def _iterations(iterations: int | None, limits: Limits, named: Mapping[str, Any], conditions: Conditions | None) -> int:
    """The number of iterations; None is fine where a limit is sure to end every run."""
    if iterations is not None:
        return whole("iterations", iterations)
    given = [name for name in limits.given() if name.startswith("max_")]
    if not given:
        raise ValueError(
            "`iterations` must be given, or one of `max_sfo`, `max_rounds`, `max_seconds` and, with `conditions`, "
            "`max_sim_seconds`."
        )
    alone = [name for name, method in named.items() if needs_one_machine(method)]
    if given == ["max_rounds"] and alone:
        raise ValueError(f"`max_rounds` never ends {alone[0]}, which has no rounds; give `iterations` as well.")
    free = conditions is not None and not conditions.gradient_seconds and (alone or not conditions.messages_take_time)
    if given == ["max_sim_seconds"] and free:
        ends = alone[0] if alone else next(iter(named))
        raise ValueError(f"`max_sim_seconds` never ends {ends}, which spends none; give `iterations` as well.")
    return ENDLESS


def _folder(root: Path | None, name: str, seed: int) -> Path | None:
    return None if root is None else folder_of(root.resolve(), (name, seed))


def _attempt(setting: Setting, job: _Job) -> Result | Exception:
    """One run; its error is a value, so that the others go on."""
    if job.folder is not None:
        for name in LEFT:
            (job.folder / name).unlink(missing_ok=True)
    try:
        plan = setting.plan(job.method, job.key[1])
        alone = plan.topology.m < setting.topology.m
        backend = job.backend.for_agents(plan.topology.m) if alone else job.backend
        return run_plan(plan, backend, job.settings, job.folder, progress=False)
    except Exception as error:
        return error


def _in_turn(setting: Setting, jobs: list[_Job], where: Backend) -> Outcomes:
    """One run after another, all in one place."""
    with where.shared(setting.topology.m) if jobs else contextlib.nullcontext():
        for number, job in enumerate(jobs):
            outcome = _attempt(setting, job)
            if isinstance(outcome, RayLost):  # the others would find no Ray either
                raise RayLost("the Ray that these runs use is gone")
            yield number, outcome


def _side_by_side(setting: Setting, jobs: list[_Job]) -> Outcomes:
    """Every run in another process."""
    for method in {job.key[0]: job.method for job in jobs}.values():
        with contextlib.suppress(Exception):  # its run will say what is wrong
            setting.plan(method)  # what another process warns of, nobody sees
    with workers(setting, min(cpus(), len(jobs))) as each, contextlib.closing(each(_attempt, jobs)) as outcomes:
        yield from outcomes


def _take_finished(
    root: Path, comparison: Comparison, setting: Setting, jobs: list[_Job], named: Mapping[str, Any], seeds: list[int]
) -> None:
    """Take over the runs that are finished in a directory, and write down there what is compared."""
    index = _index_of_the_same(root, comparison.identity)
    comparison.results = {job.key: load(job.folder) for job in jobs if job.folder and _is_finished(setting, job)}
    methods = {name: described_method(completed(method)).to_json() for name, method in named.items()}
    known = sorted({*index.get("seeds", []), *seeds})
    write_index(root, comparison, index.get("methods", {}) | methods, known)


def _index_of_the_same(root: Path, identity: dict[str, str]) -> dict[str, Any]:
    """comparison.json, if it is of the same problem, network and start."""
    index = read_index(root)
    before = index.get("identity", identity)
    other = [part for part in {**before, **identity} if before.get(part) != identity.get(part)]
    if other:
        raise FileExistsError(
            f"`directory` holds another comparison: {str(root)!r} differs in its {other[0]}. Choose another directory."
        )
    return index


def _is_finished(setting: Setting, job: _Job) -> bool:
    """Whether this very run is in its folder already; a folder that holds another one is refused."""
    assert job.folder is not None
    if not (job.folder / "run.json").exists():
        return False
    found = read_record(job.folder)
    wanted = describe(setting.plan(job.method, job.key[1], warn=False), job.settings, job.backend)
    theirs, ours = _telling(found), _telling(RunRecord.from_json(json.loads(json.dumps(wanted.to_json()))))
    other = [part for part in ours if theirs[part] != ours[part]]
    if other:
        raise FileExistsError(
            f"`directory` holds another run: {str(job.folder)!r} differs in its {other[0]}. "
            "Choose another directory, or remove that folder."
        )
    return found.finished


def _telling(record: RunRecord) -> dict[str, Any]:
    """What tells one run from another; not how its parts were named, and not where it ran."""
    return {
        "problem": replace(record.problem, spec=None, cut=0),  # which older records do not say
        "topology": replace(record.topology, spec=None),
        "method": record.method,
        "seed": record.seed,
        "conditions": record.conditions,
        **{part: getattr(record.settings, part) for part in DRIVEN},
    }


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
