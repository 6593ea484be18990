"""The laws of every method: one table of methods, and the claims that all of them must meet."""

import inspect
import itertools
import pickle
import re
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from functools import partial
from typing import Literal, Optional, Union

import numpy as np
import pytest
from laws import METHODS_UNDER_TEST, ONE_MACHINE, STEPS, Witness, coins_of, drive_in_blocks, session_for, states_of
from reference.anchored import catalyst, sapd
from reference.dadast import adaptive
from reference.dgda import dgda
from reference.dgdavr import dgdavr
from reference.dmgda import dmgda
from reference.dmhsgd import dmhsgd
from reference.dposg import dposg
from reference.exact_diffusion import exact_diffusion
from reference.gda import gda
from reference.gtda import gtda
from reference.gtgda import gtgda
from reference.gtsrvr import gtsrvr
from reference.kgt import kgt
from reference.multipliers import dgdmax, vrlm
from reference.sreda import sreda

import raydream as rd
from raydream.agents import Agents
from raydream.agents.streams import Streams
from raydream.algorithms import METHODS, Iterates, Tracked
from raydream.algorithms.estimators import page
from raydream.algorithms.facts import Facts
from raydream.algorithms.method import Method, Mixing, registered
from raydream.algorithms.parameters import free_only
from raydream.algorithms.table import COLUMNS, markdown, table
from raydream.constraints import Ball, Simplex
from raydream.parameters import REQUIRED, parameters_of
from raydream.problems import OnlineQuadraticGame, QuadraticGame
from raydream.program import perform
from raydream.report import theme
from raydream.report.collect import Run
from raydream.report.counting import paper_columns
from raydream.report.plot import mixing_of
from raydream.studies.setting import needs_one_machine

RING, ALONE = rd.topology.ring(8), rd.topology.ring(1)

# those whose S tracks all of G, those whose G moves by corrections, and those that on one machine are GDA or SGDA
TRACKERS = rd.DREAM | rd.GTDA | rd.GTGDA | rd.GTSRVR | rd.DMHSGD | rd.DGDAVR | rd.DMGDA
CORRECTORS = rd.DREAM | rd.GTSRVR | rd.DMHSGD | rd.DGDAVR | rd.EDPAGE | rd.VRLM | rd.DMGDA
PLAIN_ALONE = TRACKERS | CORRECTORS | rd.GDA | rd.SGDA | rd.DGDA | rd.EDGDA
TRACKED = {name: method for name, method in METHODS_UNDER_TEST.items() if isinstance(method, TRACKERS)}
RECURSIVE = {name: method for name, method in METHODS_UNDER_TEST.items() if isinstance(method, CORRECTORS)}


def each(methods):
    return pytest.mark.parametrize("method", methods.values(), ids=methods)


constrained = pytest.mark.parametrize("constraint", [None, Ball(0.3), Simplex()], ids=["free", "ball", "simplex"])


def game_with(constraint=None, agents=8, **options):
    return QuadraticGame.random(agents=agents, samples=11, dim_x=3, dim_y=4, constraint=constraint, seed=2, **options)


def home_of(method, game):
    """The problem and the network that a method is meant for."""
    return (game.pooled(), ALONE) if isinstance(method, ONE_MACHINE) else (game, RING)


def constrained_for(method, constraint=Ball(0.3)):  # noqa: B008
    """The game with this constraint, or the free one for a method that allows none."""
    game = game_with(constraint)
    return game_with() if free_only(game) and method.refuse(home_of(method, game)[0]) == free_only(game) else game


def some_coins(count, p=0.4):
    return [bool(coin) for coin in np.random.default_rng(1).random(count) < p]


def go(problem, topology, method, **options):
    return rd.run(problem, topology, method, **{"backend": "local", "record_every": 50, **options})


def test_every_method_is_under_test():
    """No method of the package escapes these laws."""
    assert {type(method) for method in METHODS_UNDER_TEST.values()} == set(METHODS.values())


# The matrix forms

FURTHER = {
    rd.CatalystDREAM: catalyst,
    rd.DAdaST: partial(adaptive, agree=True),
    rd.DTiAda: partial(adaptive, agree=False),
    rd.DGDMax: dgdmax,
    rd.DMGDA: dmgda,
    rd.DPOSG: dposg,
    rd.EDGDA: exact_diffusion,
    rd.EDPAGE: exact_diffusion,
    rd.KGTMinimax: kgt,
    rd.SAPDPlus: sapd,
    rd.SREDA: sreda,
    rd.VRLM: vrlm,
}


def by_reference(method, game, W, calls, coins):
    """The states of a method's independent reference, under the names that the package uses."""
    dim, steps = game.dim_x, len(calls) - 1
    asked = [[[batch for i, _, batch in step if i == agent] for agent in range(len(W))] for step in calls]
    batches = [[next((batch for i, _, batch in step if i == agent), None) for agent in range(len(W))] for step in calls]

    def gradient(Z, samples):
        pairs = [game.local(i).gradient(z[:dim], z[dim:], samples[i]) for i, z in enumerate(Z)]
        return np.array([np.concatenate(pair) for pair in pairs])

    def project(Y):
        return np.array([game.constraint.project(y) for y in Y])

    given = dict(gradient=gradient, project=project, z0=np.concatenate(game.start()), dim_x=dim, W=W, gamma=0.5)
    match method:
        case rd.GTDA():
            return gtda(**given, eta=0.03, R=method.R, iterations=steps)
        case rd.GTGDA():
            return gtgda(**given, eta=0.03, form=method.form, iterations=steps)
        case rd.GTSRVR():
            return gtsrvr(**given, eta=0.03, form=method.form, Q=method.Q or 4, batches=batches[1:])
        case rd.DMHSGD():
            ages = np.ones(steps) if method.decay is None else 1 + np.arange(steps) / method.decay
            etas, betas = 0.03 * ages ** (-1 / 3), method.beta * ages ** (-2 / 3)
            return dmhsgd(**given, etas=etas, betas=betas, first=batches[0], batches=batches[1:])
        case rd.DGDAVR():
            return dgdavr(**given, eta=0.03, Q=method.Q, first=batches[0], batches=batches[1:])
        case rd.DGDA():
            return dgda(**given, eta=0.03, batches=batches[1:])
        case _ if type(method) in FURTHER:
            settled = vars(method.settled(game, RING.network)) | given
            return FURTHER[type(method)](**settled, asked=[[*zip(*step, strict=True)] for step in asked], coins=coins)
        case _:
            x, y = game.start()
            return gda(
                gradient=game.local(0).gradient, project=game.constraint.project, x=x, y=y, eta=0.03, gamma=0.5,
                batches=[step[0] for step in batches[1:]],
            )  # fmt: skip


