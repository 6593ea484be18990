"""tune(): one budget for all, nothing tried twice, nothing lost, and the best is the best."""

import itertools
import json
import math
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from conftest import leftovers
from laws import Witness
from saboteurs import Sabotaged
from typer.testing import CliRunner

import raydream as rd
from raydream import specs
from raydream.algorithms import METHODS
from raydream.algorithms.facts import Facts
from raydream.backends.local import LocalBackend
from raydream.backends.ray.cluster.folders import private_folder
from raydream.cli.app import app
from raydream.parameters import parameters_of
from raydream.problems import OnlineQuadraticGame, QuadraticGame, RobustLogisticRegression
from raydream.running.execute import execute
from raydream.storage.settings import Settings
from raydream.studies.setting import Setting
from raydream.studies.tuning.closing import RECORDS
from raydream.studies.tuning.spaces import SPACES, all_of, drawn_from, grid_of, in_steps
from raydream.studies.tuning.starts import Affordable, Starts
from raydream.studies.tuning.trials import TrialLog

RING = rd.topology.ring(4)
STEPS = {"eta": [0.01, 0.1, 1e9], "gamma": [0.1, 1.0]}
tune = partial(rd.tune, workers=1, search="grid")


def game(seed=1):
    return QuadraticGame.random(agents=4, samples=6, dim_x=2, dim_y=3, seed=seed)


def facts(tuning):
    """What a trial found, without the time it took."""
    records = [{k: v for k, v in r.items() if k not in ("took", "process", "seconds")} for r in tuning.records]
    return tuning.winners, records


@pytest.fixture(scope="module")
def whole():
    return tune(game(), RING, ["dream", "gt-gda", "gda"], budget=2000, space=STEPS, seeds=(0, 1, 2))


@pytest.mark.parametrize(("axis", "budget"), [("sfo", 2000), ("rounds", 150), ("seconds", 0.05)])
def test_every_method_has_the_same_budget_and_no_counted_record_exceeds_it(axis, budget):
    """Trials are judged at records within the budget, of which the last is near its end."""
    found = tune(game(), RING, ["dream", "gt-gda"], budget=budget, axis=axis, space={"eta": [0.01, 0.1], "gamma": 1.0})
    table = found.trials
    assert (table.budget == budget).all() and (table[axis] <= budget).all() and set(table.outcome) == {"budget"}
    if axis != "seconds":  # the pace of a clock is not ours to promise
        next_step = 4 * 2 * 64 if axis == "sfo" else 5
        assert (table[axis] > budget - next_step).all(), "the next iteration would have exceeded it"
        assert (table.records <= 3 * RECORDS).all()


def test_a_trial_s_score_is_the_mean_of_a_run_s_last_tenth(whole):
    """Nothing but `run` is behind it; where an iteration costs more than a tenth, the last one alone is judged."""
    for record in whole.records:
        if record["outcome"] == "budget" and record["method"] != "gda":
            method = METHODS[record["method"]](**record["parameters"])
            last = record["judged"][-1]
            history = rd.run(
                game(), RING, method, iterations=last, seed=record["seed"], backend="local", record_every=1
            ).history.set_index("iteration")
            judged = history.loc[record["judged"]]
            for metric in ("primal", "grad_norm"):
                values = judged[metric].to_numpy()
                areas = np.diff(record["judged"]) * (values[1:] + values[:-1]) / 2
                mean = areas.sum() / np.ptp(record["judged"]) if len(judged) > 1 else values[0]
                assert record[metric] == pytest.approx(mean, rel=1e-13)
            tenth = (record["budget"] - record["start"]) / 10
            assert len(judged) == 1 or (len(judged) >= 4 and (judged.sfo >= record["budget"] - tenth).all())
            end = history.loc[record["iterations"]]
            assert (record["sfo"], record["rounds"], record["bytes"]) == (end.sfo, end.rounds, end.bytes)


@dataclass(frozen=True)
class Swinging:
    """Is in one place after even iterations and in another after odd ones."""

    even: float
    odd: float

    def init(self, agents):
        return rd.algorithms.Iterates(agents.start())

    def step(self, s, agents, t, coin):
        agents.gradient(s.Z)
        yield from ()
        return rd.algorithms.Iterates(np.full_like(s.Z, self.odd if t % 2 else self.even))


