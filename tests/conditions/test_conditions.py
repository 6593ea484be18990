"""Conditions as they are said: checked first, kept with the run; simulated time as a limit, an axis and a budget."""

import json

import pytest
from typer.testing import CliRunner

import raydream as rd
from raydream.conditions.conditions import conditions_from
from raydream.problems import QuadraticGame

RING = rd.topology.ring(4)
PRICED = rd.Conditions(gradient_seconds=1e-3, latency=0.05, bandwidth=1e6)


def game():
    return QuadraticGame.random(agents=4, samples=7, dim_x=3, dim_y=4, seed=3)


def run(**settings):
    settings = {"iterations": 10, "record_every": 1, "backend": "local"} | settings
    return rd.run(game(), RING, rd.GTGDA(eta=0.05, gamma=0.3), **settings)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"latency": -0.1}, "`latency` must not be negative; got -0.1."),
        ({"gradient_seconds": [0.1, -1]}, r"`gradient_seconds\[1\]` must not be negative"),
        ({"bandwidth": 0}, "`bandwidth` must be positive; got 0."),
        ({"uplink": float("nan")}, "`uplink` must be finite"),
        ({"latency": True}, "`latency` must be a number; got True."),
        ({"latency": "soon"}, "`latency` must be one of 'exponential', 'lognormal', 'uniform'; got 'soon'."),
        ({"latency": "exponential"}, "`latency` must read exponential-MEAN"),
        ({"gradient_seconds": "exponential-0"}, "makes no sense: `mean` must be positive"),
        ({"gradient_seconds": "uniform-2-1"}, "`high` must not be below `low`"),
        ({"latency": {(0, 1): 1.0, (1, 0): 2.0}}, r"one price for the link \(0, 1\); got 1.0 and 2.0"),
        ({"latency": [0.1, 0.2]}, r"`latency` must be a number, words, or \{\(i, j\): seconds\}"),
    ],
)
def test_bad_values_get_a_sentence(given, sentence):
    """Where the conditions are made, before there is a run."""
    with pytest.raises((ValueError, TypeError), match=sentence):
        rd.Conditions(**given)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"gradient_seconds": [1, 2, 3]},
            "`gradient_seconds` must be a number, or one for each of the 4 agents; got 3",
        ),
        ({"latency": {(0, 1): 1, (1, 2): 1, (2, 3): 1}}, r"it has the link \(0, 3\), and `latency` does not"),
        ({"latency": {(0, 2): 1.0}}, r"it has no link \(0, 2\), and `latency` names it"),
    ],
)
def test_what_does_not_fit_the_network_gets_a_sentence(given, sentence):
    """Before anything runs."""
    with pytest.raises(ValueError, match=sentence):
        run(conditions=rd.Conditions(**given))


def test_what_is_no_conditions_is_refused():
    """And so is a limit of time that nobody counts."""
    with pytest.raises(TypeError, match=r"`conditions` must be a raydream\.Conditions"):
        run(conditions={"latency": 1})
    with pytest.raises(ValueError, match="`max_sim_seconds` needs `conditions`"):
        run(max_sim_seconds=1.0)
    free = dict(max_sim_seconds=1.0, conditions=rd.Conditions(gradient_seconds=0.0), backend="local")
    with pytest.raises(ValueError, match="`max_sim_seconds` never ends gt-gda, which spends none"):
        rd.compare(game(), RING, [rd.GTGDA(eta=0.05, gamma=0.3)], **free)
    with pytest.raises(ValueError, match="`max_sim_seconds` needs `conditions`"):
        rd.tune(game(), RING, ["gt-gda"], budget=1.0, axis="sim_seconds")


@pytest.mark.parametrize(
    "conditions",
    [
        PRICED,
        rd.Conditions(gradient_seconds=[1e-5, 2, 3.5, 0], latency=rd.conditions.Uniform(1e-5, 0.3)),
        rd.Conditions(gradient_seconds=rd.conditions.LogNormal(1e-4, 1.5), uplink=1e6),
        rd.Conditions(latency={(0, 1): 1.0, (2, 1): 2, (3, 2): 0.0, (0, 3): 1e-7}),
        rd.Conditions(),
    ],
)
def test_a_record_keeps_the_conditions(conditions, tmp_path):
    """Through run.json, whatever they are; words make the same distribution again."""
    assert conditions_from(json.loads(json.dumps(conditions.to_json()))) == conditions
    saved = run(conditions=conditions, directory=tmp_path / "r")
    loaded = rd.load(tmp_path / "r")
    assert loaded.record.conditions == conditions
    assert loaded.history.columns.tolist() == saved.history.columns.tolist()
    assert loaded.history.sim_seconds.tolist() == saved.history.sim_seconds.tolist()


