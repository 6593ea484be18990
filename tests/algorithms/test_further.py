"""The further methods: what each of them claims beyond the laws that all methods obey."""

import itertools

import numpy as np
import pytest
from laws import session_for, states_of

import raydream as rd
from raydream.constraints import Ball
from raydream.problems import OnlineQuadraticGame, QuadraticGame

RING = rd.topology.ring(8)
FAST = dict(eta=0.1, gamma=0.6)


def game_with(constraint=None, agents=8, **options):
    return QuadraticGame.random(agents=agents, samples=11, dim_x=3, dim_y=4, constraint=constraint, seed=2, **options)


def go(problem, topology, method, **options):
    return rd.run(problem, topology, method, **{"backend": "local", "record_every": 50, **options})


def trajectory(problem, topology, method, steps=40, coin=False):
    return [state.arrays for state in states_of(session_for(problem, topology, method), [coin] * steps)]


def floor_of(method, sigma=1.0, since=1500, until=3000):
    """The root mean square of ||grad P|| over the second half of a run of an online game."""
    game = OnlineQuadraticGame.random(agents=4, dim_x=3, dim_y=4, sigma=sigma, seed=4)
    history = go(game, rd.topology.ring(4), method, iterations=until, record_every=5).history
    return float(np.sqrt((history.grad_norm[history.iteration > since] ** 2).mean()))


# Exact diffusion


@pytest.mark.parametrize("method", [rd.EDGDA(**FAST), rd.EDPAGE(**FAST, p=0.3, b=4)], ids=["ed-gda", "ed-page"])
def test_exact_diffusion_solves_the_heterogeneous_game(method):
    """||grad P|| < 1e-10 and agreement, with one array a round where gradient tracking sends two."""
    result = go(game_with(), RING, method, iterations=800, target_grad_norm=1e-10)
    assert result.outcome == "target" and result.history.consensus.iloc[-1] < 1e-16
    tracked = go(game_with(), RING, rd.GTGDA(**FAST), iterations=1, record_every=1).history.bytes
    diffused = go(game_with(), RING, method, iterations=1, record_every=1).history.bytes
    assert tracked.iloc[-1] == 2 * diffused.iloc[-1] > 0


def test_exact_diffusion_solves_the_game_of_polyak_and_lojasiewicz():
    """Its claim: no strong concavity is needed."""
    game = rd.problems.PLGame.random(agents=8, seed=1)
    result = go(game, RING, rd.EDGDA(eta=0.1, gamma=0.1), iterations=20_000, target_grad_norm=1e-8)
    assert result.outcome == "target"


def test_the_mean_of_exact_diffusion_moves_by_the_mean_estimate():
    """z_bar = psi_bar: what is taken back at the next step has mean 0, whatever the coins show."""
    states = trajectory(game_with(), RING, rd.EDPAGE(eta=0.05, gamma=0.5, p=0.4, b=3))
    for old, new in itertools.pairwise(states):
        np.testing.assert_allclose(new["Z"].mean(axis=0), new["Psi"].mean(axis=0), atol=1e-13)
        step = np.repeat([-0.5 * 0.05, 0.05], [3, 4]) * old["G"].mean(axis=0)
        np.testing.assert_allclose(new["Z"].mean(axis=0) - old["Z"].mean(axis=0), step, atol=1e-13)


def test_ed_page_with_every_coin_1_is_ed_gda():
    """p = 1 and whole shards: the same bits."""
    full, page = rd.EDGDA(**FAST), rd.EDPAGE(**FAST, p=1.0, b=3)
    for first, second in zip(
        trajectory(game_with(), RING, full), trajectory(game_with(), RING, page, coin=True), strict=True
    ):
        assert all(np.array_equal(first[name], second[name]) for name in ("Z", "G", "Psi"))


def test_exact_diffusion_needs_no_self_weight():
    """Two agents that swap: plain gossip never agrees and is warned of; (I + W)/2 does, without a warning."""
    swap = rd.topology.ring(2, self_weight=0.0)
    result = go(game_with(agents=2), swap, rd.EDGDA(**FAST), iterations=1500, target_grad_norm=1e-10)
    assert result.outcome == "target"