@pytest.mark.parametrize("budget", [24 * 200, 24 * 201, 24 * 1000, 24 * 17])
def test_a_lucky_last_iteration_wins_nothing(budget):
    """Who swings is judged by its mean, whichever way it swings and wherever the budget ends."""
    problem = game()
    values = {at: problem.primal(np.full(2, at)) for at in (0.0, 0.1, 3.0)}
    assert values[0.0] < values[0.1] < (values[0.0] + values[3.0]) / 2
    space = {"even": [0.0, 0.1, 3.0], "odd": [0.0, 0.1, 3.0]}
    found = tune(problem, RING, {"swing": Swinging}, budget=budget, space=space)
    scores = {
        (one["even"], one["odd"]): score for one, score in zip(found.trials.parameters, found.trials.score, strict=True)
    }
    for (even, odd), score in scores.items():
        assert score == pytest.approx((values[even] + values[odd]) / 2, rel=0.3)


@pytest.mark.parametrize("metric", ["primal", "grad_norm"])
def test_the_best_is_not_beaten_by_any_other_trial(metric):
    """By the median over seeds of the metric at the budget, for each method."""
    found = tune(game(), RING, ["dream", "gt-gda"], budget=2000, space=STEPS, seeds=(0, 1, 2), metric=metric)
    table = found.trials.assign(text=[json.dumps(p) for p in found.trials.parameters])
    for label, winner in found.winners.items():
        medians = table[table.method == label].groupby("text").score.median()
        assert len(medians) == 6
        assert winner["score"] == medians.min() == medians[json.dumps(winner["parameters"])]
        assert found.best[label] == METHODS[label](**winner["parameters"])


def test_trials_that_diverge_are_kept_and_count_as_infinite(whole):
    """eta = 1e9 is far too long a step for every method."""
    wild = whole.trials[[p["eta"] == 1e9 for p in whole.trials.parameters]]
    assert len(wild) == 3 * 2 * 3 and (wild.score == math.inf).all()
    assert (wild.outcome == "diverged").all()
    assert whole.table.diverged.tolist() == [6, 6, 6] and whole.table.trials.tolist() == [18, 18, 18]


def test_a_method_without_a_finite_trial_has_no_best_and_hides_no_other():
    """Its row says that all of its trials diverged."""
    space = {"dream": {"eta": 0.1, "gamma": 1.0}, "gt-gda": {"eta": [1e9, 2e9], "gamma": 1.0}}
    found = tune(game(), RING, ["dream", "gt-gda"], budget=2000, space=space)
    assert list(found.best) == ["dream"]
    assert found.table.set_index("method").score["gt-gda"] == math.inf


def test_a_budget_with_which_a_method_can_hardly_begin_is_refused_by_name():
    """The first batch of GT-GDA costs all 24 samples; what dearer starts there are of DREAM is left out."""
    space = {"gt-gda": {"eta": 0.1, "gamma": 1.0}, "dream": {"eta": 0.1, "gamma": 1.0, "b": 1, "b_large": [1, 40]}}
    sentence = "gt-gda begins with 24 sfo, and 71 came. Give at least 72, or leave gt-gda out"
    with pytest.raises(ValueError, match=sentence):
        tune(game(), RING, ["gt-gda", "dream"], budget=71, space=space)
    found = tune(game(), RING, ["gt-gda", "dream"], budget=72, space=space)
    assert [record["parameters"].get("b_large") for record in found.records] == [None, 1]
    assert [record["start"] for record in found.records] == [24, 4]


@pytest.mark.parametrize("axis", ["sfo", "rounds"])
def test_a_start_s_price_is_what_a_run_is_billed_for_it(axis):
    """For every method and a constrained, an offline and an online problem; and no real oracle is asked."""
    online = OnlineQuadraticGame.random(agents=4, dim_x=2, dim_y=2, sigma=0.1)
    for problem, (name, kind) in itertools.product((game(), online), METHODS.items()):
        method = kind(eta=0.1, gamma=1.0, **({"b_large": 5} if name == "dream" else {}))
        setting = Setting.around(problem, RING, [method])
        if setting.refusal(method) is None:
            witness = Setting.around(Witness(problem), RING, [method])
            price = Starts(witness, axis, {}, None).price(method)
            billed = execute(setting.plan(method), LocalBackend(), Settings(0)).recorder.rows[0][axis]
            assert price == billed and witness.problem.log == [], name


def test_a_start_that_nothing_beats_is_no_winner():
    """Trials that stay where they began, tie with each other and name nobody; and the command line says so."""
    still = tune(game(), RING, ["gt-gda"], budget=200, space={"eta": [1e-12, 2e-12, 3e-12], "gamma": 1e-3})
    assert still.best == {} and still.winners == {} and len(still.records) == 3
    assert still.table.remark[0].startswith("nothing beat the start (primal 0.91")


