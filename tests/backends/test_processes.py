"""Whole programs: what they print, how they end, and that nothing of theirs is left."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from clusters import commands_of_the_cluster_section, two_nodes
from conftest import leftovers, numbers_with
from laws import assert_same_bits, run
from waiting import PATIENCE, started, wait_until

import raydream as rd
from raydream.problems import QuadraticGame

GAME = dict(samples=7, dim_x=3, dim_y=4, seed=3)
WORDS = [
    "run", "--problem", "quadratic", "--agents", "2", "--eta", "0.05", "--gamma", "0.3", "--set", "b=3",
    *(word for name, value in GAME.items() for word in ("--problem-set", f"{name}={value}")), "--directory", "r",
]  # fmt: skip
LONG = [*WORDS, "--iterations", "1000000", "--record-every", "20", "--checkpoint-every", "40"]


@pytest.fixture
def start(tmp_path):
    """Starts `raydream ...` in a folder; what still runs at the end is ended."""
    with contextlib.ExitStack() as stack:
        yield lambda words: stack.enter_context(
            started(
                [sys.executable, "-m", "raydream", *words],
                cwd=tmp_path,
                env={name: value for name, value in os.environ.items() if not name.startswith("RAY_")},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        )


def checkpoint_of(folder):
    try:
        return json.loads((folder / "r/checkpoint/manifest.json").read_text())["iteration"]
    except (OSError, ValueError):
        return 0


def uninterrupted(iterations):
    return run(
        QuadraticGame.random(agents=2, **GAME),
        rd.topology.ring(2),
        rd.DREAM(eta=0.05, gamma=0.3, b=3),
        iterations=iterations,
        record_every=20,
    )


PHASES = re.compile(
    r"raydream: (Ray was lost[^:]*: [^:]*: )?"
    r"(loading|building|reading|starting Ray with|starting \d+ actors|\d+ of \d+ actors have|linking)"
)


def without_phases(err):
    """The lines that do not say what is begun."""
    return [line for line in err.splitlines() if not PHASES.match(line) and not re.match(r"DREAM \d+/\d+: P=", line)]


def test_a_run_with_a_ray_of_its_own_is_quiet_and_leaves_nothing(tmp_path, start):
    """The phases, the table and the outcome are all that is printed; Ray is gone with its folder."""
    process = start([*WORDS, "--iterations", "20"])
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert "completed: 20 iterations. Saved in r." in out
    assert without_phases(err) == [] and "ray" not in out.lower()
    assert not leftovers(process.pid)


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_checkpoints_says_how_to_go_on_and_gives_its_code(tmp_path, start, sent, code):
    """Ctrl-C, and what Slurm or Kubernetes sends: the resumed run has the bits of one that was never interrupted."""
    process = start(LONG)
    wait_until(lambda: checkpoint_of(tmp_path) > 0)
    process.send_signal(sent)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert "raydream: stopped after" in err and "go on with: raydream resume r" in err
    assert not leftovers(process.pid)
    done = checkpoint_of(tmp_path)
    assert f"stopped after {done} iterations" in err
    assert_same_bits(rd.resume(tmp_path / "r", iterations=done + 30, backend="local"), uninterrupted(done + 30))


@pytest.mark.parametrize("phase", ["starting Ray with", "starting 2 actors"])
def test_a_run_that_starts_stops_at_once(tmp_path, start, phase):
    """While Ray starts, and while the actors do: one sentence, and nothing of it is left, not even the directory."""
    process = start(LONG)
    for line in process.stderr:
        if phase in line:
            break
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 143
    assert re.fullmatch(r"raydream: stopped (before it had begun|while its actors were starting)", *without_phases(err))
    assert not leftovers(process.pid) and not (tmp_path / "r").exists()


def test_a_dashboard_ends_at_sigterm(tmp_path, start):
    """With a sentence and the code of the signal."""
    process = start(["dashboard", str(tmp_path), "--port", "0"])
    process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err.splitlines()[-1]) == (143, "raydream: the dashboard has ended; runs go on")


@pytest.mark.parametrize("part", ["gcs_server", "raylet"])
def test_a_private_ray_that_is_killed_is_started_again(tmp_path, start, part):
    """Its control service, or its raylet with all agents: the run goes on, quietly, to the same bits."""
    process = start(LONG)
    wait_until(lambda: checkpoint_of(tmp_path) > 0)
    marked = numbers_with("RAYDREAM_DRIVER", str(process.pid))
    [doomed] = [one for one in marked if Path(f"/proc/{one}/exe").resolve().name == part]
    os.kill(doomed, signal.SIGKILL)
    wait_until(lambda: json.loads((tmp_path / "r/run.json").read_text())["recoveries"], "a recovery")
    before = checkpoint_of(tmp_path)
    wait_until(lambda: checkpoint_of(tmp_path) > before, "another checkpoint")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert [line.partition(" after")[0] for line in without_phases(err)] == ["raydream: stopped"]
    [event] = json.loads((tmp_path / "r/run.json").read_text())["recoveries"]
    assert event["agents"] == [0, 1] and event["reason"].endswith("; a new Ray was started")
    # Ray's own agents of what was killed outright end by themselves, within about a minute.
    wait_until(lambda: not leftovers(process.pid), "nothing is left")
    done = checkpoint_of(tmp_path)
    assert_same_bits(rd.resume(tmp_path / "r", iterations=done + 30, backend="local"), uninterrupted(done + 30))


def test_a_killed_driver_leaves_no_process_and_its_run_goes_on(tmp_path, start):
    """After SIGKILL the agents die with their driver, its folder is swept by the next run, and nothing is lost."""
    process = start(LONG)
    wait_until(lambda: checkpoint_of(tmp_path) > 0)
    process.kill()
    process.wait(timeout=PATIENCE)
    wait_until(lambda: not [thing for thing in leftovers(process.pid) if thing.startswith("process")])
    done = checkpoint_of(tmp_path)
    assert_same_bits(rd.resume(tmp_path / "r", iterations=done + 30, backend="local"), uninterrupted(done + 30))
    from raydream.backends.ray.cluster.folders import private_folder

    with private_folder():
        assert not leftovers(process.pid)


def test_an_error_ends_the_program_with_a_sentence(tmp_path, start):
    """A problem of one's own that fails on an agent: exit code 2, one sentence with its number, nothing left."""
    (tmp_path / "mine.py").write_text(
        "from raydream.problems import QuadraticGame\n"
        "class Bad:\n"
        "    samples = 3\n"
        "    def value(self, x, y): return 0.0\n"
        "    def gradient(self, x, y, batch=None): raise ValueError('the sensor is broken')\n"
        "class Mine(QuadraticGame):\n"
        "    def local(self, i): return Bad() if i == 1 else super().local(i)\n"
        "def make(): return Mine.random(2, 3)\n"
    )
    process = start(["run", "--problem", "mine:make", "--iterations", "5", "--directory", "r"])
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert without_phases(err) == ["raydream: agent 1: the sensor is broken"]
    assert not leftovers(process.pid)


