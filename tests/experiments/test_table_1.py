"""Table 1: the game, the simulator, the search, the plan and the texts do what they say."""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import raydream as rd
from raydream.agents import Streams

FOLDER = Path(__file__).resolve().parents[2] / "experiments"
sys.path.insert(0, str(FOLDER))

import table_1_scaling as script  # noqa: E402
import texts  # noqa: E402
from table_1 import game, plan, search, simulator, text, trial, verdicts  # noqa: E402

SHAPES = [game.Shape(0.5), game.Shape(0.8, constrained=True)]
GRAPHS = {"ring": rd.topology.ring(4, self_weight=0.6), "complete": rd.topology.complete(4, self_weight=0.7)}


# The game


@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_are_those_of_the_values(shape):
    """Of an agent's function and of P, by central differences."""
    made, generator = game.offline(shape, 4, 5, 4, 0.3, 0.5, 0), np.random.default_rng(1)
    shard = made.local(2)
    for _ in range(5):
        z = generator.normal(size=6)
        steps = 1e-6 * np.eye(6)
        slopes = [(shard.value(*np.split(z + e, [4])) - shard.value(*np.split(z - e, [4]))) / 2e-6 for e in steps]
        assert np.allclose(np.concatenate(shard.gradient(z[:4], z[4:])), slopes, atol=1e-7)
        x = z[:4]
        slopes = [(made.primal(x + e[:4]) - made.primal(x - e[:4])) / 2e-6 for e in steps[:4]]
        assert np.allclose(made.primal_gradient(x), slopes, atol=1e-7)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_best_response_is_the_best(shape):
    """No y of Y on a fine grid gives more."""
    made, generator = game.offline(shape, 4, 5, 4, 0.3, 0.5, 0), np.random.default_rng(2)
    x = generator.normal(size=4)
    grid = np.linspace(-1, 1, 81) * (1 if shape.constrained else 8)
    assert all(made.value(x, np.array([a, b])) <= made.primal(x) + 1e-12 for a in grid for b in grid)


