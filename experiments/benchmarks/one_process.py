"""How fast is one process? A DREAM iteration on a9a beside version 0.1.0, in float32, and beside what a record costs.

    python experiments/benchmarks/table.py --only one_process

8 agents in a ring, K=2, b=64, b_large=128, as in the group of actors, which has the ratio to MPI. Version 0.1.0 is
taken from the history of the repository (a clone without history has no such row) and runs in a process of its own,
in turns with the others. What is evaluated is P, its gradient and consensus; a record also has tracking, the dual gap
and every agent's distance.
"""

import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from actors import COINS, dream_plan
from measuring import Row, in_turns, milliseconds
from threadpoolctl import threadpool_limits

import raydream as rd
from raydream.backends.plan import Plan
from raydream.columns.metrics import Point, spread
from raydream.running.recorder import Recorder

OLD = "a500803"  # the last commit of 0.1.0
STEPS, REPEATS = 40, 15
ITERATION = "DREAM iteration on a9a, local"


class Single:
    """The same problem, its rows in float32."""

    dtype = np.float32

    def __init__(self, problem: Any) -> None:
        self._problem = problem

    def __getattr__(self, name: str) -> Any:
        return getattr(self._problem, name)


def rows(quick: bool = False) -> Iterator[Row]:
    """Iterations, bytes and records."""
    with ExitStack() as stack:
        stack.enter_context(threadpool_limits(1, "blas"))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        plan = dream_plan()
        steps = 2 if quick else STEPS
        sessions = {"now": _session(plan), "float32": _session(_single(plan))}
        variants: dict[str, Callable[[], float]] = {
            name: partial(milliseconds, partial(session.advance, 2, COINS[:steps], None, ()), steps)
            for name, session in sessions.items()
        }
        old = _old(Path(folder), stack)
        if old is not None:
            variants["old"] = partial(_answer, old, steps)
        variants |= _evaluations(plan, sessions["now"], steps)
        took = in_turns(variants, 1 if quick else REPEATS)
    if old is not None:
        yield Row(ITERATION, took["now"], beside=took["old"], to="0.1.0", most=0.5)
    yield Row(f"{ITERATION}, float32", took["float32"], beside=took["now"], to="float64")
    sent = {name: _megabytes(session) for name, session in sessions.items()}
    yield Row("bytes of an iteration, float32", [sent["float32"]], "MB", [sent["now"]], "float64", most=0.5)
    yield Row("P, its gradient and consensus", took["evaluation"], beside=took["now"], to="iteration", most=1.0)
    yield Row("a whole record", took["record"], beside=took["now"], to="iteration")


def _single(plan: Plan) -> Plan:
    return Plan.build(Single(plan.problem), plan.topology, plan.method)


def _session(plan: Plan) -> Any:
    session = rd.LocalBackend().open(plan)
    session.init(())
    session.advance(0, COINS[:2], None, ())
    return session


def _megabytes(session: Any) -> float:
    """What an iteration sends."""
    before = session.snapshot().ledger.bytes
    return float(session.advance(2, [False], None, ()).ledger.bytes - before) / 1e6


def _evaluations(plan: Plan, session: Any, times: int) -> dict[str, Callable[[], float]]:
    """So many at two points in turn, so that nothing is known from the time before."""
    recorder = Recorder(plan.problem, plan.method, False, {}, None)
    points = [session.advance(2, COINS[:steps], None, recorder.names) for steps in (1, 2)]
    turn = iter(range(10**6))

    def evaluation() -> None:
        for _ in range(times):
            at = Point(plan.problem, points[next(turn) % 2].arrays)
            float(at.P + np.linalg.norm(at.slope) + spread(at.arrays["Z"], at.z_bar))

    def record() -> None:
        for _ in range(times):
            recorder.record(points[next(turn) % 2], 0.0)

    return {"evaluation": partial(milliseconds, evaluation, times), "record": partial(milliseconds, record, times)}


def _old(folder: Path, stack: ExitStack) -> Any:
    """A process with version 0.1.0 that answers with milliseconds, or None where there is no history."""
    here = Path(__file__).parent
    found = subprocess.run(["git", "archive", OLD, "raydream"], cwd=here.parents[1], capture_output=True)
    if found.returncode:
        return None
    with tarfile.open(fileobj=io.BytesIO(found.stdout)) as archive:
        archive.extractall(folder, filter="data")
    process = subprocess.Popen(
        [sys.executable, str(here / "version_0_1_0.py"), str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    stack.callback(process.wait, 60)
    stack.callback(process.stdin.close)
    _answer(process, 2)
    return process


def _answer(process: Any, steps: int) -> float:
    """Milliseconds of an iteration there."""
    process.stdin.write(f"{steps}\n")
    process.stdin.flush()
    return float(process.stdout.readline())