@pytest.fixture
def cluster():
    """The README's two `ray start` commands on one machine."""
    with two_nodes() as nodes:
        yield nodes.address, nodes.second, nodes.environment


CLUSTER_PROGRAM = """
import json, os, signal, sys
from clusters import descendants
from waiting import wait_until
import numpy as np, ray
import raydream as rd
from raydream.problems import QuadraticGame

address, doomed, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
ray.init(address=address, log_to_driver=False)
wait_until(lambda: len([node for node in ray.nodes() if node["Alive"]]) == 2)
game = QuadraticGame.random(agents=4, samples=7, dim_x=3, dim_y=4, seed=3)
method, ring = rd.DREAM(eta=0.05, gamma=0.3, b=3), rd.topology.ring(4)

spread = rd.run(game, ring, method, iterations=20, backend=rd.RayBackend(agents_per_actor=2, placement="one-per-node"))
places = []

class Killing(rd.RayBackend):
    def open(self, plan):
        session = super().open(plan)
        places.extend(session.places)
        advance = session.advance
        def killing(first, *rest):
            if first == 40:
                for number in [*descendants(doomed), doomed]:
                    os.kill(number, signal.SIGKILL)
            return advance(first, *rest)
        session.advance = killing
        return session

killed = rd.run(game, ring, method, iterations=60, backend=Killing())
np.savez(out, spread=spread.arrays["Z"], killed=killed.arrays["Z"], grad_norm=killed.history.grad_norm.to_numpy())
told = {"nodes": len({place["node"] for place in places}), "recoveries": killed.recoveries}
open(out + ".json", "w").write(json.dumps(told))
"""


