"""The laws of DREAM."""

import inspect
import itertools

import numpy as np
import pytest
from laws import DATA, Witness, assert_same_bits, coins_of, drive_in_blocks, needs_data, run, session_for, states_of
from reference.dream import Batches, Draw, dream, lyapunov

import raydream as rd
from raydream.constraints import Ball, Everything, Simplex
from raydream.problems import OnlineQuadraticGame, QuadraticGame, RobustLogisticRegression


def game_with(constraint=None, agents=8, **options):
    return QuadraticGame.random(agents=agents, samples=11, dim_x=3, dim_y=4, constraint=constraint, seed=2, **options)


RING = rd.topology.ring(8)
SETTINGS = {
    "offline": dict(p=0.3, b=4, K0=2, K=2, K_large=3),
    "online batches": dict(p=0.3, b=3, b_large=9, K0=1, K=3, K_large=1),
    "partial participation": dict(p=0.2, b=3, q=0.4, K0=0, K=1, K_large=2),
    "gossip": dict(p=0.5, b=2, K0=3, K=2, K_large=4, mixing="gossip"),
    "paper's momentum": dict(p=0.5, b=2, K0=3, K=4, K_large=4, momentum="paper"),
    "whole shards": dict(p=0.5, b=None, K0=3, K=2, K_large=2),
}


def draws_of(calls, coins, m):
    """The reference's draws, from what the oracle was asked in each step."""
    steps = []
    for coin, asked in zip(coins, calls[1:], strict=True):
        batch, omega = [[0]] * m, [0] * m
        for i, _, samples in asked:
            batch[i], omega[i] = samples, 1
        steps.append(Draw(coin, batch, omega))
    return Batches([samples for _, _, samples in calls[0]], steps)


def some_coins(count, p=0.4):
    return [bool(coin) for coin in np.random.default_rng(1).random(count) < p]


@pytest.mark.parametrize("constraint", [None, Ball(0.3), Simplex()], ids=["free", "ball", "simplex"])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_dream_agrees_with_the_matrix_form(settings, constraint):
    """Over 50 iterations every state and every count equals the independent reference in tests/reference."""
    witness = Witness(game_with(constraint))
    method = rd.DREAM(eta=0.03, gamma=0.5, **settings)
    coins = some_coins(50)
    states, calls = states_of(session_for(witness, RING, method), coins, witness.log)
    game = witness._problem

    def gradient(i, x, y, batch):
        return np.concatenate(game.local(i).gradient(x, y, batch))

    expected, counts = dream(
        gradient=gradient, project=game.constraint.project, z0=np.concatenate(game.start()), dim_x=3,
        W=RING.W.toarray(), eta=0.03, gamma=0.5, q=method.q, batches=draws_of(calls, coins, 8), K0=method.K0,
        K=method.K, K_large=method.K_large, n=11, mixing=method.mixing, momentum=method.momentum,
    )  # fmt: skip
    for t, (state, wanted) in enumerate(zip(states, expected, strict=True)):
        for name, array in zip("ZGS", wanted, strict=True):
            np.testing.assert_allclose(state.arrays[name], array, rtol=1e-10, atol=1e-10)
        billed = (counts.sfo[t], counts.rounds[t], counts.messages[t], counts.bytes[t])
        assert tuple(state.ledger.as_dict().values()) == billed


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_the_tracker_mean_is_the_estimator_mean_and_moves(settings):
    """s_bar = g_bar after every step whatever the coins (Lemma A.4), and the mean follows s_bar."""
    game = game_with(Ball(0.4))
    method = rd.DREAM(eta=0.03, gamma=0.5, **settings)
    states = [s.arrays for s in states_of(session_for(game, RING, method), some_coins(40))]
    for old, new in itertools.pairwise(states):
        np.testing.assert_allclose(new["S"].mean(axis=0), new["G"].mean(axis=0), atol=1e-12)
        x_bar, u_bar = old["Z"].mean(axis=0)[:3], old["S"].mean(axis=0)[:3]
        np.testing.assert_allclose(new["Z"].mean(axis=0)[:3], x_bar - 0.03 * 0.5 * u_bar, atol=1e-12)
        y_bar = np.mean([game.constraint.project(y) for y in old["Z"][:, 3:] + 0.03 * old["S"][:, 3:]], axis=0)
        np.testing.assert_allclose(new["Z"].mean(axis=0)[3:], y_bar, atol=1e-12)
    moved = [np.abs(new["S"] - old["S"]).max() for old, new in itertools.pairwise(states)]
    assert np.count_nonzero(moved) >= len(moved) - 5, "only steps in which nobody takes part may leave S alone"


