"""All agents in one process: rounds taken at once are rounds all the same."""

from dataclasses import replace

import numpy as np
import pytest

import raydream as rd
from raydream.backends.plan import Plan

COINS = [True, False, False, True, False]


def session_of(method, at_once=True, dtype=np.float64):
    """A run of five agents after five steps; its rounds one by one if asked for."""
    problem = rd.problems.QuadraticGame.random(5, samples=9, dim_x=40, dim_y=7, seed=0)
    plan = Plan.build(problem, rd.topology.ring(5), method, warn=False)
    plan = replace(plan, start=tuple(part.astype(dtype) for part in plan.start))
    session = rd.LocalBackend().open(plan)
    agents = session._host.agents
    assert agents.network.at_once is not None and agents.network == plan.topology.network
    if not at_once:
        agents.network = plan.topology.network
    session.init(())
    session.advance(0, COINS, None, ())
    return session


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("mixing", ["fastmix", "gossip"])
@pytest.mark.parametrize("K", [0, 1, 2, 5])
def test_rounds_at_once_have_the_bits_and_the_bill_of_rounds_one_by_one(K, mixing, dtype):
    """A run of DREAM whose network takes rounds whole, and one whose rounds are yielded."""
    method = rd.DREAM(eta=0.01, gamma=0.5, b=2, K0=3, K=K, K_large=K + 1, mixing=mixing)
    whole, single = (session_of(method, at_once, dtype).snapshot() for at_once in (True, False))
    assert whole.ledger == single.ledger and whole.ledger.rounds > 0
    for name, array in single.arrays.items():
        assert array.dtype == dtype and np.array_equal(whole.arrays[name], array)


def test_rounds_are_taken_one_by_one_where_there_are_conditions():
    """Something may happen in each."""
    problem = rd.problems.QuadraticGame.random(5, samples=9, dim_x=4, dim_y=3, seed=0)
    method, conditions = rd.DREAM(eta=0.01, gamma=0.5, b=2, K=2), rd.Conditions(latency=0.1)
    plan = Plan.build(problem, rd.topology.ring(5), method, conditions=conditions)
    assert rd.LocalBackend().open(plan)._host.agents.network.at_once is None


class Shouter(rd.GTGDA):
    """Mixes rows that it does not have, or of another kind."""

    def step(self, s, agents, t, coin):
        from raydream.topology.mixing import mix

        wrong = s.Z[:2] if t == 0 else s.Z.astype(np.float32)
        yield from mix(wrong, 2, agents.network)


def test_rows_that_cannot_travel_are_refused_as_in_a_round():
    session = session_of(rd.GTGDA(eta=0.01, gamma=0.5))
    session._host.method = Shouter(eta=0.01, gamma=0.5)
    with pytest.raises(ValueError, match="one row for each of the 5 agents here"):
        session.advance(0, [False], None, ())
    with pytest.raises(TypeError, match="must be of float64"):
        session.advance(1, [False], None, ())