def test_a_record_without_conditions_is_as_before(tmp_path):
    """No entry in run.json, no column; a record with one that nobody knows is refused."""
    run(directory=tmp_path / "r")
    found = json.loads((tmp_path / "r" / "run.json").read_text())
    assert "conditions" not in found and "sim_seconds" not in rd.load(tmp_path / "r").history
    (tmp_path / "r" / "run.json").write_text(json.dumps({**found, "conditions": {"weather": 1}}))
    with pytest.raises(ValueError, match="weather"):
        rd.load(tmp_path / "r")


def test_simulated_time_is_a_limit_and_an_axis():
    """The run ends at the first record that has spent as much; tables and curves have the column."""
    whole = run(conditions=PRICED)
    middle = whole.history.sim_seconds.iloc[5]
    cut = run(conditions=PRICED, max_sim_seconds=middle)
    assert (cut.outcome, len(cut.history)) == ("budget", 6)
    methods = {"a": rd.GTGDA(eta=0.05, gamma=0.3), "b": rd.GTDA(eta=0.05, gamma=0.3, R=1)}
    comparison = rd.compare(game(), RING, methods, seeds=[0], max_sim_seconds=1.0, backend="local",
                            record_every=1, conditions=PRICED, parallel=False)  # fmt: skip
    assert set(comparison.runs.outcome) == {"budget"} and (comparison.runs.sim_seconds >= 1.0).all()
    assert "sim_seconds" in comparison.to_reach(1.0) and len(comparison.curves(x="sim_seconds")) == 400
    drawn = comparison.plot.convergence(x="sim_seconds").data
    assert max(max(one.x) for one in drawn) == comparison.history.sim_seconds.max()
    ideal = rd.compare(game(), RING, methods, seeds=[0], iterations=2, backend="local", parallel=False)
    assert "sim_seconds" not in ideal.runs and "sim_seconds" not in ideal.to_reach(1.0)
    with pytest.raises(ValueError, match="`x` must be one of"):
        ideal.curves(x="sim_seconds")


def test_a_comparison_s_folder_knows_its_conditions(tmp_path):
    """Runs under other conditions are other runs."""
    settings = dict(seeds=[0], iterations=2, backend="local", parallel=False, directory=tmp_path / "c")
    methods = [rd.GTGDA(eta=0.05, gamma=0.3)]
    first = rd.compare(game(), RING, methods, conditions=PRICED, **settings)
    again = rd.compare(game(), RING, methods, conditions=PRICED, **settings)
    assert again.history.equals(first.history)
    for other in (None, rd.Conditions(latency=1.0)):
        with pytest.raises(FileExistsError, match="differs in its conditions"):
            rd.compare(game(), RING, methods, conditions=other, **settings)


def test_simulated_time_is_a_budget_of_tuning(tmp_path):
    """Trials end by it; the tuning keeps the conditions, and its winners are compared under them."""
    tuning = rd.tune(game(), RING, ["gt-gda"], budget=2.0, axis="sim_seconds", trials=2, widen=0, workers=1,
                     conditions=PRICED, directory=tmp_path / "t", progress=False)  # fmt: skip
    assert all(0 < record["sim_seconds"] <= 2.0 for record in tuning.records)
    comparison = rd.compare(best=rd.Tuning.load(tmp_path / "t"), problem=game(), seeds=[5], backend="local",
                            parallel=False)  # fmt: skip
    result = next(iter(comparison.results.values()))
    assert result.record.conditions == PRICED and result.outcome == "budget"


def test_the_command_line_takes_conditions(tmp_path):
    """Numbers and words; an unknown one gets a sentence."""
    from raydream.cli.app import app

    words = ["run", "--problem", "quadratic", "--agents", "4", "--iterations", "3", "--backend", "local"]
    done = CliRunner().invoke(
        app,
        [*words, "--condition", "latency=0.05", "--condition", "gradient_seconds=exponential-0.001",
         "--condition", "compression=top-0.3", "--condition", "memory=true",
         "--directory", str(tmp_path / "r")],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    found = rd.load(tmp_path / "r").record.conditions
    wanted = dict(latency=0.05, gradient_seconds="exponential-0.001", compression="top-0.3", memory=True)
    assert found == rd.Conditions(**wanted)
    wrong = CliRunner().invoke(app, [*words, "--condition", "weather=1", "--directory", str(tmp_path / "x")])
    assert wrong.exit_code == 2 and "`--condition` must be one of" in wrong.output