@pytest.mark.parametrize("constraint", [None, Ball(0.1)], ids=["free", "ball"])
@pytest.mark.parametrize("settings", [dict(p=1.0), dict(p=0.2, b=5)], ids=["p=1", "random coins"])
def test_dream_solves_the_heterogeneous_game(constraint, settings):
    """||grad P(x_bar)|| falls below 1e-8 on a ring of 8 with K=3, and the constraint is active at the solution."""
    game = game_with(constraint)
    method = rd.DREAM(eta=0.1, gamma=0.3, K=3, K_large=3, K0=3, **settings)
    result = run(game, RING, method, iterations=2500, record_every=50, target_grad_norm=1e-9)
    assert result.outcome == "target"
    assert np.linalg.norm(game.primal_gradient(result.x_bar)) < 1e-8
    np.testing.assert_allclose(result.y_bar, game.best_response(result.x_bar), atol=1e-7)
    assert (result.arrays["Z"] - result.arrays["Z"].mean(axis=0)).max() < 1e-6
    if constraint is not None:
        assert np.linalg.norm(result.y_bar) == pytest.approx(0.1, abs=1e-9)
        free = np.linalg.solve(game.form.C, game.form.B.T @ result.x_bar + game.form.q)
        assert np.linalg.norm(free) > 0.15


def test_a_nonconvex_game_reaches_a_stationary_point():
    """With the saturating penalty P is not convex, and DREAM still drives its gradient to 0."""
    game = game_with(theta=0.3)
    result = run(game, RING, rd.DREAM(eta=0.1, gamma=0.3, p=0.3, b=5, K=3), iterations=2500, target_grad_norm=1e-8)
    assert result.outcome == "target"


def test_the_online_noise_floor_falls_with_the_large_batch():
    """The tail mean of ||grad P||^2 falls about fourfold when b_large is quadrupled."""
    game = OnlineQuadraticGame.random(agents=4, dim_x=3, dim_y=4, sigma=1.0, seed=4)
    ring = rd.topology.ring(4)
    floors = []
    for b_large in (25, 100, 400):
        method = rd.DREAM(eta=0.1, gamma=0.3, p=0.3, b=10, b_large=b_large, K=2)
        history = run(game, ring, method, iterations=2500, record_every=5).history
        floors.append(float((history.grad_norm[history.iteration > 500] ** 2).mean()))
    for larger, smaller in itertools.pairwise(floors):
        assert 2.5 < larger / smaller < 6.0


def test_after_a_large_batch_U_is_sigma_squared_over_m_b():
    """E U = sigma^2/(m b_large) right after a large batch, and E V = sigma^2/b_large."""
    game = OnlineQuadraticGame.random(agents=4, dim_x=3, dim_y=4, sigma=0.7, seed=4)
    method = rd.DREAM(eta=0.01, gamma=0.3, p=1.0, b=1, b_large=50, K=2)
    done = run(game, rd.topology.ring(4), method, iterations=600, record_every=1, diagnostics=True)
    U, V = done.history.U, done.history.V
    assert abs(U.mean() - 0.49 / (4 * 50)) < 5 * U.std() / np.sqrt(len(U))
    assert abs(V.mean() - 0.49 / 50) < 5 * V.std() / np.sqrt(len(V))


