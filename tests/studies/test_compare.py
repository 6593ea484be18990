"""compare(): every run is kept, none hides another, and what is finished is not done again."""

import json
import os
import signal
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from laws import Witness, assert_same_bits
from saboteurs import Sabotaged

import raydream as rd
from raydream import specs
from raydream.backends.local import LocalBackend
from raydream.columns import RECORDED as COLUMNS
from raydream.errors import MixingWarning
from raydream.problems import OnlineQuadraticGame, QuadraticGame
from raydream.specs import Spec
from raydream.storage.checkpoint import fingerprint

RING = rd.topology.ring(4)
METHODS = {
    "dream": rd.DREAM(eta=0.1, gamma=0.3, p=0.3, b=2, K=2),
    "tracked": rd.GTGDA(eta=0.1, gamma=0.3),
    "alone": rd.GDA(eta=0.1, gamma=0.3),
}
compare = partial(rd.compare, backend="local", parallel=False, seeds=(0, 1), iterations=20)


def game(**options):
    return QuadraticGame.random(**{"agents": 4, "samples": 6, "dim_x": 2, "dim_y": 3, "seed": 1, **options})


@pytest.fixture(scope="module")
def whole():
    return compare(game(), RING, METHODS)


def files_of(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def assert_same_comparison(found, wanted):
    """The same runs in the same order, bit for bit, and the same failures."""
    assert list(found.results) == list(wanted.results) and found.failures == wanted.failures
    for key, result in wanted.results.items():
        assert_same_bits(found.results[key], result)


@dataclass(frozen=True)
class Broken:
    """A method that fails in its third step."""

    eta: float = 0.1

    def init(self, agents):
        return rd.algorithms.Iterates(agents.start())

    def step(self, s, agents, t, coin):
        if t == 2:
            raise LookupError("the step is broken")
        return s


@dataclass(frozen=True)
class Killer:
    """A method that ends its process."""

    def init(self, agents):
        os.kill(os.getpid(), signal.SIGKILL)

    def step(self, s, agents, t, coin):
        return s


def test_each_run_is_the_run_of_that_method_and_seed(whole):
    """A comparison adds nothing to `run`; the method of one machine has the pooled problem."""
    assert list(whole.results) == [(name, seed) for name in METHODS for seed in (0, 1)]
    for (name, seed), result in whole.results.items():
        problem, ring = (game().pooled(), rd.topology.ring(1)) if name == "alone" else (game(), RING)
        assert_same_bits(result, rd.run(problem, ring, METHODS[name], iterations=20, seed=seed, backend="local"))


def test_run_resume_compare_and_tune_put_the_same_run_together(tmp_path, monkeypatch):
    """One plan for the same parts: problem, network, settled method, seed, start, and how they were named."""
    plans, opened = [], LocalBackend.open

    def noting(self, plan):
        plans.append(plan)
        return opened(self, plan)

    monkeypatch.setattr(LocalBackend, "open", noting)
    problem = specs.build_problem("quadratic", 4, {"samples": 6, "dim_x": 2})
    ring, given = specs.build_topology("ring", 4, {"self_weight": 0.5}), {"eta": 0.05, "gamma": 0.3, "b": 2}
    options = dict(iterations=4, directory=tmp_path / "r", checkpoint_every=2, backend="local")
    rd.run(problem, ring, rd.DREAM(**given), seed=3, **options)
    rd.resume(tmp_path / "r", iterations=6)
    compare(problem, ring, [rd.DREAM(**given)], seeds=(3,), iterations=4)
    rd.tune(problem, ring, ["dream"], budget=200, space=given, seeds=(3,), workers=1)
    first = plans[0]
    plans = [plan for plan in plans if isinstance(plan.problem, QuadraticGame)]  # a start's price needs none
    assert len(plans) == 4 and repr(first.problem_spec) == repr(specs.spec_of(problem))
    for plan in plans[1:]:
        assert fingerprint(plan) == fingerprint(first) and plan.method == first.method
    for plan in (plans[2], plans[3]):
        assert (plan.problem_spec, plan.topology_spec) == (first.problem_spec, first.topology_spec)
        assert plan.asked == first.asked and plan.asked["K"] is None and plan.asked["b"] == 2
        assert plan.problem is first.problem and plan.topology is first.topology


@pytest.mark.usefixtures("shared_ray")
def test_how_parts_were_named_travels_to_other_processes():
    """Beside the objects: every run of a comparison can be made again by a command."""
    problem, ring = specs.build_problem("quadratic", 4, {"samples": 6}), specs.build_topology("ring", 4, {})
    methods = {"dream": METHODS["dream"], "alone": METHODS["alone"]}
    found = rd.compare(problem, ring, methods, seeds=(0,), iterations=2, backend="local", parallel=True)
    record = found.results["dream", 0].record
    assert (record.problem.spec, record.topology.spec) == (Spec("quadratic", {"samples": 6}), Spec("ring", {}))
    alone = found.results["alone", 0].record
    assert alone.problem.spec == Spec("quadratic", {"samples": 6, "pooled": 4}) and alone.problem.agents == 1
    again = specs.build_problem("quadratic", 1, alone.problem.spec.parameters)
    assert again.components.A.tobytes() == problem.pooled().components.A.tobytes()


def test_the_history_is_long_and_the_runs_are_one_row_each(whole):
    """Method and seed come first; the last row of each run is what `runs` says."""
    history, runs = whole.history, whole.runs
    assert tuple(history.columns) == ("method", "seed", *COLUMNS)
    assert len(history) == 6 * 3 and len(runs) == 6
    last = history.groupby(["method", "seed"], sort=False).last().reset_index()
    for column in ("method", "seed", "primal", "grad_norm", "sfo", "rounds", "messages", "bytes", "seconds"):
        assert runs[column].tolist() == last[column].tolist(), column
    assert set(runs.outcome) == {"completed"} and set(runs.iterations) == {20}
    assert whole.to_reach(1e9).reached.tolist() == [2, 2, 2]
    assert whole.curves(points=7).runs.max() == 2


def test_a_list_of_methods_is_named_as_on_the_command_line():
    """Twice the same method gets a number."""
    some = compare(game(), RING, [rd.GTGDA(eta=0.1, gamma=0.3), rd.GDA(eta=1, gamma=1), rd.GTGDA(eta=0.2, gamma=0.3)],
                   seeds=[3], iterations=1)  # fmt: skip
    assert list(some.results) == [("gt-gda", 3), ("gda", 3), ("gt-gda-2", 3)]


@pytest.mark.usefixtures("shared_ray")
def test_side_by_side_in_turn_and_on_actors_have_the_same_bits(whole, tmp_path):
    """Ray tasks, this process and Ray actors; what lies in the directory is the same as well."""
    side_by_side = rd.compare(game(), RING, METHODS, seeds=(0, 1), iterations=20, backend="local", directory=tmp_path)
    assert_same_comparison(side_by_side, whole)
    on_actors = rd.compare(game(), RING, METHODS, seeds=(1,), iterations=20, backend=rd.RayBackend([3, 1]))
    for key, result in on_actors.results.items():
        assert_same_bits(result, whole.results[key])
    assert list(on_actors.results) == [(name, 1) for name in METHODS]
    assert_same_comparison(rd.Comparison.load(tmp_path), whole)


@pytest.mark.usefixtures("shared_ray")
def test_a_process_that_dies_is_a_failure_and_the_others_finish(whole):
    """Side by side, with a method that kills its process and one that raises."""
    methods = {"killer": Killer(), "broken": Broken(), **METHODS}
    found = rd.compare(game(), RING, methods, seeds=(0,), iterations=20, backend="local", parallel=True)
    assert found.failures[("broken", 0)].endswith("the step is broken")
    assert "its process died" in found.failures[("killer", 0)]
    assert list(found.results) == [(name, 0) for name in METHODS]
    assert_same_bits(found.results["dream", 0], whole.results["dream", 0])


@pytest.mark.usefixtures("shared_ray")
def test_a_warning_of_mixing_is_heard_also_from_runs_side_by_side():
    """It comes from this process, since nobody listens to the others."""
    wide, ring = game(agents=8), rd.topology.ring(8)
    methods = {"printed": rd.DREAM(eta=0.01, gamma=0.1, K=1, momentum="paper")}
    with pytest.warns(MixingWarning, match="off consensus"):
        rd.compare(wide, ring, methods, seeds=(0, 1), iterations=2, backend="local", parallel=True)


def test_a_failed_run_is_reported_and_hides_no_other(whole, tmp_path):
    """Its sentence is in `failures`, in `runs`, in its folder, and after loading; it reaches no target."""
    found = compare(game(), RING, {"broken": Broken(), **METHODS}, directory=tmp_path)
    for one in (found, rd.Comparison.load(tmp_path)):
        assert list(one.failures) == [("broken", 0), ("broken", 1)] and len(one.results) == 6
        rows = one.runs[one.runs.method == "broken"]
        assert set(rows.outcome) == {"failed"} and rows.reason.str.contains("the step is broken").all()
        table = one.to_reach(1e9).set_index("method")
        assert (table.reached["broken"], table.seeds["broken"]) == (0, 2) and np.isnan(table.sfo["broken"])
    assert "the step is broken" in json.loads((tmp_path / "broken/seed-1/failure.json").read_text())["sentence"]


def test_a_method_that_cannot_solve_the_problem_is_a_failure_too():
    """GT-GDA needs whole shards, of which an online problem has none; DM-HSGD does not."""
    online = OnlineQuadraticGame.random(agents=4, dim_x=2, dim_y=2, sigma=0.1)
    methods = [rd.GTGDA(eta=0.1, gamma=0.3), rd.DMHSGD(eta=0.1, gamma=0.3, b=4, b0=8)]
    found = compare(online, RING, methods, seeds=(0,), iterations=3)
    assert "cannot solve this `problem`" in found.failures["gt-gda", 0] and list(found.results) == [("dm-hsgd", 0)]


def test_a_diverged_run_is_kept():
    """Its outcome says so, and it counts as a seed that reached nothing."""
    found = compare(game(), RING, {"wild": rd.GTGDA(eta=50.0, gamma=1.0)}, iterations=500)
    assert set(found.runs.outcome) == {"diverged"} and not found.failures
    assert found.to_reach(1e-3).reached.tolist() == [0]


def test_a_rerun_asks_no_oracle_and_touches_no_run(whole, tmp_path):
    """Finished runs are taken from the directory; new seeds and methods are added to it."""
    some = {name: METHODS[name] for name in ("dream", "tracked")}
    compare(Witness(game()), RING, some, directory=tmp_path)
    before, witness = files_of(tmp_path), Witness(game())
    again = compare(witness, RING, some, directory=tmp_path)
    assert witness.log == [] and len(again.results) == 4
    compare(Witness(game()), RING, METHODS, seeds=(1, 2), directory=tmp_path)
    after = files_of(tmp_path)
    assert all(after[path] == time for path, time in before.items() if path.name != "comparison.json")
    loaded = rd.Comparison.load(tmp_path)
    assert list(loaded.results) == [
        *(("dream", seed) for seed in (0, 1, 2)), *(("tracked", seed) for seed in (0, 1, 2)), ("alone", 1), ("alone", 2)
    ]  # fmt: skip
    assert_same_bits(loaded.results["dream", 1], whole.results["dream", 1])


def test_an_unfinished_or_failed_run_is_made_again(whole, tmp_path):
    """A run that failed may have had bad luck."""
    flaky, sound = (Sabotaged(game(), "raise", agent=1, call=call, flag=tmp_path) for call in (3, -1))
    first = compare(flaky, RING, {"dream": METHODS["dream"]}, directory=tmp_path / "c")
    assert len(first.failures) == 2
    assert json.loads((tmp_path / "c/dream/seed-0/run.json").read_text())["outcome"] == "failed"
    second = compare(sound, RING, {"dream": METHODS["dream"]}, directory=tmp_path / "c")
    assert not second.failures and not list((tmp_path / "c").rglob("failure.json"))
    assert_same_bits(second.results["dream", 1], whole.results["dream", 1])


CHANGES = {
    "iterations": (dict(iterations=21), "seed-0' differs in its iterations"),
    "record_every": (dict(record_every=5), "seed-0' differs in its record_every"),
    "limits": (dict(max_sfo=10**6), "seed-0' differs in its limits"),
    "method": (dict(methods={"dream": rd.DREAM(eta=0.2, gamma=0.3)}), "seed-0' differs in its method"),
    "problem": (dict(problem=game(seed=2)), "differs in its problem"),
    "topology": (dict(topology=rd.topology.complete(4)), "differs in its topology"),
    "start": (dict(start=(np.zeros(2), np.zeros(3))), "differs in its start"),
}


@pytest.mark.parametrize(("change", "sentence"), CHANGES.values(), ids=CHANGES)
def test_another_run_in_the_folder_is_refused_and_left_alone(tmp_path, change, sentence):
    """The sentence names the folder; nothing in it changes."""
    arguments = dict(problem=game(), topology=RING, methods={"dream": METHODS["dream"]}, directory=tmp_path)
    compare(**arguments)
    before = files_of(tmp_path)
    with pytest.raises(FileExistsError, match=sentence):
        compare(**{**arguments, **change})
    assert files_of(tmp_path) == before


def test_what_cannot_be_read_is_named_and_skipped(whole, tmp_path):
    """A damaged run, one that did not finish and a damaged index: the others are loaded."""
    whole.save(tmp_path)
    (tmp_path / "dream/seed-0/history.csv").write_text("")
    record = json.loads((tmp_path / "alone/seed-1/run.json").read_text())
    (tmp_path / "alone/seed-1/run.json").write_text(json.dumps({**record, "outcome": "running"}))
    (tmp_path / "comparison.json").write_text("{")
    loaded = rd.Comparison.load(tmp_path)
    named = dict(loaded.skipped)
    assert len(loaded.results) == 4 and len(named) == 3
    assert "damaged" in named[str(tmp_path / "dream/seed-0")]
    assert "did not finish" in named[str(tmp_path / "alone/seed-1")]
    assert "damaged" in named[str(tmp_path / "comparison.json")]
    with pytest.raises(FileNotFoundError, match="<method>/seed-<number>"):
        rd.Comparison.load(tmp_path / "dream")


def test_saved_and_loaded_is_the_same(whole, tmp_path):
    """And a second comparison does not replace the first."""
    whole.save(tmp_path)
    assert_same_comparison(rd.Comparison.load(tmp_path), whole)
    with pytest.raises(FileExistsError, match="must not hold a run already"):
        whole.save(tmp_path)


class Stopping(QuadraticGame):
    """A game whose user presses Ctrl-C in the second run."""

    pressed = 0  # twice, when runs have asked for what the first agent owns: nobody else may (check=False)

    def local(self, i):
        type(self).pressed += i == 0
        if type(self).pressed == 2 and i == 0:
            os.kill(os.getpid(), signal.SIGINT)
        return super().local(i)


def test_ctrl_c_keeps_what_is_finished(whole, tmp_path):
    """The exception says so and holds the finished runs, and the same call goes on."""
    stopping = Stopping.random(agents=4, samples=6, dim_x=2, dim_y=3, seed=1)
    with pytest.raises(KeyboardInterrupt, match="stopped after 1 of 2 runs; those are kept in") as stop:
        compare(stopping, RING, {"dream": METHODS["dream"]}, directory=tmp_path, check=False)
    assert list(stop.value.comparison.results) == [("dream", 0)]
    before = files_of(tmp_path / "dream/seed-0")
    assert_same_bits(
        compare(stopping, RING, {"dream": METHODS["dream"]}, directory=tmp_path).results["dream", 1],
        whole.results["dream", 1],
    )
    assert files_of(tmp_path / "dream/seed-0") == before


def test_a_limit_can_stand_for_the_number_of_iterations():
    """Every run has spent the budget at its last record and not before."""
    found = compare(game(), RING, METHODS, iterations=None, max_sfo=700, record_every=2)
    for result in found.results.values():
        assert result.outcome == "budget" and result.history.sfo.iloc[-1] >= 700 > result.history.sfo.iloc[-2]


REFUSED = {
    "a name": (dict(methods=["dreem"]), "`method` must be one of .* Did you mean 'dream'"),
    "a bare name": (dict(methods=["dream"]), "`dream` needs `eta`, `gamma`"),
    "no methods": (dict(methods={}), "`methods` must name at least one"),
    "a path": (dict(methods={"../x": METHODS["dream"]}), r"`methods` must have names .*got '\.\./x'"),
    "the same seed twice": (dict(seeds=(1, 1)), "`seeds` must be different"),
    "no end": (dict(iterations=None), "`iterations` must be given, or one of `max_sfo`"),
    "no rounds": (dict(iterations=None, max_rounds=9), "`max_rounds` never ends alone, which has no rounds"),
    "parallel actors": (dict(backend="ray", parallel=True), '`parallel` needs backend="local"'),
    "another size": (dict(topology=rd.topology.ring(5)), "`topology` has 5 agents but `problem` has 4"),
    "a limit": (dict(max_sfo=0), "`max_sfo` must be at least 1"),
}


@pytest.mark.parametrize(("change", "sentence"), REFUSED.values(), ids=REFUSED)
def test_a_mistake_gets_a_sentence_before_anything_runs(change, sentence):
    """No oracle is asked."""
    witness = Witness(game())
    with pytest.raises((ValueError, TypeError), match=sentence):
        compare(**{"problem": witness, "topology": RING, "methods": METHODS, **change})
    assert witness.log == []


def test_progress_is_told_in_lines(capsys):
    """One line per run where there is no terminal, if asked for."""
    compare(game(), RING, {"dream": METHODS["dream"], "broken": Broken()}, seeds=(0,), iterations=3, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and lines[0].startswith("compare 1/2: dream, seed 0: completed, P=")
    assert lines[1].startswith("compare 2/2: broken, seed 0: failed: ")


def test_runs_of_before_records_said_what_was_cut_go_on(tmp_path):
    """A comparison that an earlier version left half done is finished, not refused."""
    features, labels = rd.data.synthetic(samples=22, features=3)
    problem = rd.problems.RobustLogisticRegression(features, labels, agents=4)
    assert problem.cut.size == 2
    methods = {"a": rd.GTGDA(eta=0.1, gamma=1.0)}
    arguments = dict(iterations=3, backend="local", directory=tmp_path, parallel=False)
    rd.compare(problem, rd.topology.ring(4), methods, seeds=[0], **arguments)
    (path,) = tmp_path.glob("a/*/run.json")
    record = json.loads(path.read_text())
    del record["problem"]["cut"]
    path.write_text(json.dumps(record))
    assert len(rd.compare(problem, rd.topology.ring(4), methods, seeds=[0, 1], **arguments).results) == 2
