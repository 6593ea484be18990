"""run(): records, limits, targets, outcomes, and sentences for parts that do not fit."""

from types import SimpleNamespace

import numpy as np
import pytest
from laws import run

import raydream as rd
from raydream.columns import RECORDED as COLUMNS
from raydream.constraints import Ball
from raydream.errors import MixingWarning
from raydream.problems import QuadraticGame

RING = rd.topology.ring(4)


@pytest.fixture
def game():
    return QuadraticGame.random(agents=4, samples=6, dim_x=2, dim_y=3, seed=1)


def dream(**options):
    return rd.DREAM(**{"eta": 0.1, "gamma": 0.3, "p": 0.3, "b": 2, "K": 2, **options})


def test_history_has_the_promised_columns_and_rows(game):
    """Row t is the state after t iterations; row 0 has the first batch and its K0 rounds billed; the last is there."""
    history = run(game, RING, dream(K0=5), iterations=25, record_every=10).history
    assert tuple(history.columns) == COLUMNS
    assert list(history.iteration) == [0, 10, 20, 25]
    assert (history.sfo[0], history.rounds[0]) == (4 * 6, 5)
    assert history.consensus[0] == 0
    assert all(history[column].is_monotonic_increasing for column in ("sfo", "rounds", "messages", "bytes", "seconds"))


def test_metrics_are_measured_at_the_mean(game):
    """primal, grad_norm, consensus and tracking are those of the last state."""
    result = run(game, RING, dream(), iterations=7)
    last, Z, S = result.history.iloc[-1], result.arrays["Z"], result.arrays["S"]
    assert np.array_equal(np.concatenate([result.x_bar, result.y_bar]), Z.mean(axis=0))
    assert last.primal == game.primal(result.x_bar)
    assert last.grad_norm == pytest.approx(np.linalg.norm(game.primal_gradient(result.x_bar)), rel=1e-12)
    assert last.consensus == pytest.approx(np.linalg.norm(Z - Z.mean(axis=0)) ** 2, rel=1e-9)
    assert last.tracking == pytest.approx(np.linalg.norm(S - S.mean(axis=0)) ** 2, rel=1e-9)
    assert last.dual_gap > 0
    assert last.dual_gap == pytest.approx(last.primal - game.value(result.x_bar, result.y_bar), rel=1e-12)


def test_evaluation_is_never_billed(game):
    """Recording at every iteration costs no SFO."""
    often, seldom = (run(game, RING, dream(), iterations=20, record_every=k).ledger for k in (1, 20))
    assert often == seldom


def test_no_iterations_is_a_run(game):
    """With iterations=0 there is the start alone."""
    result = run(game, RING, dream(), iterations=0)
    assert list(result.history.iteration) == [0] and result.outcome == "completed"
    assert np.array_equal(result.x_out, game.start()[0])


@pytest.mark.parametrize(
    ("limit", "column"), [({"max_sfo": 300}, "sfo"), ({"max_rounds": 60}, "rounds"), ({"max_seconds": 1e-9}, "seconds")]
)
def test_a_budget_ends_the_run_at_the_first_record_that_has_spent_it(game, limit, column):
    """The outcome is "budget", and no earlier record was over the limit."""
    result = run(game, RING, dream(), iterations=1000, record_every=5, **limit)
    spent = result.history[column]
    assert result.outcome == "budget" and column in result.reason
    assert spent.iloc[-1] >= next(iter(limit.values()))
    assert (spent.iloc[:-1] < next(iter(limit.values()))).all()


def test_a_target_ends_the_run(game):
    """The outcome is "target" at the first record that is low enough."""
    result = run(game, RING, dream(), iterations=5000, target_grad_norm=1e-3)
    assert result.outcome == "target"
    assert result.history.grad_norm.iloc[-1] <= 1e-3 < result.history.grad_norm.iloc[-2]
    start = game.primal(game.start()[0])
    assert run(game, RING, dream(), iterations=5000, target_primal=start - 0.1).outcome == "target"


def test_divergence_is_a_result_and_not_a_crash(game):
    """Steps that are far too long end with the outcome "diverged" and a history."""
    result = run(game, RING, dream(eta=50.0), iterations=2000, record_every=100)
    assert result.outcome == "diverged" and "no longer finite" in result.reason
    assert len(result.history) >= 2 and not np.isfinite(result.history.grad_norm.iloc[-1])


def test_a_gradient_that_is_not_finite_is_an_error(game):
    """NaN from the oracle at a finite point stops the run with the agent's number."""
    game.components.q[2, 1, 0] = np.nan
    with pytest.raises(ArithmeticError, match="agent 2, sample 1"):
        run(game, RING, dream(b=6), iterations=200)


def test_a_start_of_ones_own(game):
    """start=(x0, y0) is where every agent begins."""
    x0, y0 = np.array([3.0, -1.0]), np.array([0.5, 0.0, 0.0])
    history = run(game, RING, dream(), iterations=1, start=(x0, y0)).history
    assert history.primal[0] == game.primal(x0)