def test_diagnostics_are_the_paper_s_lyapunov_function():
    """Psi, C, V, U and Phi equal the independent reference, with the known least value of P."""
    game = game_with()
    method = rd.DREAM(eta=0.05, gamma=0.3, p=0.3, b=4, K=3)
    done = run(game, RING, method, iterations=30, record_every=10, diagnostics=True)
    method = method.settled(game, RING.network)
    states = states_of(session_for(game, RING, method), coins_of(0, 0.3, 30))
    for row in done.history.itertuples():
        arrays = states[int(row.iteration)].arrays
        wanted = lyapunov(
            arrays["Z"], arrays["G"], arrays["S"],
            exact_gradient=lambda i, x, y: np.concatenate(game.local(i).gradient(x, y)),
            value=game.value, primal=game.primal, P_star=game.primal_minimum(), eta=0.05, p=0.3, dim_x=3,
        )  # fmt: skip
        for name, value in wanted.items():
            assert getattr(row, name) == pytest.approx(value, rel=1e-9, abs=1e-12)
    assert done.config["least_primal"]["source"] == "known"


def test_diagnostics_say_where_the_least_value_comes_from():
    """Where P* is not known the best value seen stands in, and the record says so."""
    done = run(game_with(Ball(0.3)), RING, rd.DREAM(eta=0.05, gamma=0.3), iterations=20, diagnostics=True)
    assert done.config["least_primal"] == {"value": done.history.primal.min(), "source": "best seen"}
    assert (done.history.Psi >= 0).all()


@pytest.mark.parametrize(
    ("method", "wanted"),
    [
        (rd.DREAM(eta=0.05, gamma=0.3, b=4, q=0.5), {"eta": 0.05, "p": 2 / 13, "assumed": ""}),
        (rd.GTGDA(eta=0.05, gamma=0.3), {"eta": 0.05, "p": 1.0, "assumed": "p"}),
    ],
)
def test_diagnostics_say_with_which_p(method, wanted):
    """Phi has the method's p; where a method has none it has 1, and the record says so."""
    done = run(game_with(), RING, method, iterations=4, diagnostics=True)
    assert done.config["lyapunov"] == pytest.approx(wanted)
    last = done.history.iloc[-1]
    eta, p = wanted["eta"], wanted["p"]
    assert last.Phi == pytest.approx(last.Psi + last.C / (8 * eta) + eta / (8 * p) * last.V + eta / p * last.U)
    assert "lyapunov" not in run(game_with(), RING, method, iterations=1).config


def test_one_seed_gives_one_run():
    """Two runs with one seed have identical bits; another seed has others."""
    game, method = game_with(), rd.DREAM(eta=0.05, gamma=0.3, p=0.3, b=4, q=0.7, K=2)
    first, again, other = (run(game, RING, method, iterations=60, seed=seed) for seed in (5, 5, 6))
    timeless = [column for column in first.history.columns if "seconds" not in column]
    assert first.history[timeless].equals(again.history[timeless])
    for name in first.arrays:
        assert np.array_equal(first.arrays[name], again.arrays[name])
        assert not np.array_equal(first.arrays[name], other.arrays[name])
    assert np.array_equal(first.x_out, again.x_out)


def test_record_every_does_not_change_the_run():
    """How often one looks does not change what one sees."""
    game, method = game_with(), rd.DREAM(eta=0.05, gamma=0.3, p=0.3, b=4, K=2)
    often, seldom = (run(game, RING, method, iterations=47, record_every=k) for k in (1, 20))
    assert np.array_equal(often.arrays["Z"], seldom.arrays["Z"]) and np.array_equal(often.x_out, seldom.x_out)
    shared = often.history[often.history.iteration.isin(seldom.history.iteration)].reset_index(drop=True)
    assert list(seldom.history.iteration) == [0, 20, 40, 47]
    assert shared.drop(columns=["seconds", "evaluation_seconds"]).equals(
        seldom.history.drop(columns=["seconds", "evaluation_seconds"])
    )


