"""What measuring costs, and how much of it is done."""

import shutil
import time
from pathlib import Path

import pytest
from laws import run

import raydream as rd
from raydream.problems import QuadraticGame

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
    from raydream.report.collect import collect

    assert "evaluation_seconds" not in collect(result)[0].metrics
    with pytest.raises(ValueError, match="`x` must be one of"):
        result.plot.convergence(x="evaluation_seconds")
