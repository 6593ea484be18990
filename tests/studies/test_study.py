"""Study files: every cell is tuned and compared as by hand, and what is finished is not done again."""

import copy
import tomllib
from html import escape

import pytest
from typer.testing import CliRunner

import raydream as rd
from raydream import specs
from raydream.cli.app import app
from raydream.studies.study import study as study_module
from raydream.studies.study.file import read_study, study_from

TEXT = """
title = "Small games"
seeds = [5, 6]

[budget]
axis = "sfo"
passes = 40

[tuning]
search = "random"
trials = 4
seeds = [1]
widen = 0

[[problem]]
name = "quadratic"
agents = 4
samples = [6, 8]
dim_x = 2

[[network]]
name = ["ring", "complete"]

[[method]]
name = "gt-gda"
form = ["cta", "atc"]

[[method]]
name = "dream"
label = "dream, small"
b = 1
eta = { low = 0.01, high = 0.3 }
"""
GIVEN = tomllib.loads(TEXT.replace("dream, small", "dream small"))


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    return folder, rd.study(GIVEN, folder, workers=1)


def test_a_list_makes_a_cell_for_each_value(kept):
    """Two problems on two networks; cells are called by what tells them apart, and so are their folders."""
    folder, found = kept
    names = ["samples=6, ring", "samples=6, complete", "samples=8, ring", "samples=8, complete"]
    assert [cell.name for cell in found.file.cells] == names == list(found.comparisons) == list(found.tunings)
    assert sorted(path.name for path in folder.iterdir()) == sorted([*names, "study.json"])


def test_a_cell_is_what_tune_and_compare_make_by_hand(kept):
    """The same trials, winners and runs, with a budget of forty passes over the cell's own data."""
    _, found = kept
    problem = specs.build_problem("quadratic", 4, {"samples": 8, "dim_x": 2})
    ring, steps = rd.topology.ring(4), {"eta": rd.Range(0.01, 3.0), "gamma": rd.Range(0.03, 30.0)}
    spaces = {"gt-gda": {**steps, "form": ["cta", "atc"]}}
    spaces["dream small"] = {
        **steps, "b": 1, "b_large": [None, 512], "K": [1, 2, 5], "mixing": ["fastmix", "gossip"],
        "eta": rd.Range(0.01, 0.3),
    }  # fmt: skip
    by_hand = rd.tune(
        problem, ring, {"gt-gda": "gt-gda", "dream small": "dream"}, budget=40 * 32, space=spaces, search="random",
        trials=4, seeds=[1], widen=0, workers=1,
    )  # fmt: skip
    tuning, comparison = found.tunings["samples=8, ring"], found.comparisons["samples=8, ring"]
    assert tuning.winners["gt-gda"] == by_hand.winners["gt-gda"] and tuning.budget == 1280
    drawn = [[one["parameters"] for one in those.records if one["method"] == "gt-gda"] for those in (tuning, by_hand)]
    assert drawn[0] == drawn[1] and len(drawn[0]) == 4
    compared = rd.compare(problem, ring, best=tuning, seeds=[5, 6], backend="local", parallel=False)
    assert compared.verdict() == comparison.verdict() == found.verdicts()["samples=8, ring"]


def test_a_second_go_runs_nothing_again(kept):
    """Not even where a cell was taken away meanwhile, but that one."""
    folder, found = kept
    files = {path: path.stat().st_mtime_ns for path in folder.rglob("history.csv")}
    again = rd.study(GIVEN, folder, workers=1)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("history.csv")} == files
    assert again.finals.equals(found.finals) and again.tuned.astype(str).equals(found.tuned.astype(str))


def test_the_tables_hold_every_seed_and_never_more_than_the_budget(kept):
    """One row per cell, method and seed, at the last record within the budget."""
    _, found = kept
    finals = found.finals
    assert len(finals) == 4 * 2 * 2 and set(finals.seed) == {5, 6}
    budgets = finals.cell.map(lambda cell: 40 * 4 * (6 if "6" in cell else 8))
    assert (
        (finals.sfo <= budgets).all() and (finals.sfo > budgets - 60).all() and (finals.started > finals.primal).all()
    )