WRITTEN_TWICE = [
    pytest.param(method, constraint, id=f"{name}-{label}")
    for name, method in METHODS_UNDER_TEST.items()
    for label, constraint in {"free": None, "ball": Ball(0.3), "simplex": Simplex()}.items()
    if name != "dream" and constrained_for(method, constraint).constraint == game_with(constraint).constraint
]


@pytest.mark.parametrize(("method", "constraint"), WRITTEN_TWICE)
def test_a_method_agrees_with_its_matrix_form(method, constraint):
    """Over 50 iterations every state equals the reference in tests/reference, on the same samples."""
    game, topology = home_of(method, game_with(constraint))
    witness, coins = Witness(game), some_coins(50)
    states, calls = states_of(session_for(witness, topology, method), coins, witness.log)
    W = topology.W.toarray()
    for state, wanted in zip(states, by_reference(method, game, W, calls, coins), strict=True):
        found = dict(state.arrays)
        if isinstance(method, rd.DGDAVR):  # the reference holds the tracker as it is written, after mixing
            found = {"Z": found["Z"], "V": found["G"], "D": W @ found["S"]}
        assert set(found) == set(wanted)
        for name, array in wanted.items():
            np.testing.assert_allclose(found[name], array, rtol=1e-10, atol=1e-10)


# Trackers and estimators


@each(TRACKED)
def test_the_tracker_mean_is_the_estimator_mean_and_moves(method):
    """s_bar = g_bar after every step, and no tracker rests while its estimator moves."""
    states = [s.arrays for s in states_of(session_for(game_with(Ball(0.4)), RING, method), some_coins(40))]
    for old, new in itertools.pairwise(states):
        np.testing.assert_allclose(new["S"].mean(axis=0), new["G"].mean(axis=0), atol=1e-12)
        moved = np.abs(new["G"] - old["G"]).max(axis=1) > 0
        assert moved.all()
        assert (np.abs(new["S"] - old["S"]).max(axis=1) > 0).all()


@each(RECURSIVE)
def test_an_increment_has_two_points_and_one_batch(method):
    """Each agent asks for its samples at the new point and again at the old one, and the points differ."""
    witness = Witness(game_with())
    states, calls = states_of(session_for(witness, RING, method), some_coins(20), witness.log)
    increments = 0
    for old, new, step in zip(states, states[1:], calls[1:], strict=False):
        for i in range(8):
            asked = [(z, batch) for agent, z, batch in step if agent == i]
            assert np.array_equal(asked[0][0], new.arrays["Z"][i])
            if len(asked) == 1:
                continue
            (fresh, batch), (stale, same) = asked
            assert np.array_equal(stale, old.arrays["Z"][i]) and not np.array_equal(stale, fresh)
            assert (batch is None and same is None) or np.array_equal(batch, same)
            increments += 1
    assert increments > 8 * 5


@each({name: method for name, method in RECURSIVE.items() if "whole" not in name})
def test_agents_draw_their_own_samples(method):
    """No two agents share a batch, and no agent uses one in two iterations."""
    witness = Witness(QuadraticGame.random(agents=8, samples=1000, dim_x=1, dim_y=1))
    _, calls = states_of(session_for(witness, RING, method), [False] * 20, witness.log)
    drawn = {(t, i): tuple(batch) for t, step in enumerate(calls) for i, _, batch in step if batch is not None}
    assert len(set(drawn.values())) == len(drawn) > 100


# Convergence

FAST = dict(eta=0.1, gamma=0.6)
SOLVERS = {
    "dream, p=1": rd.DREAM(**FAST, p=1.0, K=3),
    "gt-da": rd.GTDA(**FAST),
    "gt-gda, cta": rd.GTGDA(**FAST),
    "gt-gda, atc": rd.GTGDA(**FAST, form="atc"),
    "gda": rd.GDA(**FAST),
    "gt-srvr, cta": rd.GTSRVR(**FAST),
    "gt-srvr, atc": rd.GTSRVR(**FAST, form="atc"),
    "dgda-vr": rd.DGDAVR(**FAST, Q=4, b=4),
}


@pytest.mark.parametrize("constraint", [None, Ball(0.1)], ids=["free", "ball"])
@each(SOLVERS)
def test_the_heterogeneous_game_is_solved(method, constraint):
    """||grad P(x_bar)|| < 1e-10 within 800 iterations, also where the constraint is active at the solution."""
    game = game_with(constraint)
    result = go(*home_of(method, game), method, iterations=800, target_grad_norm=1e-10)
    assert result.outcome == "target"
    assert np.linalg.norm(game.primal_gradient(result.x_bar)) < 1e-10
    np.testing.assert_allclose(result.y_bar, game.best_response(result.x_bar), atol=1e-8)
    assert result.history.consensus.iloc[-1] < 1e-16
    if constraint is not None:
        assert np.linalg.norm(result.y_bar) == pytest.approx(0.1, abs=1e-9)
        free = np.linalg.solve(game.form.C, game.form.B.T @ result.x_bar + game.form.q)
        assert np.linalg.norm(free) > 0.15


