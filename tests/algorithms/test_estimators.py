"""The gradient estimators that methods share."""

import numpy as np
import pytest
from laws import Witness

from raydream.agents import Agents
from raydream.agents.streams import Streams
from raydream.algorithms.estimators import full, page, spider, storm, thinned_page
from raydream.problems import QuadraticGame
from raydream.topology.mixing import Network

GAME = QuadraticGame.random(agents=3, samples=7, dim_x=2, dim_y=3, seed=5)
Z, Z_OLD, G_OLD = np.random.default_rng(8).normal(size=(3, 3, 5))

RECURSIONS = {
    "spider": lambda agents, new, old, g, b: spider(agents, new, old, g, t=0, Q=5, b=b),
    "page": lambda agents, new, old, g, b: page(agents, new, old, g, coin=False, b=b),
    "thinned page": lambda agents, new, old, g, b: thinned_page(agents, new, old, g, coin=False, b=b, q=1.0),
    "storm": lambda agents, new, old, g, b: storm(agents, new, old, g, beta=0.3, b=b),
}
every_recursion = pytest.mark.parametrize("recursion", RECURSIONS.values(), ids=RECURSIONS)


def agents_of(problem=GAME, seed=0):
    return Agents(
        range(3),
        [problem.local(i) for i in range(3)],
        network=Network(3, 0.5, 0.0),
        constraint=problem.constraint,
        start=problem.start(),
        streams=Streams(seed),
    )


def component_gradients(i, z):
    """Agent i's n component gradients at z."""
    shard = GAME.local(i)
    return np.stack([np.concatenate(shard.gradient(z[:2], z[2:], [j])) for j in range(7)])


def exact(points):
    return np.stack([np.concatenate(GAME.local(i).gradient(z[:2], z[2:])) for i, z in enumerate(points)])


def test_full_is_the_exact_gradient_and_costs_n():
    """Each agent pays its n samples, once."""
    agents = agents_of()
    np.testing.assert_array_equal(full(agents, Z), exact(Z))
    assert agents.sfo == 3 * 7


@every_recursion
def test_a_recursion_with_whole_shards_keeps_an_exact_estimate_exact(recursion):
    """If g = grad f(z) and the batch is the shard, then g+ = grad f(z+), whatever beta: the differences telescope."""
    found = recursion(agents_of(), Z, Z_OLD, exact(Z_OLD), None)
    np.testing.assert_allclose(found, exact(Z), atol=1e-14)


@every_recursion
def test_a_recursion_asks_for_two_points_on_the_same_samples_and_pays_both(recursion):
    """Every agent's batch is used at z+ and at z, and nowhere else: 2b SFO."""
    witness = Witness(GAME)
    agents = agents_of(witness)
    recursion(agents, Z, Z_OLD, G_OLD, 4)
    assert agents.sfo == 3 * 2 * 4
    for i in range(3):
        (new, batch), (old, same) = [(z, samples) for agent, z, samples in witness.log if agent == i]
        assert np.array_equal(batch, same) and len(batch) == 4
        assert np.array_equal(new, Z[i]) and np.array_equal(old, Z_OLD[i])


@pytest.mark.parametrize("name", ["spider", "page", "thinned page"])
def test_corrections_vanish_at_a_frozen_point(name):
    """Where z+ = z the two gradients are the same bits, and the estimate stays as it was."""
    assert np.array_equal(RECURSIONS[name](agents_of(), Z, Z, G_OLD, 4), G_OLD)


def test_storm_forgets_its_error_at_a_frozen_point():
    """With whole shards and z+ = z the error is multiplied by 1 - beta in each step."""
    agents, G = agents_of(), G_OLD
    for _ in range(10):
        G = storm(agents, Z, Z, G, beta=0.3, b=None)
    np.testing.assert_allclose(G - exact(Z), 0.7**10 * (G_OLD - exact(Z)), atol=1e-13)