@pytest.mark.parametrize("kind", [rd.EDGDA, rd.EDPAGE])
def test_exact_diffusion_refuses_a_constraint(kind):
    """The sentence names methods that take one."""
    with pytest.raises(ValueError, match=f"{kind.__name__} cannot solve .* no constraint on y.* use DREAM or GTGDA"):
        go(game_with(Ball(0.1)), RING, kind(**FAST), iterations=1)


def test_the_floor_of_ed_page_falls_with_the_large_batch():
    """Online the error left is that of the large batch: sixteen times as many samples, a quarter of the floor."""
    small, large = (floor_of(rd.EDPAGE(eta=0.05, gamma=0.5, p=0.2, b=8, b_large=size)) for size in (10, 160))
    assert 2.5 < small / large < 6.0


# Adaptive steps


@pytest.mark.parametrize("constraint", [None, Ball(0.1)], ids=["free", "ball"])
def test_d_adast_converges_where_d_tiada_does_not(constraint):
    """On agents that differ ||grad P|| of D-AdaST falls about as t^(-0.4); D-TiAda's stands still, far above it."""
    game = game_with(constraint)
    agreed, alone = (go(game, RING, kind(eta=0.3, gamma=3.0), iterations=10_000, record_every=1000).history
                     for kind in (rd.DAdaST, rd.DTiAda))  # fmt: skip
    early, late = agreed.grad_norm.iloc[1], agreed.grad_norm.iloc[-1]
    assert 1.8 < early / late < 4.0 and late < 0.02  # 10^0.4 = 2.5
    assert alone.grad_norm.iloc[-1] > 5 * late
    assert alone.grad_norm.iloc[-1] > 0.8 * alone.grad_norm.iloc[-5]


def test_the_steps_of_d_adast_come_to_agree():
    """All agents' sums have the same ratio to their mean in the end; those of D-TiAda keep theirs."""
    spread = {}
    for kind in (rd.DAdaST, rd.DTiAda):
        M = go(game_with(), RING, kind(eta=1.0, gamma=1.0), iterations=3000).arrays["M"]
        spread[kind] = float((M.max(axis=0) / M.min(axis=0)).max())
    assert spread[rd.DAdaST] < 1.01 and spread[rd.DTiAda] > 2.0


def test_mixing_the_sums_loses_nothing():
    """W has columns that sum to 1: the mean of M is the mean of all squared gradients so far, mixed or not."""
    first, second = (trajectory(game_with(), RING, rd.DAdaST(eta=0.3, gamma=0.5), steps) for steps in (1, 2))
    game, total = game_with(), np.zeros(2)
    for state in second[:-1]:
        grads = np.array([np.concatenate(game.local(i).gradient(z[:3], z[3:])) for i, z in enumerate(state["Z"])])
        total += [np.sum(grads[:, :3] ** 2) / 8, np.sum(grads[:, 3:] ** 2) / 8]
    np.testing.assert_allclose(second[-1]["M"].mean(axis=0), total, rtol=1e-12)
    assert np.array_equal(first[-1]["M"], second[1]["M"])


def test_d_adast_needs_no_tuning():
    """The same steps serve the game and its multiple by a thousand, where a fixed step must be a thousandth."""
    game = game_with()
    parts = {name: getattr(game.components, name) * 1000.0 for name in "ABCpq"}
    steep = QuadraticGame(*(parts[name] for name in "ABCpq"))
    history = go(steep, RING, rd.DAdaST(eta=1.0, gamma=1.0), iterations=2000).history
    assert history.grad_norm.iloc[-1] < history.grad_norm.iloc[0] / 10
    assert go(steep, RING, rd.GTGDA(**FAST), iterations=2000).outcome == "diverged"


def test_a_gradient_of_0_is_no_step():
    """Nothing is divided by 0 where an agent begins at a stationary point."""
    zero = np.zeros((2, 1, 1, 1))
    game = QuadraticGame(zero + 1.0, zero, zero + 1.0, np.zeros((2, 1, 1)), np.zeros((2, 1, 1)))
    result = go(game, rd.topology.ring(2), rd.DAdaST(eta=1.0, gamma=1.0), iterations=3, start=([0.0], [0.0]))
    assert np.array_equal(result.arrays["Z"], np.zeros((2, 2)))