def test_a_tie_is_said():
    """Two batches that are never drawn, as every coin shows 1."""
    space = {"eta": 0.1, "gamma": 1.0, "p": 1.0, "b": [1, 2]}
    found = tune(game(), RING, ["dream"], budget=500, space=space)
    assert found.winners["dream"]["tied"] == 1 and "tied with 1 others" in found.table.remark[0]


def test_the_edge_of_a_grid_is_reported(whole):
    """A winner at the largest gamma says so: a further grid might do better."""
    row = whole.table.set_index("method").loc["gt-gda"]
    assert row.parameters == {"eta": 0.1, "gamma": 1.0} and row.at_edge == ["gamma"]


@dataclass(frozen=True)
class Fragile:
    """A method that fails for one value of its parameter."""

    strength: float

    def init(self, agents):
        return rd.algorithms.Iterates(agents.start())

    def step(self, s, agents, t, coin):
        if self.strength == 2.0:
            raise LookupError("too strong")
        return rd.algorithms.Iterates(agents.descend_ascend(s.Z, agents.gradient(s.Z), 0.05 * self.strength, 1.0))


def test_a_method_of_one_s_own_is_tuned_and_its_failures_are_kept(tmp_path):
    """With a label and a space; loading needs its class."""
    space = {"mine": {"strength": [1.0, 2.0]}}
    found = tune(game(), RING, {"mine": Fragile}, budget=500, space=space, directory=tmp_path)
    assert [record["outcome"] for record in found.records] == ["budget", "failed"]
    assert "too strong" in found.records[1]["reason"] and found.trials.score[1] == math.inf
    assert found.best == {"mine": Fragile(1.0)}
    assert rd.Tuning.load(tmp_path, {"mine": Fragile}).best == found.best
    with pytest.raises(ValueError, match="'mine' is not one of this package's methods; give its class"):
        rd.Tuning.load(tmp_path)


def sizes(space):
    """Configurations of each method in a built-in space, a few values in the place of each range."""
    grids = {name: in_steps(grid_of(space, name, kind, [name])) for name, kind in METHODS.items()}
    return {name: math.prod(len(values) for values in grid.values()) for name, grid in grids.items()}


def test_the_paper_s_grids_have_the_paper_s_sizes():
    """4 x 4 steps for every method; DREAM 4 x 4 batches, 3 x 3 probabilities and 3 x 3 x 3 rounds more."""
    found = sizes("paper")
    assert found["dream"] == 16 * 16 * 9 * 27
    assert found["dm-hsgd"] == 16 * 16
    assert all(size == 16 for name, size in found.items() if name not in ("dream", "dm-hsgd"))
    assert grid_of("paper", "", rd.GTDA, [])["R"] == (4,)
    assert SPACES["wide"] == {"eta": rd.Range(0.01, 3.0), "gamma": rd.Range(0.03, 30.0)}, "for every method alike"


def test_the_grids_are_the_methods_own_and_name_their_parameters():
    """Every built-in space that a method speaks of exists, and a class of one's own brings its grid with it."""
    for kind in METHODS.values():
        assert set(kind.facts.spaces) <= set(SPACES)
        assert all(set(grid) <= set(parameters_of(kind)) for grid in kind.facts.spaces.values())

    class Mine(rd.DREAM):
        facts = Facts(spaces={"paper": {"q": (0.5, 1.0)}})

    assert grid_of("paper", "mine", Mine, ["mine"]) == {**SPACES["paper"], "q": (0.5, 1.0)}
    assert grid_of("paper", "plain", Fragile, ["plain"]) == SPACES["paper"]


def test_every_configuration_of_the_built_in_spaces_can_be_built():
    """One value at a time."""
    for space, (name, kind) in itertools.product(("paper", "wide"), METHODS.items()):
        grid = in_steps(grid_of(space, name, kind, [name]))
        first = {parameter: values[0] for parameter, values in grid.items()}
        for parameter, values in grid.items():
            assert all(getattr(kind(**{**first, parameter: value}), parameter) == value for value in values)


def test_a_grid_that_is_too_large_says_its_size():
    """And nothing is run."""
    witness = Witness(game())
    with pytest.raises(ValueError, match=r"62208 configurations of dream, more than `trials` = 1000; use \"random\""):
        tune(witness, RING, ["dream"], budget=100, space="paper")
    with pytest.raises(ValueError, match=r"16 configurations of gt-gda, more than `trials` = 15"):
        tune(witness, RING, ["gt-gda"], budget=100, trials=15, space="paper")
    assert witness.log == []


