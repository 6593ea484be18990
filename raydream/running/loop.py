"""The one loop of the package: coins, blocks, records, checkpoints, and when to stop."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from raydream.agents.streams import Streams
from raydream.backends.protocol import Keep, Plan, Session, Snapshot
from raydream.errors import Interrupted
from raydream.running.interrupt import Brake
from raydream.running.recorder import Recorder
from raydream.running.stopping import Limits
from raydream.storage.checkpoint import Checkpoint

BLOCK_SECONDS = 1.0  # the longest that the driver goes without hearing from the agents
DIVERGED = 1e100


class Loop:
    """Asks the agents for blocks of iterations that end at records and checkpoints."""

    def __init__(
        self,
        plan: Plan,
        session: Session,
        recorder: Recorder,
        limits: Limits,
        *,
        iterations: int,
        record_every: int,
        checkpoint_every: int | None,
        write_checkpoint: Callable[[Checkpoint], None] | None,
        on_record: Callable[[dict[str, float]], None],
        bar: Any,
        on_block: Callable[[int, float], bool] = lambda iteration, seconds: False,
    ) -> None:
        self.plan, self.session, self.recorder, self.limits = plan, session, recorder, limits
        self.iterations, self.record_every, self.checkpoint_every = iterations, record_every, checkpoint_every
        self.write_checkpoint, self.on_record, self.on_block, self.bar = write_checkpoint, on_record, on_block, bar
        self.x_out = plan.start[0].copy()
        self.seconds = 0.0
        self.done = -1
        self._streams = Streams(plan.seed)
        self._coin_probability = getattr(plan.method, "coin_probability", None)

    def go_on_from(self, checkpoint: Checkpoint) -> None:
        """Put agents and driver where the checkpoint left them."""
        self.session.restore(checkpoint.snapshot)
        self.x_out, self.seconds = checkpoint.x_out, checkpoint.seconds
        # The last row of a shorter run need not be one of a longer run's records.
        self.recorder.rows = [
            row
            for row in checkpoint.rows
            if row["iteration"] % self.record_every == 0 or row["iteration"] == self.iterations
        ]
        self.done = checkpoint.snapshot.iteration
        self.bar.update(self.done)

    def run(self, brake: Brake) -> tuple[str, str]:
        """Iterate until the end, a limit, a target, divergence or Ctrl-C; say which."""
        ended = None
        if self.done < 0:
            ended = self._record(self._timed(self.session.init, self.recorder.names))
            self.done = 0
        per_iteration = 0.0
        while ended is None and self.done < self.iterations:
            self._look_at(brake)
            first, next_record = self.done, self._next(self.record_every)
            longest = max(1, int(BLOCK_SECONDS / per_iteration)) if per_iteration > 0 else 1
            stop = min(next_record, self._next(self.checkpoint_every), first + longest)
            collect = self.recorder.names if stop == next_record else ()
            coins, before = [self._coin(t) for t in range(first, stop)], self.seconds
            report = self._timed(self.session.advance, first, coins, self._kept(first, stop), collect)
            per_iteration = (self.seconds - before) / (stop - first)
            if report.kept is not None:
                self.x_out = report.kept
            self.bar.update(stop - first)
            self.done = stop
            if stop == next_record:
                ended = self._record(report)
            if self.checkpoint_every and (ended or stop == self.iterations or stop % self.checkpoint_every == 0):
                self.save()
        return ended or ("completed", f"{self.iterations} iterations")

    def save(self) -> None:
        """Write a checkpoint, where there is a place for it."""
        if self.write_checkpoint is not None:
            self.write_checkpoint(Checkpoint(self.session.snapshot(), self.x_out, self.seconds, self.recorder.rows))

    def _look_at(self, brake: Brake) -> None:
        """After Ctrl-C, or where whoever hears of every block wants it: save, and leave."""
        if self.on_block(self.done, self.seconds) or brake.pulled:
            self.save()
            raise Interrupted(f"stopped after {self.done} iterations")

    def _next(self, every: int | None) -> int:
        """The next multiple of `every`, or the last iteration."""
        return min(self.iterations, (self.done // every + 1) * every) if every else self.iterations

    def _coin(self, t: int) -> bool:
        """zeta_t: one coin for the whole network."""
        p = self._coin_probability
        return p is not None and bool(self._streams.at("coin", iteration=t).random() < p)

    def _kept(self, first: int, stop: int) -> Keep | None:
        """The last row among these iterations that the reservoir for x_out takes.

        Taking x_t(i_t) with probability 1/(t+1) makes x_out uniform over iterations 0..T-1 for every T.
        """
        for t in reversed(range(first, stop)):
            stream = self._streams.at("output", iteration=t)
            if stream.random() * (t + 1) < 1.0:
                return Keep(t, int(stream.integers(self.plan.topology.m)))
        return None

    def _timed(self, action: Any, *arguments: Any) -> Any:
        began = time.perf_counter()
        value = action(*arguments)
        self.seconds += time.perf_counter() - began
        return value

    def _record(self, snapshot: Snapshot) -> tuple[str, str] | None:
        row = self.recorder.record(snapshot, self.seconds)
        self.on_record(row)
        self.bar.set_postfix_str(f"P={row['primal']:.4g} |grad P|={row['grad_norm']:.2e}", refresh=False)
        if not bool((np.abs(snapshot.arrays["Z"]) < DIVERGED).all()):
            return "diverged", f"the state was no longer finite after {snapshot.iteration} iterations"
        return self.limits.reached(row)