def test_a_cluster_of_two_nodes_of_which_one_is_lost(cluster, tmp_path):
    """The README's commands; agents on both nodes; a node killed in mid-run: the bits of one process."""
    address, second, environment = cluster
    done = subprocess.run(
        [sys.executable, "-c", CLUSTER_PROGRAM, address, str(second.pid), str(tmp_path / "out.npz")],
        env=environment, capture_output=True, text=True, timeout=2 * PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads((tmp_path / "out.npz.json").read_text())  # Ray may print whatever it likes
    assert told["nodes"] == 2
    assert told["recoveries"] and {a for event in told["recoveries"] for a in event["agents"]} <= {0, 1, 2, 3}
    game = QuadraticGame.random(agents=4, samples=7, dim_x=3, dim_y=4, seed=3)
    method, ring = rd.DREAM(eta=0.05, gamma=0.3, b=3), rd.topology.ring(4)
    with np.load(tmp_path / "out.npz") as file:
        assert np.array_equal(file["spread"], run(game, ring, method, iterations=20).arrays["Z"])
        wanted = run(game, ring, method, iterations=60)
        assert np.array_equal(file["killed"], wanted.arrays["Z"])
        assert np.array_equal(file["grad_norm"], wanted.history.grad_norm)


def test_the_readme_s_cluster_commands_end_in_a_run(cluster, tmp_path):
    """The last command of the section, as it stands."""
    address, _, environment = cluster
    [command] = [line for line in commands_of_the_cluster_section() if line.startswith("raydream run")]
    words = command.replace("HEAD:6379", address).split()[1:]
    done = subprocess.run(
        [sys.executable, "-m", "raydream", *words],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "completed" in done.stdout


TUNING_PROGRAM = """
import json, sys, time
import ray
import raydream as rd
from raydream.backends.workers import workers
from raydream.problems import QuadraticGame
from waiting import wait_until


def node_of(shared, number):
    time.sleep(0.2)
    return ray.get_runtime_context().get_node_id()


if __name__ == "__main__":
    address = sys.argv[1]
    ray.init(address=address, log_to_driver=False)
    wait_until(lambda: sum(node["Alive"] for node in ray.nodes()) == 2, "both nodes")
    ray.shutdown()
    with workers(None, None, rd.RayBackend(address=address)) as each:
        nodes = {node for _, node in each(node_of, range(16))}
    game = QuadraticGame.random(agents=4, samples=6, dim_x=2, dim_y=3, seed=1)
    arguments = dict(budget=2000, space={"eta": [0.01, 0.03, 0.1], "gamma": 1.0}, search="grid")
    spread = rd.tune(game, rd.topology.ring(4), ["gt-gda"], address=address, **arguments)
    alone = rd.tune(game, rd.topology.ring(4), ["gt-gda"], workers=1, **arguments)
    json.dump({"nodes": len(nodes), "same": spread.winners == alone.winners}, open(sys.argv[2], "w"))
"""


def test_a_tuning_uses_all_nodes_of_a_named_ray(cluster, tmp_path):
    """Calls land on both nodes, and trials find there what one process finds."""
    address, _, environment = cluster
    program = tmp_path / "tuning_program.py"
    program.write_text(TUNING_PROGRAM)
    done = subprocess.run(
        [sys.executable, str(program), address, str(tmp_path / "told.json")],
        env={**environment, "PYTHONPATH": os.pathsep.join([str(tmp_path), environment["PYTHONPATH"]])},
        capture_output=True, text=True, timeout=2 * PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads((tmp_path / "told.json").read_text()) == {"nodes": 2, "same": True}
