"""What measuring costs, and how much of it is done."""

import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from laws import assert_same_bits, run
from scipy.optimize import minimize

import raydream as rd
from raydream.constraints import Box
from raydream.errors import InnerMaximumError
from raydream.problems import QuadraticGame
from raydream.problems.completed import complete
from raydream.report.collect import collect

RING = rd.topology.ring(4)
METHOD = rd.DREAM(eta=0.1, gamma=0.3, p=0.3, b=2, K=2)


class Clock:
    """A clock that only those who call `pass_` move on."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)


class SlowToMeasure:
    """A game whose P takes a hundred seconds of the clock."""

    def __init__(self, clock):
        self.game, self.clock = QuadraticGame.random(agents=4, samples=6, dim_x=2, dim_y=3, seed=1), clock

    def __getattr__(self, name):
        return getattr(self.__dict__["game"], name)

    def primal_and_gradient(self, x):
        self.clock.now += 100.0
        return self.game.primal_and_gradient(x)


# --- evaluation_seconds ---


def test_evaluation_has_seconds_of_its_own(monkeypatch):
    """They add up over the records, and nothing of them is billed to the run."""
    problem = SlowToMeasure(Clock(monkeypatch))
    history = run(problem, RING, METHOD, iterations=25, record_every=10).history
    assert history.evaluation_seconds.tolist() == [100.0, 200.0, 300.0, 400.0]
    assert (history.seconds == 0).all()


def test_evaluation_seconds_go_on_after_a_stop(monkeypatch, tmp_path):
    """A resumed run adds to what the first part took."""
    problem = SlowToMeasure(Clock(monkeypatch))
    run(problem, RING, METHOD, iterations=20, record_every=10, directory=tmp_path / "run", checkpoint_every=20)
    further = rd.resume(tmp_path / "run", problem=problem, iterations=40, progress=False)
    assert further.history.evaluation_seconds.tolist() == [100.0, 200.0, 300.0, 400.0, 500.0]


def test_what_an_old_run_did_not_time_is_not_known(tmp_path):
    """Its column is NaN, before and after it goes on: nobody can say what it took in all."""
    old = Path(__file__).parents[1] / "golden" / "v0.1.0" / "run"
    shutil.copytree(old, tmp_path / "run")
    assert rd.load(tmp_path / "run").history.evaluation_seconds.isna().all()
    rd.resume(tmp_path / "run", iterations=30, backend="local", progress=False)
    assert rd.load(tmp_path / "run").history.evaluation_seconds.isna().all()


def test_evaluation_seconds_are_neither_a_metric_nor_a_cost_in_a_report(tmp_path):
    """A page offers them on no axis; the history has them."""
    result = run(QuadraticGame.random(4, seed=1), RING, METHOD, iterations=5)
    assert "evaluation_seconds" not in collect(result)[0].metrics
    with pytest.raises(ValueError, match="`x` must be one of"):
        result.plot.convergence(x="evaluation_seconds")


# --- Evaluation: when P is measured, and how well ---

SLOPES = np.random.default_rng(0).normal(size=(4, 3, 5))
OF_P = ["primal", "grad_norm", "dual_gap"]


class Shard:
    """f_i = |x|^2/2 + x'B_i y + (bend/2)|y|^2 - sum_k log(1 + exp(y_k - 1)), and one sample."""

    samples = 1

    def __init__(self, i, bend):
        self.B, self.bend = SLOPES[i], bend

    def value(self, x, y):
        return float(x @ x / 2 + x @ self.B @ y + self.bend * y @ y / 2 - np.logaddexp(0, y - 1).sum())

    def gradient(self, x, y, batch=None):
        return x + self.B @ y, self.B.T @ x + self.bend * y - 1 / (1 + np.exp(1 - y))


class Own:
    """Four agents, and nothing said of P; strongly concave in y by -bend."""

    agents, dim_x, dim_y = 4, 3, 5

    def __init__(self, bend=-1.0, constraint=None, start=None):
        self.bend, self.constraint, self._start = bend, constraint, start

    def local(self, i):
        return Shard(i, self.bend)

    def constants(self):
        return rd.problems.Constants(L=10.0, mu=-self.bend)

    def start(self):
        return (np.ones(3), np.zeros(5)) if self._start is None else self._start


