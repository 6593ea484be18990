"""What methods have where nobody says anything: settled for known data sets, learning there, the same everywhere."""

import json
import os

import pytest
from typer.testing import CliRunner

import raydream as rd
from raydream import specs, steps
from raydream.cli.app import app
from raydream.dashboard.new.fields import method_fields
from raydream.dashboard.new.forms import new_run
from raydream.data.store import KNOWN
from raydream.storage.naming import setting_name
from raydream.studies import defaults
from raydream.studies.setting import Setting

ROWS = 2000  # of each data set, the first ones
LEARNT = 0.1  # by which P must have fallen, from 0.693
UNSETTLED = {"cod-rna"}  # it has no published sum to know it by
DATA = sorted({"synthetic", *(name.removesuffix(".t") for name in KNOWN)} - UNSETTLED)
NETWORK = rd.topology.ring(8, **defaults.TOPOLOGY[1])


@pytest.fixture
def cli(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *words: runner.invoke(app, [str(word) for word in words])


def rows_of(data):
    """The first rows of a data set."""
    if data != "synthetic" and not os.environ.get("RAYDREAM_DATA"):
        pytest.skip("RAYDREAM_DATA names no folder with this data set")
    features, labels = rd.data.load(data)
    return features[:ROWS], labels[:ROWS]


@pytest.mark.parametrize("data", DATA)
def test_every_method_learns_by_default_on_every_known_data_set(data):
    """In a hundred iterations P falls by a tenth at least; nothing that can solve the problem is left out."""
    problem = rd.problems.RobustLogisticRegression(*rows_of(data), agents=8)
    known = steps.table()[f"robust-logistic/{data}"]
    setting = Setting.around(problem, NETWORK, specs.METHODS.values())
    lagging = {}
    for name, kind in specs.METHODS.items():
        if setting.refusal(kind(**steps.GUESS)) is not None:
            assert name not in known
            continue
        method = specs.build_method(name, known[name])
        run = rd.run(*setting.of(method), method, iterations=100, record_every=50, backend="local")
        P = run.history.primal
        if run.outcome != "completed" or not P.iloc[0] - P.iloc[-1] >= LEARNT:
            lagging[name] = (run.outcome, P.iloc[-1])
    assert not lagging


def test_what_is_settled_holds_only_for_what_it_was_settled_on():
    """A data set's test part is like the rest; other data, another scaling and rows of unit norm are not."""
    a9a = steps.table()["robust-logistic/a9a"]["dream"]
    assert steps.settled("dream", "robust-logistic", {"data": "a9a.t", "theta": 0.1, "unit": False}) == a9a
    for given in ({"data": "mine.txt"}, {"data": "a9a", "scaling": "paper"}, {"data": "a9a", "unit": True}):
        assert steps.settled("dream", "robust-logistic", given) is None
    assert steps.settled("dream", "robust-logistic", {}) == steps.table()["robust-logistic/synthetic"]["dream"]
    assert steps.settled("mine", "robust-logistic", {}) is steps.settled("dream", "mine:make", {}) is None


def test_run_compare_and_the_form_begin_with_the_same(cli, tmp_path, shared_ray):
    """One table for all of them: the same parameters, the same network, the same bits."""
    table = steps.table()["robust-logistic/synthetic"]
    done = cli("run", "--backend", "local", "--iterations", 40, "--record-every", 2)
    assert done.exit_code == 0, done.output
    asked = json.loads((tmp_path / "runs/dream-1/run.json").read_text())["asked"]
    assert {name: asked[name] for name in table["dream"]} == table["dream"]
    assert "settled for robust-logistic on synthetic" in done.output
    made = cli("compare", "--seeds", "0", "--backend", "local", "--methods", "dream,gt-gda", "--iterations", 40)
    assert made.exit_code == 0, made.output
    ran, compared = rd.load(tmp_path / "runs/dream-1"), rd.Comparison.load(tmp_path / "runs/compare-1")
    assert ran.history.primal.equals(compared.results["dream", 0].history.primal)
    shown = {one.name: one.default for one in method_fields("dream", "robust-logistic", {"data": "synthetic"})}
    assert {name: shown[name] for name in table["dream"]} == table["dream"]
    form = {"problem": "robust-logistic", "topology": "ring", "method": "dream", "agents": "8", "backend": "local"}
    done = cli("run", *new_run(form).arguments, "--directory", "runs/form", "--iterations", 40, "--record-every", 2)
    assert done.exit_code == 0, done.output
    assert rd.load(tmp_path / "runs/form").history.primal.equals(ran.history.primal)


def test_a_guess_is_called_one(cli):
    """Where nothing is settled the command says so, unless both steps are given."""
    words = ("run", "--backend", "local", "--iterations", 2, "--problem-set", "scaling=paper", "--record-every", 1)
    assert "a guess: nothing is settled" in cli(*words).output
    assert "a guess" not in cli(*words, "--eta", 0.1, "--gamma", 1).output


def test_a_run_is_on_the_same_thing_everywhere(cli, tmp_path, shared_ray):
    """Titles of run, compare, tune and of their reports, and the dashboard's lists, name data, network and agents."""
    from raydream.dashboard.overview.page import where
    from raydream.dashboard.watching.runs import Runs

    name = "robust-logistic on synthetic, ring of 4 (self_weight=0.5)"
    words = ("--backend", "local", "--agents", 4, "--problem-set", "samples=80")
    assert f"dream: {name}" in cli("run", *words, "--iterations", 2).output
    assert name in cli("compare", *words, "--seeds", "0", "--methods", "dream,gda", "--iterations", 2).output
    tuned = cli("tune", "--agents", 4, "--problem-set", "samples=80", "--budget", 2000, "--methods", "gt-gda",
                "--trials", 2, "--workers", 1, "--widen", 0)  # fmt: skip
    assert name in tuned.output
    for page in ("compare-1", "tune-1"):
        assert name in (tmp_path / "runs" / page / "report.html").read_text().partition("</h1>")[0]
    rd.load(tmp_path / "runs/dream-1").report(tmp_path / "one.html")
    assert name in (tmp_path / "one.html").read_text().partition("</h1>")[0]
    watched = Runs(tmp_path / "runs")
    assert where(watched.look("dream-1")) == name
    (pooled,) = [one for one in watched.names() if "gda" in one]
    assert where(watched.look(pooled)) == "robust-logistic on synthetic, 4 agents pooled on one machine"
    own = {"problem": {"name": "Tug"}, "topology": {"name": "erdos_renyi", "m": 9}}
    assert setting_name(own) == "Tug, erdos renyi of 9"
    built = {"problem": {"name": "RobustLogisticRegression"}, "topology": {"name": "ring", "m": 2}}
    assert setting_name(built) == "robust-logistic, ring of 2"


def test_a_method_of_one_machine_is_given_one(cli, tmp_path):
    """`raydream run --method gda` pools the data; what it leaves can go on and be made again."""
    words = ("run", "--method", "gda", "--backend", "local", "--agents", 4, "--checkpoint-every", 2)
    done = cli(*words, "--iterations", 4, "--directory", "runs/a")
    assert done.exit_code == 0 and "4 agents pooled on one machine" in done.output
    assert cli(*words, "--iterations", 2, "--directory", "runs/b").exit_code == 0
    resumed = cli("resume", "runs/b", "--iterations", 4)
    assert resumed.exit_code == 0, resumed.output
    first, second = (rd.load(tmp_path / "runs" / name) for name in "ab")
    assert (first.x_bar == second.x_bar).all()
    problem = specs.build_problem("robust-logistic", 4, {})
    assert rd.run(problem.pooled(), rd.topology.ring(1), specs.build_method("gda", first.record.asked), iterations=4,
                  backend="local").x_bar.tolist() == first.x_bar.tolist()  # fmt: skip


@pytest.mark.filterwarnings("default")
def test_advice_on_the_command_line_is_in_its_own_words(cli):
    """--lazy and --agents 1, and no attribute of Python's; and they help."""
    remark = cli("topology", "path", "--agents", 4).output
    assert "`--lazy`" in remark and "lazy()" not in remark
    assert "Assumption" not in cli("topology", "path", "--agents", 4, "--lazy").output
    params = ("params", "--epsilon", 0.1, "--L", 10, "--mu", 1, "--psi0", 1, "--n", 100)
    assert "lazy()" not in cli(*params, "--problem", "quadratic").output
    bad = ("run", "--backend", "local", "--topology", "complete", "--agents", 2, "--topology-set", "self_weight=0",
           "--set", "mixing=gossip", "--set", "K=1", "--iterations", 2)  # fmt: skip
    assert "`--lazy`" in cli(*bad).output and "lazy()" not in cli(*bad).output
    assert "eigenvalues" not in cli(*bad, "--lazy").output


def test_a_ray_that_does_not_start_is_one_sentence(cli, monkeypatch):
    """It says why, and offers the backend that needs none."""
    import ray

    def refuse(**_):
        raise RuntimeError("the raylet died\nof something")

    if ray.is_initialized():
        pytest.skip("a Ray is running here already")
    monkeypatch.setattr(ray, "init", refuse)
    done = cli("run", "--iterations", 2)
    assert done.exit_code == 2 and "Traceback" not in done.output
    (line,) = [line for line in done.output.splitlines() if "did not start" in line]
    assert "Ray did not start (the raylet died of something)" in line and "--backend local" in line
