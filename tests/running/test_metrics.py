"""Metrics of one's own: columns, targets, scores and table entries like the built-in ones."""

import json

import numpy as np
import pytest
from laws import assert_same_bits, run

import raydream as rd
from raydream.errors import MetricError
from raydream.report.collect import collect
from raydream.report.page.page import page

RING = rd.topology.ring(4)
METHOD = rd.DREAM(eta=0.1, gamma=0.3, p=0.3, b=2, K=2)
OWN = {"closeness": lambda x, y: -float(x @ x), "size": rd.Metric(lambda x, y: np.sum(y**2), better="less")}


@pytest.fixture
def game():
    return rd.problems.QuadraticGame.random(agents=4, samples=6, dim_x=2, dim_y=3, seed=1)


class WithMetrics:
    """A game that brings metrics of its own."""

    def __init__(self, game):
        self.game, self.metrics = game, {"closeness": self.closeness}

    def closeness(self, x, y):
        return -float(x @ x)

    def __getattr__(self, name):
        return getattr(self.__dict__["game"], name)


def test_they_are_columns_after_the_built_in_ones(game):
    """In the order given, at the mean of the agents, diagnostics behind them."""
    result = run(game, RING, METHOD, iterations=20, metrics=OWN, diagnostics=True)
    assert list(result.history.columns[-7:]) == ["closeness", "size", "Psi", "C", "V", "U", "Phi"]
    last = result.history.iloc[-1]
    assert last.closeness == -float(result.x_bar @ result.x_bar) and last["size"] == np.sum(result.y_bar**2)


def test_they_change_no_other_number(game):
    """A run with them is the run without them, and more."""
    with_them = run(game, RING, METHOD, iterations=20, metrics=OWN)
    with_them.history = with_them.history.drop(columns=[*OWN])
    assert_same_bits(with_them, run(game, RING, METHOD, iterations=20))


def test_a_problem_brings_its_own(game):
    """They come first; one that is given under the same name takes the place."""
    problem = WithMetrics(game)
    found = run(problem, RING, METHOD, iterations=5, metrics={"more": lambda x, y: 1}).history
    assert list(found.columns[-2:]) == ["closeness", "more"] and found.closeness.iloc[-1] < 0
    assert (
        run(problem, RING, METHOD, iterations=5, metrics={"closeness": lambda x, y: 7}).history.closeness == 7
    ).all()


@pytest.mark.parametrize(("better", "target", "first"), [("more", 20, 20), ("less", 10, 0)])
def test_a_target_knows_which_way_is_better(game, better, target, first):
    """The run ends at the first record that is as good, and says so."""
    seen = iter(range(0, 100, 10))
    result = run(
        game, RING, METHOD, iterations=50, target={"mark": target},
        metrics={"mark": rd.Metric(lambda x, y: next(seen), better)},
    )  # fmt: skip
    assert (result.outcome, result.history.iteration.iloc[-1]) == ("target", first)
    assert result.reason == f"mark = {first} reached the target {target}"


def test_a_target_may_be_a_built_in_metric(game):
    """As target_primal, which must not be given as well."""
    wanted = run(game, RING, METHOD, iterations=200, target_grad_norm=0.1)
    assert_same_bits(run(game, RING, METHOD, iterations=200, target={"grad_norm": 0.1}), wanted)
    assert wanted.outcome == "target"