@pytest.mark.parametrize(
    "blocks", [[[i] for i in range(8)], [[0, 1, 2], [3, 4, 5, 6, 7]], [[0], [1, 2, 3, 4, 5, 6, 7]]]
)
@pytest.mark.parametrize("kind", ["ball", "logistic", "online"])
def test_rows_driven_in_any_split_have_the_bits_of_all_together(blocks, kind):
    """Where agents live does not change their numbers, at odd widths too."""
    if kind == "logistic":
        features, labels = rd.data.synthetic(203, 17, seed=3)
        problem = RobustLogisticRegression(features, labels, 8)
    elif kind == "online":
        problem = OnlineQuadraticGame.random(agents=8, dim_x=3, dim_y=4, seed=1)
    else:
        problem = game_with(Ball(0.3))
    method = rd.DREAM(eta=0.05, gamma=0.3, p=0.3, q=0.6, b=4, b_large=9, K0=2, K=2, K_large=3)
    coins = some_coins(12)
    whole = states_of(session_for(problem, RING, method), coins)[-1].arrays
    for name, rows in drive_in_blocks(problem, RING, method, blocks, coins).items():
        assert np.array_equal(rows, whole[name]), name


def test_one_agent_is_page_descent_ascent():
    """With m = 1 nothing is mixed, and DREAM is PAGE descent-ascent, written out here, bit for bit."""
    game = game_with(Ball(0.3)).pooled()
    method = rd.DREAM(eta=0.05, gamma=0.3, p=0.3, b=None, K=3, K0=2, momentum="paper")
    coins = some_coins(30)
    states = states_of(session_for(game, rd.topology.ring(1), method), coins)
    shard = game.local(0)
    x, y = game.start()
    gx, gy = shard.gradient(x, y)
    for state, coin in zip(states, [*coins, None], strict=True):
        assert np.array_equal(state.arrays["Z"][0], np.concatenate([x, y]))
        assert np.array_equal(state.arrays["G"][0], np.concatenate([gx, gy]))
        assert state.ledger.rounds == state.ledger.bytes == 0
        # The tracker follows by S + G - g, as with neighbours: the mean of the estimators up to rounding.
        ux, uy = np.split(state.arrays["S"][0], [3])
        np.testing.assert_allclose(np.concatenate([ux, uy]), np.concatenate([gx, gy]), atol=1e-12)
        x_new, y_new = x - 0.3 * 0.05 * ux, game.constraint.project(y + 0.05 * uy)
        fresh, stale = shard.gradient(x_new, y_new), shard.gradient(x, y)
        gx = fresh[0] if coin else gx + (fresh[0] - stale[0]) / 1.0
        gy = fresh[1] if coin else gy + (fresh[1] - stale[1]) / 1.0
        x, y = x_new, y_new


def test_identical_agents_never_disagree():
    """Where all agents own the same shard and use whole shards, consensus error is rounding."""
    game = game_with().pooled()
    stacked = [np.repeat(getattr(game.components, name), 8, axis=0) for name in "ABCpq"]
    copies = QuadraticGame(*stacked)
    done = run(copies, RING, rd.DREAM(eta=0.05, gamma=0.3, p=0.3, b=None, K=2), iterations=50)
    assert done.history.consensus.max() < 1e-24


def test_x_out_is_uniform_over_iterations_and_agents():
    """Over seeds, x_out is each x_t(i), t < T, equally often: chi-squared below its 99.9 % quantile."""
    from scipy.stats import chi2

    game = game_with(agents=2)
    topology, method, T = rd.topology.ring(2, self_weight=0.9), rd.DREAM(eta=0.05, gamma=0.3, p=1.0, K=1, K0=0), 4
    states = states_of(session_for(game, topology, method), [True] * T)
    rows = {tuple(s.arrays["Z"][i, :3]): (t, i) for t, s in enumerate(states[:T]) for i in range(2)}
    assert len(rows) == 2 * T - 1, "both agents start at the same point"
    counts = dict.fromkeys(rows.values(), 0)
    for seed in range(600):
        counts[rows[tuple(run(game, topology, method, iterations=T, seed=seed, record_every=T).x_out)]] += 1
    expected = {key: 600 / T if key[0] == 0 else 600 / (2 * T) for key in counts}
    statistic = sum((counts[key] - expected[key]) ** 2 / expected[key] for key in counts)
    assert statistic < chi2.ppf(0.999, len(counts) - 1)


