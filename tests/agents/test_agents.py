"""The billed oracle and its estimators."""

import numpy as np
import pytest
from laws import Witness

from raydream.agents import Agents
from raydream.agents.ledger import Ledger
from raydream.agents.streams import Streams
from raydream.constraints import Ball
from raydream.errors import GradientError
from raydream.problems import OnlineQuadraticGame, QuadraticGame
from raydream.topology.mixing import Network


def agents_of(problem, seed=0):
    hosted = range(problem.agents)
    return Agents(
        hosted,
        [problem.local(i) for i in hosted],
        network=Network(problem.agents, 0.5, 0.0),
        constraint=problem.constraint,
        start=problem.start(),
        streams=Streams(seed),
    )


@pytest.fixture
def game():
    return QuadraticGame.random(agents=3, samples=7, dim_x=2, dim_y=3, seed=5)


@pytest.fixture
def points():
    generator = np.random.default_rng(8)
    return generator.normal(size=(3, 5)), generator.normal(size=(3, 5))


def exact(problem, Z):
    dim = problem.dim_x
    return np.stack([np.concatenate(problem.local(i).gradient(z[:dim], z[dim:])) for i, z in enumerate(Z)])


def test_a_full_batch_is_the_exact_gradient_and_costs_n(game, points):
    """b=None asks for every sample once."""
    agents = agents_of(game)
    assert np.array_equal(agents.gradient(points[0]), exact(game, points[0]))
    assert agents.sfo == 3 * 7


def test_a_correction_shares_its_samples_between_two_points_and_costs_2b(game, points):
    """Both evaluations of a recursive increment see the same batch, at different points."""
    witness = Witness(game)
    agents = agents_of(witness)
    agents.correction(*points, b=4)
    assert agents.sfo == 3 * 2 * 4
    for i in range(3):
        (_, new, first), (_, old, second) = [call for call in witness.log if call[0] == i]
        assert np.array_equal(first, second) and len(first) == 4
        assert np.array_equal(new, points[0][i]) and np.array_equal(old, points[1][i])


def test_agents_draw_different_samples(game, points):
    """Samples are private: two agents do not share their batches, nor do two draws of one agent."""
    witness = Witness(game)
    agents = agents_of(witness)
    agents.gradient(points[0], b=12)
    agents.gradient(points[0], b=12)
    batches = {tuple(batch) for _, _, batch in witness.log}
    assert len(batches) == 6


def test_a_correction_vanishes_at_a_frozen_point(game, points):
    """The increment between a point and itself is 0, bit for bit, in finite-sum and online problems."""
    online = OnlineQuadraticGame.random(agents=3, dim_x=2, dim_y=3, seed=5)
    for problem in (game, online):
        assert not agents_of(problem).correction(points[0], points[0], b=4, q=0.5).any()


def test_a_correction_on_the_whole_shard_is_the_exact_difference(game, points):
    """With b=None the increment telescopes the exact local gradients."""
    D = agents_of(game).correction(*points, b=None)
    np.testing.assert_array_equal(D, exact(game, points[0]) - exact(game, points[1]))


@pytest.mark.parametrize(("b", "q"), [(1, 1.0), (3, 1.0), (1, 0.5), (3, 0.5), (4, 0.2)])
def test_a_correction_is_unbiased_with_the_exact_variance(game, points, b, q):
    """E = the exact difference; Var = E||D||^2/(bq) + ((b-1)/(bq) - 1) ||E D||^2, D one sample's difference.

    (The paper's bound E||D||^2/(bq) forgets the second term, which is what makes q < 1 costly.)
    """
    agents = agents_of(game)
    draws = 4000
    sampled = np.empty((draws, 3, 5))
    for k in range(draws):
        agents.begin(k)
        sampled[k] = agents.correction(*points, b=b, q=q)
    mean = exact(game, points[0]) - exact(game, points[1])
    for i in range(3):
        shard = game.local(i)
        D = np.stack([
            np.concatenate(shard.gradient(points[0][i][:2], points[0][i][2:], [j]))
            - np.concatenate(shard.gradient(points[1][i][:2], points[1][i][2:], [j]))
            for j in range(7)
        ])  # fmt: skip
        square, centre = float((D**2).sum(axis=1).mean()), float((mean[i] ** 2).sum())
        variance = square / (b * q) + ((b - 1) / (b * q) - 1) * centre
        deviations = ((sampled[:, i] - mean[i]) ** 2).sum(axis=1)
        assert abs(deviations.mean() - variance) < 5 * deviations.std() / np.sqrt(draws)
        bias = np.linalg.norm(sampled[:, i].mean(axis=0) - mean[i])
        assert bias < 5 * np.sqrt(variance / draws)