def test_the_defaults_work_for_every_method_and_are_the_command_line_s(tmp_path, monkeypatch):
    """36 draws from the wide ranges; a tuning from Python and one from the command line try the same."""
    problem, network = specs.build_problem("quadratic", 4, {}), specs.build_topology("ring", 4, {"self_weight": 0.5})
    found = rd.tune(problem, network, list(METHODS), budget=9000, trials=2, workers=1, widen=0)
    assert set(found.trials.method) == set(METHODS) and len(found.trials) == 2 * len(METHODS)
    assert len(rd.tune(problem, network, ["dream"], budget=9000, workers=1, widen=0).trials) == 36
    monkeypatch.chdir(tmp_path)
    words = ["tune", "--problem", "quadratic", "--agents", "4", "--methods", "dream,gt-gda", "--budget", "9000"]
    done = CliRunner().invoke(app, [*words, "--trials", "2", "--workers", "1", "--widen", "0", "--directory", "t"])
    assert done.exit_code == 0, done.output
    both = [record for record in found.records if record["method"] in ("dream", "gt-gda")]
    assert [one["key"] for one in rd.Tuning.load("t").records] == [one["key"] for one in both]


def drawn(space="paper", label="dream", kind=rd.DREAM, problem=None, **options):
    setting, grid = Setting(problem or game(), RING), grid_of(space, label, kind, [label])
    admission = Affordable(Starts(setting, "sfo", setting.identity(), None), 10**9)
    if options.pop("search", "") == "grid":
        return all_of(label, kind, in_steps(grid), admission, 10**9)
    return drawn_from(label, kind, grid, admission, options["trials"], options.get("seed", 0))


def test_random_draws_do_not_repeat_and_depend_on_the_seed_alone():
    """More trials begin with the same ones, so that nothing finished is lost; as many as there are is all of them."""
    some, more, other = drawn(trials=20), drawn(trials=40), drawn(trials=40, seed=1)
    texts = [repr(one) for one in more]
    assert len(set(texts)) == 40 and more[:20] == some and more != other
    every = drawn(label="gt-gda", kind=rd.GTGDA, trials=100)
    assert sorted(map(repr, every)) == sorted(map(repr, drawn(label="gt-gda", kind=rd.GTGDA, search="grid")))


def test_configurations_that_are_equal_in_effect_are_tried_once():
    """K_large=None is K, p=None is b / (b + n), and Q=None is sqrt(n) rounded up: here 3 of 6."""
    space = {"eta": 0.1, "gamma": [1.0, 1.0], "b": 2, "p": [None, 0.25, 0.5], "K": 2, "K_large": [None, 2]}
    assert [one["p"] for one in drawn(space, search="grid")] == [None, 0.5]
    queues = drawn({"eta": 0.1, "gamma": 1.0, "Q": [None, 3, 4]}, "gt-srvr", rd.GTSRVR, search="grid")
    assert [one["Q"] for one in queues] == [None, 4]


def test_configurations_that_cannot_solve_the_problem_are_left_out():
    """An online problem has no whole shard; a method that always needs one is refused by name."""
    online = OnlineQuadraticGame.random(agents=4, dim_x=2, dim_y=2, sigma=0.1)
    assert {one["b_large"] for one in drawn("wide", problem=online, search="grid")} == {512}
    with pytest.raises(ValueError, match="`methods` has gt-gda, which cannot solve this `problem`"):
        tune(online, RING, ["gt-gda"], budget=100)


def test_more_draws_from_ranges_begin_with_the_same_and_fill_them_evenly():
    """Every eighth of the range of a step, on a logarithmic scale, has its share of 64 draws, with three digits."""
    space = {"eta": rd.Range(0.01, 1.0), "gamma": rd.Range(0.1, 10.0), "K": [1, 2]}
    some, more = drawn(space, trials=20), drawn(space, trials=64)
    assert more[:20] == some and len({repr(one) for one in more}) == 64
    places = np.histogram(np.log10([one["eta"] for one in more]), bins=8, range=(-2, 0))[0]
    assert places.min() >= 6 and places.max() <= 10
    assert all(float(f"{one['eta']:.3g}") == one["eta"] for one in more) and {one["K"] for one in more} == {1, 2}


def test_every_method_gets_the_same_number_of_draws_or_the_same_share_of_its_grid():
    """Ranges: as many of each. Finite spaces: the largest has `trials`, the others as large a part of theirs."""
    ranges = {"eta": rd.Range(0.01, 1.0), "gamma": 1.0}
    found = rd.tune(game(), RING, ["dream", "gt-gda"], budget=500, space=ranges, trials=5, workers=1, widen=0)
    assert found.table.configurations.tolist() == [5, 5] and found.table.of.isna().all()
    finite = {
        "dream": {"eta": [0.01, 0.1, 1], "gamma": [0.1, 1.0], "b": [1, 2]},
        "gt-gda": {"eta": [0.01, 0.1, 1], "gamma": 1},
    }
    for option in (dict(trials=8), dict(share=2 / 3)):
        found = rd.tune(game(), RING, ["dream", "gt-gda"], budget=500, space=finite, workers=1, **option)
        assert found.table.configurations.tolist() == [8, 2] and found.table.of.tolist() == [12, 3]
    with pytest.raises(ValueError, match=r"`share` must be in \(0, 1\], without `trials`, of finite spaces"):
        rd.tune(game(), RING, ["dream"], budget=500, space=ranges, share=0.5, workers=1)