def test_the_report_has_a_row_for_every_cell(kept, tmp_path):
    """One page with the verdicts, every method's median and its tuning, and figures of every cell, all escaped."""
    _, found = kept
    text = found.report(tmp_path / "report.html").read_text()
    assert text.count('<td data-sort="samples=6, ring">') == 1 + 2 + 2 and "Small games" in text
    assert all(escape(sentence) in text for sentence in found.verdicts().values())
    assert "://" not in text.split("<script")[0], "nothing is loaded"


def test_without_tuning_every_parameter_is_given(tmp_path):
    """And a start of one's own is taken; the command line writes both tables, and says where."""
    text = """
    seeds = 1
    [budget]
    axis = "rounds"
    amount = 20
    [problem]
    name = "quadratic"
    agents = 3
    x0 = 2.0
    [network]
    name = "ring"
    [[method]]
    name = "gt-gda"
    eta = 0.05
    gamma = 0.5
    """
    file = tmp_path / "mine.toml"
    file.write_text(text)
    done = CliRunner().invoke(app, ["study", str(file), "--directory", str(tmp_path / "kept")])
    assert done.exit_code == 0 and "finals.csv" in done.output, done.output
    found = rd.study(file, tmp_path / "kept")
    history = next(iter(found.comparisons.values())).results["gt-gda", 0].history
    problem = specs.build_problem("quadratic", 3, {})
    assert history.primal[0] == problem.primal([2.0] * problem.dim_x) and history.rounds.iloc[-1] == 20


def changed(*path, value):
    given = copy.deepcopy(GIVEN)
    part = given
    for name in path[:-1]:
        part = part[name]
    if value is None:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return given


WRONG = {
    "unknown part": (changed("budgte", value={}), "`entry of study` must be one of .* Did you mean 'budget'"),
    "no budget": (changed("budget", value=None), r"`budget` must be a table, \[budget\] in the file"),
    "two budgets": (changed("budget", "amount", value=5), "`budget` must have `amount`, or `passes`"),
    "axis": (changed("budget", "axis", value="sf"), "`budget.axis` must be one of .* mean 'sfo'"),
    "problem": (changed("problem", 0, "name", value="quadratik"), "`problem.name` must be one of .* mean 'quadratic'"),
    "code": (changed("problem", 0, "name", value="os:system"), "`problem.name` must be one of"),
    "its parameter": (changed("problem", 0, "sampels", value=1), "`entry of problem quadratic` .* mean 'samples'"),
    "network": (changed("network", 0, "name", value="rong"), "`network.name` must be one of .* mean 'ring'"),
    "method": (changed("method", 0, "name", value="gt-gdaa"), "`method.name` must be one of .* mean 'gt-gda'"),
    "its range": (changed("method", 1, "eta", value={"low": 0.1}), "`dream small.eta` must be a value, or with"),
    "labels": (changed("method", 1, "label", value="gt-gda"), "`method` must have different labels"),
    "label": (changed("method", 1, "label", value="../x"), "`method.label` must be letters"),
    "metric": (changed("tuning", "metric", value=3), "`tuning.metric` must be text; got 3"),
    "list without tuning": (changed("tuning", value=None), "`gt-gda.form` must be one value where there is no"),
    "no methods": (changed("method", value=[]), r"`method` must be tables, \[\[method\]\] in the file"),
    "seeds": (changed("seeds", value=[1, 1]), "`seeds` must be different"),
}


@pytest.mark.parametrize(("given", "sentence"), WRONG.values(), ids=WRONG)
def test_a_mistake_in_a_file_gets_a_sentence(given, sentence):
    """Before anything is built."""
    with pytest.raises((ValueError, TypeError), match=sentence):
        study_from(given)


def test_a_file_that_is_none_gets_a_sentence(tmp_path):
    """Absent, not TOML, or too long."""
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_study(tmp_path / "no.toml")
    (tmp_path / "bad.toml").write_text("a = ")
    with pytest.raises(ValueError, match="`file` must be TOML"):
        read_study(tmp_path / "bad.toml")
    (tmp_path / "long.toml").write_text("#" * 1_100_000)
    with pytest.raises(ValueError, match="at most 1000000 bytes"):
        read_study(tmp_path / "long.toml")
    with pytest.raises(TypeError, match="`directory` must be given"):
        rd.study(GIVEN)