@pytest.mark.parametrize("constraint", [None, Ball(0.1)], ids=["free", "ball"])
def test_without_tracking_descent_ascent_stalls_where_agents_differ(constraint):
    """DGDA stays above 0.1 for ever where GT-GDA, with the same steps and rounds, is below 1e-6.

    Its stall is a standstill, not slowness: the last 1000 iterations move nothing. With a tenth of the step it is
    lower, and still there.
    """
    game = game_with(constraint)
    tracked = go(game, RING, rd.GTGDA(**FAST), iterations=2000).history
    stalled = go(game, RING, rd.DGDA(**FAST), iterations=2000).history
    assert tracked.grad_norm.iloc[-1] < 1e-6
    assert stalled.grad_norm.min() > 0.1
    late = stalled.grad_norm[stalled.iteration >= 1000]
    assert late.max() - late.min() < 1e-9
    assert stalled.consensus.iloc[-1] > 0.1
    smaller = go(game, RING, rd.DGDA(eta=0.01, gamma=0.6), iterations=6000, record_every=1000).history
    assert 1e-3 < smaller.grad_norm.iloc[-1] < late.iloc[-1]


def test_without_tracking_descent_ascent_converges_where_agents_are_alike():
    """Eight agents that all own the pooled data: nothing to track, and DGDA solves the game."""
    game = game_with().pooled()
    copies = QuadraticGame(*(np.repeat(getattr(game.components, name), 8, axis=0) for name in "ABCpq"))
    result = go(copies, RING, rd.DGDA(**FAST), iterations=800, target_grad_norm=1e-10)
    assert result.outcome == "target"


def floor_of(method, start, stop):
    """The root mean square of ||grad P|| over a stretch of iterations of an online game."""
    game = OnlineQuadraticGame.random(agents=4, dim_x=3, dim_y=4, sigma=1.0, seed=4)
    history = go(game, rd.topology.ring(4), method, iterations=stop, record_every=5).history
    return [float(np.sqrt((history.grad_norm[history.iteration > a] ** 2)[history.iteration <= 2 * a].mean()))
            for a in start]  # fmt: skip


def test_the_noise_floor_of_dm_hsgd_falls_with_beta_and_with_the_step():
    """With constants the tail of ||grad P|| is noise: a tenth of beta, or a third of eta, leaves clearly less of it."""
    floors = [
        floor_of(rd.DMHSGD(eta=eta, gamma=0.5, beta=beta, b=4, b0=100), [1500], 3000)[0]
        for eta, beta in ((0.1, 1.0), (0.1, 0.1), (0.1, 0.01), (0.03, 1.0))
    ]
    assert floors[0] > 1.3 * floors[1] > 1.3 * 1.8 * floors[2]
    assert floors[0] > 1.5 * floors[3]


def test_dm_hsgd_converges_with_the_decaying_schedule():
    """With eta_t ~ t^(-1/3) and beta_t ~ t^(-2/3) ||grad P|| keeps falling, about as t^(-1/3); with constants not.

    Root mean squares over iterations 500-1000 and 4000-8000: eight times later, theory expects half.
    """
    method = rd.DMHSGD(eta=0.1, gamma=0.5, beta=0.3, b=4, b0=100)
    early, late = floor_of(replace(method, decay=20), [500, 4000], 8000)
    assert 1.4 < early / late < 3.0
    early_constant, late_constant = floor_of(method, [500, 1500], 3000)
    assert 0.7 < early_constant / late_constant < 1.4
    assert late < late_constant / 3


def test_the_schedule_starts_at_its_constants_and_keeps_beta_proportional_to_the_square_of_eta():
    """eta_0 = eta and beta_0 = beta; at t = 7 decay the step is halved and beta quartered."""
    method = rd.DMHSGD(eta=0.2, gamma=1.0, beta=0.4, decay=100)
    assert method.schedule(0) == (0.2, 0.4)
    assert method.schedule(700) == pytest.approx((0.1, 0.1))
    assert replace(method, decay=None).schedule(700) == (0.2, 0.4)


# Reductions


def trajectory(problem, topology, method, steps=40, coin=False):
    return [state.arrays for state in states_of(session_for(problem, topology, method), [coin] * steps)]


def same_bits(first, second):
    return all(
        a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)
        for a, b in zip(first, second, strict=True)
    )


@constrained
@pytest.mark.parametrize("form", ["cta", "atc"])
def test_gt_srvr_with_period_one_is_gt_gda(form, constraint):
    """Q = 1 takes a full gradient in every iteration: the same bits."""
    game = game_with(constraint)
    srvr = trajectory(game, RING, rd.GTSRVR(**STEPS, Q=1, b=3, form=form))
    assert same_bits(srvr, trajectory(game, RING, rd.GTGDA(**STEPS, form=form)))
    assert not same_bits(srvr, trajectory(game, RING, rd.GTSRVR(**STEPS, Q=2, b=3, form=form)))


@constrained
def test_dream_with_one_gossip_and_full_gradients_is_gt_gda(constraint):
    """p = 1, whole shards, gossip, K = K' = 1, K0 = 0: the same bits as GT-GDA, adapt then combine."""
    game = game_with(constraint)
    dream = rd.DREAM(**STEPS, p=1.0, mixing="gossip", K0=0, K=1, K_large=1)
    atc = trajectory(game, RING, rd.GTGDA(**STEPS, form="atc"))
    assert same_bits(trajectory(game, RING, dream, coin=True), atc)
    assert not same_bits(trajectory(game, RING, rd.GTGDA(**STEPS)), atc)


@dataclass(frozen=True, kw_only=True)
class FromMixedTracker(rd.GTGDA):
    """GT-GDA from s_0 = W g_0."""

    def init(self, agents):
        Z = agents.start()
        G = agents.gradient(Z)
        S = yield G
        return Tracked(Z, G, S)


@constrained
def test_dm_hsgd_that_forgets_everything_on_whole_shards_is_gt_gda(constraint):
    """beta = 1 and whole shards: the same bits as GT-GDA, adapt then combine, started from S = W G."""
    game = game_with(constraint)
    hsgd = rd.DMHSGD(**STEPS, beta=1.0, b=None, b0=None)
    expected = trajectory(game, RING, FromMixedTracker(**STEPS, form="atc"))
    assert same_bits(trajectory(game, RING, hsgd), expected)


