"""Version 0.1.0 at work: for every number of steps that comes in, it says how many milliseconds an iteration took.

Started by one_process.py with the folder that holds the old package. The problem is that of the group of actors.
"""

import sys
import time

sys.path.insert(0, sys.argv[1])

import numpy as np
from threadpoolctl import threadpool_limits

import raydream as rd
from raydream.backends import Plan


def main() -> None:
    """Answer until nobody asks."""
    try:
        data = rd.data.load("a9a", progress=False)
    except OSError:
        data = rd.data.synthetic(32_561, 123, density=0.11, positive=0.24)
    problem = rd.problems.RobustLogisticRegression(*data, agents=8)
    topology = rd.topology.ring(8, self_weight=0.5)
    method = rd.DREAM(eta=0.1, gamma=1.0, p=0.5, b=64, b_large=128, K0=2, K=2, K_large=2)
    session = rd.LocalBackend().open(
        Plan(problem, topology, method.settled(problem, topology.network), 0, problem.start())
    )
    coins = [bool(coin) for coin in np.random.default_rng(1).random(10_000) < 0.5]
    session.init(())
    with threadpool_limits(1, "blas"):
        for line in sys.stdin:
            steps = int(line)
            began = time.perf_counter()
            session.advance(2, coins[:steps], None, ())
            print(1e3 * (time.perf_counter() - began) / steps, flush=True)


if __name__ == "__main__":
    main()
