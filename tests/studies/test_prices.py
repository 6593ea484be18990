"""Who wins where: a recorded comparison at other prices is the comparison that would have been run at them."""

import math
import warnings

import numpy as np
import pytest

import raydream as rd
from raydream.columns import LIMITED
from raydream.dashboard.axes import controls
from raydream.dashboard.parts import Query
from raydream.errors import StudyWarning
from raydream.problems import QuadraticGame
from raydream.report.collect import collect, grouped
from raydream.report.deciding import decided
from raydream.report.page.facts import facts_of
from raydream.studies.statistics import paired_difference
from raydream.studies.tuning.tune import AXES as BUDGETS
from raydream.studies.winners import FOREVER, Reach, Reaching, Spent, Times, winners

RING = rd.topology.ring(4)
METHODS = {
    "dream": rd.DREAM(eta=0.05, gamma=0.3, p=0.3, b=2, K=2),
    "gt-gda": rd.GTGDA(eta=0.05, gamma=0.3),
    "gt-srvr": rd.GTSRVR(eta=0.05, gamma=0.3, b=2, Q=5),
    "gda": rd.GDA(eta=0.05, gamma=0.3),
}
TARGET = 0.7


def game():
    return QuadraticGame.random(agents=4, samples=20, dim_x=3, dim_y=4, seed=3)


def compare(methods=METHODS, conditions=None, **settings):
    settings = dict(seeds=(0, 1, 2), iterations=150, record_every=3, backend="local", parallel=False) | settings
    return rd.compare(game(), RING, methods, conditions=conditions, **settings)


@pytest.fixture(scope="module")
def recorded():
    return compare()


def test_prices_give_the_clock_of_a_run_at_these_prices(recorded):
    """Exactly, where sums are: powers of two. One machine has no messages."""
    prices = dict(gradient_seconds=2.0**-9, latency=2.0**-5, bandwidth=2.0**12)
    wanted, found = compare(conditions=rd.Conditions(**prices)), recorded.at_prices(**prices)
    assert "exact" in found.priced and found.results.keys() == wanted.results.keys()
    for key, result in wanted.results.items():
        assert found.results[key].history.sim_seconds.tolist() == result.history.sim_seconds.tolist(), key
        assert found.results[key].history.columns.tolist() == result.history.columns.tolist()
        assert found.results[key].record.conditions == result.record.conditions
    assert "sim_seconds" not in recorded.history, "what was recorded stays as it was"
    assert found.at_prices(latency=1.0).history.sim_seconds.tolist() == recorded.history.rounds.tolist()


class Coded:
    """Descent-ascent that sends a code of its rows: 3 bytes for each, whatever their length."""

    def init(self, agents):
        return rd.algorithms.Iterates(agents.start())

    def step(self, state, agents, t, coin):
        Z = yield rd.Frame(state.Z, bytes_per_row=3)
        return rd.algorithms.Iterates(agents.project(agents.descend_ascend(Z, agents.gradient(Z, 2), 0.02, 0.3)))


KINDS = {
    "one array": rd.GTGDA(eta=0.05, gamma=0.3, form="atc"),
    "two arrays": rd.GTGDA(eta=0.05, gamma=0.3, form="cta"),
    "three arrays": rd.DGDMax(eta=0.05, gamma=0.3),
    "many rounds": rd.DREAM(eta=0.05, gamma=0.3, p=0.4, b=3, K0=4, K=2, K_large=5),
    "gossip": rd.DMHSGD(eta=0.05, gamma=0.3, b=2),
    "one machine": rd.SGDA(eta=0.05, gamma=0.3, b=2),
    "a code": Coded(),
}


@pytest.mark.parametrize("agents", [1, 4])
def test_prices_at_random_points_are_those_of_runs(agents):
    """Whatever a frame carries and is billed for, on one machine and on a network: exactly, at powers of two."""
    problem = QuadraticGame.random(agents=agents, samples=8, dim_x=3, dim_y=4, seed=1)
    network = rd.topology.star(agents) if agents > 1 else rd.topology.ring(1)
    settings = dict(seeds=[0], iterations=7, record_every=2, backend="local", parallel=False)
    draw = np.random.default_rng(agents)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StudyWarning)  # of a method of one's own it is not known how exact it is
        recorded = rd.compare(problem, network, KINDS, **settings)
        for _ in range(3):
            names = ("gradient_seconds", "latency", "bandwidth")
            prices = dict(zip(names, 2.0 ** draw.integers(-12, 12, size=3), strict=True))
            wanted = rd.compare(problem, network, KINDS, conditions=rd.Conditions(**prices), **settings)
            found = recorded.at_prices(**prices)
            assert not wanted.failures and len(wanted.results) == len(KINDS)
            for key, result in wanted.results.items():
                assert found.results[key].history.sim_seconds.tolist() == result.history.sim_seconds.tolist(), key