def test_dm_hsgd_on_whole_shards_is_exact_whatever_beta():
    """If g_0 is exact and every batch is the shard, g_t = grad f(z_t) for every beta."""
    game = game_with()
    for state in trajectory(game, RING, rd.DMHSGD(**STEPS, beta=0.2, b=None, b0=None)):
        exact = [np.concatenate(game.local(i).gradient(z[:3], z[3:])) for i, z in enumerate(state["Z"])]
        np.testing.assert_allclose(state["G"], exact, atol=1e-12)


@constrained
def test_gt_da_with_one_ascent_step_is_gt_gda(constraint):
    """R = 1 ascends once, from the tracker of the last point: the same bits as GT-GDA, combine then adapt."""
    game = game_with(constraint)
    once, twice = (trajectory(game, RING, rd.GTDA(**STEPS, R=R)) for R in (1, 2))
    expected = trajectory(game, RING, rd.GTGDA(**STEPS))
    assert same_bits(once, expected) and not same_bits(twice, expected)


@pytest.mark.parametrize("b", [None, 4])
def test_dream_on_one_agent_is_page_descent_ascent(b):
    """m = 1: PAGE descent-ascent, written out here on the same draws, bit for bit."""
    game, coins = game_with(Ball(0.3)).pooled(), some_coins(30)
    dream = rd.DREAM(**STEPS, p=0.4, b=b, K=3)
    states = states_of(session_for(game, ALONE, dream), coins)
    agents = Agents(
        [0],
        [game.local(0)],
        network=ALONE.network,
        constraint=game.constraint,
        start=game.start(),
        streams=Streams(0),
    )
    agents.begin(0)
    Z = agents.start()
    G = S = agents.gradient(Z)
    for t, (state, coin) in enumerate(zip(states, [*coins, False], strict=True)):
        assert np.array_equal(state.arrays["Z"], Z) and np.array_equal(state.arrays["G"], G)
        agents.begin(t + 1)
        Z_new = np.hstack([Z[:, :3] - 0.5 * 0.03 * S[:, :3], game.constraint.project(Z[:, 3:] + 0.03 * S[:, 3:])])
        G_new = page(agents, Z_new, Z, G, coin=coin, b=b)
        # The tracker follows by S + G - g, as with neighbours: the estimator up to rounding.
        np.testing.assert_allclose(S, G, atol=1e-13)
        Z, G, S = Z_new, G_new, S + G_new - G


@each(METHODS_UNDER_TEST)
def test_one_agent_needs_no_neighbours(method):
    """With m = 1 every method sends nothing and ends near descent-ascent; with exact gradients it is descent-ascent."""
    game = constrained_for(method).pooled()
    states = states_of(session_for(game, ALONE, method), some_coins(400))
    assert states[-1].ledger.messages == states[-1].ledger.bytes == 0
    expected = trajectory(game, ALONE, rd.GDA(**STEPS), 400)
    sampled = getattr(method, "b", None) is not None
    before, after = (np.linalg.norm(state.arrays["Z"] - expected[-1]["Z"]) for state in (states[0], states[-1]))
    falling = isinstance(method, rd.DAdaST | rd.DTiAda)  # its steps are large at first, and small in the end
    assert before > 1.4 and after < (0.5 if falling else 0.3 if sampled else 1e-4)
    if not sampled and isinstance(method, PLAIN_ALONE) and not isinstance(method, rd.GTDA):
        for state, wanted in zip(states, expected, strict=True):
            np.testing.assert_allclose(state.arrays["Z"], wanted["Z"], atol=1e-12)


# Bills


def bill_of(method, n, coins):
    """(SFO per agent, array widths of each round) at the start and in iterations 1, 2, ..., by the cost lines."""
    d, dx, dy = 7, 3, 4
    one_frame, two_frames = [2 * d], [d, d]
    match method:
        case rd.GTDA():
            yield n, []
            yield from itertools.repeat((n * method.R, [2 * dx] + [2 * dy] * method.R))
        case rd.GTGDA():
            yield n, []
            yield from itertools.repeat((n, one_frame if method.form == "cta" else two_frames))
        case rd.GTSRVR():
            yield n, []
            for t in itertools.count(1):
                b = {"sqrt(n)": 4, None: n}.get(method.b, method.b)
                yield n if t % (method.Q or 4) == 0 else 2 * b, one_frame if method.form == "cta" else two_frames
        case rd.DMHSGD():
            yield method.b0 or n, [d]
            yield from itertools.repeat((2 * (method.b or n), two_frames))
        case rd.DGDAVR():
            yield method.b_large or n, []
            for t in itertools.count(1):
                yield method.b_large or n if t % method.Q == 0 else 2 * method.b, one_frame
        case rd.DGDA():
            yield 0, []
            yield from itertools.repeat((method.b or n, [d]))
        case rd.DAdaST() | rd.DTiAda():
            yield 0, []
            yield from itertools.repeat((method.b or n, [d + 2 if isinstance(method, rd.DAdaST) else d]))
        case rd.DGDMax():
            yield n, []
            yield from itertools.repeat((n * (method.R + 1), one_frame))
        case rd.VRLM():
            large, small = method.b_large or n, 2 * (method.b or n)
            yield large, []
            for t in itertools.count(1):
                yield large if method.estimator == "spider" and t % method.Q == 0 else small, one_frame
        case rd.DMGDA():
            yield method.b0 or n, [d]
            yield from itertools.repeat((2 * (method.b or n), two_frames))
        case rd.DPOSG():
            yield from itertools.chain([(method.b or n, [])], itertools.repeat((method.b or n, [d])))
        case rd.SREDA():
            large = method.b_large or n
            yield large, []
            for t in itertools.count(1):
                yield 2 * (method.b or n) * (method.R + 1) + (large if t % method.Q == 0 else 0), []
        case rd.KGTMinimax():
            yield method.b or n, [d]
            yield from itertools.repeat(((method.b or n) * method.local_steps, one_frame))
        case rd.CatalystDREAM():
            yield n, [d] * method.K
            for coin in coins:
                yield n if coin else 2 * method.b, [d] * 2 * method.K
        case rd.SAPDPlus():
            yield 0, []
            yield from itertools.repeat((2 * (method.b or n), []))
        case rd.EDGDA():
            yield n, []
            yield from itertools.repeat((n, [d]))
        case rd.EDPAGE():
            large = method.b_large or n
            yield large, []
            for coin in coins:
                yield large if coin else 2 * method.b, [d]
        case _:
            yield 0, []
            yield from itertools.repeat((getattr(method, "b", n), []))


