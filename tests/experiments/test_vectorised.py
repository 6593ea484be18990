"""The simulator of many seeds at once is DREAM: the same states for the same draws, and draws of the same kind."""

import numpy as np
import pytest
from laws import coins_of, run
from vectorised import Draws, Many, RippledGame, mean_signs, primal_gradients

import raydream as rd
from raydream.agents.streams import Streams
from raydream.constraints import Ball, Box, Simplex
from raydream.problems import QuadraticGame

RING = rd.topology.ring(4).lazy()
STEPS = dict(eta=0.05, gamma=0.4, K0=2, K=1, K_large=3)
METHODS = {
    "thinned": rd.DREAM(**STEPS, p=0.3, q=0.6, b=3),
    "everybody": rd.DREAM(**STEPS, p=0.2, q=1.0, b=2, momentum="paper"),
    "gossip": rd.DREAM(**STEPS, p=0.5, q=0.9, b=1, mixing="gossip"),
}
SETS = {"free": None, "ball": Ball(0.3), "box": Box(-0.2, 0.3), "simplex": Simplex()}


def offline(constraint=None, theta=0.2):
    return QuadraticGame.random(
        agents=4, samples=7, dim_x=3, dim_y=2, seed=5, spread=0.4, constraint=constraint, theta=theta
    )


def online(constraint=None):
    game = offline(constraint)
    return RippledGame(*game.forms.parts, sigma=0.7, theta=0.2, constraint=constraint)


def with_batches(game, method):
    return method if game.samples else rd.DREAM(**{**vars(method), "b_large": 70})