@needs_data
def test_dream_learns_a9a(monkeypatch):
    """P falls from log 2 below 0.5 in 150 iterations on a9a, balanced, ring(8, self_weight=0.5)."""
    monkeypatch.setenv("RAYDREAM_DATA", str(DATA))
    problem = RobustLogisticRegression(*rd.data.load("a9a"), agents=8)
    method = rd.DREAM(eta=0.1, gamma=1.0, p=0.1, q=1.0, b=64, K=3)
    result = run(problem, rd.topology.ring(8, self_weight=0.5), method, iterations=150, record_every=50)
    assert result.history.primal.iloc[0] == pytest.approx(np.log(2), rel=1e-11)
    assert result.history.primal.iloc[-1] < 0.5


BAD = {
    "eta": (0, -1, float("nan"), "x"),
    "gamma": (0, float("inf")),
    "p": (0, 1.5, -0.1),
    "q": (0, 1.01),
    "b": (0, -3, 1.5),
    "b_large": (0,),
    "K": (-1, 2.5),
    "K0": (-1,),
    "K_large": (-1,),
    "mixing": ("fastmx",),
    "momentum": ("best",),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_a_bad_parameter_is_named(name, value):
    """Each wrong hyper-parameter is refused by name, and before anything runs."""
    with pytest.raises((ValueError, TypeError), match=f"`{name}`"):
        rd.DREAM(**{"eta": 0.1, "gamma": 1.0, name: value})


def test_an_online_problem_needs_batch_sizes():
    """There is no whole shard online, and the sentence says what to give."""
    game = OnlineQuadraticGame.random(agents=8)
    with pytest.raises(ValueError, match="online problem has no whole shard"):
        run(game, RING, rd.DREAM(eta=0.1, gamma=1.0), iterations=1)


def test_defaults_follow_the_problem_and_the_network():
    """p = b q/(b q + n), and K = 1/sqrt(gap) rounded up, at most 10."""
    game = game_with(Everything())
    settled = rd.DREAM(eta=0.1, gamma=1.0, b=4).settled(game, RING.network)
    assert settled.p == pytest.approx(4 / 15)
    assert rd.DREAM(eta=0.1, gamma=1.0, b=4, q=0.5).settled(game, RING.network).p == pytest.approx(2 / 13)
    assert (settled.K, settled.K_large, settled.K0) == (3, 3, 3)
    slow = rd.topology.ring(8, self_weight=0.999)
    assert rd.DREAM(eta=0.1, gamma=1.0).settled(game, slow.network).K == 10


def test_the_method_reads_like_the_paper_s_box():
    """Without its docstring the class has fewer than 50 lines."""
    source = inspect.getsource(rd.DREAM)
    lines = source.replace(rd.DREAM.__doc__, "").splitlines()
    assert len([line for line in lines if line.strip()]) < 50


def test_the_theorem_s_batch_is_the_root_of_the_large_one_over_m():
    """ceil(sqrt(b'/m)), offline with b' = n; the run is that of the number, and p follows."""
    game = QuadraticGame.random(agents=4, samples=50, seed=2)
    for large, b in ((None, 4), (17, 3)):
        named, told = (rd.DREAM(eta=0.05, gamma=0.3, b=size, b_large=large) for size in ("theorem", b))
        first, second = (run(game, rd.topology.ring(4), method, iterations=9) for method in (named, told))
        assert_same_bits(first, second)
        assert first.record.method.parameters["b"] == b and first.record.method.parameters["p"] == b / (
            b + (large or 50)
        )
