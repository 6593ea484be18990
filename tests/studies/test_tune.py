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
from raydream.backends.ray.runtime import _folder
from raydream.cli.app import app
from raydream.parameters import parameters_of
from raydream.problems import OnlineQuadraticGame, QuadraticGame, RobustLogisticRegression
from raydream.studies.setting import Setting
from raydream.studies.spaces import SPACES, configurations, grid_of
from raydream.studies.trials import RECORDS, TrialLog

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
        assert (table.records <= 2 * RECORDS).all()


def test_a_trial_s_score_is_that_of_a_run_stopped_at_its_last_counted_record(whole):
    """Nothing but `run` is behind it."""
    for record in whole.records:
        if record["outcome"] == "budget" and record["method"] != "gda":
            method = METHODS[record["method"]](**record["parameters"])
            last = rd.run(
                game(), RING, method, iterations=record["iterations"], seed=record["seed"], backend="local"
            ).history.iloc[-1]
            assert (record["primal"], record["grad_norm"]) == (last.primal, last.grad_norm)
            assert (record["sfo"], record["rounds"], record["bytes"]) == (last.sfo, last.rounds, last.bytes)


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


def test_a_budget_that_the_start_exceeds_is_an_infinite_score():
    """The first batch of GT-GDA costs all 24 samples."""
    found = tune(game(), RING, ["gt-gda"], budget=23, space={"eta": 0.1, "gamma": 1.0})
    assert "the start alone cost 24 sfo" in found.records[0]["reason"] and found.best == {}


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
        return rd.algorithms.Iterates(s.Z - 0.01 * self.strength * agents.gradient(s.Z))


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
    """Configurations of each method in a built-in space."""
    grids = {name: grid_of(space, name, kind, [name]) for name, kind in METHODS.items()}
    return {name: math.prod(len(values) for values in grid.values()) for name, grid in grids.items()}


def test_the_paper_s_grids_have_the_paper_s_sizes():
    """4 x 4 steps for every method; DREAM 4 x 4 batches, 3 x 3 probabilities and 3 x 3 x 3 rounds more."""
    found = sizes("paper")
    assert found["dream"] == 16 * 16 * 9 * 27
    assert found["dm-hsgd"] == 16 * 16
    assert all(size == 16 for name, size in found.items() if name not in ("dream", "dm-hsgd"))
    wide = SPACES["wide"]
    assert max(wide["gamma"]) == 30 and max(wide["eta"]) >= 10**0.45 and min(wide["eta"]) == 0.01
    assert sizes("wide")["dream"] == sizes("wide")["dm-hsgd"] == 168 and grid_of("paper", "", rd.GTDA, [])["R"] == (4,)


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
        grid = grid_of(space, name, kind, [name])
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
    """27 draws from the wide grids; a tuning from Python and one from the command line try the same."""
    problem, network = specs.build_problem("quadratic", 4, {}), specs.build_topology("ring", 4, {})
    found = rd.tune(problem, network, list(METHODS), budget=1500, trials=2, workers=1)
    assert set(found.trials.method) == set(METHODS) and len(found.trials) == 2 * len(METHODS)
    assert len(rd.tune(problem, network, ["dream"], budget=1500, workers=1).trials) == 27
    monkeypatch.chdir(tmp_path)
    words = ["tune", "--problem", "quadratic", "--agents", "4", "--methods", "dream,gt-gda", "--budget", "1500"]
    done = CliRunner().invoke(app, [*words, "--trials", "2", "--workers", "1", "--directory", "t"])
    assert done.exit_code == 0, done.output
    both = [record for record in found.records if record["method"] in ("dream", "gt-gda")]
    assert [one["key"] for one in rd.Tuning.load("t").records] == [one["key"] for one in both]


def drawn(space="paper", label="dream", kind=rd.DREAM, problem=None, **options):
    setting = Setting(problem or game(), RING)
    settings = {"search": "random", "trials": None, "seed": 0, **options}
    return configurations(label, kind, grid_of(space, label, kind, [label]), setting, **settings)


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


@pytest.mark.usefixtures("shared_ray")
def test_a_grid_of_twelve_uses_all_workers_and_finds_the_same(capsys, tmp_path):
    """Two processes share twelve trials, with the numbers of one process, and the time left is told."""
    space = {"eta": [0.001, 0.01, 0.03, 0.1], "gamma": [0.1, 0.3, 1.0]}
    arguments = dict(topology=RING, methods=["dream"], budget=4000, space=space)
    meeting = Sabotaged(game(), "meet", agent=0, call=1, flag=tmp_path)  # else a slow start leaves all to one
    found = rd.tune(problem=meeting, **arguments, search="grid", workers=2, progress=True)
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
        log.add(key, {"outcome": "budget"})
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
    with _folder():  # the next Ray sweeps what the killed one left
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