def draws_of(many, seeds, T):
    """Those of `rd.run` with these seeds: the signs of the first batches, and a chunk of T iterations."""
    method, (m, R, d) = many.method, many.shape
    shards = [many.game.local(i) for i in range(m)]
    coins, weight = np.zeros((T, R), dtype=bool), np.ones((T, m, R))
    batches, signs = np.zeros((T, m, R, method.b), dtype=int), np.zeros((3, 2, T, m, R, d))
    for r, seed in enumerate(seeds):
        coins[:, r] = coins_of(seed, method.p, T)
        streams = Streams(seed)
        for t, i in np.ndindex(T, m):
            at = dict(agent=i, iteration=t + 1)
            weight[t, i, r] = (method.q == 1 or streams.at("participation", **at).random() < method.q) / method.q
            stream = streams.at("sample", **at)
            if not many.online:
                batches[t, i, r] = stream.integers(many.game.samples, size=method.b)
            elif coins[t, r]:
                signs[1, :, t, i, r] = shards[i].draw(stream, method.b_large)
            else:
                signs[0, :, t, i, r] = shards[i].draw(stream, method.b)
            if many.online and t == 0:
                signs[2, :, 0, i, r] = shards[i].draw(streams.at("sample", agent=i), method.b_large)
    if many.online:
        return signs[2, :, 0], Draws(coins, weight, signs[0], signs[1])
    return None, Draws(coins, weight, many.deviation(batches))


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("constraint", SETS.values(), ids=SETS)
@pytest.mark.parametrize("make", [offline, online])
def test_the_states_are_those_of_runs_with_the_same_draws(make, constraint, method):
    """After 40 iterations Z, G and S of every seed are those of `rd.run` to 1e-12."""
    game, seeds, T = make(constraint), (3, 8), 40
    method = with_batches(game, method)
    many = Many(game, RING, method, len(seeds))
    signs, draws = draws_of(many, seeds, T)
    assert 0 < draws.coins.sum() < draws.coins.size
    states = many.advance(many.start(signs=signs), draws)
    for r, seed in enumerate(seeds):
        arrays = run(game, RING, method, iterations=T, seed=seed).arrays
        for name, array in arrays.items():
            np.testing.assert_allclose(getattr(states, name)[-1, :, r], array, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("make", [offline, online])
def test_two_chunks_are_one(make):
    """Going on from the last state of a chunk gives the states of one long chunk."""
    game, T = make(), 12
    many = Many(game, RING, with_batches(game, METHODS["thinned"]), 3)
    first, draws = many.start(np.random.default_rng(0)), many.draw(np.random.default_rng(1), T)
    whole = many.advance(first, draws)
    axis = (slice(None), slice(5, None)) if many.online else slice(5, None)
    later = [None if part is None else part[axis] for part in (draws.small, draws.large)]
    rest = Draws(draws.coins[5:], draws.weight[5:], *later)
    found = many.advance((whole.Z[5], whole.G[5], whole.S[5]), rest)
    for name in "ZGS":
        assert np.array_equal(getattr(found, name), getattr(whole, name)[5:])


@pytest.mark.parametrize("make", [offline, online])
def test_fresh_draws_have_the_law_of_a_run_s(make):
    """The estimators' errors, and the distances to the mean path, have the means that they have in runs.

    Within four standard errors, which are less than a tenth of the means.
    """
    game, T = make(), 25
    method = with_batches(game, METHODS["thinned"])
    many, generator = Many(game, RING, method, 1500), np.random.default_rng(6)
    states = many.advance(many.start(generator), many.draw(generator, T))
    runs = [run(game, RING, method, iterations=T, seed=seed).arrays for seed in range(120)]
    centre = states.Z[-1].mean(axis=1, keepdims=True)

    def sizes(Z, G):
        return np.linalg.norm(G - many.exact(Z), axis=(0, 2)), np.linalg.norm(Z - centre, axis=(0, 2))

    theirs = sizes(*(np.stack([arrays[name] for arrays in runs], axis=1) for name in "ZG"))
    for found, wanted in zip(sizes(states.Z[-1], states.G[-1]), theirs, strict=True):
        error = np.hypot(*(values.std() / np.sqrt(len(values)) for values in (found, wanted)))
        assert abs(found.mean() - wanted.mean()) < 4 * error < 0.4 * found.mean()


@pytest.mark.parametrize("constraint", SETS.values(), ids=SETS)
def test_gradients_of_P_at_many_points(constraint):
    """Row by row those of the problem."""
    game, X = offline(constraint), np.random.default_rng(0).normal(size=(2, 5, 3))
    wanted = [[game.primal_gradient(x) for x in rows] for rows in X]
    np.testing.assert_allclose(primal_gradients(game, X), wanted, atol=1e-12)


@pytest.mark.parametrize("size", [1, 7, 63, 64, 200])
def test_mean_signs(size):
    """Mean 0 and variance 1/size, on the grid of sums of signs, by bits and by the binomial."""
    signs = mean_signs(np.random.default_rng(size), size, (40_000,))
    sums = (signs * size + size) / 2
    np.testing.assert_allclose(sums, np.round(sums), atol=1e-9)
    assert abs(signs.mean()) < 5 * np.sqrt(1 / size / len(signs))
    assert signs.var() == pytest.approx(1 / size, rel=0.03)


def test_ripples_have_deviation_sigma_and_the_smoothness_that_is_said():
    """E||grad F - grad f||^2 = sigma^2 at any z, and E||grad F(z) - grad F(z')||^2 <= L^2 ||z - z'||^2."""
    game, generator = online(), np.random.default_rng(2)
    shard, known = game.local(1), game.constants()
    batches = [shard.draw(generator, 1) for _ in range(4000)]
    assert known.L_full < known.L
    for scale in (0.1, 3.0):
        z, move = generator.normal(size=5), scale * generator.normal(size=5)
        here, there = (
            np.array([np.concatenate(shard.gradient(w[:3], w[3:], batch)) for batch in batches]) for w in (z, z + move)
        )
        exact = np.concatenate(shard.gradient(z[:3], z[3:]))
        squares = np.sum((here - exact) ** 2, axis=1)
        np.testing.assert_allclose(here.mean(axis=0), exact, atol=5 * game.sigma / np.sqrt(len(batches)))
        assert abs(squares.mean() - known.sigma**2) < 5 * squares.std() / np.sqrt(len(batches))
        change = np.sum((there - here) ** 2, axis=1)
        assert change.mean() <= known.L**2 * move @ move + 4 * change.std() / np.sqrt(len(batches))