@each({name: method for name, method in METHODS_UNDER_TEST.items() if name != "dream"})
def test_the_ledger_is_the_cost_line(method):
    """At every record SFO, rounds, messages and bytes are those of the closed form."""
    problem, topology = home_of(method, game_with())
    history = go(problem, topology, method, iterations=25, record_every=1).history
    edges = sum(len(those) for those in topology.neighbours)
    sfo = rounds = width = 0
    coins = coins_of(0, method.settled(problem, topology.network).coin_probability or 0.0, 25)
    for row, (calls, frames) in zip(history.itertuples(), bill_of(method, problem.samples, coins), strict=False):
        sfo, rounds, width = sfo + problem.agents * calls, rounds + len(frames), width + sum(frames)
        assert (row.sfo, row.rounds, row.messages, row.bytes) == (sfo, rounds, edges * rounds, edges * 8 * width)
    assert len(history) == 26


# Blocks


@pytest.mark.parametrize("blocks", [[[i] for i in range(8)], [[0, 1, 2], [3, 4, 5, 6, 7]]], ids=["alone", "3 and 5"])
@each({name: method for name, method in METHODS_UNDER_TEST.items() if not isinstance(method, ONE_MACHINE)})
def test_rows_driven_in_any_split_have_the_bits_of_all_together(method, blocks):
    """Where agents live does not change their numbers, for any method, finite sums and online."""
    coins = some_coins(12)
    games = [constrained_for(method), OnlineQuadraticGame.random(agents=8, dim_x=3, dim_y=4, seed=1)]
    for game in games:
        if method.refuse(game):
            continue
        whole = states_of(session_for(game, RING, method), coins)[-1].arrays
        rows = drive_in_blocks(game, RING, method, blocks, coins)
        assert rows.keys() == whole.keys()
        for name, array in rows.items():
            assert np.array_equal(array, whole[name]), name


@each({name: method for name, method in METHODS_UNDER_TEST.items() if isinstance(method, ONE_MACHINE)})
def test_one_machine_says_nothing(method):
    """Their steps are plain functions: whoever drives programs gets their state at once."""
    game = game_with().pooled()
    driven = drive_in_blocks(game, ALONE, method, [[0]], [False] * 12)
    assert np.array_equal(driven["Z"], trajectory(game, ALONE, method, 12)[-1]["Z"])
    assert not inspect.isgeneratorfunction(type(method).step)


# Refusals


@pytest.mark.parametrize("kind", [rd.GTDA, rd.GTGDA, rd.GTSRVR, rd.GDA, rd.EDGDA, rd.DGDMax])
def test_finite_sum_methods_refuse_online_problems(kind):
    """There is no whole shard to go through, and the sentence names methods that can do without."""
    game = OnlineQuadraticGame.random(agents=8)
    problem, topology = home_of(kind(**STEPS), game)
    with pytest.raises(ValueError, match=f"{kind.__name__} cannot solve .* needs whole shards.* use DREAM, DMHSGD or"):
        go(problem, topology, kind(**STEPS), iterations=1)


@pytest.mark.parametrize(
    ("method", "missing"),
    [
        (rd.DMHSGD(**STEPS, b=None), "`b` as"),
        (rd.DMHSGD(**STEPS, b=None, b0=None), "`b` and `b0` as"),
        (rd.DGDAVR(**STEPS), "`b_large` as"),
        (rd.SGDA(**STEPS, b=None), "`b` as"),
        (rd.DGDA(**STEPS), "`b` as"),
        (rd.DREAM(**STEPS), "`b_large` as"),
        (rd.EDPAGE(**STEPS), "`b_large` as"),
        (rd.KGTMinimax(**STEPS), "`b` as"),
        (rd.CatalystDREAM(**STEPS), "`b_large` as"),
        (rd.SAPDPlus(**STEPS, b=None), "`b` as"),
        (rd.DMGDA(**STEPS, b0=None), "`b0` as"),
        (rd.DPOSG(**STEPS), "`b` as"),
        (rd.SREDA(**STEPS), "`b_large` as"),
        (rd.VRLM(**STEPS), "`b_large` as"),
        (rd.DAdaST(**STEPS), "`b` as"),
        (rd.DTiAda(**STEPS), "`b` as"),
    ],
)
def test_a_whole_shard_cannot_be_had_online(method, missing):
    """Methods that can live with batches say which one to give."""
    problem, topology = home_of(method, OnlineQuadraticGame.random(agents=8))
    with pytest.raises(ValueError, match=f"no whole shard: give {missing} a number"):
        go(problem, topology, method, iterations=1)


@pytest.mark.parametrize(
    "method",
    [
        rd.DMHSGD(**STEPS, b=4, b0=9),
        rd.DGDAVR(**STEPS, Q=4, b=4, b_large=50),
        rd.SGDA(**STEPS, b=8),
        rd.DGDA(**STEPS, b=8),
        rd.EDPAGE(**STEPS, b=4, b_large=50),
        rd.KGTMinimax(**STEPS, local_steps=3, b=8),
        rd.CatalystDREAM(**STEPS, b=4, b_large=50, T=5),
        rd.SAPDPlus(**STEPS, b=20, T=5),
        rd.DMGDA(**STEPS, b=4, b0=50),
        rd.DPOSG(**STEPS, b=8),
        rd.SREDA(**STEPS, Q=8, b=20, b_large=100),
        rd.VRLM(**STEPS, Q=4, b=4, b_large=50, rho=0.3),
        rd.VRLM(**STEPS, estimator="storm", b=4, b_large=50, rho=0.3),
        rd.DAdaST(eta=1.0, gamma=1.0, b=8),
        rd.DTiAda(eta=1.0, gamma=1.0, b=8),
    ],
)
def test_online_methods_descend_online(method):
    """With batches given they run on fresh samples, and ||grad P|| falls at least tenfold."""
    game = OnlineQuadraticGame.random(agents=8, dim_x=3, dim_y=4, heterogeneity=0.2, sigma=0.1, seed=4)
    history = go(*home_of(method, game), method, iterations=600).history
    assert history.grad_norm.iloc[-1] < history.grad_norm.iloc[0] / 10