def exact(problem, x):
    """P(x) by another maximiser."""
    value = lambda y: -np.mean([problem.local(i).value(x, y) for i in range(4)])  # noqa: E731
    slope = lambda y: -np.mean([problem.local(i).gradient(x, y)[1] for i in range(4)], axis=0)  # noqa: E731
    bounds = None if problem.constraint is None else [(-0.3, 0.3)] * 5
    return -minimize(
        value, np.zeros(5), jac=slope, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-12}
    ).fun


@pytest.mark.parametrize("constraint", [None, Box(-0.3, 0.3)])
@pytest.mark.parametrize("tolerance", [1e-9, 1e-2])
def test_the_error_of_P_is_proven(constraint, tolerance):
    """The true P lies between what is recorded and that plus evaluation_error, which follows the tolerance."""
    problem = Own(constraint=constraint)
    result = run(problem, RING, METHOD, iterations=20, evaluation=rd.Evaluation(tolerance=tolerance))
    short = exact(problem, result.x_bar) - result.history.primal.iloc[-1]
    error = result.history.evaluation_error.iloc[-1]
    assert -1e-12 <= short <= error + 1e-12
    assert error < 1e-12 if tolerance == 1e-9 else 1e-12 < error < 1.0


def test_what_nothing_proves_is_infinite_and_a_formula_has_no_error():
    """Without mu and in an unbounded Y; and NaN where P is exact."""
    problem = Own()
    problem.constants = None
    assert np.isinf(run(problem, RING, METHOD, iterations=5).history.evaluation_error).all()
    game = QuadraticGame.random(agents=4, seed=1)
    assert run(game, RING, METHOD, iterations=5).history.evaluation_error.isna().all()


def test_the_maximiser_starts_where_the_run_is():
    """From y_bar it needs fewer gradients than from 0, and the same bits come out of a run that was resumed."""
    counted = []
    problem = complete(Own())
    inner = problem.gradient
    problem.gradient = lambda x, y: counted.append(1) or inner(x, y)
    x, tolerance = np.full(3, 0.5), 1e-9
    problem.certified(x, np.zeros(5), tolerance)  # which also looks whether it is concave
    counts = []
    for start in (np.zeros(5), problem.best_response(x) + 1e-6):
        counted.clear()
        problem.certified(x, start, tolerance)
        counts.append(len(counted))
    assert counts[1] < counts[0] <= 40


@pytest.mark.parametrize("every", [2, 3])
def test_P_is_measured_at_every_so_many_records(every):
    """Where it is due it has the bits of a run that measures always; the last record has it; NaN between."""
    always = run(Own(), RING, METHOD, iterations=46, record_every=5).history
    found = run(Own(), RING, METHOD, iterations=46, record_every=5, evaluation=rd.Evaluation(every=every))
    due = [number % every == 0 or number == len(always) - 1 for number in range(len(always))]
    assert found.history[OF_P].notna().all(axis=1).tolist() == due and found.outcome == "completed"
    for name in OF_P:
        assert found.history[name][due].tolist() == always[name][due].tolist()
    assert found.history.consensus.equals(always.consensus)


@pytest.mark.parametrize("options", [{}, {"diagnostics": True}])
def test_P_now_and_then_is_the_same_resumed_or_not(tmp_path, options):
    """Also where the first part ended between two records with P, which it measured only because it ended."""
    options |= dict(record_every=5, evaluation=rd.Evaluation(every=3))
    wanted = run(Own(), RING, METHOD, iterations=40, **options)
    run(Own(), RING, METHOD, iterations=20, **options, directory=tmp_path / "run", checkpoint_every=20)
    assert rd.load(tmp_path / "run").history.primal.notna().iloc[-1]
    assert_same_bits(rd.resume(tmp_path / "run", problem=Own(), iterations=40, progress=False), wanted)