def test_no_round_of_halving_is_below_three_starts_and_each_trial_has_the_same_after_its_own():
    """The start of GT-GDA costs 24, a ninth of the budget: it is judged at 72, DREAM at 52 = 4 + 48."""
    space = {"eta": [0.003, 0.01, 0.03, 0.1, 0.3], "gamma": [0.1, 1.0]}
    spaces = {"gt-gda": space, "dream": {**space, "b": 1, "b_large": 1}}
    found = tune(game(), RING, ["gt-gda", "dream"], budget=216, space=spaces, search="halving", trials=9)
    table = found.trials
    assert sorted(set(table[table.method == "gt-gda"].budget)) == [72, 216] and found.about["horizons"] == [48]
    assert sorted(set(table[table.method == "dream"].budget)) == [52, 216]
    assert (table.start == table.method.map({"gt-gda": 24, "dream": 4})).all()
    assert np.isfinite(table.score).all(), "no trial is judged at its start alone"
    rich = tune(game(), RING, ["gt-gda"], budget=5400, space=space, search="halving", trials=9)
    assert rich.about["horizons"] == [576, 1776] and set(rich.trials.budget) == {600, 1800, 5400}
    poor = tune(game(), RING, ["gt-gda"], budget=100, space=space, search="halving", trials=9)
    assert poor.about["horizons"] == [] and set(poor.trials.budget) == {100}, "72 is more than half of it"


def test_halving_gives_the_whole_budget_to_the_best_of_the_best():
    """9 configurations at a ninth, 3 at a third, 1 at all of it; each rung goes on with the best of the last."""
    space = {"eta": [0.003, 0.01, 0.03, 0.1, 0.3], "gamma": [0.1, 1.0]}
    found = tune(game(), RING, ["gt-gda"], budget=1800, space=space, search="halving", trials=9)
    table = found.trials.assign(text=[json.dumps(p) for p in found.trials.parameters])
    rungs = [table[table.budget == budget] for budget in (200, 600, 1800)]
    assert [len(rung) for rung in rungs] == [9, 3, 1] and all((rung.sfo <= rung.budget).all() for rung in rungs)
    for before, after in itertools.pairwise(rungs):
        assert set(after.text) == set(before.sort_values("score", kind="stable").text[: len(after)])
    assert found.winners["gt-gda"]["score"] == rungs[-1].score.min()


@pytest.mark.parametrize("search", ["random", "halving", "grid", "tpe"])
def test_a_range_at_whose_edge_a_winner_lies_is_widened_for_all_alike(search):
    """Steps of at most 0.02 are too short by far: the range grows until the best one lies inside."""
    steps = {"eta": rd.Range(0.003, 0.02), "gamma": 1.0}
    space = {"gt-gda": steps, "gt-srvr": {**steps, "b": 1}}
    arguments = dict(budget=3000, space=space, search=search, workers=1, trials=None if search == "grid" else 8)
    near = rd.tune(game(), RING, ["gt-gda", "gt-srvr"], **arguments, widen=0)
    far = rd.tune(game(), RING, ["gt-gda", "gt-srvr"], **arguments, widen=4)
    assert near.table.at_edge.tolist() == [["eta"], ["eta"]] and far.table.at_edge.tolist() == [[], []]
    assert far.grid("gt-gda")["eta"].low == 0.003 and far.grid("gt-gda")["eta"].high >= 0.2
    assert far.grid("gt-gda")["eta"] == far.grid("gt-srvr")["eta"] and len(set(far.table.configurations)) == 1
    assert all(far.winners[name]["score"] < near.winners[name]["score"] for name in space)