AUC = """
title = "By a metric of the problem's own"
seeds = [5]
[budget]
axis = "sfo"
passes = 6
[tuning]
search = "random"
trials = 2
metric = "auc"
widen = 0
[[problem]]
name = "auc"
agents = 3
data = "synthetic"
samples = 90
features = 4
[[network]]
name = "ring"
[[method]]
name = "gt-gda"
"""


def test_a_problems_own_metric_judges(tmp_path):
    """The winner is the trial with the largest AUC."""
    found = rd.study(tomllib.loads(AUC), tmp_path, workers=1)
    (tuning,) = found.tunings.values()
    scores = [record["auc"] for record in tuning.records]
    assert tuning.winners["gt-gda"]["score"] == max(scores)


def test_a_metric_that_one_of_the_problems_lacks_is_refused_before_anything_runs(tmp_path):
    given = tomllib.loads(AUC)
    given["problem"].append({"name": "quadratic", "agents": 3})
    with pytest.raises(ValueError, match=r"`tuning.metric` must be one of .*; got 'auc'"):
        rd.study(given, tmp_path / "s", workers=1)
    assert not (tmp_path / "s").exists()


ROUGH = {"latency": 0.05, "drop": "bursts-0.1-0.5", "compression": "qsgd-4", "memory": True}


@pytest.mark.parametrize("tuned", [True, False], ids=["tuned", "given"])
def test_a_study_has_conditions(tuned, tmp_path):
    """They hold for tuning and comparing alike, and simulated time may be the budget."""
    file = copy.deepcopy(GIVEN) | {
        "budget": {"axis": "sim_seconds", "amount": 4.5},
        "conditions": {**ROUGH, "schedule": "matchings"},
        "network": [{"name": "ring"}],
        "method": [{"name": "gt-gda", **({} if tuned else {"eta": 0.1, "gamma": 0.5})}],
    }
    file["problem"][0]["samples"] = 6
    if not tuned:
        del file["tuning"]
    study = rd.study(file, tmp_path, workers=1, progress=False)
    (comparison,) = study.comparisons.values()
    wanted = rd.Conditions(**ROUGH, schedule="matchings")
    assert all(result.record.conditions == wanted for result in comparison.results.values())
    assert set(comparison.runs.outcome) == {"budget"} and (comparison.runs.sim_seconds >= 4.5).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"conditions": {"weather": 1}}, "`conditions` must be one of"),
        ({"conditions": {"latency": -1}}, "`latency` must not be negative"),
        ({"budget": {"axis": "sim_seconds", "amount": 1.0}}, "`budget.axis` sim_seconds needs `conditions`"),
    ],
)
def test_conditions_of_a_study_that_make_no_sense_get_a_sentence(change, sentence):
    """Before anything runs."""
    with pytest.raises(ValueError, match=sentence):
        study_from(copy.deepcopy(GIVEN) | change)


def test_a_study_runs_and_tunes_at_the_ray_that_is_named(monkeypatch, tmp_path):
    """Trials without what concerns actors alone; runs where the file says Ray; what nobody would heed is refused."""
    seen = []

    def stop(*_, backend, **__):
        seen.append(backend)
        raise ZeroDivisionError

    monkeypatch.setattr(study_module, "compare", stop)
    monkeypatch.setattr(study_module, "tune", stop)
    backend = rd.RayBackend(address="h:1", links="tcp", labels={"zone": "a"})
    on_ray = {**GIVEN, "backend": "ray"}
    untuned = {name: value for name, value in on_ray.items() if name != "tuning"}
    untuned["method"] = [{"name": "gt-gda", "eta": 0.1, "gamma": 1.0}]
    for file in (on_ray, untuned):
        with pytest.raises(ZeroDivisionError):
            rd.study(file, tmp_path, backend=backend)
    assert seen == [rd.RayBackend(address="h:1", labels={"zone": "a"}), backend]
    with pytest.raises(ValueError, match="`links` must be left out of a backend for trials"):
        rd.study(GIVEN, tmp_path, backend=backend)
    with pytest.raises(ValueError, match="the study's runs are on 'local', and it has no trials"):
        rd.study({**untuned, "backend": "local"}, tmp_path, address="h:1")