def test_the_mixing_warning_names_the_range_and_the_remedy():
    """A K-round operator with eigenvalues outside (-1, 1) is warned of, and only then."""
    game, ring = QuadraticGame.random(agents=8, samples=2, dim_x=2, dim_y=2), rd.topology.ring(8)
    with pytest.warns(MixingWarning, match=r"eigenvalues from -1\.17.* off consensus.*lazy"):
        run(game, ring, dream(K=1, momentum="paper"), iterations=1)
    run(game, ring, dream(K=1), iterations=1)


def test_progress_can_be_asked_for(game, capsys, monkeypatch):
    """progress=True writes lines on standard error where there is no terminal; else nothing is written there."""
    monkeypatch.setattr("raydream.running.progress.LINE_SECONDS", 0.0)
    run(game, RING, dream(), iterations=30)
    assert capsys.readouterr().err == ""
    run(game, RING, dream(), iterations=30, progress=True)
    assert "DREAM 30/30: P=" in capsys.readouterr().err


REFUSED = {
    "another size": (lambda g: dict(topology=rd.topology.ring(5)), "`topology` has 5 agents but `problem` has 4"),
    "no topology": (lambda g: dict(topology="ring"), "`topology` must be a Topology"),
    "no method": (lambda g: dict(method=object()), "`method` must have `init` and `step`"),
    "no problem": (lambda g: dict(problem=object()), "`problem` must have .* object has no `agents`"),
    "iterations": (lambda g: dict(iterations=-1), "`iterations` must be at least 0"),
    "iterations as text": (lambda g: dict(iterations="9"), "`iterations` must be a whole number"),
    "record_every": (lambda g: dict(record_every=0), "`record_every` must be at least 1"),
    "seed": (lambda g: dict(seed=-1), "`seed` must be at least 0"),
    "max_sfo": (lambda g: dict(max_sfo=0), "`max_sfo` must be at least 1"),
    "max_seconds": (lambda g: dict(max_seconds=0), "`max_seconds` must be positive"),
    "target": (lambda g: dict(target_grad_norm=-1), "`target_grad_norm` must be positive"),
    "start of another size": (lambda g: dict(start=(np.ones(3), np.ones(3))), r"`start\[0\]` must be .* length 2"),
    "start not finite": (lambda g: dict(start=([0, 0], [0, np.nan, 0])), r"`start\[1\]` must be finite; entry 1"),
    "start no pair": (lambda g: dict(start=3), "`start` must be a pair"),
    "backend": (lambda g: dict(backend="locl"), "`backend` must be one of .* Did you mean 'local'"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "sentence"), REFUSED.values(), ids=REFUSED)
def test_a_misfit_gets_a_sentence_before_anything_runs(game, change, sentence):
    """Each mistake is refused by name, and no oracle is asked."""
    arguments = {"problem": game, "topology": RING, "method": dream(), "iterations": 5, **change(game)}
    parts = [arguments.pop(name) for name in ("problem", "topology", "method")]
    with pytest.raises((ValueError, TypeError), match=sentence):
        run(*parts, **arguments)


def test_a_y0_outside_Y_is_refused():
    """The sentence says how far out it is and what to do."""
    game = QuadraticGame.random(agents=4, samples=3, dim_x=2, dim_y=3, constraint=Ball(1.0))
    with pytest.raises(ValueError, match=r"`start\[1\]` must be in Y; it is 2 away .*constraint.project"):
        run(game, RING, dream(), iterations=5, start=(np.zeros(2), np.array([3.0, 0, 0])))


def test_a_projection_that_mixes_rows_is_refused():
    """A constraint of your own must treat each row alone."""
    game = QuadraticGame.random(agents=4, samples=3, dim_x=2, dim_y=3)
    game.constraint = SimpleNamespace(project=lambda y: y / max(1.0, np.linalg.norm(y)))
    with pytest.raises(ValueError, match=r"`constraint\.project` must accept rows"):
        run(game, RING, dream(), iterations=5)


class PlainDescent:
    """A user's method that is no dataclass: its parameters are attributes."""

    def __init__(self, eta, gamma):
        self.eta, self.gamma = eta, gamma

    def init(self, agents):
        Z = agents.start()
        G = agents.gradient(Z)
        return rd.algorithms.Tracked(Z, G, G)

    def step(self, s, agents, t, coin):
        WZ, WS = yield s.Z, s.S
        Z = agents.project(agents.descend_ascend(WZ, s.S, self.eta, self.gamma))
        G = agents.gradient(Z)
        return rd.algorithms.Tracked(Z, G, WS + G - s.G)


def test_diagnostics_know_the_step_of_a_method_that_is_no_dataclass():
    """C = ||Z - 1 z_bar||^2 + eta^2 ||S - 1 s_bar||^2 with its own eta; it is GT-GDA, and has GT-GDA's numbers."""
    game, ring = rd.problems.QuadraticGame.random(4, seed=1), rd.topology.ring(4)
    options = {"iterations": 6, "record_every": 2, "diagnostics": True}
    plain = run(game, ring, PlainDescent(0.05, 0.3), **options).history
    known = run(game, ring, rd.GTGDA(eta=0.05, gamma=0.3), **options).history
    assert plain.drop(columns=["seconds", "evaluation_seconds"]).equals(
        known.drop(columns=["seconds", "evaluation_seconds"])
    )