@pytest.mark.parametrize("kind", ONE_MACHINE)
def test_one_machine_methods_refuse_a_network(kind):
    """The sentence says how to get the problem on one machine."""
    with pytest.raises(ValueError, match=r"one machine.* 8 agents.*`problem.pooled\(\)`"):
        go(game_with(), RING, kind(**STEPS), iterations=1)


BAD = [
    (rd.GTDA, "R", 0),
    (rd.GTDA, "R", 1.5),
    (rd.GTGDA, "form", "act"),
    (rd.GTSRVR, "form", "ctaa"),
    (rd.GTSRVR, "Q", 0),
    (rd.GTSRVR, "b", 0),
    (rd.GTSRVR, "b", "sqrt(m)"),
    (rd.DMHSGD, "beta", 0),
    (rd.DMHSGD, "beta", 1.1),
    (rd.DMHSGD, "b0", 0),
    (rd.DMHSGD, "b", -1),
    (rd.DMHSGD, "b", "sqrt(n)"),
    (rd.DMHSGD, "decay", 0),
    (rd.DGDAVR, "Q", None),
    (rd.DGDAVR, "b_large", 0),
    (rd.SGDA, "b", 0),
    (rd.DGDA, "b", 2.5),
    *[(kind, "eta", 0) for kind in METHODS.values()],
    *[(kind, "gamma", float("nan")) for kind in METHODS.values()],
]


@pytest.mark.parametrize(("kind", "name", "value"), BAD)
def test_a_bad_parameter_is_named(kind, name, value):
    """Each wrong hyper-parameter is refused by name, when the method is built."""
    with pytest.raises((ValueError, TypeError), match=f"`{name}`"):
        kind(**{**STEPS, name: value})


def test_an_unknown_form_suggests_the_nearest():
    """The two forms are named, and the likely one offered."""
    with pytest.raises(ValueError, match=r"'atc', 'cta'; got 'ctc'\. Did you mean 'cta'"):
        rd.GTGDA(**STEPS, form="ctc")


@pytest.mark.parametrize(("n", "root"), [(1, 1), (11, 4), (16, 4), (17, 5)])
def test_period_and_batch_of_gt_srvr_are_the_root_of_n_rounded_up(n, root):
    """Q = b = ceil(sqrt(n)) unless given; b=None stays the whole shard."""
    game = QuadraticGame.random(agents=2, samples=n, dim_x=2, dim_y=2)
    settled = rd.GTSRVR(**STEPS).settled(game, RING.network)
    assert (settled.Q, settled.b) == (root, root)
    given = rd.GTSRVR(**STEPS, Q=9, b=None).settled(game, RING.network)
    assert (given.Q, given.b) == (9, None)


def test_mixing_that_cannot_converge_is_warned_of():
    """On a bipartite network without self weights plain gossip swaps forever: every gossiping method says so."""
    swap = rd.topology.ring(2, self_weight=0.0)
    game = game_with(agents=2)
    gossiping = [kind for kind in METHODS.values() if kind(**STEPS).mixings() == [Mixing(1)]]
    assert len(gossiping) == len(METHODS) - len(ONE_MACHINE) - len((rd.DREAM, rd.CatalystDREAM, rd.EDGDA, rd.EDPAGE))
    for kind in gossiping:
        with pytest.warns(UserWarning, match="1 rounds of gossip"):
            go(game, swap, kind(**STEPS), iterations=1)


# The table


def test_the_table_has_a_row_for_every_method():
    """Name, class and facts, in the order of METHODS, with nothing left blank."""
    rows = table()
    assert [(row.name, row.python) for row in rows] == [(name, kind.__name__) for name, kind in METHODS.items()]
    assert all(getattr(row, field.name) for row in rows for field in fields(row))
    assert set(COLUMNS) == {field.name for field in fields(rows[0])}
    known = {"paper", "public code", "reconstruction, checked by laws", "abstract and reconstruction, checked by laws"}
    assert {row.source for row in rows} == known


def test_the_table_says_online_exactly_where_online_problems_are_accepted():
    """The setting in the table is what `refuse` does, with batches given."""
    game = OnlineQuadraticGame.random(agents=1)
    for row, kind in zip(table(), METHODS.values(), strict=True):
        batches = {field.name: 5 for field in fields(kind) if field.name in ("b", "b0", "b_large")}
        accepted = kind(**STEPS, **batches).refuse(game) is None
        assert accepted == ("online" in row.setting), row.name
        assert "offline" in row.setting


@each(METHODS_UNDER_TEST)
def test_the_table_counts_the_arrays_of_a_round(method):
    """The first round of a step carries as many arrays as the table says."""
    problem, topology = home_of(method, game_with())
    method = method.settled(problem, topology.network)
    hosted = range(problem.agents)
    agents = Agents(
        hosted,
        [problem.local(i) for i in hosted],
        network=topology.network,
        constraint=problem.constraint,
        start=problem.start(),
        streams=Streams(0),
    )
    state = perform(method.init(agents), lambda V: topology.W @ V)
    program = method.step(state, agents, 0, False)
    said = next(program) if inspect.isgenerator(program) else ()
    by_form = {form: count for count, form in re.findall(r"(\d) \((\w+)\)", method.facts.arrays)}
    stated = by_form.get(getattr(method, "form", None), method.facts.arrays)
    assert int(stated) == (len(said) if isinstance(said, tuple) else 1)