def test_a_run_that_measures_now_and_then_did_not_diverge(tmp_path):
    """Between two records its curve holds; a table of costs and a verdict have numbers, no infinity."""
    game = QuadraticGame.random(agents=4, samples=6, seed=1)
    options = dict(seeds=(0, 1), iterations=40, record_every=5, backend="local", parallel=False, progress=False)
    both = rd.compare(game, RING, {"dream": METHOD}, **options, evaluation=rd.Evaluation(every=3))
    always = rd.compare(game, RING, {"dream": METHOD}, **options)
    assert np.isfinite(both.curves("sfo", "primal", points=50)["median"]).all()
    assert both.finals("primal")["median"].tolist() == always.finals("primal")["median"].tolist()
    assert all(np.isfinite(one.columns["primal"]).all() for one in collect(both))


def test_P_may_be_switched_off(tmp_path):
    """Three columns are empty, nothing is called divergence, and a problem without a maximum runs."""
    off = rd.Evaluation(primal=False)
    options = dict(iterations=4, evaluation=off)
    result = run(Own(bend=1.0), RING, METHOD, record_every=2, directory=tmp_path / "run", **options)
    assert result.outcome == "completed" and result.history[OF_P].isna().all(axis=None)
    assert rd.load(tmp_path / "run").record.settings.evaluation == off
    both = rd.compare(
        Own(bend=1.0), RING, {"dream": METHOD}, seeds=(0,), backend="local", progress=False, **options
    )  # fmt: skip
    assert both.curves("sfo", "primal")["median"].isna().all() and both.finals("consensus")["median"].notna().all()
    for needs in (dict(target_primal=1.0), dict(target={"dual_gap": 1.0}), dict(diagnostics=True)):
        with pytest.raises(ValueError, match="`evaluation` must not switch P off"):
            run(Own(), RING, METHOD, iterations=4, evaluation=off, **needs)


NO_MAXIMUM = {
    "convex": (Own(bend=3.0), "not concave on Y"),
    "convex, from its minimum": (Own(bend=3.0, start=(np.zeros(3), np.zeros(5))), "not concave on Y"),
    "convex in a box, from a corner": (
        Own(bend=3.0, constraint=Box(-0.3, 0.3), start=(np.zeros(3), np.full(5, 0.3))), "not concave on Y"
    ),
    "unbounded": (Own(bend=0.0), "has no maximum on Y|maximum over y was not found"),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_MAXIMUM)
def test_a_problem_without_a_maximum_gets_a_sentence(name):
    """In the place of a P of 3e154, 0 or -inf."""
    problem, sentence = NO_MAXIMUM[name]
    with pytest.raises(InnerMaximumError, match=sentence):
        run(problem, RING, METHOD, iterations=4)


def test_a_gradient_in_float32_is_good_enough():
    """P is found as well as its rounding allows."""

    class Rounded(Shard):
        def gradient(self, x, y, batch=None):
            return tuple(np.float64(np.float32(part)) for part in super().gradient(x, y))

    problem = Own()
    problem.local = lambda i: Rounded(i, -1.0)
    result = run(problem, RING, METHOD, iterations=10)
    assert exact(Own(), result.x_bar) - result.history.primal.iloc[-1] < 1e-9


def test_a_run_that_diverges_is_told_so():
    """And not that its maximum was not found far out."""
    assert run(Own(), RING, rd.GTGDA(eta=1e3, gamma=1.0), iterations=400).outcome == "diverged"


WRONG = {"every": (0, "`every` must be at least 1"), "tolerance": (0.0, "`tolerance` must be positive"),
         "primal": ("no", "`primal` must be True or False")}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_evaluation_gets_a_sentence(name):
    """With the argument."""
    value, sentence = WRONG[name]
    with pytest.raises((TypeError, ValueError), match=sentence):
        rd.Evaluation(**{name: value})
    with pytest.raises(TypeError, match="`evaluation` must be an Evaluation"):
        run(Own(), RING, METHOD, iterations=4, evaluation={name: value})
