"""run() and resume(): check that the parts fit, open a session, loop, and leave a result."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from raydream.backends.protocol import Plan
from raydream.backends.registry import backend_from
from raydream.checks import whole
from raydream.errors import Interrupted
from raydream.problems.completed import complete
from raydream.running.interrupt import Brake
from raydream.running.loop import Loop
from raydream.running.plan import check_fit, checked_start, warn_of_mixing
from raydream.running.recorder import Recorder
from raydream.running.stopping import Limits
from raydream.storage.checkpoint import Checkpoint, fingerprint
from raydream.storage.lock import driving
from raydream.storage.record import describe, parameters_of, parts_of, read_record, theorem_constants
from raydream.storage.result import Result
from raydream.storage.rundir import UNFINISHED, RunDirectory
from raydream.topology import Topology
from raydream.types import Array


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
    directory: Any = None,
    checkpoint_every: int | None = None,
    diagnostics: bool = False,
    progress: bool | None = None,
) -> Result:
    """Run a method on a problem over a network and return its `Result`.

    iterations    how many, unless a limit or target ends the run before; limits are looked at in records only
    seed          of every random draw: the same seed gives the same bits
    record_every  iterations between two rows of the history
    backend       "ray" (every agent an actor), "local" (all in this process), or a configured backend
    start         (x0, y0) with y0 in Y; by default the problem's own
    max_sfo, max_rounds, max_seconds    stop at the first record that has spent as much (outcome "budget")
    target_grad_norm, target_primal     stop at the first record that is as low (outcome "target")
    directory     where to write the run while it lasts, and its result
    checkpoint_every  iterations between two checkpoints in `directory`, from which `resume` goes on
    diagnostics   also record Psi, C, V, U and Phi of the paper's Lyapunov function
    progress      True or False for a bar or none; by default a bar on a terminal
    """
    limits = Limits(max_sfo, max_rounds, max_seconds, target_grad_norm, target_primal)
    if checkpoint_every is not None:
        whole("checkpoint_every", checkpoint_every, 1)
        if directory is None:
            raise ValueError("`checkpoint_every` needs a `directory` to write to.")
    plan = _plan(problem, topology, method, seed, start)
    where = backend_from(backend)
    config = {
        **describe(plan),
        "asked": parameters_of(method),
        "constants": theorem_constants(plan),
        "iterations": whole("iterations", iterations),
        "record_every": whole("record_every", record_every, 1),
        "checkpoint_every": checkpoint_every,
        "diagnostics": bool(diagnostics),
        "limits": {name: value for name, value in asdict(limits).items() if value is not None},
        "backend": _described(where),
    }
    folder = None if directory is None else RunDirectory(Path(directory), plan, config)
    with driving(None if folder is None else folder.folder):
        if folder is not None:
            folder.refuse_another_run()
        return _execute(plan, where, config, limits, folder, None, progress)


def resume(
    directory: Any,
    *,
    iterations: int | None = None,
    backend: Any = None,
    problem: Any = None,
    topology: Topology | None = None,
    method: Any = None,
    progress: bool | None = None,
) -> Result:
    """Go on with the run in `directory` from its last checkpoint, to the bits of a run that was never interrupted.

    iterations  the total number of iterations (default: as the run was asked for)
    backend     where to go on (default: as before); any backend and packing will do
    problem, topology, method  needed where run.json cannot say how they were made
    """
    folder = Path(directory)
    read_record(folder)  # or a sentence, before the folder is touched
    with driving(folder):
        config = read_record(folder)
        problem, topology, method, start = parts_of(folder, config, problem, topology, method)
        plan = _plan(problem, topology, method, config["seed"], start)
        checkpoint = None
        if (folder / "checkpoint" / "manifest.json").exists():
            checkpoint = Checkpoint.load(folder / "checkpoint", fingerprint(plan), plan.topology.m)
        elif config["outcome"] not in UNFINISHED:
            raise ValueError(
                f"`directory` {str(folder)!r} has no checkpoint to go on from; run with `checkpoint_every`."
            )
        total = config["iterations"] if iterations is None else whole("iterations", iterations, 1)
        done = 0 if checkpoint is None else checkpoint.snapshot.iteration
        if total <= done and (iterations is not None or config["outcome"] not in UNFINISHED):
            raise ValueError(f"`iterations` must exceed the {done} that are done; got {total}. It is the new total.")
        where = backend_from(backend if backend is not None else _backend_of(config["backend"]))
        for name in ("outcome", "reason", "ledger", "recoveries", "places", "driver", "least_primal"):
            config.pop(name, None)
        config |= {"iterations": total, "backend": _described(where)}
        watched = RunDirectory(folder, plan, config)
        watched.forget_old_stop()
        return _execute(plan, where, config, Limits(**config["limits"]), watched, checkpoint, progress)


def _plan(problem: Any, topology: Topology, method: Any, seed: int, start: tuple[Any, Any] | None) -> Plan:
    """The parts, completed, settled, and found to fit together."""
    problem = complete(problem)
    check_fit(problem, topology, method)
    method = method.settled(problem, topology.network) if hasattr(method, "settled") else method
    plan = Plan(problem, topology, method, whole("seed", seed), checked_start(problem, start))
    warn_of_mixing(topology, method)
    return plan


def _execute(
    plan: Plan,
    where: Any,
    config: dict[str, Any],
    limits: Limits,
    folder: RunDirectory | None,
    checkpoint: Checkpoint | None,
    progress: bool | None,
) -> Result:
    """Open a session, loop, and gather the result."""
    recorder = Recorder(plan.problem, plan.method, config["diagnostics"])
    # One BLAS thread on every backend: threaded sums have other bits.
    with Brake() as brake, threadpool_limits(1, "blas"):
        session = where.open(plan)
        try:
            with _bar(progress, config["iterations"], type(plan.method).__name__) as bar:
                loop = Loop(
                    plan,
                    session,
                    recorder,
                    limits,
                    iterations=config["iterations"],
                    record_every=config["record_every"],
                    checkpoint_every=config["checkpoint_every"],
                    write_checkpoint=None if folder is None else folder.checkpoint,
                    on_record=(lambda row: None) if folder is None else folder.record,
                    on_block=_watched(folder, session),
                    bar=bar,
                )
                if checkpoint is not None:
                    loop.go_on_from(checkpoint)
                if folder is not None:
                    folder.begin(recorder.rows, getattr(session, "places", []))
                outcome, reason = loop.run(brake)
                last = session.snapshot()
        except Interrupted as stop:
            if folder is None:
                raise
            folder.leave("stopped", str(stop))
            raise Interrupted(f"{stop}; go on with: raydream resume {folder.folder}") from None
        except BaseException as error:
            if folder is not None:
                outcome = "failed" if isinstance(error, Exception) else "stopped"
                folder.leave(outcome, str(error) or type(error).__name__)
            raise
        finally:
            session.close()
    z_bar: Array = last.arrays["Z"].mean(axis=0)
    result = Result(
        history=recorder.table(),
        outcome=outcome,
        reason=reason,
        ledger=last.ledger,
        x_bar=z_bar[: plan.problem.dim_x],
        y_bar=z_bar[plan.problem.dim_x :],
        x_out=loop.x_out,
        arrays={name: array.copy() for name, array in last.arrays.items()},
        config={**config, **recorder.remarks(), **_places(session)},
        recoveries=session.recoveries,
        distances=recorder.distances(),
    )
    if folder is not None:
        folder.finish(result)
    return result


def _places(session: Any) -> dict[str, Any]:
    """Where the agents lived, if they lived in actors."""
    places = getattr(session, "places", [])
    return {"places": places} if places else {}


def _watched(folder: RunDirectory | None, session: Any) -> Callable[[int, float], bool]:
    """What the loop calls before every block: tell how far it is, and hear whether to stop."""

    def told(iteration: int, seconds: float) -> bool:
        if folder is None:
            return False
        folder.tell(iteration, seconds, session.recoveries, getattr(session, "places", []))
        return folder.stop_wanted

    return told


def _described(where: Any) -> dict[str, Any]:
    """What the record says of the backend, with the address of a Ray that the user named."""
    address = getattr(where, "address", None)
    return {**where.describe(), **({} if address is None else {"address": address})}


def _backend_of(described: dict[str, Any]) -> Any:
    """The backend that run.json describes, on a Ray of its own: the one at a recorded address may be gone."""
    if described["name"] != "ray":
        return described["name"]
    from raydream.backends.ray import RayBackend

    return RayBackend(**{name: value for name, value in described.items() if name not in ("name", "address")})


@contextmanager
def _bar(progress: bool | None, iterations: int, name: str) -> Iterator[Any]:
    """A progress bar on a terminal."""
    from tqdm import tqdm

    hidden = not sys.stderr.isatty() if progress is None else not progress
    with tqdm(total=iterations, desc=name, unit="it", disable=hidden, leave=False) as bar:
        yield bar
