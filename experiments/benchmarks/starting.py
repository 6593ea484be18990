"""How soon are actors ready, and what do they cost? From nothing (no Ray yet) to linked neighbours.

    python experiments/benchmarks/table.py --only starting

Each start is a program of its own. Memory is that of all actors together, shared pages counted once for each sharer's
part (PSS).
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from measuring import Row

GOALS = {8: 4.0, 64: 20.0}  # seconds


def rows(quick: bool = False) -> Iterator[Row]:
    """Seconds and memory for 8 and for 64 actors."""
    for agents, repeats in ((2, 1),) if quick else ((8, 3), (64, 1)):
        found = [_started(agents) for _ in range(repeats)]
        most = GOALS.get(agents)
        yield Row(f"{agents} actors ready, one agent each", [seconds for seconds, _ in found], "s", most=most)
        yield Row(f"memory of {agents} actors", [used for _, used in found], "MB")


def _started(agents: int) -> tuple[float, float]:
    """Seconds until so many actors are linked, and their megabytes."""
    done = subprocess.run(
        [sys.executable, __file__, str(agents)], capture_output=True, text=True, timeout=600, check=True
    )
    if done.stderr.strip():
        raise RuntimeError(f"starting {agents} actors was not quiet: {done.stderr[-500:]}")
    seconds, used = json.loads(done.stdout)
    return seconds, used


def megabytes(pid: int) -> float:
    """Megabytes of a process, its part of what it shares."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(text.split()[1]) / 1e3 for text in rollup if text.startswith("Pss:"))


def main() -> None:
    """Start actors for the number of agents that is asked for, and print what it took."""
    import raydream as rd
    from raydream.backends.protocol import Plan

    agents = int(sys.argv[1])
    game = rd.problems.QuadraticGame.random(agents, samples=4, dim_x=4, dim_y=4, seed=0)
    plan = Plan.build(game, rd.topology.ring(agents), rd.DREAM(eta=0.1, gamma=0.1))
    began = time.perf_counter()
    session = rd.RayBackend().open(plan)
    seconds = time.perf_counter() - began
    try:
        print(json.dumps([seconds, sum(megabytes(place["pid"]) for place in session.places)]))
    finally:
        session.close()


if __name__ == "__main__":
    main()