def test_storm_that_forgets_everything_is_a_sampled_gradient():
    """beta = 1 leaves the mean over the batch at z+."""
    found = storm(agents_of(), Z, Z_OLD, G_OLD, beta=1.0, b=4)
    assert np.array_equal(found, agents_of().gradient(Z, 4))


@pytest.mark.parametrize("Q", [1, 3])
def test_spider_refreshes_in_every_Qth_iteration(Q):
    """Step t makes iterate t + 1, whose estimate is fresh if Q divides t + 1: b_large there, 2b elsewhere."""
    for t in range(7):
        agents = agents_of()
        G = spider(agents, Z, Z_OLD, G_OLD, t=t, Q=Q, b=2)
        fresh = (t + 1) % Q == 0
        assert agents.sfo == 3 * (7 if fresh else 4)
        assert np.array_equal(G, exact(Z)) == fresh


def test_the_coin_decides_what_page_does():
    """The coin 1 gives a large batch, whole or sampled; the coin 0 the correction that SPIDER makes."""
    assert np.array_equal(page(agents_of(), Z, Z_OLD, G_OLD, coin=True, b=2), exact(Z))
    sampled = page(agents_of(), Z, Z_OLD, G_OLD, coin=True, b=2, b_large=5)
    assert np.array_equal(sampled, agents_of().gradient(Z, 5))
    corrected = page(agents_of(), Z, Z_OLD, G_OLD, coin=False, b=2)
    assert np.array_equal(corrected, spider(agents_of(), Z, Z_OLD, G_OLD, t=0, Q=2, b=2))


@pytest.mark.parametrize(("b", "q"), [(1, 1.0), (3, 1.0), (1, 0.4), (3, 0.4)])
def test_thinned_page_is_unbiased_with_the_exact_variance(b, q):
    """E(g+ - g) = grad f(z+) - grad f(z); Var = E||D||^2/(bq) + ((b-1)/(bq) - 1) ||E D||^2."""
    sampled = draw(lambda agents: thinned_page(agents, Z, Z_OLD, G_OLD, coin=False, b=b, q=q))
    for i in range(3):
        D = component_gradients(i, Z[i]) - component_gradients(i, Z_OLD[i])
        centre = D.mean(axis=0)
        variance = (D**2).sum(axis=1).mean() / (b * q) + ((b - 1) / (b * q) - 1) * (centre @ centre)
        check_moments(sampled[:, i], G_OLD[i] + centre, variance)


@pytest.mark.parametrize(("b", "beta"), [(1, 0.05), (4, 0.05), (1, 0.7), (4, 0.7)])
def test_storm_has_the_exact_bias_and_variance(b, beta):
    """E g+ - grad f(z+) = (1 - beta)(g - grad f(z)); b Var = that of one sample's F(z+) - (1 - beta) F(z)."""
    sampled = draw(lambda agents: storm(agents, Z, Z_OLD, G_OLD, beta=beta, b=b))
    for i in range(3):
        one = component_gradients(i, Z[i]) - (1 - beta) * component_gradients(i, Z_OLD[i])
        variance = ((one - one.mean(axis=0)) ** 2).sum(axis=1).mean() / b
        mean = exact(Z)[i] + (1 - beta) * (G_OLD[i] - exact(Z_OLD)[i])
        check_moments(sampled[:, i], mean, variance)


def draw(estimate, draws=2000):
    """The estimate, with fresh samples each time."""
    agents, found = agents_of(), []
    for k in range(draws):
        agents.begin(k)
        found.append(estimate(agents))
    return np.stack(found)


def check_moments(sampled, mean, variance):
    """Mean and variance within five standard errors."""
    draws = len(sampled)
    deviations = ((sampled - mean) ** 2).sum(axis=1)
    assert abs(deviations.mean() - variance) < 5 * deviations.std() / np.sqrt(draws)
    assert np.linalg.norm(sampled.mean(axis=0) - mean) < 5 * np.sqrt(variance / draws)
