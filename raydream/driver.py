"""run(): flips the coins, asks the agents for blocks of iterations, measures at records, and decides when to stop."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from raydream.backends import Keep, Plan, Session, Snapshot
from raydream.backends.choice import backend_from
from raydream.checks import whole
from raydream.fit import check_fit, checked_start, warn_of_mixing
from raydream.history import Recorder
from raydream.limits import Limits
from raydream.problems.completed import complete
from raydream.record import describe
from raydream.result import Result
from raydream.streams import Streams
from raydream.topology import Topology
from raydream.types import Array

BLOCK_SECONDS = 1.0  # the longest that the driver goes without hearing from the agents
DIVERGED = 1e100


def run(
    problem: Any,
    topology: Topology,
    method: Any,
    *,
    iterations: int,
    seed: int = 0,
    record_every: int = 10,
    backend: Any = "local",
    start: tuple[Any, Any] | None = None,
    max_sfo: int | None = None,
    max_rounds: int | None = None,
    max_seconds: float | None = None,
    target_grad_norm: float | None = None,
    target_primal: float | None = None,
    directory: Any = None,
    diagnostics: bool = False,
    progress: bool | None = None,
) -> Result:
    """Run a method on a problem over a network and return its `Result`.

    iterations    how many, unless a limit or target ends the run before; limits are looked at in records only
    seed          of every random draw: the same seed gives the same bits
    record_every  iterations between two rows of the history
    backend       "local", or a configured backend
    start         (x0, y0) with y0 in Y; by default the problem's own
    max_sfo, max_rounds, max_seconds    stop at the first record that has spent as much (outcome "budget")
    target_grad_norm, target_primal     stop at the first record that is as low (outcome "target")
    directory     where to save the result
    diagnostics   also record Psi, C, V, U and Phi of the paper's Lyapunov function
    progress      True or False for a bar or none; by default a bar on a terminal
    """
    problem = complete(problem)
    check_fit(problem, topology, method)
    method = method.settled(problem, topology.network) if hasattr(method, "settled") else method
    limits = Limits(max_sfo, max_rounds, max_seconds, target_grad_norm, target_primal)
    plan = Plan(problem, topology, method, whole("seed", seed), checked_start(problem, start))
    where = backend_from(backend)
    recorder = Recorder(problem, method, bool(diagnostics))
    config = {
        **describe(plan),
        "iterations": whole("iterations", iterations),
        "record_every": whole("record_every", record_every, 1),
        "limits": {name: value for name, value in asdict(limits).items() if value is not None},
        "backend": where.describe(),
    }
    warn_of_mixing(topology, method)
    session = where.open(plan)
    try:
        # One BLAS thread on every backend: threaded sums have other bits.
        with threadpool_limits(1, "blas"), _bar(progress, iterations, type(method).__name__) as bar:
            loop = _Loop(plan, session, recorder, limits, iterations, record_every, bar)
            outcome, reason = loop.run()
            last = session.snapshot()
    finally:
        session.close()
    z_bar = last.arrays["Z"].mean(axis=0)
    result = Result(
        history=recorder.table(),
        outcome=outcome,
        reason=reason,
        ledger=last.ledger,
        x_bar=z_bar[: problem.dim_x],
        y_bar=z_bar[problem.dim_x :],
        x_out=loop.x_out,
        arrays={name: array.copy() for name, array in last.arrays.items()},
        config={**config, **recorder.remarks()},
        recoveries=session.recoveries,
    )
    if directory is not None:
        result.save(directory)
    return result


@dataclass
class _Loop:
    """The one loop of the package."""

    plan: Plan
    session: Session
    recorder: Recorder
    limits: Limits
    iterations: int
    record_every: int
    bar: Any
    x_out: Array = field(init=False)

    def __post_init__(self) -> None:
        self.x_out = self.plan.start[0].copy()
        self.seconds = 0.0
        self.streams = Streams(self.plan.seed)
        self.coin_probability = getattr(self.plan.method, "coin_probability", None)

    def run(self) -> tuple[str, str]:
        """Iterate until the end, a limit, a target or divergence; say which."""
        ended = self._record(self._timed(self.session.init, self.recorder.names))
        t, per_iteration = 0, 0.0
        while ended is None and t < self.iterations:
            next_record = min(self.iterations, (t // self.record_every + 1) * self.record_every)
            longest = max(1, int(BLOCK_SECONDS / per_iteration)) if per_iteration > 0 else 1
            stop = min(next_record, t + longest)
            coins, keep = [self._coin(k) for k in range(t, stop)], self._kept(t, stop)
            collect = self.recorder.names if stop == next_record else ()
            before = self.seconds
            report = self._timed(self.session.advance, t, coins, keep, collect)
            per_iteration = (self.seconds - before) / (stop - t)
            if report.kept is not None:
                self.x_out = report.kept
            self.bar.update(stop - t)
            t = stop
            if t == next_record:
                ended = self._record(report)
        return ended or ("completed", f"{self.iterations} iterations")

    def _coin(self, t: int) -> bool:
        """zeta_t: one coin for the whole network."""
        p = self.coin_probability
        return p is not None and bool(self.streams.at("coin", iteration=t).random() < p)

    def _kept(self, first: int, stop: int) -> Keep | None:
        """The last row among these iterations that the reservoir for x_out takes.

        Taking x_t(i_t) with probability 1/(t+1) makes x_out uniform over iterations 0..T-1 for every T.
        """
        for t in reversed(range(first, stop)):
            stream = self.streams.at("output", iteration=t)
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
        self.bar.set_postfix_str(f"P={row['primal']:.4g} |grad P|={row['grad_norm']:.2e}", refresh=False)
        if not bool((np.abs(snapshot.arrays["Z"]) < DIVERGED).all()):
            return "diverged", f"the state was no longer finite after {snapshot.iteration} iterations"
        return self.limits.reached(row)


@contextmanager
def _bar(progress: bool | None, iterations: int, name: str) -> Iterator[Any]:
    """A progress bar on a terminal."""
    from tqdm import tqdm

    hidden = not sys.stderr.isatty() if progress is None else not progress
    with tqdm(total=iterations, desc=name, unit="it", disable=hidden, leave=False) as bar:
        yield bar
