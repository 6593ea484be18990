"""The one loop of the package: coins, blocks, records, checkpoints, and when to stop."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from raydream.agents.oracle import far
from raydream.agents.streams import Streams
from raydream.backends.plan import Plan
from raydream.backends.protocol import Keep, Session, Snapshot
from raydream.errors import Interrupted
from raydream.interrupt import StopRequest
from raydream.running.hook import Hook
from raydream.running.recorder import Recorder
from raydream.running.schedule import Every, Schedule
from raydream.running.stopping import reached
from raydream.storage.checkpoint import Checkpoint
from raydream.storage.rundir import RunDirectory
from raydream.storage.settings import Settings

T = TypeVar("T")

BLOCK_SECONDS = 1.0  # the longest that the driver goes without hearing from the agents


def coin_of(streams: Streams, p: float | None, t: int) -> bool:
    """zeta_t of a run whose draws these are, where a large batch has this probability."""
    return p is not None and bool(streams.at("coin", iteration=t).random() < p)


class Loop:
    """Asks the agents for blocks of iterations that end at records and checkpoints.

    schedule  when to record
    folder    what hears of records, checkpoints and blocks, and may want the run to stop
    hook      who is told of records, and may end the run
    """

    def __init__(
        self,
        plan: Plan,
        session: Session,
        recorder: Recorder,
        settings: Settings,
        *,
        schedule: Schedule,
        folder: RunDirectory | None,
        bar: Any,
        hook: Hook,
    ) -> None:
        self.plan, self.session, self.recorder, self.settings = plan, session, recorder, settings
        self.schedule, self.folder, self.bar, self.hook = schedule, folder, bar, hook
        self.x_out = plan.start[0].copy()
        self.seconds = 0.0
        self.done = -1
        self._streams = Streams(plan.seed)
        self._coin_probability = plan.method.coin_probability
        self._checkpoints = None if settings.checkpoint_every is None else Every(settings.checkpoint_every)

    def go_on_from(self, checkpoint: Checkpoint) -> None:
        """Put agents and driver where the checkpoint left them."""
        self.session.restore(checkpoint.snapshot)
        self.x_out, self.seconds = checkpoint.x_out, checkpoint.seconds
        # The last row of a shorter run need not be one of a longer run's records.
        self.recorder.rows = [row for row in checkpoint.rows if self._is_record(int(row["iteration"]))]
        self.done = checkpoint.snapshot.iteration
        self.bar.update(self.done)

    def run(self, request: StopRequest) -> tuple[str, str]:
        """Iterate until the end, a limit, a target, divergence, Ctrl-C or SIGTERM; say which."""
        ended = None
        if self.done < 0:
            ended = self._record(self._timed(lambda: self.session.init(self.recorder.names)))
            self.done = 0
        last, per_iteration = self.settings.iterations, 0.0
        while ended is None and self.done < last:
            self._look_at(request)
            first, next_record = self.done, self._next(self.schedule)
            longest = max(1, int(BLOCK_SECONDS / per_iteration)) if per_iteration > 0 else 1
            stop = min(next_record, self._next(self._checkpoints), first + longest)
            before = self.seconds
            report = self._advance(first, stop, is_record=stop == next_record)
            per_iteration = (self.seconds - before) / (stop - first)
            if stop == next_record:
                ended = self._record(report)
            if self._checkpoints and (ended or stop == last or self._checkpoints.after(stop - 1) == stop):
                self.save()
        self.recorder.complete(self.session.snapshot)
        return ended or ("completed", f"{last} iterations")

    def save(self) -> None:
        """Write a checkpoint, where there is a place for it; of a state that is not finite there is none."""
        if self.folder is not None:
            reached = Checkpoint(self.session.snapshot(), self.x_out, self.seconds, self.recorder.rows)
            if reached.finite:
                self.folder.checkpoint(reached)

    def _advance(self, first: int, stop: int, is_record: bool) -> Snapshot:
        """One block of iterations."""
        collect = self.recorder.names if is_record else ()
        coins, keep = [self._coin(t) for t in range(first, stop)], self._kept(first, stop)
        report = self._timed(lambda: self.session.advance(first, coins, keep, collect))
        if report.kept is not None:
            self.x_out = report.kept
        self.bar.update(stop - first)
        self.done = stop
        return report

    def _look_at(self, request: StopRequest) -> None:
        """Say how far the run is; after Ctrl-C or SIGTERM, or where somebody wants it: save, and leave."""
        wanted = request.wanted
        if self.folder is not None:
            self.folder.tell(self.done, self.seconds, self.session.recoveries, self.session.places)
            wanted = wanted or self.folder.stop_wanted
        if wanted:
            self.save()
            raise Interrupted(f"stopped after {self.done} iterations")

    def _next(self, schedule: Schedule | None) -> int:
        """What is due next by this schedule, or the last iteration."""
        last = self.settings.iterations
        return last if schedule is None else min(last, schedule.after(self.done))

    def _is_record(self, t: int) -> bool:
        """Whether this iteration is one of the run's records."""
        return t in (0, self.settings.iterations) or self.schedule.after(t - 1) == t

    def _coin(self, t: int) -> bool:
        """zeta_t: one coin for the whole network."""
        return coin_of(self._streams, self._coin_probability, t)

    def _kept(self, first: int, stop: int) -> Keep | None:
        """The last row among these iterations that the reservoir for x_out takes.

        Taking x_t(i_t) with probability 1/(t+1) makes x_out uniform over iterations 0..T-1 for every T.
        """
        for t in reversed(range(first, stop)):
            stream = self._streams.at("output", iteration=t)
            if stream.random() * (t + 1) < 1.0:
                return Keep(t, int(stream.integers(self.plan.topology.m)))
        return None

    def _timed(self, action: Callable[[], T]) -> T:
        began = time.perf_counter()
        value = action()
        self.seconds += time.perf_counter() - began
        return value

    def _record(self, snapshot: Snapshot) -> tuple[str, str] | None:
        row = self.recorder.record(snapshot, self.seconds)
        if self.folder is not None:
            self.folder.record(row)
        self.schedule.note(row)
        self.session.note(row)
        asked = self.hook.record(row)
        self.bar.note(f"P={row['primal']:.4g} |grad P|={row['grad_norm']:.2e}")
        Z = snapshot.arrays["Z"]
        if not bool((np.abs(Z) < far(Z)).all()):
            return "diverged", f"the state was no longer finite after {snapshot.iteration} iterations"
        return reached(self.settings.limits, row, self.settings.aims) or asked
