"""How fast are rounds and iterations on actors? Direct links, packed, Ray's calls and one process, beside MPI.

    python experiments/benchmarks/table.py --only actors

8 agents in a ring. First, rounds of plain mixing with 256 KB per agent; then whole DREAM iterations on a9a (K=2,
b=64, b_large=128), or on synthetic data of its shape where a9a cannot be had. MPI is the same program over the same
rows on 8 ranks, with the same compiled sums, its messages sent from and received into the arrays themselves by
Isend and Irecv; without mpi4py and mpirun there is no ratio.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from measuring import Row, in_turns, milliseconds

import raydream as rd
from raydream.algorithms import Iterates
from raydream.backends.protocol import Plan
from raydream.backends.ray.routing import block_sizes
from raydream.backends.workers import cpus
from raydream.constraints import Everything
from raydream.topology.mixing import gossip

WIDTH = 32_768  # numbers in 256 KB
AGENTS = 8
ROUNDS = 10  # of an iteration that only mixes
REPEATS = {"mixing": 5, "dream": 5, "short": 21}
COINS = [bool(coin) for coin in np.random.default_rng(1).random(10_000) < 0.5]


class Nothing:
    """A problem without gradients, for rounds alone."""

    agents, dim_x, dim_y, samples, constraint = AGENTS, WIDTH - 1, 1, 1, Everything()

    def local(self, i: int) -> "Nothing":
        return self


@dataclass(frozen=True)
class OnlyMix:
    """Rounds of gossip."""

    def init(self, agents: Any) -> Any:
        return Iterates(agents.start())

    def step(self, state: Any, agents: Any, t: int, coin: bool) -> Any:
        return Iterates((yield from gossip(state.Z, ROUNDS)))


def mixing_plan() -> Plan:
    """Rounds alone."""
    start = np.random.default_rng(0).normal(size=WIDTH)
    return Plan(Nothing(), rd.topology.ring(AGENTS), OnlyMix(), 0, (start[:-1], start[-1:]))  # type: ignore[arg-type]


def dream_plan() -> Plan:
    """DREAM on a9a or its like."""
    try:
        data = rd.data.load("a9a", progress=False)
    except OSError:
        data = rd.data.synthetic(32_561, 123, density=0.11, positive=0.24)
    problem = rd.problems.RobustLogisticRegression(*data, agents=AGENTS)
    method = rd.DREAM(eta=0.1, gamma=1.0, p=0.5, b=64, b_large=128, K0=2, K=2, K_large=2)
    return Plan.build(problem, rd.topology.ring(AGENTS, self_weight=0.5), method)


PLANS = {"mixing": mixing_plan, "dream": dream_plan, "short": dream_plan}
STEPS = {"mixing": 60, "dream": 240, "short": 60}  # of one turn; 240 take about a second, the longest block of a run
UNITS = {
    "mixing": ("round of 256 KB", ROUNDS),
    "dream": ("DREAM iteration on a9a", 1),
    "short": ("DREAM iteration on a9a in blocks of 60", 1),
}
PACKED = f"packed in {min(AGENTS, cpus())} actors, direct links"
DIRECT, TCP, RAY, LOCAL = "8 actors, direct links", "8 actors, TCP alone", "8 actors, Ray links", "local"
GOALS = {
    ("mixing", LOCAL): 0.2, ("mixing", DIRECT): 0.9, ("mixing", PACKED): 0.4,
    ("dream", LOCAL): 0.45, ("dream", DIRECT): 0.95, ("dream", PACKED): 0.4, ("short", DIRECT): 0.95,
}  # fmt: skip


def backends() -> dict[str, Any]:
    """What is measured; one Ray for all of them, so "auto" is spelt out."""
    return {
        LOCAL: rd.LocalBackend(),
        DIRECT: rd.RayBackend(),
        PACKED: rd.RayBackend(agents_per_actor=block_sizes("auto", AGENTS, cpus())),
        TCP: rd.RayBackend(links="tcp"),
        RAY: rd.RayBackend(links="ray"),
    }


def rows(quick: bool = False) -> Iterator[Row]:
    """The table's rows, first of rounds, then of iterations."""
    for what in PLANS:
        yield from _compared(what, quick)


def _compared(what: str, quick: bool) -> Iterator[Row]:
    unit, per = UNITS[what]
    with ExitStack() as stack:
        stack.enter_context(rd.RayBackend().shared(4 * AGENTS))
        plan = PLANS[what]()
        variants: dict[str, Callable[[], float]] = {}
        measured = {DIRECT: rd.RayBackend()} if what == "short" else backends()
        for name, backend in measured.items():
            session = backend.open(plan)
            stack.callback(session.close)
            session.init(())
            steps = 2 if quick else STEPS[what] // (10 if name == RAY else 1)
            block = blocks(session, steps)
            block()
            variants[name] = partial(milliseconds, block, per * steps)
        mpi = launcher()
        if mpi:
            variants["MPI"] = partial(_mpi, mpi, what, 2 if quick else STEPS[what], per)
        took = in_turns(variants, 1 if quick else REPEATS[what])
    beside = took.pop("MPI", [])
    for name, figures in took.items():
        yield Row(f"{unit}, {name}", figures, "ms", beside, "MPI", most=GOALS.get((what, name)) if beside else None)


def blocks(session: Any, steps: int) -> Callable[[], None]:
    """The next block of so many steps, whenever it is called."""
    firsts = count(0, steps)

    def block() -> None:
        first = next(firsts)
        session.advance(first, COINS[:steps], None, ())

    return block


def launcher() -> list[str] | None:
    """How 8 ranks are started here, or None where that cannot be done."""
    found = shutil.which("mpirun", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is None or subprocess.run([sys.executable, "-c", "import mpi4py.MPI"], capture_output=True).returncode:
        return None
    version = subprocess.run([found, "--version"], capture_output=True, text=True).stdout
    own = ["--allow-run-as-root", "--oversubscribe"] if "Open MPI" in version else []
    return [found, *own, "-n", str(AGENTS)]


def _mpi(launch: list[str], what: str, steps: int, per: int) -> float:
    """Milliseconds of the MPI program."""
    script = Path(__file__).with_name("mpi_ranks.py")
    done = subprocess.run(
        [*launch, sys.executable, str(script), what, str(steps)],
        capture_output=True, text=True, timeout=600, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"the MPI program ended with {done.returncode}: {done.stderr[-500:]}")
    return 1e3 * float(json.loads(done.stdout.strip().splitlines()[-1])) / per
