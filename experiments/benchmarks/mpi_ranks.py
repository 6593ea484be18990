"""The same programs as mixing.py on 8 MPI ranks: `mpiexec -n 8 python mpi_ranks.py mixing|dream STEPS`."""

import json
import sys
import time
from typing import Any

import numpy as np
from mixing import COINS, PLANS
from mpi4py import MPI
from threadpoolctl import threadpool_limits

from raydream.agents import Agents
from raydream.agents.streams import Streams
from raydream.backends.host import Host
from raydream.backends.ray.routing import Router


def main() -> None:
    threadpool_limits(1, "blas")
    world = MPI.COMM_WORLD
    me, what, steps = world.Get_rank(), sys.argv[1], int(sys.argv[2])
    plan = PLANS[what]()
    route = Router(plan.topology, [1] * plan.topology.m).routes[me]
    buffers: dict[int, Any] = {}

    def exchange(V: Any) -> Any:
        stack = buffers.setdefault(V.shape[1], np.empty((len(route.columns), V.shape[1])))
        stack[route.own] = V
        pending = [world.Irecv(stack[place], source=peer) for peer, [place] in route.hears.items()]
        pending += [world.Isend(V[0], dest=peer) for peer in route.says]
        MPI.Request.Waitall(pending)
        return route.W @ stack

    agents = Agents(
        route.hosted, [plan.problem.local(me)], network=plan.topology.network, constraint=plan.problem.constraint,
        start=plan.start, streams=Streams(plan.seed),
    )  # fmt: skip
    host = Host(plan.method, agents, exchange)
    host.init()
    host.advance(0, COINS[:2], None)
    world.Barrier()
    began = time.perf_counter()
    host.advance(2, COINS[:steps], None)
    world.Barrier()
    if me == 0:
        print(json.dumps((time.perf_counter() - began) / steps))


if __name__ == "__main__":
    main()
