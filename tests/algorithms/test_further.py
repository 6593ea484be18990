"""The further methods: what each of them claims beyond the laws that all methods obey."""

import itertools

import numpy as np
import pytest
from laws import session_for, states_of
from spoilt import FrozenEstimates, MixedMultiplier

import raydream as rd
from raydream.constraints import Ball
from raydream.problems import OnlineQuadraticGame, QuadraticGame

RING = rd.topology.ring(8)
FAST = dict(eta=0.1, gamma=0.6)


def game_with(constraint=None, agents=8, **options):
    return QuadraticGame.random(agents=agents, samples=11, dim_x=3, dim_y=4, constraint=constraint, seed=2, **options)


def downward_game():
    """f_i = -x^2/2 + 2xy - y^2/2 + p_i x + q_i y: f curves down in x, and P up."""
    one, generator = np.ones((8, 1, 1, 1)), np.random.default_rng(0)
    return QuadraticGame(-one, 2 * one, one, *generator.normal(size=(2, 8, 1, 1)))


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


@pytest.mark.parametrize("method", [rd.EDGDA(eta=0.1, gamma=0.1), rd.EDPAGE(eta=0.1, gamma=0.1, p=0.3, b=8)])
def test_exact_diffusion_solves_the_game_of_polyak_and_lojasiewicz(method):
    """Its claim: no strong concavity is needed."""
    game = rd.problems.PLGame.random(agents=8, seed=1)
    assert go(game, RING, method, iterations=20_000, target_grad_norm=1e-8).outcome == "target"


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


# Multipliers

MULTIPLIED = {
    "d-gdmax": rd.DGDMax(**FAST, rho=0.3),
    "vrlm": rd.VRLM(eta=0.1, gamma=0.3, rho=0.3, Q=4, b=4),
    "vrlm, storm": rd.VRLM(eta=0.1, gamma=0.3, rho=0.3, estimator="storm", b=None),
}
multiplied = pytest.mark.parametrize("method", MULTIPLIED.values(), ids=MULTIPLIED)


@pytest.mark.parametrize("constraint", [None, Ball(0.1)], ids=["free", "ball"])
@multiplied
def test_the_methods_with_multipliers_solve_the_heterogeneous_game(method, constraint):
    """||grad P|| < 1e-8, and agreement on a y that nobody ever mixed, also where the constraint is active."""
    game = game_with(constraint)
    result = go(game, RING, method, iterations=10_000, target_grad_norm=1e-8)
    assert result.outcome == "target" and result.history.consensus.iloc[-1] < 1e-12
    np.testing.assert_allclose(result.y_bar, game.best_response(result.x_bar), atol=1e-6)
    if constraint is not None:
        assert np.linalg.norm(result.y_bar) == pytest.approx(0.1, abs=1e-7)