def test_the_map_agrees_with_runs_at_random_points(recorded):
    """The winner, its time, and its lead, as a comparison under those conditions finds them."""
    table = recorded.winner_map(TARGET, points=9, bandwidth=[1e3, 1e5]).table
    assert len(set(table.winner)) > 1, "somewhere another wins"
    for row in table.sample(4, random_state=1).itertuples():
        prices = dict(gradient_seconds=row.gradient_seconds, latency=row.latency, bandwidth=row.bandwidth)
        reached = compare(conditions=rd.Conditions(**prices)).to_reach(TARGET).sort_values("sim_seconds")
        first, second = reached.iloc[0], reached.iloc[1]
        assert (row.winner, row.second) == (first.method, second.method)
        assert row.seconds == pytest.approx(first.sim_seconds, rel=1e-12)
        assert row.ratio == pytest.approx(second.sim_seconds / first.sim_seconds, rel=1e-12)


def test_estimates_are_called_so(recorded):
    """Where agents take part by chance, or own more or fewer samples, the ledger does not say who waited for whom."""
    chance = compare({"dream": rd.DREAM(eta=0.05, gamma=0.3, p=0.3, q=0.5, b=2, K=2)}, iterations=3, seeds=[0])
    with pytest.warns(StudyWarning, match="an estimate by the mean over agents .* its agents take part by chance"):
        found = chance.at_prices(gradient_seconds=1.0)
    assert "estimate" in found.priced
    changing = compare({"gt-gda": METHODS["gt-gda"]}, rd.Conditions(schedule="matchings"), iterations=3, seeds=[0])
    with pytest.warns(StudyWarning, match="its network changed from round to round"):
        changing.at_prices(latency=1.0)
    with pytest.raises(ValueError, match="`latency` must not be negative"):
        recorded.at_prices(latency=-1)
    with pytest.raises(TypeError, match="`gradient_seconds` must be a number"):
        recorded.at_prices(gradient_seconds="exponential-1")


def reaching(**calls):
    """Methods by the calls of each seed's run: a number at the target, a negative one at an end without it."""
    return Reaching({
        (name, seed): Reach(FOREVER, False) if one is None else Reach(Spent(abs(one), 0.0, 0.0), one > 0)
        for name, of_seeds in calls.items() for seed, one in enumerate(of_seeds)
    })  # fmt: skip


def at(known, gradient_seconds=1.0, latency=1.0, bandwidth=1.0):
    return winners(known.times(np.array(gradient_seconds), np.array(latency), bandwidth))


def test_the_judgement_is_that_of_medians_over_seeds():
    """One that gets there on few seeds does not win; the second is the next; shares of seeds are of all of them."""
    found = at(reaching(a=[1.0, 3.0, 2.0], b=[5.0, 2.0, 6.0], c=[0.1, None, None]), gradient_seconds=2.0)
    assert (int(found.winner), int(found.second), float(found.time)) == (0, 1, 4.0)
    assert float(found.ratio) == 2.5 and float(found.agree) == pytest.approx(1 / 3) and not found.decided
    nobody = at(reaching(a=[None]))
    assert int(nobody.winner) == -1 and math.isnan(float(nobody.ratio)) and not nobody.decided
    alone = at(Reaching({("a", 0): Reach(Spent(1.0, 1.0, 8.0), True), ("b", 0): Reach(FOREVER, False)}), 1.0, 2.0, 4.0)
    assert (float(alone.time), float(alone.ratio), int(alone.second)) == (5.0, math.inf, -1)


def test_a_lead_is_decided_by_the_paired_rule():
    """Where every pair has both times, exactly as comparisons decide it; one seed decides nothing."""
    draw = np.random.default_rng(0)
    seen = set()
    for count in (1, 2, 3, 10):
        for _ in range(20):
            times = np.exp(draw.normal(loc=[[0.0], [0.3]], scale=0.3, size=(2, count)))
            found = winners(Times(times[..., None], times[..., None]))
            first, second = int(found.winner[0]), int(found.second[0])
            difference = paired_difference(times[first], times[second], ratio=True)
            assert bool(found.decided[0]) == (difference.decided and difference.middle < 1)
            seen.add(bool(found.decided[0]))
    assert seen == {True, False}


