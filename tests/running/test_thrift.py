"""What runs may hold, ask for and import: counts, never seconds."""

import pickle
import tracemalloc

import numpy as np
import pytest

import raydream as rd
from raydream.backends.plan import Plan
from raydream.backends.ray.agent import Agent
from raydream.backends.ray.links import Links, Terms
from raydream.backends.ray.routing import Router
from raydream.problems import robust_logistic
from raydream.problems.stacks.robust_logistic import RobustLogisticStack
from raydream.running.recorder import Recorder

DREAM = rd.DREAM(eta=0.1, gamma=1.0, b=8, K=3)


def logistic(agents, samples=4000):
    return rd.problems.RobustLogisticRegression(*rd.data.synthetic(samples, 20, seed=0), agents=agents)


def session_of(method, agents=8):
    """A local run after two steps."""
    session = rd.LocalBackend().open(Plan.build(logistic(agents), rd.topology.ring(agents), method, warn=False))
    session.init(())
    session.advance(0, [True, False], None, ())
    return session


@pytest.mark.parametrize(
    ("method", "most"),
    [
        (DREAM, 8),
        (rd.DREAM(eta=0.1, gamma=1.0, b=8, K=3, mixing="gossip"), 8),
        (rd.GTGDA(eta=0.1, gamma=1.0), 10),
        (rd.GTSRVR(eta=0.1, gamma=1.0), 10),
        (rd.DMHSGD(eta=0.1, gamma=1.0), 10),
    ],
    ids=["dream", "dream by gossip", "gt-gda", "gt-srvr", "dm-hsgd"],
)
def test_a_run_in_one_process_holds_a_small_number_of_arrays(method, most):
    """Those of its state between steps; within a step the old state and the new one, and at most what is stated.

    As the README says, in units of one array with a row for each agent.
    """
    session = session_of(method)
    unit = session.snapshot().arrays["Z"].nbytes
    tracemalloc.start()
    try:
        session.advance(2, [True, False, False], None, ())
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 3 * unit <= held <= 3.1 * unit and peak <= most * unit


@pytest.mark.parametrize(("coin", "calls"), [(True, 1), (False, 2)])
def test_an_iteration_asks_all_shards_at_once(coin, calls, monkeypatch):
    """Once for a large batch, once at each point for a correction; never one shard alone."""
    asked = []
    whole = RobustLogisticStack.gradient
    monkeypatch.setattr(RobustLogisticStack, "gradient", lambda *given: asked.append("all") or whole(*given))
    monkeypatch.setattr(robust_logistic.RobustLogisticShard, "gradient", lambda *_: asked.append("one"))
    session_of(DREAM).advance(2, [coin], None, ())
    assert asked == ["all"] * (1 + 1 + 2 + calls)  # at the start, in the two steps before, and in this one


def test_a_record_computes_the_losses_of_all_samples_once(monkeypatch):
    """P, its gradient and the dual gap are all taken from them."""
    session = session_of(DREAM)
    recorder, asked = Recorder(logistic(8), DREAM, False, {}, None), []
    whole = robust_logistic._logistic
    monkeypatch.setattr(robust_logistic, "_logistic", lambda margins: asked.append(margins.size) or whole(margins))
    for step in (2, 3):
        recorder.record(session.advance(step, [False], None, recorder.names), 0.0)
        assert asked == [4000] * (step - 1)


class Silence(Links):
    """Links that carry nothing."""

    def exchange(self, says, hears):
        """Nobody is heard."""


def held_by_an_actor(agents):
    """The bytes that come to be held by actor 1 of a ring of so many, in units of one row."""
    problem = logistic(agents, samples=800 * agents)
    rows, row = problem.local(1), 8 * (problem.dim_x + problem.dim_y)
    route = Router(rd.topology.ring(agents), [1] * agents).routes[1]
    world = {
        "network": rd.topology.ring(agents).network, "constraint": problem.constraint, "start": problem.start(),
    }  # fmt: skip
    method = DREAM.settled(problem, world["network"])
    actor = Agent(1, Silence, Terms(b"", b"", 1.0))
    tracemalloc.start()
    try:
        assert actor.build(route, [rows], method, 0, world) is None
        actor.init(())
        assert actor.advance(0, [True, False], None, ()).iteration == 2
        return tracemalloc.get_traced_memory()[0] / row
    finally:
        tracemalloc.stop()


def test_an_actor_holds_its_shard_and_a_constant_number_of_rows():
    """Its state, its start, and one row for itself and each neighbour: as many in a large network as in a small one."""
    few, many = held_by_an_actor(10), held_by_an_actor(60)
    assert few < 9 and many < 9


@pytest.mark.parametrize("samples", [1, 4])
def test_what_an_agent_owns_is_sent_once(samples):
    """The mean of a single component is that component."""
    shard = rd.problems.QuadraticGame.random(2, samples=samples, dim_x=20, dim_y=20, seed=0).local(1)
    sent = pickle.dumps(shard)
    owned = sum(part.nbytes for part in shard.components.parts)
    assert len(sent) < owned * (1.0 if samples == 1 else 1.0 + 1.0 / samples) + 3000
    again, x, y = pickle.loads(sent), np.ones(20), np.arange(20.0)
    for batch in (None, np.array([0, 0])):
        for here, there in zip(shard.gradient(x, y, batch), again.gradient(x, y, batch), strict=True):
            assert np.array_equal(here, there)


def test_frames_are_not_copied_in_one_process():
    """What one array says is weighed where it lies."""
    session, seen = session_of(rd.GTGDA(eta=0.1, gamma=1.0)), []
    weighed = session._weighed
    session._weighed = lambda V: seen.append(V) or weighed(V)
    Z = np.ones((8, 5))
    session._exchange(Z, 40)
    assert seen[0] is Z
