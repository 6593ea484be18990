"""What a method's state looks like between two steps: tried with one agent that talks to nobody."""

import contextlib
from typing import Any

import numpy as np

from raydream.agents import Agents
from raydream.agents.streams import Streams
from raydream.backends.host import Host
from raydream.backends.layout import as_sent
from raydream.backends.plan import Plan

Form = dict[str, tuple[tuple[int, ...], np.dtype[Any]]]  # of one agent's part of each array, by name


def state_form(plan: Plan) -> Form:
    """The arrays of a run's state: what a row of each is like."""
    agents = Agents(
        [0],
        [as_sent(plan.problem.local(0))],
        network=plan.topology.network,
        constraint=plan.problem.constraint,
        start=plan.start,
        streams=Streams(plan.seed),
    )
    host = Host(plan.method, agents, lambda said, _: said)
    host.init()
    with contextlib.suppress(Exception):  # a step that fails without neighbours leaves the first state
        host.advance(0, [True], None)
    return {name: (array.shape[1:], array.dtype) for name, array in host.arrays(None).items()}