def test_refining_looks_around_every_winner_alike_and_loses_nothing():
    """As many more of each method, near the winner of the time, at most one choice made anew; the best of all wins."""
    space = {"gt-gda": {"eta": rd.Range(0.003, 1.0), "gamma": 1.0, "form": ["cta", "atc"]}}
    space["gt-srvr"] = {**space["gt-gda"], "b": [1, 2]}
    arguments = dict(budget=1500, space=space, workers=1, trials=4, widen=0)
    coarse, fine = (rd.tune(game(), RING, list(space), refine=count, **arguments) for count in (0, 24))
    assert coarse.table.configurations.tolist() == [4, 4] and fine.table.configurations.tolist() == [28, 28]
    for label, winner in coarse.winners.items():
        records = [one for one in fine.records if one["method"] == label and one["budget"] == 1500]
        first, changed = len(records) - 24, 0
        for turn in range(4):
            before, now = records[: first + 6 * turn], records[first + 6 * turn :][:6]
            best = min(before, key=lambda one: one["primal"])["parameters"]
            for one in (record["parameters"] for record in now):
                other = [name for name in ("form", "b") if name in one and one[name] != best[name]]
                changed += len(other)
                assert len(other) <= 1 and abs(math.log10(one["eta"] / best["eta"])) <= 0.501 / (turn + 1)
        assert changed and fine.winners[label]["score"] <= winner["score"]


def test_a_winner_with_trials_around_it_is_at_no_edge():
    """Refining looks beyond a range where the winner is near its end: what counts is what was tried."""
    space = {"eta": rd.Range(0.03, 0.1), "gamma": 1.0}
    arguments = dict(budget=1500, space=space, workers=1, trials=4, widen=0)
    coarse, fine = (rd.tune(game(), RING, ["gt-gda"], refine=count, **arguments) for count in (0, 80))
    assert coarse.table.at_edge.tolist() == [["eta"]]
    tried = [record["parameters"]["eta"] for record in fine.records]
    won = fine.winners["gt-gda"]["parameters"]["eta"]
    assert won > 0.1 and max(tried) > 1.8 * won > 3.24 * min(tried)
    assert fine.table.at_edge.tolist() == [[]] and fine.grid("gt-gda")["eta"] == rd.Range(min(tried), max(tried))


def test_refining_gets_from_one_form_to_another():
    """From a single draw, whatever it is, to the best of four forms and a step that no draw had."""
    space = {"eta": rd.Range(0.003, 1.0), "gamma": 1.0, "form": ["cta", "atc"], "b": [1, 2]}
    best = tune(game(), RING, ["gt-srvr"], budget=1500, space=space | {"eta": [0.1]}, trials=4).winners["gt-srvr"]
    arguments = dict(budget=1500, space=space, workers=1, trials=1, widen=0)
    for seed in range(3):
        fine = rd.tune(game(), RING, ["gt-srvr"], refine=48, seed=seed, **arguments)
        assert fine.winners["gt-srvr"]["score"] <= best["score"]


def test_tpe_asks_for_as_many_of_each_method_and_gives_the_same_again():
    """Whatever the number of processes; and it finds what random search finds, or better."""
    space = {"eta": rd.Range(0.001, 10.0), "gamma": rd.Range(0.01, 10.0), "K": [1, 2]}
    spaces = {"dream": space, "gt-gda": {"eta": space["eta"], "gamma": space["gamma"]}}
    arguments = dict(budget=1000, space=spaces, trials=24, workers=1, widen=0)
    first, second = (rd.tune(game(), RING, ["dream", "gt-gda"], search="tpe", **arguments) for _ in range(2))
    assert facts(first) == facts(second) and first.table.configurations.tolist() == [24, 24]
    drawn = rd.tune(game(), RING, ["dream", "gt-gda"], search="random", **arguments)
    assert all(first.winners[name]["score"] < 1.1 * drawn.winners[name]["score"] for name in spaces)


@pytest.mark.parametrize("metric", ["dual_gap", "consensus"])
def test_any_column_of_the_history_judges(metric):
    """The winner has the least of it."""
    found = tune(
        game(), RING, ["gt-gda"], budget=1000, space={"eta": [0.03, 0.1, 0.3], "gamma": [0.3, 1.0]}, metric=metric
    )
    scores = {json.dumps(record["parameters"]): record[metric] for record in found.records}
    assert len(scores) == 6 and found.records[0]["primal"] is not None
    if found.winners:  # consensus is 0 at the start, which nothing beats
        assert found.winners["gt-gda"]["score"] == min(value for value in scores.values() if value is not None)
    else:
        assert metric == "consensus" and "nothing beat the start (consensus 0)" in found.table.remark[0]


def test_trials_begin_where_they_are_told(tmp_path):
    """A start of one's own is part of the setting, is kept, and is where the winners are compared."""
    problem = game()
    start = np.full(problem.dim_x, 3.0), np.zeros(problem.dim_y)
    space = {"eta": [0.03, 0.1], "gamma": 1.0}
    found = tune(problem, RING, ["gt-gda"], budget=1000, space=space, start=start, directory=tmp_path)
    assert found.records[0]["started"]["primal"] == problem.primal(start[0])
    again = rd.Tuning.load(tmp_path)
    compared = rd.compare(problem, RING, best=again, seeds=(5,), backend="local", parallel=False)
    assert compared.results["gt-gda", 5].history.primal[0] == problem.primal(start[0])
    other = np.ones(problem.dim_x), np.zeros(problem.dim_y)
    with pytest.raises(ValueError, match="was tuned on another start; leave `start` out"):
        rd.compare(problem, RING, best=again, seeds=(5,), backend="local", start=other)


