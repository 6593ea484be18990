"""A Ray that somebody else has started, at its address: what becomes of a run, a comparison and a tuning there."""

import contextlib
import json
import os
import signal
import subprocess
import sys

import pytest
from clusters import two_nodes
from laws import assert_same_bits, run
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


NEEDS = """
import json, os, signal, sys, time
import ray, raydream as rd
from clusters import members
from raydream.backends.workers import workers
from waiting import wait_until

address, doomed, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
game = rd.problems.QuadraticGame.random(agents=4, samples=7, dim_x=3, dim_y=4, seed=3)
ray.init(address=address, log_to_driver=False, logging_level="ERROR")
wait_until(lambda: sum(node["Alive"] for node in ray.nodes()) == 2, "both nodes")
second = next(node["NodeID"] for node in ray.nodes() if node["Labels"].get("zone") == "b")
ray.shutdown()
told = {}

def carried_out(**settings):
    found = rd.run(game, rd.topology.ring(4), rd.DREAM(eta=0.05, gamma=0.3, b=3), iterations=20, record_every=20,
                   backend=rd.RayBackend(address=address, **settings))
    return found, {place["node"] for place in found.record.places}

NEEDS = {"labels": {"labels": {"zone": "b"}}, "resources": {"resources": {"tpu": 0.5}},
         "gpus": {"num_gpus": 0.5}, "packed": {"num_gpus": 1, "agents_per_actor": 2}}
for name, settings in NEEDS.items():
    told[name] = carried_out(**settings)[1] == {second}
try:
    carried_out(num_gpus=1)
except ValueError as error:
    told["refused"] = str(error)

def node_of(shared, number):
    time.sleep(0.1)
    print("said by", number)
    return ray.get_runtime_context().get_node_id()

attempt = node_of
attempt.__name__ = attempt.__qualname__ = "attempt"
backend = rd.RayBackend(address=address, labels={"zone": "b"}, num_gpus=0.5, log=out + ".log")
with workers(None, None, backend) as each:
    told["trials"] = {node for _, node in each(attempt, range(8))} == {second}
try:
    with workers(None, None, rd.RayBackend(address=address, num_gpus=3)) as each:
        list(each(attempt, [0]))
except ValueError as error:
    told["no such trials"] = str(error)

def kill(row):
    if row["iteration"] == 20:
        for number in members(doomed):
            os.kill(number, signal.SIGKILL)

backend = rd.RayBackend(address=address, on_loss="repack", cpus_per_actor=2)
repacked = rd.run(game, rd.topology.ring(4), rd.DREAM(eta=0.05, gamma=0.3, b=3), iterations=60, record_every=20,
                  on_record=kill, backend=backend)
told["repacked"] = [event["reason"] for event in repacked.recoveries]
told["actors"] = len(repacked.record.places)
repacked.save(out + ".run")
json.dump(told, open(out, "w"))
"""


def test_what_actors_and_trials_need_is_found_on_a_real_cluster(tmp_path):
    """Labels, resources, GPUs that are none, trials with the same, and agents repacked onto the node that is left."""
    more = ["--labels", "zone=b", "--resources", '{"tpu": 2}', "--num-gpus", "2"]
    with two_nodes(second=more) as nodes:
        out = tmp_path / "told.json"
        done = subprocess.run(
            [sys.executable, "-c", NEEDS, nodes.address, str(nodes.second.pid), str(out)],
            cwd=tmp_path, env=nodes.environment, capture_output=True, text=True, timeout=2 * PATIENCE,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(out.read_text())
    assert all(told[name] for name in ("labels", "resources", "gpus", "packed", "trials"))
    assert "needs 4 actors of 1 CPU and 1 GPU each, but the cluster has room for 2" in told["refused"]
    assert "no node of the cluster has the 1 CPU and 3 GPU that each call needs" in told["no such trials"]
    assert told["repacked"][-1].endswith("all agents now live on 2 actors") and told["actors"] == 2
    said = (tmp_path / "told.json.log").read_text()
    assert all(f"said by {number}" in said for number in range(8)) and said.startswith("attempt (")
    game, ring = rd.problems.QuadraticGame.random(agents=4, **GAME), rd.topology.ring(4)
    wanted = run(game, ring, rd.DREAM(eta=0.05, gamma=0.3, b=3), iterations=60, record_every=20)
    assert_same_bits(rd.load(f"{out}.run"), wanted)
