"""The programs of actors.py on 8 MPI ranks: `mpirun -n 8 python mpi_ranks.py mixing|dream STEPS`."""

import json
import sys
import time
from typing import Any

import numpy as np
from actors import COINS, PLANS
from mpi4py import MPI
from threadpoolctl import threadpool_limits

from raydream.agents import Agents
from raydream.agents.streams import Streams
from raydream.backends.host import Host
from raydream.backends.ray.routing import Router
from raydream.kernels import Weights
from raydream.program import frame_of, heard_as


def main() -> None:
    """Time a block of steps on all ranks; rank 0 prints seconds per step."""
    threadpool_limits(1, "blas")
    world = MPI.COMM_WORLD
    me, what, steps = world.Get_rank(), sys.argv[1], int(sys.argv[2])
    plan = PLANS[what]()
    route = Router(plan.topology, [1] * plan.topology.m).routes[me]
    [own], peers = route.own, [(peer, int(place)) for peer, [place] in route.hears.items()]
    weigh, buffers = Weights(route.W), dict[int, Any]()

    def exchange(said: Any, bytes: int) -> Any:
        V = frame_of(said)
        stack = buffers.setdefault(V.shape[1], np.empty((len(route.columns), V.shape[1])))
        pending = [world.Irecv(stack[place], source=peer) for peer, place in peers]
        pending += [world.Isend(V[0], dest=peer) for peer, _ in peers]
        stack[own] = V[0]
        MPI.Request.Waitall(pending)
        return heard_as(said, weigh(stack))

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