def test_an_agent_that_does_not_take_part_pays_nothing(game, points):
    """Only agents whose omega is 1 are billed, and their rows alone change."""
    agents = agents_of(game)
    paid = []
    for k in range(200):
        agents.begin(k)
        before = agents.sfo
        D = agents.correction(*points, b=2, q=0.3)
        taking_part = int(np.count_nonzero(D.any(axis=1)))
        assert agents.sfo - before == 2 * 2 * taking_part
        paid.append(taking_part)
    assert abs(np.mean(paid) / 3 - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 600)


def test_batch_size_does_not_change_the_scale(game, points):
    """Minibatch gradients are means: their expectation does not depend on b."""
    agents = agents_of(game)
    for b in (1, 5):
        sampled = []
        for k in range(3000):
            agents.begin(k)
            sampled.append(agents.gradient(points[0], b))
        error = np.mean(sampled, axis=0) - exact(game, points[0])
        assert np.abs(error).max() < 5 * np.std(sampled, axis=0).max() / np.sqrt(3000)


def test_descend_ascend_goes_down_in_x_and_up_in_y(game, points):
    """x moves by -gamma eta u and y by +eta v; the argument is left as it was."""
    agents, Z, S = agents_of(game), *points
    before = Z.copy()
    moved = agents.descend_ascend(Z, S, eta=0.5, gamma=0.1)
    np.testing.assert_allclose(moved[:, :2], Z[:, :2] - 0.05 * S[:, :2])
    np.testing.assert_allclose(moved[:, 2:], Z[:, 2:] + 0.5 * S[:, 2:])
    assert np.array_equal(Z, before)


def test_project_touches_y_alone(points):
    """x is free; y is projected row by row."""
    game = QuadraticGame.random(agents=3, samples=2, dim_x=2, dim_y=3, constraint=Ball(0.1))
    projected = agents_of(game).project(points[0])
    assert np.array_equal(projected[:, :2], points[0][:, :2])
    np.testing.assert_allclose(np.linalg.norm(projected[:, 2:], axis=1), 0.1)


def test_a_gradient_that_is_not_finite_names_agent_iteration_and_sample(game, points):
    """The error says where the NaN came from."""
    game.components.p[1, 3, 0] = np.nan
    agents = agents_of(game)
    agents.begin(13)
    with pytest.raises(GradientError, match=r"agent 1, sample 3: .* in iteration 12"):
        agents.gradient(points[0], b=200)


def test_overflow_far_out_is_not_an_error(game):
    """On the way to infinity gradients overflow; that is divergence, which the driver reports."""
    with np.errstate(all="ignore"):
        assert not np.isfinite(agents_of(game).gradient(np.full((3, 5), 1e308))).all()


def test_bills_of_agents_add_up_except_what_they_share():
    """A round is one round for everybody; gradients, messages and bytes are each agent's own."""
    before = Ledger(sfo=1, rounds=2, messages=3, bytes=4)
    bills = [Ledger(sfo=10, rounds=5, messages=2, bytes=16), Ledger(sfo=20, rounds=5, messages=1, bytes=8)]
    assert before.with_bills(bills) == Ledger(sfo=31, rounds=7, messages=6, bytes=28)