@multiplied
def test_multipliers_have_mean_0_and_trackers_follow_in_x(method):
    """After every step: l_bar = 0, s_bar = g_bar in x; and the multipliers move."""
    states = trajectory(game_with(Ball(0.4)), RING, method)
    for state in states:
        np.testing.assert_allclose(state["L"].mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(state["S"].mean(axis=0), state["G"][:, :3].mean(axis=0), atol=1e-12)
    assert (np.abs(states[-1]["L"]).max(axis=1) > 0.01).all()


@pytest.mark.parametrize("kind", [rd.DGDMax, rd.VRLM])
def test_the_multiplier_s_step_has_the_limit_that_is_stated(kind):
    """Where every C_i is mu I, rho below mu / (1 - lambda_m)^2 converges, and above it does not."""
    generator = np.random.default_rng(0)
    alike = np.tile(np.eye(2), (8, 1, 1, 1))
    game = QuadraticGame(alike, 0 * alike, 0.5 * alike, *generator.normal(size=(2, 8, 1, 2)))
    limit = 0.5 / (1 - RING.network.smallest_eigenvalue) ** 2
    more = dict(b=None) if kind is rd.VRLM else dict(R=200)
    below, above = (
        go(game, RING, kind(eta=0.2, gamma=1.0, rho=share * limit, **more), iterations=600).history.consensus
        for share in (0.8, 1.2)
    )
    assert below.iloc[-1] < 1e-3 * below.iloc[1] and above.iloc[-1] > 1e3 * above.iloc[1]


def test_the_code_s_mixed_multiplier_only_penalises_disagreement():
    """With l+ = W l + ... VRLM ends at the solution of the penalised problem, worked out here, and P is not solved."""
    game, rho = game_with(), 0.3
    result = go(game, RING, MixedMultiplier(eta=0.1, gamma=0.3, rho=rho, b=None), iterations=4000)
    A, B, C, p, q = (getattr(game.forms, name) for name in "ABCpq")
    pull = rho * (RING.W.toarray() - np.eye(8))
    system, right = np.zeros((3 + 32, 3 + 32)), np.zeros(3 + 32)
    system[:3, :3], right[:3] = A.mean(axis=0), -p.mean(axis=0)
    for i in range(8):
        rows = slice(3 + 4 * i, 7 + 4 * i)
        system[:3, rows], system[rows, :3], right[rows] = B[i] / 8, B[i].T, -q[i]
        for j in range(8):
            system[rows, slice(3 + 4 * j, 7 + 4 * j)] = pull[i, j] * np.eye(4) - (C[i] if i == j else 0.0)
    stall = np.linalg.solve(system, right)
    np.testing.assert_allclose(result.x_bar, stall[:3], atol=1e-8)
    np.testing.assert_allclose(result.arrays["Z"][:, 3:], stall[3:].reshape(8, 4), atol=1e-8)
    assert np.linalg.norm(game.primal_gradient(stall[:3])) > 0.1 and result.history.consensus.iloc[-1] > 0.1
    assert (
        go(game, RING, rd.VRLM(eta=0.1, gamma=0.3, rho=rho, b=None), iterations=4000).history.grad_norm.iloc[-1] < 1e-8
    )


def test_the_code_s_frozen_estimates_make_the_step_as_long_as_a_period():
    """With the old point stored too late no estimate moves between large batches, and the step that counts is Q eta."""
    long, short = dict(eta=0.1, gamma=0.3, rho=0.3, Q=40, b=4), dict(eta=0.1 / 40, gamma=0.3, rho=0.3 / 40, Q=40, b=4)
    states = trajectory(game_with(), RING, FrozenEstimates(**long))
    for t, (old, new) in enumerate(itertools.pairwise(states), start=1):
        assert np.array_equal(old["G"], new["G"]) == (t % 40 != 0) and not np.array_equal(old["Z"], new["Z"])
    assert go(game_with(), RING, rd.VRLM(**long), iterations=3000).history.grad_norm.iloc[-1] < 1e-6
    frozen = go(game_with(), RING, FrozenEstimates(**long), iterations=3000)
    assert frozen.outcome == "diverged" or not frozen.history.grad_norm.iloc[-1] < 1.0
    assert go(game_with(), RING, FrozenEstimates(**short), iterations=3000).history.grad_norm.iloc[-1] < 0.5


def test_the_proximal_step_of_vrlm_solves_the_regularised_problem():
    """At the end -grad P is a subgradient of l1 |x|_1: l1 sign(x) where x is not 0, at most l1 where it is."""
    game, weight = game_with(), 0.3
    result = go(game, RING, rd.VRLM(eta=0.1, gamma=0.3, rho=0.3, b=None, l1=weight), iterations=4000)
    slope, x = game.primal_gradient(result.x_bar), result.x_bar
    zero = np.abs(x) < 1e-12
    assert zero.any() and not zero.all()
    np.testing.assert_allclose(slope[~zero], -weight * np.sign(x[~zero]), atol=1e-7)
    assert (np.abs(slope[zero]) <= weight).all()


def test_the_floor_of_vrlm_falls_with_its_batches():
    """Online: spider's with the large batch, storm's with the step of the estimator and iterates."""
    steps = dict(eta=0.05, gamma=0.5, rho=0.1)
    small, large = (floor_of(rd.VRLM(**steps, Q=5, b=8, b_large=size)) for size in (10, 160))
    assert 2.5 < small / large < 6.0
    fast, slow = (floor_of(rd.VRLM(**steps, estimator="storm", b=4, b_large=100, beta=beta)) for beta in (1.0, 0.05))
    assert fast > 1.5 * slow


def test_more_inner_steps_allow_a_larger_step_in_x():
    """D-GDMax: where f = -x^2/2 + 2xy - y^2/2 descent-ascent needs gamma < 1; with y maximised more will do.

    The mean of both gradients' curvatures, -gamma and 1, decides whether x and y spiral in or out.
    """
    for R, gamma, solved in ((1, 0.7, True), (1, 1.3, False), (10, 1.3, True)):
        method = rd.DGDMax(eta=0.05, gamma=gamma, R=R, rho=0.3)
        result = go(downward_game(), RING, method, iterations=3000)
        assert (result.history.grad_norm.iloc[-1] < 1e-8) == solved, (R, gamma)


# Momentum on the iterates


@pytest.mark.parametrize("constraint", [None, Ball(0.1)], ids=["free", "ball"])
def test_dm_gda_on_whole_shards_solves_the_heterogeneous_game(constraint):
    """||grad P|| < 1e-10; half of the way each time takes about twice as long as all of it."""
    spent = []
    for alpha in (1.0, 0.5):
        method = rd.DMGDA(**FAST, alpha=alpha, b=None, b0=None)
        result = go(game_with(constraint), RING, method, iterations=2000, record_every=10, target_grad_norm=1e-10)
        assert result.outcome == "target" and result.history.consensus.iloc[-1] < 1e-16
        spent.append(result.history.iteration.iloc[-1])
    assert 1.5 < spent[1] / spent[0] < 2.5


def test_dm_gda_solves_the_game_of_polyak_and_lojasiewicz():
    """Its paper's setting: no strong concavity in y."""
    game = rd.problems.PLGame.random(agents=8, seed=1)
    method = rd.DMGDA(eta=0.1, gamma=0.1, alpha=1.0, b=None, b0=None)
    assert go(game, RING, method, iterations=20_000, target_grad_norm=1e-8).outcome == "target"


def test_dm_gda_that_goes_all_the_way_is_dm_hsgd_with_the_iterates_mixed_first():
    """alpha = 1: x+ = W x - gamma eta u in the place of W (x - gamma eta u); the same estimator and tracker."""
    game, sampling = game_with(Ball(0.3)), dict(beta=0.2, b=4, b0=9)
    first, second = (trajectory(game, RING, kind, 1) for kind in
                     (rd.DMGDA(**FAST, alpha=1.0, **sampling), rd.DMHSGD(**FAST, **sampling)))  # fmt: skip
    assert all(np.array_equal(first[0][name], second[0][name]) for name in "ZGS")
    W, Z, S = RING.W.toarray(), first[0]["Z"], first[0]["S"]
    np.testing.assert_allclose(first[1]["Z"][:, :3], W @ Z[:, :3] - 0.06 * S[:, :3], atol=1e-13)
    np.testing.assert_allclose(second[1]["Z"][:, :3], W @ (Z[:, :3] - 0.06 * S[:, :3]), atol=1e-13)


def test_the_floor_of_dm_gda_falls_with_beta():
    """A twentieth of beta leaves clearly less noise."""
    steps = dict(eta=0.1, gamma=0.5, alpha=0.5, b=4, b0=100)
    assert floor_of(rd.DMGDA(**steps, beta=1.0)) > 1.5 * floor_of(rd.DMGDA(**steps, beta=0.05))


# The optimistic baseline


def test_dposg_is_biased_where_agents_differ_and_not_where_they_are_alike():
    """It stands still far from the solution, less far with a smaller step; eight copies of one agent are solved."""
    game = game_with()
    stalls = [go(game, RING, rd.DPOSG(eta=eta, gamma=0.6), iterations=steps, record_every=500).history
              for eta, steps in ((0.1, 2000), (0.01, 8000))]  # fmt: skip
    assert stalls[0].grad_norm.iloc[-1] > 0.1 > stalls[1].grad_norm.iloc[-1] > 1e-3
    assert all(abs(one.grad_norm.iloc[-1] - one.grad_norm.iloc[-2]) < 1e-4 for one in stalls)
    whole = game.pooled()
    copies = QuadraticGame(*(np.repeat(getattr(whole.components, name), 8, axis=0) for name in "ABCpq"))
    for problem in (copies, whole):
        network = RING if problem.agents == 8 else rd.topology.ring(1)
        assert go(problem, network, rd.DPOSG(**FAST), iterations=800, target_grad_norm=1e-10).outcome == "target"


def test_looking_ahead_steadies_a_game_that_circles():
    """f = xy - y^2/2000: descent-ascent with equal steps spirals out, the optimistic method in."""
    one = np.ones((1, 1, 1, 1))
    game = QuadraticGame(0 * one, one, 1e-3 * one, np.zeros((1, 1, 1)), np.zeros((1, 1, 1)))
    alone = rd.topology.ring(1)
    circling, steady = (go(game, alone, kind(eta=0.2, gamma=1.0), iterations=2000, start=([1.0], [0.0])).arrays["Z"]
                        for kind in (rd.GDA, rd.DPOSG))  # fmt: skip
    assert np.abs(circling).max() > 1e6 and np.abs(steady).max() < 1e-6


# SREDA


@pytest.mark.parametrize("constraint", [None, Ball(0.1)], ids=["free", "ball"])
@pytest.mark.parametrize("b", [None, 8])
def test_sreda_solves_the_game_on_one_machine(b, constraint):
    """||grad P|| < 1e-10, also with sampled corrections: as the steps shrink, so does their noise."""
    game = game_with(constraint).pooled()
    method = rd.SREDA(**FAST, b=b, Q=8)
    result = go(game, rd.topology.ring(1), method, iterations=2000, target_grad_norm=1e-10)
    assert result.outcome == "target" and result.ledger.rounds == 0


def test_no_step_of_sreda_in_x_is_longer_than_allowed():
    """Far from the solution every step has that length, near it they are gamma eta times the gradient."""
    states = trajectory(game_with().pooled(), rd.topology.ring(1), rd.SREDA(**FAST, longest=0.01, b=None), 300)
    steps = [np.linalg.norm(new["Z"][0, :3] - old["Z"][0, :3]) for old, new in itertools.pairwise(states)]
    assert max(steps) <= 0.01 * (1 + 1e-12) and sum(np.isclose(steps, 0.01)) > 20
    np.testing.assert_allclose(steps[-1], 0.06 * np.linalg.norm(states[-2]["G"][0, :3]), rtol=1e-9)
    assert steps[-1] < 0.005


def test_the_estimates_of_sreda_are_exact_on_all_samples():
    """b = b' = all: g is the gradient at the point that is kept, whatever the inner steps did."""
    game = game_with(Ball(0.3)).pooled()
    for state in trajectory(game, rd.topology.ring(1), rd.SREDA(**FAST, b=None), 30):
        exact = np.concatenate(game.local(0).gradient(state["Z"][0, :3], state["Z"][0, 3:]))
        np.testing.assert_allclose(state["G"][0], exact, atol=1e-12)


def test_the_floor_of_sreda_falls_with_the_large_batch():
    """Online, on one machine: sixteen times as many samples, a quarter of the floor."""
    game = OnlineQuadraticGame.random(agents=4, dim_x=3, dim_y=4, sigma=1.0, heterogeneity=0.0, seed=4).pooled()
    floors = []
    for size in (20, 320):
        method = rd.SREDA(eta=0.05, gamma=0.5, R=2, Q=5, b=16, b_large=size)
        history = go(game, rd.topology.ring(1), method, iterations=2000, record_every=5).history
        floors.append(float(np.sqrt((history.grad_norm[history.iteration > 500] ** 2).mean())))
    assert 2.5 < floors[0] / floors[1] < 6.0


# Local steps


@pytest.mark.parametrize("constraint", [None, Ball(0.1)], ids=["free", "ball"])
def test_k_gt_minimax_solves_the_heterogeneous_game_with_local_steps(constraint):
    """||grad P|| < 1e-10 with one and with five local steps, which need fewer rounds."""
    rounds = {}
    for local_steps in (1, 5):
        method = rd.KGTMinimax(eta=0.03, gamma=0.6, local_steps=local_steps)
        result = go(game_with(constraint), RING, method, iterations=4000, record_every=10, target_grad_norm=1e-10)
        assert result.outcome == "target" and result.history.consensus.iloc[-1] < 1e-16
        rounds[local_steps] = result.ledger.rounds
    assert rounds[5] < rounds[1] / 2


def test_without_its_corrections_local_steps_lead_astray():
    """The same local steps with c = 0 stall far from the solution: what the corrections are for."""

    class Uncorrected(rd.KGTMinimax):
        def step(self, s, agents, t, coin):
            new = yield from super().step(s, agents, t, coin)
            return type(new)(new.Z, 0 * new.C)

    history = go(game_with(), RING, Uncorrected(eta=0.03, gamma=0.6), iterations=1000).history
    assert history.grad_norm.iloc[-1] > 0.1


def test_corrections_have_mean_0_and_with_one_local_step_they_make_a_tracker():
    """c_bar = 0; and for local_steps = 1, s = g + c obeys s+ = W s + g+ - g from s_0 = W g_0."""
    for local_steps in (1, 4):
        for state in trajectory(game_with(Ball(0.4)), RING, rd.KGTMinimax(**FAST, local_steps=local_steps)):
            np.testing.assert_allclose(state["C"].mean(axis=0), 0.0, atol=1e-12)
    game, W, last = game_with(), RING.W.toarray(), None
    for state in trajectory(game, RING, rd.KGTMinimax(**FAST, local_steps=1)):
        G = np.array([np.concatenate(game.local(i).gradient(z[:3], z[3:])) for i, z in enumerate(state["Z"])])
        S = G + state["C"]
        np.testing.assert_allclose(S, W @ G if last is None else W @ last[1] + G - last[0], atol=1e-12)
        last = G, S


def test_the_floor_of_k_gt_minimax_falls_with_the_batch():
    """Online a batch of sixteen times as many samples leaves a quarter of the noise."""
    small, large = (floor_of(rd.KGTMinimax(eta=0.02, gamma=0.5, local_steps=3, b=size)) for size in (2, 32))
    assert 3.0 < small / large < 5.5


# Proximal points


@pytest.mark.parametrize("constraint", [None, Ball(0.1)], ids=["free", "ball"])
def test_catalyst_dream_solves_the_heterogeneous_game(constraint):
    """||grad P|| < 1e-10: the anchor comes to rest where P does."""
    method = rd.CatalystDREAM(**FAST, p=0.3, b=4, K=3, prox=1.0, T=10)
    result = go(game_with(constraint), RING, method, iterations=2000, target_grad_norm=1e-10)
    assert result.outcome == "target"


def test_catalyst_dream_whose_anchor_always_follows_is_dream():
    """T = 1: x is at its anchor at every step, and nothing is added; the same bits."""
    given = dict(eta=0.05, gamma=0.5, p=0.4, b=3, K=2)
    for first, second in zip(
        trajectory(game_with(Ball(0.3)), RING, rd.CatalystDREAM(**given, prox=5.0, T=1)),
        trajectory(game_with(Ball(0.3)), RING, rd.DREAM(**given)),
        strict=True,
    ):
        assert all(np.array_equal(first[name], second[name]) for name in "ZGS")


@pytest.mark.parametrize("kind", [rd.CatalystDREAM, rd.SAPDPlus])
def test_a_proximal_term_lifts_the_limit_of_the_step_in_x(kind):
    """f = -x^2/2 + 2xy - y^2/2: descent-ascent needs gamma < 1, and with prox = 3 ten times as much will do."""
    alone = kind is rd.SAPDPlus
    home = (downward_game().pooled(), rd.topology.ring(1)) if alone else (downward_game(), rd.topology.complete(8))
    plain = rd.GDA(eta=0.02, gamma=10.0) if alone else rd.DREAM(eta=0.02, gamma=10.0, p=1.0, K=2)
    more = dict(b=None, theta=0.0) if alone else dict(p=1.0, K=2)
    assert not go(*home, plain, iterations=3000).history.grad_norm.iloc[-1] < 1.0
    method = kind(eta=0.02, gamma=10.0, prox=3.0, T=50, **more)
    assert go(*home, method, iterations=3000).history.grad_norm.iloc[-1] < 1e-8


@pytest.mark.parametrize("constraint", [None, Ball(0.1)], ids=["free", "ball"])
def test_sapd_plus_solves_the_game_on_one_machine(constraint):
    """||grad P|| < 1e-10 on all samples, without a round."""
    game = game_with(constraint).pooled()
    method = rd.SAPDPlus(**FAST, b=None, T=10)
    result = go(game, rd.topology.ring(1), method, iterations=3000, target_grad_norm=1e-10)
    assert result.outcome == "target" and result.ledger.rounds == 0


def test_the_floors_of_the_proximal_methods_fall_with_their_batches():
    """Online: sixteen times the large batch, or the batch, leaves about a quarter."""
    given = dict(eta=0.05, gamma=0.5, K=1, T=10)
    small, large = (floor_of(rd.CatalystDREAM(**given, p=0.2, b=8, b_large=size)) for size in (10, 160))
    assert 2.5 < small / large < 6.0
    game = OnlineQuadraticGame.random(agents=4, dim_x=3, dim_y=4, sigma=1.0, heterogeneity=0.0, seed=4).pooled()
    floors = []
    for size in (4, 64):
        history = go(game, rd.topology.ring(1), rd.SAPDPlus(eta=0.05, gamma=0.5, T=10, b=size), iterations=3000,
                     record_every=5).history  # fmt: skip
        floors.append(float(np.sqrt((history.grad_norm[history.iteration > 1000] ** 2).mean())))
    assert 3.0 < floors[0] / floors[1] < 5.5


def test_dream_and_its_proximal_form_solve_the_game_of_polyak_and_lojasiewicz():
    """The DREAM paper's claim for y-PL functions without a constraint."""
    game = rd.problems.PLGame.random(agents=8, seed=1)
    for kind, more in ((rd.DREAM, {}), (rd.CatalystDREAM, {"prox": 0.5, "T": 20})):
        method = kind(eta=0.1, gamma=0.1, p=0.3, b=8, K=2, **more)
        assert go(game, RING, method, iterations=20_000, target_grad_norm=1e-8).outcome == "target"
