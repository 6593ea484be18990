"""A Ray that somebody else has started, at its address: what becomes of a run, a comparison and a tuning there."""

import contextlib
import json
import os
import signal
import subprocess
import sys

import pytest
from clusters import two_nodes
from laws import assert_same_bits
from test_processes import GAME, LONG, checkpoint_of, uninterrupted, without_phases
from waiting import PATIENCE, started, wait_until

import raydream as rd


@pytest.fixture
def nodes():
    """A cluster of two nodes."""
    with two_nodes() as found:
        yield found


@pytest.fixture
def start(nodes, tmp_path):
    """Starts a program in a folder, beside the cluster."""
    with contextlib.ExitStack() as stack:
        yield lambda words: stack.enter_context(
            started(words, cwd=tmp_path, env=nodes.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        )


JOINED = """
import sys, ray, raydream as rd
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
game = rd.problems.QuadraticGame.random(agents=2, samples=7, dim_x=3, dim_y=4, seed=3)
try:
    rd.run(game, rd.topology.ring(2), rd.DREAM(eta=0.05, gamma=0.3, b=3), iterations=1000000, record_every=20,
           checkpoint_every=40, directory="r")
except rd.errors.RayLost as error:
    print(f"raydream: {error}", file=sys.stderr)
    sys.exit(2)
"""


@pytest.mark.parametrize("joined", [False, True], ids=["named", "joined"])
def test_a_ray_whose_control_service_dies_ends_a_run_with_a_sentence(nodes, start, tmp_path, joined):
    """Before Ray ends the program itself, without a word of it: the run says what happened, and can go on elsewhere."""
    words = ["-c", JOINED, nodes.address] if joined else ["-m", "raydream", *LONG, "--address", nodes.address]
    process = start([sys.executable, *words])
    wait_until(lambda: checkpoint_of(tmp_path) > 0 or process.poll() is not None)
    os.kill(nodes.part("gcs_server"), signal.SIGKILL)
    _, err = process.communicate(timeout=PATIENCE)
    said = [line for line in without_phases(err) if "joining Ray" not in line]
    assert process.returncode == 2
    assert len(said) == 1 and said[0].startswith("raydream: the Ray in use is gone: nobody answers at ")
    assert said[0].endswith("any more; go on with: raydream resume r")
    record = json.loads((tmp_path / "r/run.json").read_text())
    assert record["outcome"] == "failed" and record["reason"].startswith("the Ray in use is gone")
    done = checkpoint_of(tmp_path)
    game, ring = rd.problems.QuadraticGame.random(agents=2, **GAME), rd.topology.ring(2)
    again = rd.resume(tmp_path / "r", iterations=done + 30, backend="local", problem=game, topology=ring)
    assert_same_bits(again, uninterrupted(done + 30))