@pytest.mark.usefixtures("shared_ray")
def test_a_grid_of_twelve_uses_all_workers_and_finds_the_same(capsys, tmp_path):
    """Two processes share twelve trials, with the numbers of one process, and the time left is told."""
    space = {"eta": [0.001, 0.01, 0.03, 0.1], "gamma": [0.1, 0.3, 1.0]}
    arguments = dict(topology=RING, methods=["dream"], budget=4000, space=space)
    meeting = Sabotaged(game(), "meet", agent=0, call=1, flag=tmp_path)  # else a slow start leaves all to one
    found = rd.tune(problem=meeting, **arguments, search="grid", workers=2, check=False, progress=True)
    assert len(found.trials) == 12 and len(set(found.trials.process) - {os.getpid()}) >= 2
    assert facts(found) == facts(tune(problem=game(), **arguments))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 12 and all("left" in line for line in lines[1:-1]) and lines[-1].startswith("tune 12/12: ")


@pytest.mark.usefixtures("shared_ray")
def test_data_that_arrive_read_only_are_tuned_on():
    """Arrays that Ray shares cannot be written to; the paper's problem does not need to."""
    features, labels = rd.data.load("synthetic", samples=80, features=6)
    problem = RobustLogisticRegression(features, labels, agents=4)
    arguments = dict(problem=problem, topology=RING, methods=["dream", "sgda"], budget=3000)
    space = {"dream": {"eta": [0.1, 0.3], "gamma": 1.0, "b": 4}, "sgda": {"eta": [0.1, 0.3], "gamma": 1.0, "b": 4}}
    assert facts(rd.tune(**arguments, space=space, search="grid", workers=2)) == facts(tune(**arguments, space=space))


def test_a_second_tuning_runs_nothing_and_another_budget_or_problem_runs_everything(tmp_path, whole):
    """Finished trials are known by method, parameters, seed, budget, axis, problem and network."""
    arguments = dict(methods=["dream", "gt-gda", "gda"], space=STEPS, seeds=(0, 1, 2), directory=tmp_path)
    assert facts(tune(game(), RING, budget=2000, **arguments)) == facts(whole)
    lines = (tmp_path / "trials.jsonl").read_text()
    witness = Witness(game())
    assert facts(tune(witness, RING, budget=2000, **arguments)) == facts(whole) and witness.log == []
    assert (tmp_path / "trials.jsonl").read_text() == lines
    for change in (dict(budget=1000), dict(problem=game(2)), dict(topology=rd.topology.complete(4))):
        before = len((tmp_path / "trials.jsonl").read_text().splitlines())
        found = tune(**{**arguments, "problem": game(), "topology": RING, "budget": 2000, "seeds": (0,), **change})
        assert len((tmp_path / "trials.jsonl").read_text().splitlines()) == before + len(found.records)


def test_saved_loaded_and_compared(tmp_path, whole):
    """best.json holds names and parameters, and what is loaded can be given to `compare`."""
    whole.save(tmp_path)
    loaded = rd.Tuning.load(tmp_path)
    assert (loaded.winners, loaded.records, loaded.budget, loaded.axis) == (whole.winners, whole.records, 2000, "sfo")
    assert loaded.best == whole.best and loaded.table.equals(whole.table)
    best = json.loads((tmp_path / "best.json").read_text())["best"]
    assert best["gda"]["name"] == "gda" and best["gda"]["parameters"] == whole.winners["gda"]["parameters"]
    found = rd.compare(game(), RING, loaded.best, seeds=(0,), iterations=5, backend="local", parallel=False)
    assert [name for name, _ in found.results] == ["dream", "gt-gda", "gda"]


def test_a_line_that_was_cut_short_is_one_lost_trial(tmp_path):
    """The next line is whole again."""
    log = TrialLog(tmp_path)
    for key in "abc":
        log.add(key, {"outcome": "budget", "started": {}})
    path = tmp_path / "trials.jsonl"
    path.write_text(path.read_text()[:-9])
    log = TrialLog(tmp_path)
    assert [log.finished(key) for key in "abc"] == [True, True, False]
    log.add("d", {"outcome": "failed"})
    log = TrialLog(tmp_path)
    assert [log.finished(key) for key in "abcd"] == [True, True, False, False] and "d" in log.records


