"""Agents who own different numbers of rows: the same f, bills by true sizes, the same bits, and words for it."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import assert_same_bits
from problems.test_library import unequal
from problems.test_problems import hessian
from typer.testing import CliRunner

import raydream as rd
from raydream import specs
from raydream.cli.app import app
from raydream.problems import AUC, AdversarialTraining, FairClassification, GroupDRO, RobustLogisticRegression, complete
from raydream.problems.registry import takes_data
from raydream.report.collect import collect
from raydream.report.setting import said_of
from raydream.storage.checkpoint import problem_mark
from raydream.studies.setting import Setting
from raydream.studies.tuning.starts import Starts

ON_DATA = [name for name in specs.PROBLEMS if takes_data(name)]
RING = rd.topology.ring(3)


def local(*arguments: Any, **options: Any) -> Any:
    return rd.run(*arguments, backend="local", progress=False, **options)


# --- the same function


@given(st.lists(st.integers(0, 3), min_size=8, max_size=40).filter(lambda ids: len(set(ids)) > 1), st.integers(0, 99))
@settings(deadline=None, max_examples=30)
def test_f_is_the_mean_over_all_rows_whoever_owns_them(owners: list[int], seed: int) -> None:
    """sum_i w_i f_i with w_i = n_i/N, and (1/m) sum of what agents own, are f of one agent with all rows."""
    rows = rd.data.synthetic(len(owners), 3, density=0.7, seed=seed)
    shards = rd.data.shards(rows, by=owners)
    for kind, own in ((AdversarialTraining, {"held_out": 0.0}), (RobustLogisticRegression, {})):
        problem, alone = kind(shards, **own), kind(*(part[np.concatenate(shards.rows)] for part in rows), 1, **own)
        x, y = np.random.default_rng(seed).normal(size=problem.dim_x), problem.start()[1]
        values = np.array([problem.local(i).value(x, y) for i in range(problem.agents)])
        scale = problem.agents * shards.weights
        assert np.mean(values) == pytest.approx(alone.value(x, y), rel=1e-12)
        assert shards.weights @ (values / scale) == pytest.approx(alone.value(x, y), rel=1e-12)
        assert problem.value(x, y) == pytest.approx(alone.value(x, y), rel=1e-12)
        assert problem.primal(0.01 * x) == pytest.approx(alone.primal(0.01 * x), rel=1e-10)


@pytest.mark.parametrize("by", ["even", "sorted", "dirichlet", "features"])
def test_shards_of_equal_sizes_pose_the_old_problem_to_the_bit(by: str) -> None:
    """Rows in an order with labels and agents, or the same as Shards, however they weigh."""
    rows, labels = rd.data.synthetic(40, 4, density=0.6)
    shards = rd.data.shards((rows, labels), agents=4, by=by, weights="equal")
    order = np.concatenate(shards.rows)
    new, old = FairClassification(shards), FairClassification(rows[order], labels[order], 4)
    x, y = np.random.default_rng(0).normal(size=new.dim_x), np.array([0.3, 0.7])
    for i in range(4):
        parts = zip(new.local(i).gradient(x, y), old.local(i).gradient(x, y), strict=True)
        assert all(np.array_equal(a, b) for a, b in parts)
    assert new.constants() == old.constants() and new.value(x, y) == old.value(x, y)
    np.testing.assert_array_equal(new.held, order[old.held])


def test_constants_count_large_shards_more() -> None:
    """L of the AUC problem, whose components are quadratic, is the largest root mean square over agents, exactly."""
    problem = AUC(unequal(), theta=0.0, held_out=0.0)
    found = []
    for i in range(3):
        shard, d = problem.local(i), problem.dim_x
        norms = [np.linalg.norm(hessian(shard, d, 1, [j]), 2) for j in range(shard.samples)]
        found.append(np.sqrt(np.mean(np.square(norms))))
    assert pytest.approx(max(found), rel=1e-6) == problem.constants().L
    assert problem.constants().mu == pytest.approx(3 * 5 / 42 * 2 * problem.positive * (1 - problem.positive))


def test_rows_of_a_problem_are_those_of_its_shards() -> None:
    """sizes, samples (the mean, rounded up), used and cut; with a test part, that is held out and nothing else."""
    problem = AUC(unequal(), held_out=0.0)
    assert problem.sizes.tolist() == [5, 12, 25] and problem.samples == 14 and problem.total == 42
    np.testing.assert_array_equal(problem.used, np.concatenate(unequal().rows))
    assert [AUC(unequal()).local(i).samples for i in range(3)] == [4, 10, 20]  # a fifth of each is held out
    shards = unequal(test=0.25)
    tested = AUC(shards)
    np.testing.assert_array_equal(tested.held, shards.test_rows)
    assert tested.sizes.tolist() == shards.sizes.tolist()
    x, (features, labels) = np.ones(tested.dim_x), shards.test
    assert tested.metrics["auc"](x, x[:1]) == tested.metrics_on(features, labels)["auc"](x, x[:1])


def test_groups_follow_rows_wherever_they_went() -> None:
    """An array of groups is read by row number; of a test part nobody is the owner, and no agent is the worst."""
    shards = unequal(test=0.2)
    groups = np.arange(42) % 2
    problem = GroupDRO(shards, groups=groups)
    np.testing.assert_array_equal(problem.groups, groups[problem.used])
    np.testing.assert_array_equal(problem.held_groups, groups[shards.test_rows])
    assert set(problem.metrics) == {"accuracy", "worst_group_accuracy"}
    assert set(GroupDRO(shards).metrics) == {"accuracy"}
    assert set(GroupDRO(unequal()).metrics) == {"accuracy", "worst_group_accuracy"}


REFUSALS: dict[str, tuple[Any, str]] = {
    "weights": (
        lambda: AUC(unequal(weights="equal")),
        "`features` must be Shards with weights='size' where sizes diff",
    ),
    "labels too": (
        lambda: AUC(unequal(), np.ones(42)),
        "`labels` and `agents` must be left out where `features` are S",
    ),
    "agents too": (lambda: AUC(unequal(), agents=3), "`labels` and `agents` must be left out where `features` are S"),
    "no labels": (
        lambda: AUC(rd.data.shards(np.ones((4, 1)), agents=2)),
        "`features` must be Shards with labels; give",
    ),
    "pictures": (
        lambda: AUC(rd.data.shards((np.ones((4, 2, 2)), [1, -1, 1, -1]), agents=2)),
        r"`features` must be Shards of a matrix; got features of shape \(4, 2, 2\)",
    ),
    "three classes": (lambda: AUC(unequal(True)), "`labels` must be -1 or \\+1; entry \\d+ is"),
    "least squares": (
        lambda: rd.problems.RobustLeastSquares(unequal(), lam=5.0, held_out=0.0),
        "`lam` must exceed N/n of the smallest shard, 8.4, for every agent's function",
    ),
    "nothing but features": (lambda: AUC(np.ones((4, 1))), "`labels` must have one entry per row"),
}


@pytest.mark.parametrize("name", sorted(REFUSALS))
def test_what_makes_no_sense_is_refused(name: str) -> None:
    """With a sentence."""
    make, sentence = REFUSALS[name]
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()


# --- runs


def test_bills_are_by_true_sizes() -> None:
    """Full gradients cost N each time, and one start N; b samples cost b, however few an agent owns."""
    problem = AUC(unequal(), held_out=0.0)
    full = local(problem, RING, rd.GTGDA(eta=0.01, gamma=1.0), iterations=7, record_every=1)
    assert full.history.sfo.tolist() == [42 * (t + 1) for t in range(8)]
    dream = local(problem, RING, rd.DREAM(eta=0.01, gamma=1.0, p=0.5, b=9), iterations=12, record_every=1)
    assert set(np.diff(dream.history.sfo)) == {42, 3 * 2 * 9} and dream.history.sfo[0] == 42


def test_actors_have_the_same_bits_on_unequal_shards(shared_ray: None) -> None:
    """One agent on one actor, two on another: the numbers and the bills of one process."""
    problem = GroupDRO(unequal(), lam=0.5)
    method = rd.DREAM(eta=0.05, gamma=1.0, p=0.4, b=3, K=1)
    packed = rd.run(
        problem,
        RING,
        method,
        iterations=8,
        record_every=2,
        backend=rd.RayBackend(agents_per_actor=[1, 2]),
        progress=False,
    )
    assert_same_bits(packed, local(problem, RING, method, iterations=8, record_every=2))


def test_a_run_on_unequal_shards_finds_the_minimum() -> None:
    """Least squares whose agents own 5, 12 and 25 rows: x of the pooled normal equations."""
    problem = rd.problems.RobustLeastSquares(unequal(), held_out=0.0)
    method = rd.GTGDA(eta=0.005, gamma=20.0)
    result = local(problem, RING, method, iterations=6000, record_every=6000)
    np.testing.assert_allclose(result.x_bar, problem.solution(), rtol=0, atol=1e-6)


def test_starts_are_priced_by_true_sizes() -> None:
    """A first full gradient costs N, not m times the rounded mean; of a problem of one's own too."""
    shards = rd.data.shards(rd.data.synthetic(41, 4), agents=3, by="sizes", seed=1)
    method = rd.GTGDA(eta=0.1, gamma=1.0)
    for problem in (AUC(shards, held_out=0.0), Own(), complete(Own())):
        setting = Setting.around(problem, RING, [method])
        assert Starts(setting, "sfo", {}, None).price(method) == sum(problem.local(i).samples for i in range(3))
    alone = Setting.around(AUC(shards, held_out=0.0), RING, [rd.GDA(eta=0.1, gamma=1.0), method])
    assert Starts(alone, "sfo", {}, None).price(rd.SGDA(eta=0.1, gamma=1.0)) == 0
    assert Starts(alone, "sfo", {}, None).price(method) == 41


