"""The command line: tables for people, one sentence and exit code 2 for mistakes."""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import raydream as rd
from raydream import specs
from raydream.algorithms import METHODS
from raydream.backends.registry import backend_again
from raydream.cli.app import app
from raydream.cli.places import backend_of


@pytest.fixture
def cli(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *words: runner.invoke(app, [str(word) for word in words])


LOCAL = ("--backend", "local")
QUADRATIC = ("run", "--problem", "quadratic", "--agents", 4, "--iterations", 20, "--set", "b=2", "--eta", 0.05, *LOCAL)


def test_what_actors_need_is_said_in_words():
    """Resources, of which GPUs are one, and labels; what is no number is named."""
    made = backend_of("ray", resources=["GPU=0.5", "tpu=2"], labels=["zone=a"], patience=9.0, on_loss="repack")
    assert made == rd.RayBackend(
        num_gpus=0.5, resources={"tpu": 2.0}, labels={"zone": "a"}, patience=9, on_loss="repack"
    )
    assert backend_again(made.describe()) == made
    for words, sentence in ((["GPU"], "must read name=value"), (["GPU=one"], "must give a number, such as GPU=1")):
        with pytest.raises(ValueError, match=f"`--resource` {sentence}"):
            backend_of("ray", resources=words)


ALL = ["--address", "h:1", "--cpus-per-actor", "2", "--patience", "9", "--autoscale", "--resource", "tpu=2",
       "--resource", "GPU=1", "--label", "zone=a", "--log", "l.txt", "--ship", "mine.py"]  # fmt: skip
ARRIVED = dict(address="h:1", cpus_per_actor=2.0, patience=9.0, autoscale=True, resources={"tpu": 2.0}, num_gpus=1.0,
               labels={"zone": "a"}, log="l.txt", ship=["mine.py"])  # fmt: skip
ACTORS = ["--agents-per-actor", "3", "--links", "tcp", "--placement", "one-per-node", "--on-loss", "repack"]
AS_ACTORS = dict(agents_per_actor=3, links="tcp", placement="one-per-node", on_loss="repack")
COMMANDS = {
    "run": ("run", [*ALL, *ACTORS], ARRIVED | AS_ACTORS),
    "resume": ("resume r", [*ALL, *ACTORS], ARRIVED | AS_ACTORS),
    "compare": ("compare", [*ALL, *ACTORS], ARRIVED | AS_ACTORS),
    "compare, packed as by default": ("compare", ALL, {**ARRIVED, "agents_per_actor": "auto"}),
    "tune": ("tune --budget 9", ALL, ARRIVED),
    "study": ("study s.toml", [*ALL, *ACTORS], ARRIVED | AS_ACTORS),
}


@pytest.mark.parametrize(("command", "words", "settings"), COMMANDS.values(), ids=COMMANDS)
def test_what_ray_is_told_arrives_from_every_command(cli, tmp_path, monkeypatch, command, words, settings):
    """The same options, from one place, wherever something runs on Ray."""
    (tmp_path / "mine.py").touch()
    seen = []

    def stop(*_, backend, **__):
        seen.append(backend)
        raise ValueError("seen")

    monkeypatch.setattr(rd, command.split()[0], stop, raising=False)
    done = cli(*command.split(), *words)
    assert seen == [rd.RayBackend(**settings)], done.output


def test_run_writes_a_run_directory_and_a_table(cli, tmp_path):
    """The history is shown, and the directory is named."""
    done = cli(*QUADRATIC)
    assert done.exit_code == 0, done.output
    assert "completed: 20 iterations. Saved in runs/dream-1." in done.output
    assert "grad_norm" in done.output
    record = json.loads((tmp_path / "runs/dream-1/run.json").read_text())
    assert record["problem"]["spec"] == {"name": "quadratic", "parameters": {}}
    assert record["method"]["parameters"]["b"] == 2
    assert cli(*QUADRATIC).exit_code == 0 and (tmp_path / "runs/dream-2").is_dir()


def test_run_takes_parameters_of_all_parts(cli):
    """--set, --problem-set and --topology-set reach method, problem and topology."""
    done = cli(
        "run", "--problem-set", "samples=160", "--problem-set", "features=7", "--problem-set", "split=sorted",
        "--topology-set", "self_weight=0.5", "--set", "K=2", "--set", "b_large=none", "--iterations", 3, *LOCAL,
    )  # fmt: skip
    assert done.exit_code == 0, done.output


def test_run_stops_at_a_target_and_measures_P_now_and_then(cli, tmp_path):
    """By any metric; a name that nobody knows gets a sentence."""
    words = (*QUADRATIC, "--record-every", "1")
    done = cli(*words, "--target", "dual_gap=1e9", "--directory", "one")
    assert done.exit_code == 0 and "target: dual_gap" in done.output, done.output
    done = cli(*words, "--iterations", "7", "--evaluation-every", "3", "--directory", "two")
    assert done.exit_code == 0 and rd.load("two").history.primal.notna().tolist() == [
        True, False, False, True, False, False, True, True,
    ]  # fmt: skip
    done = cli(*words, "--target", "auc=0.9", "--directory", "three")
    assert done.exit_code == 2 and "`target` must be one of" in done.output


def test_run_takes_a_problem_of_ones_own(cli, tmp_path):
    """--problem package.module:make imports a module beside the working folder."""
    (tmp_path / "myproblem.py").write_text(
        "from raydream.problems import QuadraticGame\ndef make(agents=3):\n    return QuadraticGame.random(agents)\n"
    )
    done = cli("run", "--problem", "myproblem:make", "--iterations", 2, "--eta", 0.01, *LOCAL)
    assert done.exit_code == 0, done.output


def test_compare_runs_on_built_in_data(cli):
    """The main job needs no argument."""
    done = cli("compare", "--seeds", "0", "--max-sfo", 12000, *LOCAL)
    assert done.exit_code == 0, done.output
    assert all(name in done.output for name in ("dream", "dm-hsgd", "gt-da", "gt-gda", "gt-srvr"))
    assert "to reach P ≤" in done.output and "the report is runs/compare-1/report.html" in done.output
    assert cli("report", "runs/compare-1", "--output", "again.html").exit_code == 0 and Path("again.html").exists()


def test_an_extra_that_is_missing_gets_a_sentence(cli, tmp_path, monkeypatch):
    """Where a problem of one's own needs it."""
    monkeypatch.setitem(sys.modules, "torch", None)
    (tmp_path / "mynet.py").write_text(
        "import raydream as rd\ndef make(agents=3):\n    return rd.problems.from_torch(None, [], x=1, y=1)\n"
    )
    done = cli("run", "--problem", "mynet:make", "--iterations", 2, "--eta", 0.01, *LOCAL)
    assert done.exit_code == 2 and "pip install 'raydream[torch]'" in done.output


TUNED = ("--problem", "quadratic", "--agents", 5, "--problem-set", "samples=12", "--topology", "complete")


def test_the_hint_after_a_tuning_compares_on_exactly_what_was_tuned(cli, shared_ray):
    """Problem, its parameters, agents, network and budget are the tuning's; seeds are others."""
    done = cli(
        "tune", *TUNED, "--methods", "gt-gda,gt-srvr", "--budget", 2400, "--trials", 4, "--seeds", "0,2", "--widen", 0
    )
    assert done.exit_code == 0, done.output
    hint = "raydream compare --best runs/tune-1"
    assert done.output.rstrip().endswith(hint)
    done = cli(*hint.split()[1:], *LOCAL)
    assert done.exit_code == 0 and "tuned by primal at 2400 sfo each" in done.output, done.output
    tuning, compared = rd.Tuning.load("runs/tune-1"), rd.Comparison.load("runs/compare-1")
    assert compared.identity == tuning.about["identity"] and compared.tuned == tuning.title
    assert {seed for _, seed in compared.results} == {1, 3, 4, 5, 6, 7, 8, 9, 10, 11}
    for (name, _), result in compared.results.items():
        record = result.record
        assert (record.problem.spec.name, record.problem.spec.parameters) == ("quadratic", {"samples": 12})
        assert (record.problem.agents, record.topology.spec.name) == (5, "complete")
        assert record.settings.limits.max_sfo == 2400
        assert record.asked == vars(tuning.best[name])


CONTRADICTIONS = {
    "agents": ("--agents", 4),
    "data": ("--data", "a9a"),
    "problem": ("--problem", "robust-logistic"),
    "its parameter": ("--problem-set", "samples=13"),
    "topology": ("--topology", "ring"),
    "its weight": ("--topology-set", "self_weight=0.5"),
    "parameters": ("--set", "eta=0.1"),
}


def test_an_option_that_contradicts_a_tuning_is_refused_and_another_budget_is_said(cli):
    """One sentence and exit code 2; the same option again is no contradiction."""
    game, network = specs.build_problem("quadratic", 5, {"samples": 12}), specs.build_topology("complete", 5, {})
    space = {"eta": [0.03, 0.1], "gamma": 1.0}
    rd.tune(game, network, ["gt-gda"], budget=2400, space=space, directory="t", workers=1, search="grid")
    for name, words in CONTRADICTIONS.items():
        done = cli("compare", "--best", "t", *words, *LOCAL)
        assert done.exit_code == 2 and f"`{words[0]}" in done.output and "contradicts `--best`" in done.output, name
    done = cli("compare", "--best", "t", *TUNED, "--seeds", "0,7", "--max-sfo", 1200, *LOCAL)
    assert done.exit_code == 0, done.output
    assert "raydream: `best` was tuned for max_sfo=2400; compared with max_sfo=1200" in done.output
    assert "raydream: `seeds` has [0], on which the winners were chosen" in done.output


def test_a_tuning_that_nothing_comes_of_is_no_success(cli):
    """A budget that the start uses up, and trials that stay where they began, end with a sentence and exit code 2."""
    done = cli("tune", *TUNED, "--methods", "gt-gda", "--budget", 100, "--workers", 1)
    assert done.exit_code == 2 and "gt-gda begins with 60 sfo, and 100 came. Give at least 180" in done.output
    assert not Path("runs").exists() or not list(Path("runs").rglob("best.json"))


def test_topology_compares_gossip_with_fastmix(cli):
    """Facts and rounds for every named network; the paper's ring needs far fewer rounds by FastMix."""
    done = cli("topology", "ring", "--set", "self_weight=0.999")
    assert done.exit_code == 0 and "0.999707" in done.output
    assert cli("topology").exit_code == 0


def test_topology_measures_networks_that_change(cli):
    """Links in use, what a round leaves on average, and the rounds; three one-peer rounds of 8 agents are the mean."""
    done = cli("topology", "ring", "--schedule", "matchings", "--schedule", "one-peer-exponential")
    assert done.exit_code == 0, done.output
    lines = {line.split()[0]: line.split() for line in done.output.splitlines() if line.split()}
    rounds = rd.Conditions(schedule="matchings").changing(rd.topology.ring(8), 0).facts()
    assert float(lines["matchings"][-2]) == pytest.approx(rounds.lam, abs=1e-5)
    assert lines["one-peer-exponential"][-1] == "3" and float(lines["one-peer-exponential"][-2]) == 0
    assert "`schedule` must be one of" in cli("topology", "ring", "--schedule", "sometimes").output


def test_params_prints_the_theorem(cli):
    """From constants, or from a problem."""
    done = cli("params", "--epsilon", 0.1, "--L", 10, "--mu", 1, "--psi0", 1, "--n", 1000)
    assert done.exit_code == 0 and "K_large" in done.output
    done = cli("params", "--epsilon", 1, "--problem", "quadratic-online")
    assert done.exit_code == 0 and "`--lazy`" in done.output


def test_data_lists_and_methods_list(cli):
    """Both are tables."""
    listed = cli("data").output
    assert all(name in listed for name in ("ijcnn1", "synthetic", "cod-rna"))
    assert "2000" in cli("data", "synthetic").output
    listed = cli("methods").output
    assert all(name in listed for name in METHODS)
    assert cli("--version").output.startswith("raydream ")


def test_data_shows_a_split(cli, tmp_path):
    """Who owns how many rows of which class, as a run on that split has it; as a picture too."""
    done = cli("data", "synthetic", "--agents", 3, "--split", "sorted", "--picture", "split.html")
    assert done.exit_code == 0, done.output
    rows = [line.split() for line in done.output.splitlines() if line.split()[:1] in (["0"], ["1"], ["2"])]
    positive = round(100 * (rd.data.load("synthetic")[1][:1998] > 0).sum() / 666, 1)  # all of them on the last agent
    assert rows == [["0", "666", "0.333333", "100", "0"], ["1", "666", "0.333333", "100", "0"],
                    ["2", "666", "0.333333", f"{100 - positive:.6g}", f"{positive:g}"]]  # fmt: skip
    assert "1998 rows of 3 agents (666 each), sorted, weights n_i/N, 2 classes, 2 rows cut" in done.output
    assert "plotly" in (tmp_path / "split.html").read_text()
    done = cli("data", "synthetic", "--split", "sizes", "--alpha", 0.3)
    assert done.exit_code == 0 and "2000 rows of 8 agents" in done.output
    done = cli("data", "synthetic", "--split", "classes", "--classes-per-agent", 1, "--agents", 4)
    assert done.exit_code == 0 and "classes (at most 1)" in done.output


@pytest.mark.parametrize(
    "command", ["run", "resume", "compare", "tune", "advise", "report", "data", "topology", "params", "methods"]
)
def test_every_command_has_help_with_an_example(cli, command):
    """--help shows how to use it."""
    done = cli(command, "--help")
    assert done.exit_code == 0 and f"Example: raydream {command}" in " ".join(done.output.split())


def test_a_run_on_actors_can_be_resumed_in_one_process(cli, shared_ray):
    """The default backend, a checkpoint, and more iterations elsewhere."""
    on_actors = [word for word in QUADRATIC if word not in LOCAL]
    assert "completed" in cli(*on_actors, "--agents-per-actor", "2,2", "--checkpoint-every", 5).output
    assert "completed: 30 iterations" in cli("resume", "runs/dream-1", "--iterations", 30, *LOCAL).output
    assert "completed: 30 iterations" in cli(*QUADRATIC, "--iterations", 30).output
    first, second = (rd.load(f"runs/dream-{k}").history for k in (1, 2))
    timed = ["seconds", "evaluation_seconds"]
    assert first.drop(columns=timed).equals(second.drop(columns=timed))


MISTAKES = {
    "unknown backend": (("run", "--backend", "rya"), "Did you mean 'ray'?"),
    "bad packing": (("run", "--agents-per-actor", "x"), "`--agents-per-actor` must be a number, auto, or sizes"),
    "unknown space": (("tune", "--budget", 100, "--space", "papre"), "Did you mean 'paper'?"),
    "unknown axis": (("tune", "--budget", 100, "--axis", "sofa"), "`axis` must be one of"),
    "a grid too large": (("tune", "--budget", 100, "--search", "grid", "--space", "paper"), "configurations of dream"),
    "nothing to report": (("report", "nowhere"), "must be a run directory"),
    "no such tuning": (("compare", "--best", "nowhere"), "nowhere"),
    "seeds in words": (("compare", "--seeds", "one"), "`--seeds` must be whole numbers"),
    "no run to resume": (("resume", "nowhere"), "has no run.json"),
    "no Ray there": (("run", "--address", "127.0.0.1:1"), "did not answer"),
    "unknown method": (("run", "--method", "draem"), "Did you mean 'dream'?"),
    "unknown topology": (("run", "--topology", "rnig"), "Did you mean 'ring'?"),
    "unknown problem": (("run", "--problem", "quadratc"), "Did you mean 'quadratic'?"),
    "unknown data": (("run", "--data", "a9b"), "a9a"),
    "unknown parameter": ((*QUADRATIC, "--set", "bb=3"), "Did you mean 'b'?"),
    "bad parameter": ((*QUADRATIC, "--set", "p=2"), "`p` must be in (0, 1]"),
    "not a parameter": ((*QUADRATIC, "--set", "p"), "`--set` must read name=value"),
    "eta": ((*QUADRATIC, "--eta", "0"), "`eta` must be positive"),
    "too many agents": (("run", "--agents", 5000), "5000"),
    "no such module": (("run", "--problem", "no_such_module:make"), "importable module"),
    "no such maker": (("run", "--problem", "json:nothing"), "no callable 'nothing'"),
    "missing constants": (("params", "--epsilon", 0.1), "give --L, --mu, --psi0"),
    "both n and sigma": (("params", "--epsilon", 1, "--L", 2, "--mu", 1, "--psi0", 1), "exactly one of `n`"),
    "needed parameter": (("topology", "erdos-renyi"), "needs `probability`"),
    "hypercube of 6": (("topology", "hypercube", "--agents", 6), "power of"),
    "a split of nothing": (("data", "--split", "sorted"), "`--split` needs a data set to split; give its name"),
    "an unknown split": (("data", "synthetic", "--split", "srted"), "Did you mean 'sorted'?"),
    "a missing file": (("data", "./nowhere.libsvm"), "nowhere.libsvm"),
}


@pytest.mark.parametrize(("words", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_gets_one_sentence_and_exit_code_2(cli, tmp_path, words, sentence):
    """No traceback, nothing written."""
    done = cli(*words)
    assert done.exit_code == 2
    *phases, line = done.stderr.strip().splitlines()  # what was begun is told where it takes a while
    assert line.startswith("raydream: ") and sentence in line
    assert not [one for one in phases if not one.startswith(("raydream: building", "raydream: reading"))]
    assert not (tmp_path / "runs").exists()


OWN_PROBLEM = """
import numpy as np

class Shard:
    samples = 3
    def __init__(self, i, factor): self.i, self.factor = i, factor
    def value(self, x, y): return float(x @ x / 2 + self.i * x.sum() + x @ y - y @ y / 2)
    def gradient(self, x, y, batch=None): return self.factor * (x + self.i + y), x - y

class Mine:
    agents, dim_x, dim_y = 3, 2, 2
    def __init__(self, factor): self.factor = factor
    def local(self, i): return Shard(i, self.factor)

def make(factor=1.0): return Mine(factor)
"""


def test_check_prints_a_verdict_and_fails_where_it_does(cli, tmp_path):
    """0 where all holds, 1 where something does not, 2 for a mistake in the command; for any problem with a name."""
    (tmp_path / "ownproblem.py").write_text(OWN_PROBLEM)
    done = cli("check", "--problem", "ownproblem:make")
    assert done.exit_code == 0 and "checks hold" in done.output, done.output
    done = cli("check", "--problem", "ownproblem:make", "--problem-set", "factor=2", "--seed", 3)
    assert done.exit_code == 1 and "FAILS        gradient in x" in done.output, done.output
    assert "It is 2 times the derivative." in done.output and "seed 3" in done.output
    done = cli("check", "--problem", "auc", "--agents", 2, "--problem-set", "samples=40", "--no-thorough")
    assert done.exit_code == 0 and "check of AUC: 2 agents" in done.output, done.output
    done = cli("check", "--problem", "auc", "--data", "nonsense")
    assert done.exit_code == 2 and done.output.startswith("raydream: ")
    assert cli("check", "--problem", "ownproblem:nothing").exit_code == 2


def test_a_run_refuses_a_problem_that_contradicts_itself_unless_told_not_to(cli, tmp_path):
    """One sentence and exit code 2; or --no-check, in run and compare."""
    (tmp_path / "ownwrong.py").write_text(OWN_PROBLEM)
    wrong = ("--problem", "ownwrong:make", "--problem-set", "factor=2")
    steps = ("--eta", 0.05, "--iterations", 3, "--set", "b=2", *LOCAL)
    done = cli("run", *wrong, *steps)
    assert done.exit_code == 2 and "`problem` contradicts itself: agent 0: coordinate" in done.output
    assert "--no-check" in done.output.splitlines()[-1]
    assert cli("run", *wrong, *steps, "--no-check").exit_code == 0
    compared = ("compare", *wrong, "--methods", "gt-gda", "--seeds", "0", "--iterations", 3, *LOCAL)
    assert cli(*compared).exit_code == 2 and cli(*compared, "--no-check").exit_code == 0