@pytest.mark.parametrize("agents", [2, 4, 8])
def test_deviations_have_mean_zero(agents):
    """The agents' functions have the mean f, however many share the components, and components that of their agent."""
    made, z = game.offline(SHAPES[0], agents, 32 // agents, 8, 0.3, 0.5, 3), np.array([0.7, -0.2, 0.3, 0.1, 0.4, -0.5])
    mean = np.mean([np.concatenate(made.local(i).gradient(z[:4], z[4:])) for i in range(agents)], axis=0)
    assert np.allclose(mean, np.concatenate(made.gradient(z[:4], z[4:])), atol=1e-13)
    shard = made.local(1)
    each = [np.concatenate(shard.gradient(z[:4], z[4:], np.array([j]))) for j in range(shard.samples)]
    assert np.allclose(np.mean(each, axis=0), np.concatenate(shard.gradient(z[:4], z[4:])), atol=1e-13)
    assert np.std(each) > 0.1


def test_every_component_is_strongly_concave():
    """Its gradient in y changes with y like that of f alone."""
    shard = game.offline(SHAPES[0], 4, 5, 4, 0.3, 0.5, 4).local(0)
    x, y, d = np.full(4, 0.3), np.array([0.5, -0.4]), np.array([0.2, 0.7])
    for j in range(5):
        change = shard.gradient(x, y + d, np.array([j]))[1] - shard.gradient(x, y, np.array([j]))[1]
        assert np.allclose(change, -np.array([0.5, game.NU]) * d, atol=1e-13)


@pytest.mark.parametrize("shape", SHAPES)
def test_level_sets_of_a_nonconvex_p_are_bounded(shape):
    """P is larger far out than at the start in every direction, and has negative curvature at 0."""
    made, generator = game.offline(shape, 4, 5, 4, 0.3, 0.5, 0), np.random.default_rng(5)
    for direction in (*np.eye(4), *-np.eye(4), *generator.normal(size=(200, 4))):
        assert made.primal(1e4 * direction / np.linalg.norm(direction)) > made.primal(made.start()[0])
    v = np.array([1e-3, 0, 0, 0])
    assert made.primal(v) + made.primal(-v) < 2 * made.primal(0 * v)


def test_the_constraint_is_active_at_the_end():
    """Exact descent ends where the first coordinate of y would go on if it could, and the second is free."""
    shape = SHAPES[1]
    x = game.START[: game.X]
    for _ in range(3000):
        x = x - 0.5 * shape.primal_gradient(x)
    assert np.linalg.norm(shape.primal_gradient(x)) < 0.02
    free = (game.C * x[2:] + shape.l) / shape.concavity
    assert free[0] > 1.5 and abs(free[1]) < 0.1


def test_exact_descent_needs_the_power_that_is_predicted():
    """1.77 over the decade that is measured, 1.8 in the limit; and the wall is far from where any run ends."""
    values = script.SIZES["full"]["values"]
    for name in ("epsilon", "epsilon constrained", "epsilon online"):
        first, last = values[name][0], values[name][-1]
        power = np.log(plan.descent_time(last) / plan.descent_time(first)) / np.log(first / last)
        assert abs(power - game.POWER) < 0.005
    limit = np.log(plan.descent_time(0.001) / plan.descent_time(0.002)) / np.log(2)
    assert abs(limit - (game.A + 2) / (game.A + 1)) < 0.01
    v = np.array(game.WALL / 2)
    assert np.sqrt(2) * abs(game.slope(v)) < 0.004 / 2


def test_the_average_smoothness_is_that_of_the_components():
    """By differences of the components' gradients; kappa leaves it where it is."""
    made, e = game.offline(SHAPES[0], 4, 6, 4, 0.3, 0.5, 6), 1e-5
    z = np.array([0.5, 0.4, 0.2, -0.1, 0.3, 0.6])
    squares = np.zeros((4, 6, 6))
    for i in range(4):
        for j in range(6):

            def gradient(w, i=i, j=j):
                return np.concatenate(made.local(i).gradient(w[:4], w[4:], np.array([j])))

            H = np.array([(gradient(z + d) - gradient(z - d)) / (2 * e) for d in e * np.eye(6)])
            squares[i] += H @ H.T / 6
    assert np.isclose(game.average_smoothness(made, z), np.sqrt(np.linalg.eigvalsh(squares).max()), rtol=1e-6)
    found = [
        np.mean([game.average_smoothness(plan.Setting(kappa=kappa).game(seed), game.START) for seed in range(6)])
        for kappa in (2.0, 32.0)
    ]
    assert np.allclose(found, plan.L, rtol=0.1)


# The simulator


class Keyed:
    """The draws of raydream, whose streams are keyed by seed, agent and iteration."""

    def __init__(self, seeds):
        self.streams = [Streams(seed) for seed in seeds]

    def coins(self, t, runs, p):
        return np.array([self.streams[r].at("coin", iteration=t).random() for r in runs]) < p

    def samples(self, t, runs, m, n, b):
        return self._each(t, runs, m, lambda stream: stream.integers(n, size=b))

    def waves(self, t, runs, m):
        return self._each(t, runs, m, lambda stream: stream.normal(size=game.SIZE))

    def _each(self, t, runs, m, draw):
        return np.array([[draw(self.streams[r].at("sample", agent=i, iteration=t)) for i in range(m)] for r in runs])


OFFLINE = {
    "DREAM": [
        dict(eta=0.5, gamma=0.7, b=3, K=2), dict(eta=0.3, gamma=1, b=3, K=3, mixing="gossip"),
        dict(eta=0.9, gamma=1, b=3, K=1),
    ],
    "GTGDA": [dict(eta=0.3, gamma=1), dict(eta=0.4, gamma=0.5, form="atc")],
    "GTSRVR": [dict(eta=0.3, gamma=1), dict(eta=0.4, gamma=0.5, form="atc")],
    "GTDA": [dict(eta=0.3, gamma=1, R=3), dict(eta=0.2, gamma=0.5, R=3)],
}  # fmt: skip
ONLINE = {
    "DREAM": [dict(eta=0.5, gamma=0.7, b=3, b_large=40, K=2), dict(eta=0.3, gamma=1, b=5, b_large=90, K=1)],
    "DMHSGD": [dict(eta=0.3, gamma=1, b=4, b0=50, beta=0.1), dict(eta=0.4, gamma=0.5, b=1, b0=9, beta=0.03)],
}  # fmt: skip
CASES = [("offline", name) for name in OFFLINE] + [("online", name) for name in ONLINE]


def games_of(case, shape):
    if case == "offline":
        return [game.offline(shape, 4, 6, 4, 0.4, 0.5, seed) for seed in (5, 6)]
    return [game.online(shape, 4, 0.4, 0.5, 0.8, seed) for seed in (5, 6)]


def pairs_of(case, name, games, topology):
    """(method, instance) of every run."""
    methods = [getattr(rd, name)(**given) for given in (OFFLINE if case == "offline" else ONLINE)[name]]
    return [(method.settled(games[0], topology.network), i) for method in methods for i in (0, 1)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("case, name", CASES)
def test_the_simulator_is_raydream(case, name, graph, shape):
    """The same iterates, trackers and costs as raydream.run, from the same draws, run by run."""
    topology, T, games = GRAPHS[graph], 12, games_of(case, shape)
    pairs = pairs_of(case, name, games, topology)
    stack = simulator.Stack(games, *zip(*pairs, strict=True), topology, Keyed(range(len(pairs))))
    for t in range(T):
        stack.step(t)
    for r, (method, instance) in enumerate(pairs):
        result = rd.run(
            games[instance], topology, method, iterations=T, seed=r, record_every=T, backend="local", progress=False
        )
        ends = simulator.billed(simulator.prices_of(method, topology), T, int(stack.sfo[r]))
        assert (ends.sfo, ends.rounds, ends.bytes) == (result.ledger.sfo, result.ledger.rounds, result.ledger.bytes)
        assert np.allclose(stack.Z[r].mean(axis=0), [*result.x_bar, *result.y_bar], rtol=1e-10, atol=1e-12)
        last = result.history.iloc[-1]
        assert np.isclose(stack.norms()[r], last.grad_norm, rtol=1e-9)
        spread = {name: np.sum((V - V.mean(axis=0)) ** 2) for name, V in (("Z", stack.Z[r]), ("S", stack.S[r]))}
        assert np.isclose(spread["Z"], last.consensus, rtol=1e-8) and np.isclose(spread["S"], last.tracking, rtol=1e-8)


@pytest.mark.parametrize("case, name", [("offline", "DREAM"), ("offline", "GTSRVR"), ("online", "DMHSGD")])
def test_a_run_arrives_when_the_later_half_is_low(case, name):
    """The first t whose mean over t/2 + 1, ..., t is low enough, with the bill of raydream.run at that iteration."""
    topology, epsilon, games = GRAPHS["ring"], 0.2, games_of(case, SHAPES[0])
    pairs = pairs_of(case, name, games, topology)
    draws = Keyed(range(len(pairs)))
    found = simulator.simulate(games, *zip(*pairs, strict=True), topology, epsilon, lambda _: [150] * len(pairs), draws)
    assert sum(one.sfo is not None for one in found) >= 2
    for r, (method, instance) in enumerate(pairs):
        history = rd.run(
            games[instance], topology, method, iterations=150, seed=r, record_every=1, backend="local", progress=False
        ).history
        norms = history.grad_norm.to_numpy()
        low = [t for t in range(simulator.SHORTEST, 151) if norms[t // 2 + 1 : t + 1].mean() <= epsilon]
        if low:
            row = history.iloc[low[0]]
            assert found[r] == simulator.Outcome(low[0], int(row.sfo), int(row.rounds), int(row.bytes))
        else:
            assert found[r] == simulator.Outcome()


def test_a_run_that_diverges_or_is_given_up_has_no_cost():
    """And does not disturb the others."""
    setting = plan.Setting(epsilon=0.1)
    games = [setting.game(1)]
    wild, calm = (rd.GTGDA(eta=eta, gamma=1) for eta in (50.0, 0.5))
    alone, *both = (
        simulator.simulate(games, those, [0] * len(those), setting.topology, 0.1, limits, simulator.Draws(0))
        for those, limits in (([calm], lambda _: [900]), ([wild, calm], lambda _: [900, 900]))
    )
    assert both == [[simulator.Outcome(), alone[0]]] and alone[0].iterations > 50
    given_up = simulator.simulate(games, [calm], [0], setting.topology, 0.1, lambda _: [25], simulator.Draws(0))
    assert given_up == [simulator.Outcome()]


# The search


def space(**more):
    given = dict(
        structures=("a", "b"), names=("step", "K"), starts=((0, 0),), steps=1, lowest=(-64, 0), highest=(64, 40)
    )
    return search.Space(**(given | more))


def bowl(centre, height=1.0):
    return lambda k: height * (1 + sum((one - c) ** 2 for one, c in zip(k, centre, strict=True)))


def test_the_search_finds_the_least_of_each_cost():
    """Every cost has its own winner, and all neighbours of a winner were asked for: it lies on no edge."""
    sfo, rounds = bowl((-17, 9)), bowl((-6, 3))

    def ask(points):
        return [{"sfo": sfo(k), "rounds": rounds(k)} for _, k in points]

    known = search.search(space(), ask, (4, 2, 1), ("sfo", "rounds"))
    assert search.best(known, "sfo")[1] == (-17, 9) and search.best(known, "rounds")[1] == (-6, 3)
    for cost in ("sfo", "rounds"):
        structure, (i, j) = search.best(known, cost)
        assert {(structure, k) for k in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1))} <= known.keys()


def test_the_search_shortens_steps_until_something_arrives():
    """Where no start arrives, and never leaves the bounds."""

    def ask(points):
        return [{"sfo": bowl((-40, 0))(k)} if k[0] <= -30 else None for _, k in points]

    known = search.search(space(), ask, (4, 2, 1), ("sfo",))
    assert search.best(known, "sfo")[1] == (-40, 0)
    assert min(k[1] for _, k in known) == 0
    assert search.best(search.search(space(), lambda points: [None] * len(points), (4,), ("sfo",)), "sfo") is None


def test_a_structure_far_behind_is_not_refined():
    """But one that leads in a single cost is."""
    high = {"a": {"sfo": 1.0, "rounds": 9.0}, "b": {"sfo": 5.0, "rounds": 1.0}, "c": {"sfo": 5.0, "rounds": 9.0}}

    def ask(points):
        return [{cost: bowl((-5, 3), value)(k) for cost, value in high[s].items()} for s, k in points]

    known = search.search(space(structures=tuple(high)), ask, (4, 2, 1), ("sfo", "rounds"))
    fine = Counter(structure for structure, k in known if k[0] % 4)
    assert fine["a"] > 0 and fine["b"] > 0 and fine["c"] == 0


# The plan


@pytest.mark.parametrize("size", script.SIZES)
def test_no_instance_is_used_twice(size):
    """Not for the search and the report, not at two points, not in two sweeps; in full 8 or more are reported."""
    given = script.SIZES[size]
    used = [
        seed
        for sweep in plan.sweeps(given["values"], given["epsilons"]).values() for x in sweep.values
        for seeds in sweep.seeds(x, given["tuning"], given["instances"]) for seed in seeds
    ]  # fmt: skip
    assert len(used) == len(set(used))
    assert size != "full" or given["instances"] >= 8


def test_parameters_are_chosen_on_other_instances_than_are_reported(monkeypatch):
    """The games of the search and those of the rows that are reported have no seed in common."""
    asked, simulated = {}, []
    real_game, real_run = plan.Setting.game, trial.run

    def spied_game(self, seed):
        made = real_game(self, seed)
        asked[id(made)] = (made, seed)
        return made

    def spied_run(setting, games, methods, draws, tuned=None):
        simulated.append((tuned is not None, {asked[id(one)][1] for one in games}))
        return real_run(setting, games, methods, draws, tuned)

    monkeypatch.setattr(plan.Setting, "game", spied_game)
    monkeypatch.setattr(trial, "run", spied_run)
    size = script.SIZES["quick"]
    sweep = plan.sweeps(size["values"], size["epsilons"])["epsilon"]
    answer = trial.trial(sweep, sweep.values[0], "GT-GDA", size)
    searched = set().union(*(seeds for tuning, seeds in simulated if tuning))
    reported = set().union(*(seeds for tuning, seeds in simulated if not tuning))
    assert len(searched) == size["tuning"] and len(reported) == size["instances"] and not searched & reported
    assert {row["seed"] for row in answer["runs"]} == reported


def test_methods_have_the_form_of_the_theory():
    """b = sqrt(b'/m), p = b/(b + b'), Q = b = sqrt(n), b0 = b/beta; and a graph has the gap that is asked for."""
    setting = plan.Setting(samples=128)
    dream = plan.method("DREAM", setting, ("step", "K"), "fastmix", (-4, 8)).settled(setting.game(0), setting.topology)
    assert (dream.eta, dream.gamma, dream.b, dream.p, dream.K, dream.K0, dream.K_large) == (0.5, 1, 4, 4 / 132, 4, 4, 4)
    spider = plan.method("GT-SRVR", setting, ("step",), "atc", (0,)).settled(setting.game(0), setting.topology.network)
    assert (spider.b, spider.Q, spider.form) == (12, 12, "atc")
    online = plan.Setting(samples=None, epsilon=0.1)
    dream = plan.method("DREAM", online, ("step", "K", "large"), "gossip", (0, 0, 4))
    assert dream.b_large == np.ceil(2 * plan.SIGMA**2 / (8 * 0.01)) and dream.b == np.ceil(np.sqrt(dream.b_large / 8))
    storm = plan.method("DM-HSGD", online, ("step", "beta", "b"), "", (0, -8, 12))
    assert (storm.beta, storm.b, storm.b0) == (0.25, 8, 32)
    for gap in (1.0, 0.3, 0.001):
        assert np.isclose(plan.Setting(gap=gap).topology.spectral_gap, gap, rtol=1e-9)
    ratio = plan.method("GT-GDA", plan.Setting(free_ratio=True), ("step", "step of y"), "cta", (-8, 4))
    assert np.isclose(ratio.eta, 2) and np.isclose(ratio.gamma, 1 / 8)


@pytest.mark.parametrize("size", script.SIZES)
def test_batches_are_whole_against_n_and_m(size):
    """sqrt(n/m) needs no rounding in these two sweeps."""
    given = script.SIZES[size]
    for name in ("N", "m"):
        sweep = plan.sweeps(given["values"], given["epsilons"])[name]
        for x in sweep.values:
            setting = sweep.setting(x)
            assert float(np.sqrt(setting.samples / setting.agents)).is_integer()


# What is concluded


def runs(costs, sweep="N", method="DREAM", tuned_for="sfo rounds bytes"):
    """Rows of runs from {x: costs of the instances}; None for one that never arrived."""
    return [
        {
            "sweep": sweep, "x": x, "method": method, "tuned_for": tuned_for, "seed": int(1e6 * x) + i, "pace": 1.0,
            **dict.fromkeys(("iterations", "sfo", "rounds", "bytes"), cost),
        }
        for x, those in costs.items() for i, cost in enumerate(those)
    ]  # fmt: skip


def slope_row(rows, sweep="N", method="DREAM", cost="sfo"):
    (row,) = [
        r for r in verdicts.slopes_of(rows) if (r["sweep"], r["method"], r["cost"]) == (sweep, method, cost)
    ]  # fmt: skip
    return row


def noisy(power, xs, count=8, seed=0, size=0.1):
    generator = np.random.default_rng(seed)
    return {x: list(1000 * x**power * np.exp(size * generator.normal(size=count))) for x in xs}


def test_a_known_exponent_is_found():
    """Within its interval, which excludes the rival."""
    row = slope_row(runs(noisy(0.5, (10.0, 100.0, 1000.0, 10000.0))))
    assert row["low"] < 0.5 < row["high"] < 0.7 and verdicts.verdict(row) == "as predicted"
    assert (row["points"], row["runs"], row["failed"], row["left_out"]) == (4, 32, 0, None)


def test_a_point_with_fewer_than_half_arrived_enters_no_fit():
    """Though what did arrive there looks like another power; with half of them it enters."""
    costs = noisy(0.5, (10.0, 100.0, 1000.0))
    without = slope_row(runs(costs))
    few = slope_row(runs(costs | {10000.0: [1.0] * 3 + [None] * 5}))
    assert few["slope"] == without["slope"] and few["points"] == 3 and few["failed"] == 5
    assert few["left_out"] == "10000: 3 of 8"
    half = slope_row(runs(costs | {10000.0: [1.0] * 4 + [None] * 4}))
    assert half["points"] == 4 and half["slope"] < 0 and half["left_out"] is None


def test_runs_that_never_arrived_are_counted_and_not_infinite():
    costs = noisy(0.5, (10.0, 100.0, 1000.0))
    costs[10.0][:2] = [None, None]
    row = slope_row(runs(costs))
    assert row["failed"] == 2 and row["runs"] == 22 and np.isfinite([row["slope"], row["low"], row["high"]]).all()
    assert verdicts.levels_of(runs(costs), "N", 10.0, "sfo")["DREAM"][1:] == (6, 8)


def test_gaps_at_which_the_network_hardly_matters_enter_no_fit():
    row = slope_row(runs(noisy(-0.5, (0.1, 0.01, 0.001)) | {1.0: [1e9] * 8}, "gap"), "gap", cost="rounds")
    assert row["points"] == 3 and abs(row["slope"] + 0.5) < 0.1


@pytest.mark.parametrize(
    "low, high, said",
    [(0.4, 0.6, "as predicted"), (0.4, 1.2, "undecided"), (0.9, 1.1, "rival"), (0.6, 0.8, "neither"),
     (None, None, "too few points")],
)  # fmt: skip
def test_a_verdict_says_what_the_interval_holds(low, high, said):
    assert verdicts.verdict({"low": low, "high": high, "here": 0.5, "rival": 1.0}) == said


def two(first, second, sweep="N"):
    rows = runs({100.0: first}, sweep) + runs({100.0: second}, sweep, "GT-GDA")
    return rows, verdicts.pairs_of(rows)


def test_nobody_is_ranked_without_a_decided_difference():
    """The first has the lower mean in both cases; only where the pairs agree is it said to be the cheapest."""
    common = np.exp(np.random.default_rng(0).normal(size=8))
    rows, pairs = two(list(common), list(1.2 * common))
    assert text.leader(rows, pairs, "N", 100.0, "sfo") == ("DREAM", [])
    assert "SFO: DREAM (N);" in text.leaders(rows, pairs)
    rows, pairs = two(list(common), list(1.2 * common * np.array([2.0, 0.5] * 4)))
    assert text.leader(rows, pairs, "N", 100.0, "sfo") == ("DREAM", ["GT-GDA"])
    assert "SFO: not decided (N);" in text.leaders(rows, pairs) and "DREAM" not in text.leaders(rows, pairs)


def test_it_is_said_when_dream_is_not_the_cheapest():
    common = np.exp(np.random.default_rng(1).normal(size=8))
    rows, pairs = two(list(1.5 * common), list(common))
    assert "rounds: GT-GDA (N);" in text.leaders(rows, pairs) and "DREAM" not in text.leaders(rows, pairs)


def test_a_method_that_seldom_arrives_is_not_the_cheapest():
    """However cheap the runs that did arrive."""
    rows, pairs = two([1.0] * 3 + [None] * 5, [100.0 + i for i in range(8)])
    assert text.leader(rows, pairs, "N", 100.0, "sfo") == ("GT-GDA", [])


def test_costs_are_those_of_the_parameters_chosen_for_them():
    rows = runs(noisy(0.5, (10.0, 100.0, 1000.0)), tuned_for="sfo") + runs(
        noisy(0.0, (10.0, 100.0, 1000.0)), tuned_for="rounds bytes"
    )
    assert abs(slope_row(rows)["slope"] - 0.5) < 0.1 and abs(slope_row(rows, cost="rounds")["slope"]) < 0.1


def test_runs_that_noise_carried_are_named_and_their_exponents_given_without_them():
    rows = runs(noisy(0.5, (10.0, 100.0, 1000.0), size=0.0))
    assert "0 of 24 took fewer" in text.carried(rows)
    rows[-1] |= {"pace": 0.2, "sfo": 1.0}
    assert "1 of 24 took fewer" in text.carried(rows) and "SFO of DREAM against N 0.50 [" in text.carried(rows)


# What is committed


def committed(stem):
    """Rows of a file in findings/, with their types."""
    return texts.read_tables(FOLDER / "findings", "table_1_scaling")[stem]


def same(mine, theirs):
    return mine == theirs or (isinstance(mine, float) and np.isclose(mine, theirs, rtol=1e-8, atol=1e-9))


@pytest.mark.parametrize("stem", ["slopes", "pairs"])
def test_the_conclusions_follow_from_the_runs(stem):
    """Exponents and ratios in findings/ are those of the runs beside them."""
    made = {"slopes": verdicts.slopes_of, "pairs": verdicts.pairs_of}[stem](committed("runs"))
    written = committed(stem)
    assert len(made) == len(written)
    for mine, theirs in zip(made, written, strict=True):
        assert all(same(value, theirs[name]) for name, value in mine.items()), (mine, theirs)


def test_every_point_has_instances_of_its_own_in_the_files():
    """At least 8 per point, the same for all methods, and none at two points."""
    seeds = {}
    for row in committed("runs"):
        seeds.setdefault((row["sweep"], row["x"]), {}).setdefault(row["method"], set()).add(row["seed"])
    assert all(len(set(map(frozenset, by.values()))) == 1 for by in seeds.values())
    each = [next(iter(by.values())) for by in seeds.values()]
    assert all(len(one) >= 8 for one in each) and len(set().union(*each)) == sum(map(len, each))