def test_what_cannot_be_loaded_is_named(tmp_path, whole):
    """A tuning that did not finish, and one that is damaged."""
    with pytest.raises(FileNotFoundError, match=r"has no best\.json. Tune again to finish it"):
        rd.Tuning.load(tmp_path)
    whole.save(tmp_path)
    (tmp_path / "best.json").write_text("[]")
    with pytest.raises(ValueError, match="is damaged"):
        rd.Tuning.load(tmp_path)


REFUSED = {
    "method": (dict(methods=["dm-hsdg"]), "`method` must be one of .* Did you mean 'dm-hsgd'"),
    "object": (dict(methods=[rd.GDA(eta=1, gamma=1)]), "`methods` must hold names or classes"),
    "space": (dict(space="papr"), "`space` must be one of .* Did you mean 'paper'"),
    "parameter": (dict(space={"etta": [1], "gamma": [1]}), "`parameter of dream` must be one of .* mean 'eta'"),
    "space of a method": (dict(space={"drem": {"eta": [1]}}), "`space` must be one of 'dream'; .* mean 'dream'"),
    "no values": (dict(space={"eta": [], "gamma": 1}), "`space` must give `eta` at least one value"),
    "value": (dict(space={"eta": [-1], "gamma": 1}), "`eta` must be positive"),
    "axis": (dict(axis="round"), "`axis` must be one of .* Did you mean 'rounds'"),
    "search": (dict(search="randm"), "`search` must be one of .* Did you mean 'random'"),
    "metric": (dict(metric="grad"), "`metric` must be one of .* Did you mean 'grad_norm'"),
    "budget": (dict(budget=0), "`budget` must be at least 1"),
    "no rounds": (dict(methods=["gda"], axis="rounds"), '`axis` must not be "rounds" for gda'),
    "another size": (dict(topology=rd.topology.ring(5)), "`topology` has 5 agents but `problem` has 4"),
}


@pytest.mark.parametrize(("change", "sentence"), REFUSED.values(), ids=REFUSED)
def test_a_mistake_gets_a_sentence_before_anything_runs(change, sentence):
    """No oracle is asked."""
    witness = Witness(game())
    arguments = {"problem": witness, "topology": RING, "methods": ["dream"], "budget": 100, "space": STEPS, **change}
    with pytest.raises((ValueError, TypeError), match=sentence):
        tune(**arguments)
    assert witness.log == []


PROGRAM = """
import sys
import numpy as np
import raydream as rd
from raydream.backends.local import LocalBackend
from raydream.running.execute import execute
from raydream.storage.settings import Settings
from raydream.problems import QuadraticGame

game = QuadraticGame.random(agents=4, samples=6, dim_x=2, dim_y=3, seed=1)
space = {"eta": list(np.geomspace(0.001, 0.1, 8)), "gamma": [0.1, 0.3, 1.0]}
rd.tune(game, rd.topology.ring(4), ["dream"], budget=60_000, space=space, search="grid", directory=sys.argv[1])
"""


def test_killed_processes_lose_no_finished_trial(tmp_path):
    """SIGKILL half way: the trials that were written are not run again, and the result is that of one go."""
    path, count = tmp_path / "trials.jsonl", 24
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], env=_without_ray(), stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 300
    while not path.exists() or path.read_text().count("\n") < 5:
        assert process.poll() is None and time.monotonic() < deadline, process.stderr.read().decode()
        threading.Event().wait(0.01)
    process.kill()
    process.communicate(timeout=300)
    kept = path.read_text()
    done = kept[: kept.rindex("\n") + 1]
    assert 5 <= done.count("\n") < count and not (tmp_path / "best.json").exists()
    deadline = time.monotonic() + 300
    while [thing for thing in leftovers(process.pid) if thing.startswith("process")]:
        assert time.monotonic() < deadline, "its Ray goes with it"
        threading.Event().wait(0.05)
    with private_folder():  # the next Ray sweeps what the killed one left
        assert not leftovers(process.pid)
    space = {"eta": list(np.geomspace(0.001, 0.1, 8)), "gamma": [0.1, 0.3, 1.0]}
    arguments = dict(problem=game(), topology=RING, methods=["dream"], budget=60_000, space=space)
    finished = tune(**arguments, directory=tmp_path)
    assert path.read_text().startswith(done)
    keys = [json.loads(line)["key"] for line in path.read_text().splitlines() if line.endswith("}")]
    assert len(keys) == len(set(keys)) == count
    assert len(finished.records) == count and rd.Tuning.load(tmp_path).best == finished.best


def _without_ray():
    return {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
