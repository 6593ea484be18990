"""How fast are rounds and iterations? Actors over direct links, over Ray's calls, packed, one process, and MPI.

    python experiments/benchmarks/mixing.py [--repeats 3] [--quick]

8 agents in a ring. First, rounds of plain mixing with 256 KB per agent; then whole DREAM iterations on a9a (K=2,
b=64, b_large=128), or on synthetic data of its shape where a9a cannot be had. MPI is measured where mpi4py and
mpiexec are installed: the same programs over the same rows, with MPI carrying the messages. Variants take turns, and
the table gives medians over the repeats with their ratio to MPI (to direct links, where there is no MPI).
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import raydream as rd
from raydream.algorithms import Iterates
from raydream.backends.protocol import Plan
from raydream.constraints import Everything
from raydream.topology.mixing import gossip

WIDTH = 32_768  # numbers in 256 KB
AGENTS = 8


class Nothing:
    """A problem without gradients, for rounds alone."""

    agents, dim_x, dim_y, samples, constraint = AGENTS, WIDTH - 1, 1, 1, Everything()

    def local(self, i: int) -> "Nothing":
        return self


@dataclass(frozen=True)
class OnlyMix:
    """Ten rounds of gossip per iteration."""

    def init(self, agents: Any) -> Any:
        return Iterates(agents.start())

    def step(self, state: Any, agents: Any, t: int, coin: bool) -> Any:
        return Iterates((yield from gossip(state.Z, 10)))


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
    topology = rd.topology.ring(AGENTS, self_weight=0.5)
    method = rd.DREAM(eta=0.1, gamma=1.0, p=0.5, b=64, b_large=128, K0=2, K=2, K_large=2)
    return Plan(problem, topology, method.settled(problem, topology.network), 0, problem.start())


PLANS = {"mixing": mixing_plan, "dream": dream_plan}
COINS = [bool(coin) for coin in np.random.default_rng(1).random(10_000) < 0.5]
BACKENDS = {
    "local": rd.LocalBackend(),
    "8 actors, direct links": rd.RayBackend(),
    "packed auto, direct links": rd.RayBackend(agents_per_actor="auto"),
    "8 actors, Ray links": rd.RayBackend(links="ray"),
}


def measure(session: Any, steps: int, done: int) -> float:
    """Seconds per step, over one block."""
    began = time.perf_counter()
    session.advance(done, COINS[:steps], None, ())
    return (time.perf_counter() - began) / steps


def measure_mpi(what: str, steps: int) -> float | None:
    """Seconds per step of the MPI program on 8 ranks, or None where MPI is missing."""
    launcher = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if launcher is None or subprocess.run([sys.executable, "-c", "import mpi4py"], capture_output=True).returncode:
        return None
    script = Path(__file__).with_name("mpi_ranks.py")
    done = subprocess.run(
        [launcher, "-n", str(AGENTS), sys.executable, str(script), what, str(steps)],
        capture_output=True, text=True, timeout=600, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    if done.returncode:
        print(done.stderr[-500:], file=sys.stderr)
        return None
    return float(json.loads(done.stdout.strip().splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a few steps only, to see that it works")
    arguments = parser.parse_args()
    for what, unit in (("mixing", "round"), ("dream", "iteration")):
        plan, per_step = PLANS[what](), 10 if what == "mixing" else 1
        times: dict[str, list[float]] = {}
        ready: dict[str, float] = {}
        for _ in range(1 if arguments.quick else arguments.repeats):
            for name, backend in BACKENDS.items():
                slow = name.endswith("Ray links")
                steps = 2 if arguments.quick else (3 if slow else 30) if what == "mixing" else (5 if slow else 60)
                began = time.perf_counter()
                session = backend.open(plan)
                ready.setdefault(name, time.perf_counter() - began)
                try:
                    session.init(())
                    measure(session, 2, 0)
                    times.setdefault(name, []).append(measure(session, steps, 2) / per_step)
                finally:
                    session.close()
            seconds = measure_mpi(what, 2 if arguments.quick else 30 if what == "mixing" else 60)
            if seconds is not None:
                times.setdefault("MPI, 8 ranks", []).append(seconds / per_step)
        medians = {name: statistics.median(values) for name, values in times.items()}
        yardstick = "MPI, 8 ranks" if "MPI, 8 ranks" in medians else "8 actors, direct links"
        print(
            f"\n{what}: ms per {unit}, median of {len(times['local'])} (range); ratio to {yardstick}; seconds to start"
        )
        for name, median in sorted(medians.items(), key=lambda pair: pair[1]):
            spread = f"({1e3 * min(times[name]):.2f}-{1e3 * max(times[name]):.2f})"
            ratio, start = median / medians[yardstick], ready.get(name, float("nan"))
            print(f"  {name:28} {1e3 * median:8.2f} {spread:18} {ratio:6.2f} {start:6.1f}")


if __name__ == "__main__":
    main()