WRONG = {
    "no name": (dict(metrics={"a b": len}), ValueError, "names such as 'auc' or 'test_loss'; got 'a b'"),
    "taken": (dict(metrics={"primal": len}), ValueError, "'primal' is taken by the package"),
    "taken by tables": (dict(metrics={"seed": len}), ValueError, "'seed' is taken by the package"),
    "no function": (dict(metrics={"auc": 3}), TypeError, "functions f\\(x_bar, y_bar\\); got 3"),
    "no dict": (dict(metrics=len), TypeError, "`metrics` must be a dict"),
    "fails": (dict(metrics={"auc": lambda x, y: 1 / 0}), MetricError, "'auc', which failed at iteration 0 with Zero"),
    "writes": (dict(metrics={"auc": lambda x, y: x.sort()}), MetricError, "'auc', which failed .*read-only"),
    "vector": (dict(metrics={"auc": lambda x, y: x}), MetricError, r"float; at iteration 0 .* array of shape \(2,\)"),
    "nothing": (dict(metrics={"auc": lambda x, y: None}), MetricError, "return a float; .* returned None"),
    "target of nobody": (dict(target={"auc": 0.9}), ValueError, "`target` must be one of .*; got 'auc'"),
    "target no number": (dict(target={"primal": True}), TypeError, r"`target\['primal'\]` must be a number"),
    "target no dict": (dict(target=0.9), TypeError, "`target` must be a dict such as"),
    "target twice": (dict(target={"primal": 1}, target_primal=1.0), ValueError, "'primal' beside `target_primal`"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_gets_a_sentence(game, name):
    """With the metric and the iteration where there is one."""
    options, kind, sentence = WRONG[name]
    with pytest.raises(kind, match=sentence):
        run(game, RING, METHOD, iterations=5, **options)


def test_they_go_through_files_and_resume(game, tmp_path):
    """Same bits resumed or not; whoever resumes gives the functions again, or a problem that has them."""
    options = dict(record_every=5, metrics=OWN, target={"closeness": 1.0})
    wanted = run(game, RING, METHOD, iterations=30, **options)
    run(game, RING, METHOD, iterations=17, **options, directory=tmp_path / "run", checkpoint_every=17)
    assert rd.load(tmp_path / "run").record.settings.metrics == {"closeness": "more", "size": "less"}
    again = dict(problem=game, iterations=30, progress=False)
    with pytest.raises(ValueError, match=r"`metrics` must be given again: .* records 'closeness'"):
        rd.resume(tmp_path / "run", **again)
    with pytest.raises(ValueError, match="which has no 'auc'"):
        rd.resume(tmp_path / "run", **again, metrics={**OWN, "auc": len})
    with pytest.raises(ValueError, match="less of 'size' is better"):
        rd.resume(tmp_path / "run", **again, metrics={**OWN, "size": len})
    assert_same_bits(rd.resume(tmp_path / "run", **again, metrics=dict(reversed(OWN.items()))), wanted)
    loaded = rd.load(tmp_path / "run")
    assert loaded.history.equals(rd.load(tmp_path / "run").history) and "size" in loaded.history
    assert dict(loaded.record.settings.targets) == {"closeness": 1.0}


def test_a_point_that_is_not_finite_is_not_measured():
    """NaN there, and the function is not asked."""
    assert np.isnan(rd.Metric(lambda x, y: 1 / 0).at("auc", np.array([np.inf]), np.zeros(1), 3))


def test_comparisons_know_which_way_is_better(game, tmp_path):
    """Curves, costs to a target, verdicts and tables, in this process and after loading."""
    slow, fast = rd.GTGDA(eta=0.01, gamma=0.3), rd.GTGDA(eta=0.1, gamma=0.3)
    rd.compare(
        game, RING, {"slow": slow, "fast": fast}, seeds=(0, 1, 2), iterations=40, backend="local", parallel=False,
        directory=tmp_path / "both", metrics=OWN, progress=False, start=(np.ones(2), np.zeros(3)),
    )  # fmt: skip
    both = rd.Comparison.load(tmp_path / "both")
    ends = {name: both.results[name, 0].history.closeness.iloc[-1] for name in ("slow", "fast")}
    better, worse = sorted(ends, key=ends.get, reverse=True)
    assert both.verdict("closeness").startswith(f"{better} has the best median of closeness")
    reached = both.to_reach(ends[better], "closeness").set_index("method").reached
    assert reached[better] > 0 and reached[worse] == 0
    assert both.curves("sfo", "closeness")["median"].notna().any() and "closeness" in both.runs
    facts = json.loads(page(collect(both)).split('id="facts">')[1].split("</script>")[0])
    assert facts["metrics"]["closeness"]["better"] == "more" and facts["metrics"]["size"]["better"] == "less"


def test_a_finished_run_without_them_is_another_run(game, tmp_path):
    """A comparison that asks for other columns does not take it over."""
    options = dict(seeds=(0,), iterations=5, backend="local", directory=tmp_path / "both", progress=False)
    rd.compare(game, RING, {"dream": METHOD}, **options)
    with pytest.raises(FileExistsError, match="differs in its metrics"):
        rd.compare(game, RING, {"dream": METHOD}, **options, metrics=OWN)


@pytest.mark.parametrize("better", ["more", "less"])
def test_tuning_judges_by_them(game, better, tmp_path):
    """The winner is the best trial the way round that the metric says; a kept tuning knows it."""
    metric = rd.Metric(lambda x, y: -float(x @ x) if better == "more" else float(x @ x), better)
    tuning = rd.tune(
        game, RING, ["gt-gda"], budget=2000, space={"eta": [0.001, 0.01, 0.1], "gamma": [0.3]}, search="grid",
        metric="far", metrics={"far": metric}, start=(np.ones(2), np.zeros(3)), workers=1, widen=0,
        directory=tmp_path, progress=False,
    )  # fmt: skip
    scores = tuning.trials.score
    assert tuning.winners["gt-gda"]["score"] == (scores.max() if better == "more" else scores.min())
    assert rd.Tuning.load(tmp_path).trials.score.tolist() == scores.tolist()
    with pytest.raises(ValueError, match=r"`metric` must be one of .*; got 'near'"):
        rd.tune(game, RING, ["gt-gda"], budget=2000, metric="near", metrics={"far": metric}, workers=1, progress=False)


def test_same_bits_on_actors(game, shared_ray):
    """They are measured where the driver is."""
    wanted = run(game, RING, METHOD, iterations=10, metrics=OWN)
    assert_same_bits(rd.run(game, RING, METHOD, iterations=10, metrics=OWN, progress=False), wanted)
