"""Shards that answer together give every row the bits that its shard gives it alone."""

import numpy as np
import pytest

import raydream as rd
from raydream.agents import Agents, Streams
from raydream.agents.oracle import Oracle
from raydream.constraints import Ball
from raydream.problems import QuadraticGame, RobustLogisticRegression


def logistic(agents=5, samples=60, features=7, **more):
    return RobustLogisticRegression(*rd.data.synthetic(samples=samples, features=features, seed=1), agents, **more)


PROBLEMS = {
    "logistic": lambda: logistic(),
    "logistic as the paper has it": lambda: logistic(scaling="paper", theta=0.0),
    "logistic, many rows each": lambda: logistic(agents=2, samples=3000, features=30),
    "logistic, one row each": lambda: logistic(agents=5, samples=5),
    "group DRO": lambda: rd.problems.GroupDRO(*rd.data.synthetic(samples=60, features=7, seed=1), 5),
    "fair classification": lambda: rd.problems.FairClassification(
        *rd.data.synthetic(samples=61, features=7, seed=1), 4
    ),
    "quadratic": lambda: QuadraticGame.random(agents=5, samples=6, dim_x=3, dim_y=4, theta=0.1, seed=2),
    "quadratic, wide": lambda: QuadraticGame.random(agents=3, samples=4, dim_x=33, dim_y=65, seed=2),
    "quadratic, one number each": lambda: QuadraticGame.random(agents=4, samples=3, dim_x=1, dim_y=1, seed=2),
    "quadratic in a ball": lambda: QuadraticGame.random(agents=4, dim_x=2, dim_y=9, constraint=Ball(1.0), seed=2),
}


@pytest.fixture(params=PROBLEMS, scope="module")
def problem(request):
    return PROBLEMS[request.param]()


def points(problem, seed=0):
    return np.random.default_rng(seed).normal(size=(problem.agents, problem.dim_x + problem.dim_y)) * 0.3


@pytest.mark.parametrize("b", [None, 1, 4, 17])
def test_a_stack_has_the_bits_of_its_shards(problem, b):
    """Whole shards and batches in which samples repeat; whoever stands beside a row."""
    shards, Z = [problem.local(i) for i in range(problem.agents)], points(problem)
    generator = np.random.default_rng(3)
    batches = None if b is None else [generator.integers(shard.samples, size=b) for shard in shards]
    alone = np.stack([
        np.concatenate(shard.gradient(z[: problem.dim_x], z[problem.dim_x :], None if b is None else batches[row]))
        for row, (shard, z) in enumerate(zip(shards, Z, strict=True))
    ])  # fmt: skip
    for rows in (slice(0, None), slice(0, 1), slice(1, 3), slice(-2, None)):
        some = shards[rows]
        G = np.full_like(Z[rows], np.nan)
        type(some[0]).stacked(some).gradient(Z[rows], None if b is None else batches[rows], G)
        assert np.array_equal(G, alone[rows]), rows


def agents_of(problem, together):
    shards = [problem.local(i) for i in range(problem.agents)]
    network = rd.topology.ring(problem.agents).network
    world = dict(network=network, constraint=problem.constraint, start=problem.start(), streams=Streams(5))
    found = Agents(range(problem.agents), shards, **world)
    assert found.oracle._stack is not None
    if not together:
        found.oracle._stack = None
    found.begin(1)
    return found


@pytest.mark.parametrize("b", [None, 3])
@pytest.mark.parametrize("q", [1.0, 0.5])
def test_agents_ask_a_stack_for_the_same_bits_at_the_same_price(problem, b, q):
    """Gradients, pairs and corrections, thinned ones too."""
    Z, Z_old = points(problem), points(problem, 1)
    one, other = (agents_of(problem, together) for together in (True, False))
    for ask in (
        lambda agents: agents.gradient(Z, b),
        lambda agents: np.stack(agents.gradient_pair(Z, Z_old, b)),
        lambda agents: agents.correction(Z, Z_old, b, q),
    ):
        assert np.array_equal(ask(one), ask(other))
    assert one.sfo == other.sfo > 0


def test_where_a_stack_gives_no_number_the_guilty_agent_is_found():
    """As without a stack: agent, iteration and sample."""
    problem = logistic(agents=3, samples=12, features=3)
    shards = [problem.local(i) for i in range(3)]
    shards[1].features.data[0] = np.nan
    oracle = Oracle((0, 1, 2), shards, problem.dim_x, problem.dim_y)
    wanted = r"agent 1, sample 0: the gradient is not finite .*, in iteration 7"
    with np.errstate(all="ignore"), pytest.raises(rd.errors.GradientError, match=wanted):
        oracle.gradients(points(problem), None, None, "in iteration 7")


def test_shards_of_different_kinds_answer_one_by_one():
    """A stack is for shards of one kind."""
    shards = [logistic(agents=1, samples=4, features=1).local(0), QuadraticGame.random(1, dim_x=1, dim_y=4).local(0)]
    assert Oracle((0, 1), shards, 1, 4)._stack is None