def test_the_markdown_is_a_table():
    """One header, one rule, one line per method, all with the same number of cells."""
    lines = markdown().splitlines()
    assert len(lines) == 2 + len(METHODS)
    assert {line.replace("\\|", "").count("|") for line in lines} == {len(COLUMNS) + 1}
    assert lines[2].startswith("| dream | DREAM |")


@pytest.mark.parametrize("kind", METHODS.values())
def test_a_method_s_docstring_has_its_parts(kind):
    """Parameters by name, the cost line and the reference, in this order."""
    text = kind.__doc__
    assert -1 < text.index("eta, gamma") < text.index("Cost: ") < text.index("Reference: ")
    listed = text[text.index("eta, gamma") : text.index("Cost: ")]
    assert all(field.name in listed for field in fields(kind))


# What a method says of itself


@pytest.mark.parametrize("kind", METHODS.values())
def test_every_parameter_has_a_rule_and_a_meaning(kind):
    """A form can ask for it, and a command line can refuse it, by the field's own declaration."""
    declared = parameters_of(kind)
    assert list(declared) == [field.name for field in fields(kind)]
    for name, parameter in declared.items():
        assert parameter.rules and parameter.help, name
        if parameter.default is not REQUIRED:
            parameter.check(parameter.default)


def test_the_declarations_say_what_is_optional_and_which_words_there_are():
    """None and words are seen without looking at a type's spelling."""
    dream, srvr = parameters_of(rd.DREAM), parameters_of(rd.GTSRVR)
    assert {name for name, one in dream.items() if one.optional} == {"p", "b", "b_large", "K0", "K", "K_large"}
    assert {name: one.words for name, one in dream.items() if one.words} == {
        "mixing": ("fastmix", "gossip", "push-sum"),
        "momentum": ("optimal", "paper"),
    }
    assert srvr["b"].also == ("sqrt(n)",) and srvr["b"].words == () and srvr["form"].words == ("cta", "atc")


SENTENCES = {
    "eta": (0, "`eta` must be positive; got 0."),
    "gamma": ("x", "`gamma` must be a number; got 'x'."),
    "p": (1.5, "`p` must be in (0, 1]; got 1.5."),
    "q": (None, "`q` must be a number; got None."),
    "beta": (0, "`beta` must be in (0, 1]; got 0."),
    "decay": (-1, "`decay` must be positive; got -1."),
    "power_x": (0, "`power_x` must be in (0, 1]; got 0."),
    "power_y": (1.5, "`power_y` must be in (0, 1]; got 1.5."),
    "rho": (0, "`rho` must be positive; got 0."),
    "l1": (-1, "`l1` must not be negative; got -1."),
    "estimator": ("storms", "`estimator` must be one of 'spider', 'storm'; got 'storms'. Did you mean 'storm'?"),
    "alpha": (1.5, "`alpha` must be in (0, 1]; got 1.5."),
    "longest": (0, "`longest` must be positive; got 0."),
    "local_steps": (0, "`local_steps` must be at least 1; got 0."),
    "prox": (0, "`prox` must be positive; got 0."),
    "T": (0, "`T` must be at least 1; got 0."),
    "theta": (-1, "`theta` must not be negative; got -1."),
    "b": (0, "`b` must be at least 1; got 0."),
    "b0": (2.5, "`b0` must be a whole number; got 2.5."),
    "b_large": (True, "`b_large` must be a whole number; got True."),
    "Q": ("often", "`Q` must be a whole number; got 'often'."),
    "R": (None, "`R` must be a whole number; got None."),
    "K0": (-1, "`K0` must be at least 0; got -1."),
    "K": (1.5, "`K` must be a whole number; got 1.5."),
    "K_large": (-2, "`K_large` must be at least 0; got -2."),
    "form": (None, "`form` must be one of 'atc', 'cta'; got None."),
    "mixing": ("fast", "`mixing` must be one of 'fastmix', 'gossip'; got 'fast'. Did you mean 'fastmix'?"),
    "momentum": (1, "`momentum` must be one of 'optimal', 'paper'; got 1."),
}


@pytest.mark.parametrize(("kind", "name"), [(kind, field.name) for kind in METHODS.values() for field in fields(kind)])
def test_a_wrong_value_of_each_parameter_gets_its_sentence(kind, name):
    """The argument, the rule, what came: the same in every method."""
    value, sentence = SENTENCES[name]
    if (kind, name) == (rd.DREAM, "mixing"):
        sentence = sentence.replace("'gossip'", "'gossip', 'push-sum'")
    with pytest.raises((ValueError, TypeError)) as refused:
        kind(**{**STEPS, name: value})
    assert str(refused.value) == sentence


def test_an_unknown_parameter_is_refused():
    """Nothing is taken and then ignored."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'betta'"):
        rd.DMHSGD(**STEPS, betta=0.1)


def test_methods_stay_plain_data():
    """They are frozen, equal by value, and travel; their text, which fingerprints use, shows parameters alone."""
    for method in METHODS_UNDER_TEST.values():
        assert pickle.loads(pickle.dumps(method)) == method
        assert repr(method).startswith(f"{type(method).__name__}(eta={method.eta}, gamma=0.5")
        with pytest.raises(FrozenInstanceError):
            method.eta = 1.0


@dataclass(frozen=True)
class Spelled(Method):
    """A method of one's own that derives from `Method`, with its types spelled in older ways."""

    eta: float
    inner: Optional[int] = None  # noqa: UP045
    way: Union[Literal["short", "long"], None] = "short"  # noqa: UP007
    anything: object = None
    both: float | list[float] = field(default_factory=list)

    def init(self, agents):
        return Iterates(agents.start())

    def step(self, s, agents, t, coin):
        return Iterates(agents.project(agents.descend_ascend(s.Z, agents.gradient(s.Z), self.eta, 1.0)))


