"""Advice: from what is stored where it matches, else from a quick study; and no winner that seeds do not decide."""

import json
import math

import pytest
from typer.testing import CliRunner

import raydream as rd
from raydream.cli.app import app
from raydream.problems import QuadraticGame
from raydream.studies.advising import quick
from raydream.studies.advising.quick import measured_gradient
from raydream.studies.places import PLACES, WORDS, duration, pace

METHODS = {
    "dream": rd.DREAM(eta=0.05, gamma=0.3, p=0.3, b=2, K=2),
    "gt-gda": rd.GTGDA(eta=0.05, gamma=0.3),
    "gt-srvr": rd.GTSRVR(eta=0.05, gamma=0.3, b=2, Q=5),
}
PRICES = dict(gradient_seconds=1e-5, latency=0.05, bandwidth=1e6)


def game(seed=3):
    return QuadraticGame.random(agents=4, samples=10, dim_x=3, dim_y=4, seed=seed)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder of runs with one comparison of the game on a ring."""
    folder = tmp_path_factory.mktemp("runs")
    settings = dict(seeds=range(4), iterations=120, record_every=3, backend="local", parallel=False)
    rd.compare(game(), rd.topology.ring(4), METHODS, directory=folder / "before", **settings)
    return folder


def test_a_stored_comparison_answers(runs):
    """Its table is that of the same runs at these prices, the quickest first, and it says where it comes from."""
    advice = rd.advise(game(), rd.topology.ring(4), target=1.0, runs=runs, study=False, **PRICES)
    comparison = rd.Comparison.load(runs / "before").at_prices(**PRICES)
    wanted = comparison.to_reach(1.0).set_index("method")
    table = advice.table
    assert table.sim_seconds.is_monotonic_increasing and {*table.method} == {*METHODS}
    for row in table.itertuples():
        assert row.sim_seconds == wanted.sim_seconds[row.method] and row.low <= row.sim_seconds <= row.high
        assert (row.rounds, row.bytes, row.sfo) == tuple(wanted.loc[row.method, ["rounds", "bytes", "sfo"]])
    assert advice.winner == table.method[0] and advice.directory == runs / "before"
    said = str(advice)
    assert f"{advice.winner} gets to grad_norm <= 1 first" in said and "its parameters were given, not tuned" in said
    assert "simulated time is exact, as all agents are alike" in said and "It differs" not in said


def test_what_was_not_asked_may_differ_and_is_said(runs):
    """Another network only where none was named; another problem never; nothing where messages were lost."""
    torus = rd.topology.complete(4)
    with pytest.raises(FileNotFoundError, match=r"`runs` must hold a comparison of this problem; .* has none"):
        rd.advise(game(), torus, runs=runs, study=False, **PRICES)
    with pytest.raises(FileNotFoundError, match="`runs` must hold a comparison"):
        rd.advise(game(seed=4), runs=runs, study=False, **PRICES)
    with pytest.raises(FileNotFoundError, match="`runs` must hold a comparison"):
        rd.advise(game(), runs=runs, methods=["dream", "dm-hsgd"], study=False, **PRICES)
    some = rd.advise(game(), runs=runs, methods=["dream", "gt-gda"], target=1.0, study=False, **PRICES)
    assert {*some.table.method} == {"dream", "gt-gda"}


def test_a_network_that_differs_is_said_and_a_lossy_one_is_no_answer(tmp_path):
    settings = dict(seeds=[0], iterations=3, backend="local", parallel=False)
    rd.compare(game(), rd.topology.complete(4), METHODS, directory=tmp_path / "complete", **settings)
    lossy = rd.Conditions(drop=0.3)
    rd.compare(game(), rd.topology.ring(4), METHODS, directory=tmp_path / "lossy", conditions=lossy, **settings)
    advice = rd.advise(game(), runs=tmp_path, target=1e9, study=False, **PRICES)
    assert advice.directory == tmp_path / "complete"
    assert any(line.startswith("It differs from what was asked: its network is complete") for line in advice.told)
    assert advice.winner is None and "The seeds do not decide" in advice.verdict, "one seed decides nothing"


def test_nobody_there_is_said(runs):
    advice = rd.advise(game(), runs=runs, target=1e-30, study=False, **PRICES)
    assert advice.winner is None and advice.verdict.startswith("No method gets to grad_norm <= 1e-30")
    assert advice.table.sim_seconds.isna().all() and (advice.table.reached == 0).all()


def test_prices_come_from_a_place_and_from_this_machine(runs):
    """What is given goes before the place; what a gradient takes is measured, and said so."""
    advice = rd.advise(game(), preset="cloud", latency=0.1, runs=runs, target=1.0, study=False)
    assert advice.prices.latency == 0.1 and advice.prices.bandwidth == PLACES["cloud regions"].bandwidth
    assert 0 < advice.prices.gradient_seconds < 1 and "on this machine, as measured now" in advice.told[0]
    assert {*WORDS.values()} == {*PLACES} and measured_gradient(rd.problems.OnlineQuadraticGame.random(agents=2)) > 0


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "`latency` or `bandwidth` must be given, or `preset`: one of machine, data-centre, cloud, phones"),
        ({"latency": -1}, "`latency` must not be negative"),
        ({"bandwidth": 0}, "`bandwidth` must be positive"),
        ({"preset": "moon"}, "`preset` must be one of"),
        ({"latency": 0, "gradient_seconds": 0}, "must cost time, or all methods are equally fast"),
        ({"latency": 1, "metric": "beauty"}, "`metric` must be one of"),
        ({"latency": 1, "methods": ["draem"]}, "dream"),
    ],
)
def test_a_mistake_gets_a_sentence(runs, given, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        rd.advise(game(), runs=runs, study=False, **given)


def test_a_quick_study_is_kept_and_goes_on(tmp_path, monkeypatch, capsys):
    """Every method tuned alike for simulated time at these prices; the second question is answered from the first."""
    for name, value in {"TRIALS": 3, "SEEDS": 2, "PASSES": 4, "ROUNDS": 12}.items():
        monkeypatch.setattr(quick, name, value)
    monkeypatch.setattr(quick, "tune", lambda *a, **k: rd.tune(*a, **k, workers=1))
    monkeypatch.setattr(quick, "compare", lambda *a, **k: rd.compare(*a, **k, parallel=False))
    asked = dict(methods=["dream", "gt-gda"], runs=tmp_path, latency=0.05, bandwidth=1e6)
    advice = rd.advise(game(), rd.topology.ring(4), progress=None, **asked)
    assert "a quick study of dream, gt-gda begins. 3 configurations of each" in capsys.readouterr().err
    assert {*advice.table.method} == {"dream", "gt-gda"} and (advice.table.seeds == 2).all()
    assert "tuned by grad_norm at" in advice.told[-1] and "sim_seconds each, halving search" in advice.told[-1]
    kept = advice.directory.parent
    before = {path: path.stat().st_mtime_ns for path in kept.rglob("*.json*")}
    again = rd.advise(game(), rd.topology.ring(4), progress=False, **asked)
    assert again.directory == advice.directory and "From the 4 runs in" in again.told[1]
    assert before == {path: path.stat().st_mtime_ns for path in kept.rglob("*.json*")}, "nothing ran again"
    (kept / "comparison" / "comparison.json").unlink()  # as if it had been ended in the middle
    third = rd.advise(game(), rd.topology.ring(4), progress=False, **asked)
    begun = json.loads((kept / "gradient.json").read_text())["gradient_seconds"]
    assert third.prices.gradient_seconds == begun and third.table.method.tolist() == advice.table.method.tolist()


def test_the_command_prints_the_answer_and_how_to_ask_again(runs, tmp_path):
    """A table, a sentence, and the very command; exit code 2 for a mistake."""
    settings = dict(seeds=range(3), iterations=60, record_every=3, backend="local", parallel=False)
    problem = QuadraticGame.random(agents=4, samples=10)
    rd.compare(problem, rd.topology.ring(4), METHODS, directory=tmp_path / "runs" / "one", **settings)
    words = ["advise", "--problem", "quadratic", "--agents", "4", "--problem-set", "samples=10", "--runs",
             str(tmp_path / "runs"), "--latency", "0.05", "--bandwidth", "1e7", "--no-study"]  # fmt: skip
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 0, told.output
    assert "simulated time" in told.output and "first" in told.output.splitlines()[-2]
    again = told.output.splitlines()[-1]
    assert again.startswith(
        "Again: raydream advise --problem quadratic --agents 4 --problem-set samples=10 --latency 0.05"
    )
    repeated = CliRunner().invoke(app, [*again.split()[2:], "--no-study"])
    assert repeated.exit_code == 0 and repeated.output.splitlines()[-3:] == told.output.splitlines()[-3:]
    assert CliRunner().invoke(app, [*words, "--latency", "-1"]).exit_code == 2


def test_prices_are_read_in_usual_units():
    assert [duration(one) for one in (1e-8, 2.5e-6, 0.05, 1.0, 90.0, 7200.0, 2e5)] == [
        "10 ns", "2.5 µs", "50 ms", "1 s", "1.5 min", "2 h", "2.31 days",
    ]  # fmt: skip
    assert [pace(one) for one in (1e10, 1e7, 2.5e4, 10, math.inf)] == [
        "10 GB/s", "10 MB/s", "25 kB/s", "10 B/s", "any number of bytes at once",
    ]  # fmt: skip
