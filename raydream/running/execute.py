"""The one way in which a plan is carried out: open a session, loop, and gather what came of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from raydream.algorithms.method import kind_of
from raydream.backends.plan import Plan
from raydream.backends.protocol import Backend, Place, Recovery, Session, Snapshot
from raydream.columns.metrics import mean
from raydream.errors import Interrupted, RunBroken
from raydream.feedback import shown
from raydream.interrupt import StopRequest
from raydream.running.hook import Hook
from raydream.running.loop import Loop
from raydream.running.progress import Iterations
from raydream.running.recorder import Recorder
from raydream.running.schedule import Every, Schedule
from raydream.storage.checkpoint import Checkpoint
from raydream.storage.record import RunRecord
from raydream.storage.result import Result
from raydream.storage.rundir import RunDirectory
from raydream.storage.settings import Settings
from raydream.types import Array


@dataclass(frozen=True)
class Ended:
    """A run that came to its end: how, with which last state, and what was recorded on the way."""

    outcome: str
    reason: str
    last: Snapshot
    x_out: Array
    recorder: Recorder
    recoveries: list[Recovery]
    places: list[Place]


def execute(
    plan: Plan,
    backend: Backend,
    settings: Settings,
    *,
    schedule: Schedule | None = None,
    recorder: Recorder | None = None,
    folder: RunDirectory | None = None,
    checkpoint: Checkpoint | None = None,
    progress: bool | None = False,
    hook: Hook | None = None,
) -> Ended:
    """Carry out a plan, or go on with it from a checkpoint.

    schedule  when to record (default: as the settings say)
    recorder  what measures (default: all columns at every record)
    folder    where to write the run while it lasts
    progress  True or False for a bar or none; None: a bar on a terminal
    hook      who is told of records, and may end the run
    """
    told, outcome = hook or Hook(None), ""
    # One BLAS thread on every backend: threaded sums have other bits.
    with StopRequest() as request, threadpool_limits(1, "blas"):
        with _noting_failure(folder), shown(progress):
            session = backend.open(plan)
        try:
            with (
                _noting_failure(folder),
                told.around(lambda: outcome),
                Iterations(kind_of(plan.method).__name__, settings.iterations, progress) as bar,
            ):
                recorder = recorder or Recorder(
                    plan.problem,
                    plan.method,
                    settings.diagnostics,
                    plan.metrics,
                    settings.evaluation,
                    clocked=plan.conditions is not None,
                )
                due = Every(settings.record_every) if schedule is None else schedule
                loop = Loop(plan, session, recorder, settings, schedule=due, folder=folder, bar=bar, hook=told)
                if checkpoint is not None:
                    loop.go_on_from(checkpoint)
                if folder is not None:
                    folder.begin(recorder.rows, session.places)
                outcome, reason = loop.run(request)
                return _ended(session, loop, outcome, reason)
        finally:
            session.close()


def gather(ended: Ended, plan: Plan, record: RunRecord) -> Result:
    """The result of a run of which `record` says how it was made."""
    with np.errstate(all="ignore"):  # of a run that has diverged
        z_bar = mean(ended.last.arrays["Z"])
    return Result(
        history=ended.recorder.table(),
        record=replace(
            record,
            outcome=ended.outcome,
            reason=ended.reason,
            ledger=ended.last.ledger,
            recoveries=ended.recoveries,
            places=ended.places,
            **ended.recorder.remarks(),
        ),
        x_bar=z_bar[: plan.problem.dim_x],
        y_bar=z_bar[plan.problem.dim_x :],
        x_out=ended.x_out,
        arrays={name: array.copy() for name, array in ended.last.arrays.items()},
        distances=ended.recorder.distances(),
    )


def _ended(session: Session, loop: Loop, outcome: str, reason: str) -> Ended:
    last = session.snapshot()
    return Ended(outcome, reason, last, loop.x_out, loop.recorder, session.recoveries, session.places)


@contextmanager
def _noting_failure(folder: RunDirectory | None) -> Iterator[None]:
    """A run that ends before its end says so in its directory."""
    if folder is None:
        yield
        return
    try:
        yield
    except KeyboardInterrupt as stop:
        text = str(stop) or "stopped at once"
        folder.leave("stopped", text)
        raise Interrupted(folder.with_hint(text)) from None
    except RunBroken as error:
        folder.leave("failed", str(error))
        error.args = (folder.with_hint(str(error)),)
        raise
    except BaseException as error:
        folder.leave("failed" if isinstance(error, Exception) else "stopped", str(error) or type(error).__name__)
        raise
