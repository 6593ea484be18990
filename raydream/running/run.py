"""run() and resume(): put a run together, carry it out, and leave a result."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from raydream.backends.plan import Plan
from raydream.backends.protocol import Backend
from raydream.backends.registry import backend_again, backend_from
from raydream.checking.quick import refuse_wrong
from raydream.checks import flag, path, whole
from raydream.columns.evaluation import Evaluation
from raydream.columns.own import directions_of
from raydream.conditions import Conditions
from raydream.running.execute import execute, gather
from raydream.running.hook import Hook, OnRecord
from raydream.running.parts import plan_again
from raydream.specs import named_method
from raydream.storage.checkpoint import Checkpoint
from raydream.storage.describe import describe
from raydream.storage.lock import locked
from raydream.storage.reading import read_record
from raydream.storage.record import RunRecord
from raydream.storage.result import Result
from raydream.storage.rundir import RunDirectory
from raydream.storage.settings import Limits, Settings
from raydream.topology import Topology


def run(
    problem: Any,
    topology: Topology,
    method: Any,
    *,
    iterations: int,
    seed: int = 0,
    record_every: int = 10,
    backend: Any = "ray",
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
    directory: Any = None,
    checkpoint_every: int | None = None,
    diagnostics: bool = False,
    on_record: OnRecord | None = None,
    check: bool = True,
    progress: bool | None = None,
) -> Result:
    """Run a method on a problem over a network and return its `Result`.

    method        a method with its parameters; or the name of one, which then has the parameters of the command line
    iterations    how many, unless a limit or target ends the run before; limits are looked at in records only
    seed          of every random draw: the same seed gives the same bits
    record_every  iterations between two rows of the history
    backend       "ray" (every agent an actor), "local" (all in this process), or a configured backend
    start         (x0, y0) with y0 in Y; by default the problem's own
    max_sfo, max_rounds, max_seconds    stop at the first record that has spent as much (outcome "budget")
    target_grad_norm, target_primal     stop at the first record that is as low (outcome "target")
    target        the same for any metric: {"auc": 0.9} stops at the first record that is as good, above 0.9 where more
                  is better
    conditions    of the network and the machines: `Conditions(gradient_seconds=1e-4, latency=0.05)` gives every agent
                  a clock, and the history `sim_seconds`, that of the latest agent
    max_sim_seconds  stop at the first record that has spent as much of it
    metrics       columns of one's own: name -> f(x_bar, y_bar), of which more is better, or `Metric(f, better="less")`;
                  beside those of the problem's own dict `metrics`
    evaluation    when P is measured, and how well: `Evaluation(every=1, tolerance=1e-9, primal=True)`
    directory     where to write the run while it lasts, and its result
    checkpoint_every  iterations between two checkpoints in `directory`, from which `resume` goes on
    on_record     called with each row of the history as a dict; ends the run by returning True or raising StopIteration
                  (outcome "callback"). `WandB`, `MLflow` and `TensorBoard` are such callbacks
    diagnostics   also record Psi, C, V, U and Phi of the paper's Lyapunov function
    check         whether a problem of one's own is looked at first, for a few gradients that nobody is billed for: one
                  that contradicts its own values is refused. `rd.check(problem)` is the whole of it
    progress      True or False for a bar or none; by default a bar on a terminal
    """
    limits = Limits(max_sfo, max_rounds, max_seconds, target_grad_norm, target_primal, max_sim_seconds)
    limits.check_conditions(conditions is not None)
    if checkpoint_every is not None and directory is None:
        raise ValueError("`checkpoint_every` needs a `directory` to write to.")
    plan = Plan.build(
        problem, topology, named_method(method, problem), seed=seed, start=start, metrics=metrics, conditions=conditions
    )
    own = directions_of(plan.metrics)
    settings = Settings(
        iterations,
        record_every,
        checkpoint_every,
        diagnostics,
        limits,
        own,
        {} if target is None else target,
        Evaluation() if evaluation is None else evaluation,
    )
    where = backend_from(backend)
    refuse_wrong(problem, flag("check", check), plan.start)
    return run_plan(plan, where, settings, directory, progress, on_record)


def run_plan(
    plan: Plan,
    backend: Backend,
    settings: Settings,
    directory: Any,
    progress: bool | None,
    on_record: OnRecord | None = None,
) -> Result:
    """A run that is put together already, from its beginning."""
    record = describe(plan, settings, backend)
    hook = Hook(on_record, record.config())
    if directory is None:
        return gather(execute(plan, backend, settings, progress=progress, hook=hook), plan, record)
    folder = RunDirectory(path("directory", directory), plan, record)
    with locked(folder.folder):
        folder.refuse_another_run()
        return _in_folder(plan, backend, record, folder, None, progress, hook)


def resume(
    directory: Any,
    *,
    iterations: int | None = None,
    backend: Any = None,
    problem: Any = None,
    topology: Topology | None = None,
    method: Any = None,
    metrics: Mapping[str, Any] | None = None,
    conditions: Conditions | None = None,
    on_record: OnRecord | None = None,
    check: bool = True,
    progress: bool | None = None,
) -> Result:
    """Go on with the run in `directory` from its last checkpoint, to the bits of a run that was never interrupted.

    iterations  the total number of iterations (default: as the run was asked for)
    backend     where to go on (default: as before); any backend and packing will do
    problem, topology, method  needed where run.json cannot say how they were made. A problem that run.json names as
                               "package.module:make" is code: it runs only where `problem` repeats that name
    metrics     as they were given to `run`, where the problem does not bring them itself
    conditions  as they were, where their schedule is a function of yours
    on_record   as in `run`; hears of the records to come
    check       as in `run`
    """
    folder = path("directory", directory)
    read_record(folder)  # or a sentence, before the folder is touched
    with locked(folder):
        before = read_record(folder)
        plan = plan_again(folder, before, problem, topology, method, metrics, conditions)
        refuse_wrong(plan.problem, check, plan.start)
        checkpoint = _checkpoint(folder, plan, before)
        settings = replace(before.settings, iterations=_total(before, checkpoint, iterations))
        where = backend_again(before.backend) if backend is None else backend_from(backend)
        record = before.again(settings, where.describe())
        watched = RunDirectory(folder, plan, record)
        watched.forget_old_stop()
        return _in_folder(plan, where, record, watched, checkpoint, progress, Hook(on_record, record.config()))


def _in_folder(
    plan: Plan,
    backend: Backend,
    record: RunRecord,
    folder: RunDirectory,
    checkpoint: Checkpoint | None,
    progress: bool | None,
    hook: Hook,
) -> Result:
    """Carry out a plan in a directory of its own."""
    folder.kept = None if checkpoint is None else checkpoint.snapshot.iteration
    ended = execute(
        plan, backend, record.settings, folder=folder, checkpoint=checkpoint, progress=progress, hook=hook
    )  # fmt: skip
    result = gather(ended, plan, record)
    folder.finish(result)
    return result


def _checkpoint(folder: Path, plan: Plan, record: RunRecord) -> Checkpoint | None:
    """Where to go on from; None: from the beginning, as a run does that had not come to a checkpoint."""
    if (folder / "checkpoint" / "manifest.json").exists():
        return Checkpoint.load(folder / "checkpoint", plan)
    if record.finished:
        raise ValueError(f"`directory` {str(folder)!r} has no checkpoint to go on from; run with `checkpoint_every`.")
    return None


def _total(record: RunRecord, checkpoint: Checkpoint | None, asked: int | None) -> int:
    """The number of iterations in all, which must be more than are done."""
    total = record.settings.iterations if asked is None else whole("iterations", asked, 1)
    done = 0 if checkpoint is None else checkpoint.snapshot.iteration
    if total <= done and (asked is not None or record.finished):
        raise ValueError(f"`iterations` must exceed the {done} that are done; got {total}. It is the new total.")
    return total