def test_a_method_of_one_s_own_may_spell_its_types_as_it_likes():
    """`Optional[int]` takes None and whole numbers, and nothing else."""
    assert Spelled(0.1).inner is None and Spelled(0.1, inner=3, way=None, anything=[], both=[1.0]).inner == 3
    assert parameters_of(Spelled)["both"].default == [] and parameters_of(Spelled)["eta"].default is REQUIRED
    with pytest.raises(TypeError, match=r"`inner` must be a whole number; got 1\.5"):
        Spelled(0.1, inner=1.5)
    with pytest.raises(ValueError, match="`way` must be one of 'long', 'short'; got 'middle'"):
        Spelled(0.1, way="middle")
    result = go(game_with(agents=2), rd.topology.ring(2), Spelled(0.01), iterations=3)
    assert result.outcome == "completed" and result.config["method"]["name"] == "Spelled"


def test_types_that_only_a_type_checker_knows_are_no_obstacle():
    """Such a class has no rules, and can be built."""

    @dataclass
    class Theirs(Method):
        eta: "Unknown" = 1.0  # noqa: F821

    assert Theirs(2.0).eta == 2.0 and parameters_of(Theirs)["eta"].rules == ()


def test_the_usual_answers_are_inherited():
    """One round of gossip, nothing to settle, no coin, no refusal; on one machine nothing is mixed."""
    usual = Spelled(0.1)
    assert usual.mixings() == [Mixing(1)] and usual.settled(None, RING.network) is usual
    assert usual.coin_probability is None and usual.refuse(game_with()) is None
    for name, kind in METHODS.items():
        method = kind(**STEPS).settled(game_with(), RING.network)
        assert (not method.mixings()) == (kind.facts.one_machine or kind in (rd.EDGDA, rd.EDPAGE)), name
    assert rd.DREAM(**STEPS, K=3, K_large=4).mixings() == [Mixing(3, "fastmix"), Mixing(4, "fastmix")]
    assert rd.DREAM(**STEPS).mixings() == []  # not known before it is settled


def test_the_registry_is_read_from_the_classes_own_facts():
    """In the order in which they come; a class that inherits its facts is not taken for its parent."""

    class Heir(rd.GDA):
        pass

    assert all(METHODS.name_of(kind) == name == kind.facts.name for name, kind in METHODS.items())
    assert dict(registered([rd.SGDA, 3, Heir, Method, rd.GDA, rd.GDA])) == {"sgda": rd.SGDA, "gda": rd.GDA}
    Heir.facts = replace(rd.GDA.facts, name="dream")
    with pytest.raises(ValueError, match=r"`name` must be a method's own; .*both say 'dream'"):
        registered([rd.DREAM, Heir])


def test_one_machine_is_said_in_one_place():
    """By the facts, of a method, its class or an heir; words alone decide nothing."""
    assert {name for name, kind in METHODS.items() if needs_one_machine(kind)} == {"gda", "sgda", "sreda", "sapd-plus"}
    assert needs_one_machine(rd.GDA(**STEPS)) and not needs_one_machine(rd.DREAM(**STEPS))

    class Wordy:
        facts = Facts(constraint="on one machine")

    assert not needs_one_machine(Wordy()) and not needs_one_machine(object())


def test_colours_and_dashes_are_the_methods_own():
    """A colour for each, readable as such, and dashes that figures know."""
    colours = [kind.facts.colour for kind in METHODS.values()]
    assert len({*colours}) == len(METHODS) and all(re.fullmatch("#[0-9A-F]{6}", colour) for colour in colours)
    for name, kind in METHODS.items():
        assert theme.line(name) == {"color": kind.facts.colour, "dash": kind.facts.dash}


def in_lab(colour):
    """A colour in CIELAB, where distances are about those that eyes see; 2 is the least that is noticed."""
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    light = np.where(parts > 0.04045, ((parts + 0.055) / 1.055) ** 2.4, parts / 12.92)
    seen = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ light
    x, y, z = np.cbrt(seen / [0.9505, 1.0, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_no_two_methods_look_alike():
    """Any two colours are 25 apart, and all are neither too dark for a dark page nor too light for a light one."""
    found = {name: in_lab(kind.facts.colour) for name, kind in METHODS.items()}
    near = [pair for pair in itertools.combinations(found, 2) if np.linalg.norm(found[pair[0]] - found[pair[1]]) < 25]
    assert not near
    assert all(40 < light < 80 for light, *_ in found.values())


@each(METHODS_UNDER_TEST)
def test_the_paper_counts_the_rounds_that_carry_the_tracker(method):
    """Every round of a step is held against the trackers, and corrections against the oracle's pairs."""
    if type(method) is rd.GTDA:
        assert method.facts.counting.untracked is None  # its two trackers take turns
        return
    problem, topology = home_of(method, game_with())
    method = method.settled(problem, topology.network)
    result = go(problem, topology, method, iterations=12, record_every=1)
    columns = {name: result.history[name].to_numpy(dtype=float) for name in result.history.columns}
    found = paper_columns(columns, result.config)
    counting = method.facts.counting
    if counting and counting.untracked:
        once = isinstance(method, rd.DMHSGD | rd.DMGDA) or getattr(method, "form", "") == "atc"
        alone = method.K if isinstance(method, rd.DREAM) else int(once)
        assert np.array_equal(found["rounds_paper"], columns["rounds"] - alone * columns["iteration"])
    else:
        assert ("rounds_paper" in found) == method.facts.one_machine
    doubled = isinstance(method, CORRECTORS)
    if "sfo_paper" in found:
        assert (found["sfo_paper"][-1] < columns["sfo"][-1]) == doubled


def test_a_figure_asks_the_recorded_method_how_it_mixes():
    """The method is made again from its record; what cannot be made again is drawn as one round of gossip."""

    def recorded(name, **parameters):
        return mixing_of(Run("label", 0, {}, {"method": {"name": name, "parameters": parameters}}))

    gossip = {"K": 1, "mixing": "gossip", "momentum": "optimal"}
    assert recorded("dream", **STEPS, K=3, K_large=5, momentum="paper") == {
        "K": 3,
        "mixing": "fastmix",
        "momentum": "paper",
    }
    assert recorded("gt-gda", **STEPS) == recorded("gda", **STEPS) == gossip
    for name, parameters in {"mine": {"K": 4}, "dream": {"K": 4}, "gt-da": {**STEPS, "R": "many"}}.items():
        assert recorded(name, **parameters) == gossip