def test_a_run_that_ended_early_may_have_been_faster():
    """Over runs that did not get there a lead is decided as far as they went; who missed it on a seed has none."""
    quick = [10.0, 10.5, 9.5, 10.2]
    late = at(reaching(a=quick, b=[-20.0, -21.0, -20.5, -22.0]))
    assert late.decided and float(late.agree) == 1.0, "they had already taken longer"
    early = at(reaching(a=quick, b=[-2.0] * 4))
    assert int(early.winner) == 0 and float(early.agree) == 0.0 and not early.decided
    assert at(reaching(a=quick, b=[None] * 4)).decided, "what diverged never gets there"
    assert not at(reaching(a=[10.0], b=[None])).decided, "one seed decides nothing"
    assert at(reaching(a=quick, b=[20.0, 21.0, -19.0, None])).decided
    assert not at(reaching(a=quick, b=[20.0, 21.0, -1.0, None])).decided
    assert not at(reaching(a=[10.0, 10.5, 9.5, None], b=[20.0, 21.0, 22.0, 20.0])).decided, (
        "it did not always get there"
    )


def test_the_figure_shows_one_bandwidth_at_a_time(recorded):
    """A layer for each step of the slider; colours where somebody wins, and a sentence where nobody ever does."""
    figure = recorded.winner_map(TARGET, points=7, bandwidth=[1e7, 1e4])
    steps = figure.layout.sliders[0].steps
    assert [step.label for step in steps] == ["10 MB/s", "10 kB/s"]
    maps = [number for number, trace in enumerate(figure.data) if trace.type == "heatmap"]
    seen = [[step.args[0]["visible"][number] for number in maps] for step in steps]
    assert all(a != b for a, b in zip(*seen, strict=True)) and [figure.data[n].visible for n in maps] == seen[0]
    shown = sum(np.isfinite(np.array(figure.data[number].z, dtype=float)).sum() for number in maps)
    assert shown == 2 * 49 == len(figure.table)
    assert not recorded.winner_map(TARGET, points=5, bandwidth=1e6, dark=True).layout.sliders
    with pytest.raises(
        ValueError, match="`target` must be one that a run reaches; none came to a grad_norm below 1e-300"
    ):
        recorded.winner_map(1e-300)
    with pytest.raises(ValueError, match="`metric` must be one of"):
        recorded.winner_map(1.0, metric="auc")
    with pytest.raises(ValueError, match=r"`latency` must be a range \(from, to\)"):
        recorded.winner_map(TARGET, latency=(1.0, 1.0))


def test_simulated_time_is_an_axis_wherever_one_is_chosen():
    """In figures, curves, judgements, pages, the dashboard and budgets, once a run has it."""
    clocked = compare(iterations=12, conditions=rd.Conditions(latency=1e-9), seeds=[0])
    result = clocked.results["dream", 0]
    figure = result.plot.convergence(x="sim_seconds")
    assert figure.layout.xaxis.title.text == "simulated time (s)"
    assert [*figure.data[-1].x] == result.history.sim_seconds.tolist()
    assert clocked.plot.convergence(x="sim_seconds").layout.xaxis.title.text == "simulated time (s)"
    assert (
        clocked.curves(x="sim_seconds", y="primal", points=3).sim_seconds.iloc[2] == clocked.history.sim_seconds.max()
    )
    assert not clocked.finals("primal", x="sim_seconds", at=1e-9).empty
    runs = collect(clocked)
    facts = facts_of(runs, grouped(runs), None, decided(runs), {})
    assert "sim_seconds" in facts["axes"] and "sim_seconds" in facts["reach"]
    assert LIMITED["max_sim_seconds"].name == "sim_seconds" and "sim_seconds" in BUDGETS
    assert "sim_seconds" in str(controls(Query(""))), "the dashboard's"
    limited = compare({"gt-gda": METHODS["gt-gda"]}, rd.Conditions(latency=1.0), iterations=99, max_sim_seconds=5.0)
    assert limited.history.sim_seconds.max() <= 6.0