class Own:
    """A problem of one's own whose agents own 3, 4 and 9 samples; it does not say how many."""

    agents, dim_x, dim_y = 3, 1, 1

    def local(self, i: int) -> Any:
        return SimpleNamespace(
            samples=(3, 4, 9)[i],
            value=lambda x, y: float(x @ x / 2 + x @ y - y @ y / 2),
            gradient=lambda x, y, batch=None: (x + y, x - y),
        )


def test_the_samples_of_ones_own_problem_are_the_mean_of_its_agents() -> None:
    """Rounded up, not those of the first."""
    assert complete(Own()).samples == 6


def test_passes_of_a_study_are_over_all_rows() -> None:
    """budget.passes counts N of unequal shards."""
    problem = {"name": "auc", "agents": 3, "samples": 40, "split": "sizes", "held_out": 0.0}
    given = {
        "title": "one", "seeds": [0], "budget": {"axis": "sfo", "passes": 3}, "problem": [problem],
        "network": [{"name": "ring"}], "method": [{"name": "gt-gda", "eta": 0.01, "gamma": 1.0},
                                                  {"name": "dream", "eta": 0.01, "gamma": 1.0}],
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        seen: list[Any] = []
        patch.setattr("raydream.studies.study.study.compare", lambda *_, **options: seen.append(options["max_sfo"]))
        rd.study(given, "nowhere", workers=1)
    assert seen == [120]


@pytest.mark.filterwarnings("ignore::raydream.errors.MixingWarning")
def test_the_papers_bookkeeping_knows_unequal_shards() -> None:
    """Half of what corrections cost is taken off, and large batches cost N."""
    problem = AUC(rd.data.shards(rd.data.synthetic(41, 4), agents=3, by="sizes"), held_out=0.0)
    method = rd.DREAM(eta=0.01, gamma=1.0, p=0.5, b=4)
    result = local(problem, RING, method, iterations=30, record_every=1)
    steps = np.diff(result.history.sfo)
    wanted = 41 + np.cumsum(np.where(steps == 41, 41, steps / 2))
    [run] = collect(result)
    np.testing.assert_allclose(run.columns["sfo_paper"][1:], wanted)


def test_other_sizes_are_another_problem() -> None:
    """A checkpoint of one split of unequal sizes is none of another's."""
    rows = rd.data.synthetic(42, 4, density=0.6, seed=1)
    one, other = (AUC(rd.data.shards(rows, by=np.repeat([0, 1], cut)), held_out=0.0) for cut in ([20, 22], [19, 23]))
    start = one.start()
    assert problem_mark(one, start) != problem_mark(other, start)


# --- what is said


def test_what_is_cut_is_in_the_record_and_said() -> None:
    """The row numbers in the problem, their count in the record, and a clause in the report."""
    rows, labels = rd.data.synthetic(41, 4, density=0.6)
    problem = RobustLogisticRegression(rows, labels, 3)
    assert problem.cut.tolist() == [39, 40] and problem.pooled().cut.size == 2
    result = local(problem, RING, rd.DREAM(eta=0.1, gamma=1.0), iterations=1)
    record = result.record
    assert record.problem.cut == 2 and record.problem.sizes is None
    assert (
        "3 agents with 13 samples each (2 rows left out, so that all own as many)"
        in said_of(record.problem, record.topology)[0]
    )
    kept = AUC(rd.data.shards((rows, labels), agents=3), held_out=0.0)
    record = local(kept, RING, rd.DREAM(eta=0.1, gamma=1.0), iterations=1).record
    assert (record.problem.cut, record.problem.sizes) == (0, [14, 14, 13])
    assert "3 agents with 13 to 14 samples each, x in" in said_of(record.problem, record.topology)[0]
    online = replace(record.problem, samples=None, sizes=None)
    assert "samples drawn online" in said_of(online, record.topology)[0]


def test_a_run_says_what_is_left_out(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the command line one line, also that it can be kept; nothing where nothing is left out."""
    monkeypatch.chdir(tmp_path)
    words = ["run", "--problem-set", "samples=41", "--agents", "3", "--iterations", "2", "--backend", "local"]
    done = CliRunner().invoke(app, words)
    assert "2 rows are left out, so that all agents own as many; --problem-set cut=false keeps them." in done.output
    done = CliRunner().invoke(app, [*words, "--problem-set", "cut=false"])
    assert done.exit_code == 0 and "left out" not in done.output
    record = json.loads((tmp_path / "runs/dream-2/run.json").read_text())
    assert record["problem"]["sizes"] == [14, 14, 13] and record["problem"]["cut"] == 0


@pytest.mark.parametrize("name", sorted(ON_DATA))
@pytest.mark.parametrize(("split", "own"), [
    ("classes", {"classes_per_agent": 1}), ("sizes", {"alpha": 1.0}), ("features", {}), ("even", {"cut": False}),
])  # fmt: skip
def test_every_problem_on_data_takes_every_split_by_name(name: str, split: str, own: dict[str, Any]) -> None:
    """As the command line, forms and study files do; all rows are owned."""
    made = specs.build_problem(name, 4, {"samples": 61, "split": split, "seed": 1, **own})
    rows = made.used.size + made.held.size + made.cut.size
    assert rows == 61 and made.cut.size == (1 if split == "features" else 0)
    x, y = made.start()
    assert np.isfinite(made.primal(x)) and made.agents == 4
    assert np.mean([made.local(i).value(x, y) for i in range(4)]) == pytest.approx(made.value(x, y), rel=1e-12)
