"""Several hosts, each with its own network, disk and processes: what one machine's processes cannot show."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hosts import racked, why_not
from laws import assert_same_bits, run
from test_processes import checkpoint_of, commands_of_the_cluster_section
from waiting import PATIENCE, wait_until

import raydream as rd
from raydream.backends.ray.runtime import QUIET

GAME = dict(samples=7, dim_x=3, dim_y=4, seed=3)
MINE = f"""
from raydream.problems import QuadraticGame
class Own:
    def __init__(self, shard):
        self.value, self.gradient, self.samples = shard.value, shard.gradient, shard.samples
class Mine(QuadraticGame):
    def local(self, i):
        return Own(super().local(i))
def make():
    return Mine.random(agents=6, **{GAME!r})
"""
WORDS = ["--eta", "0.05", "--gamma", "0.3", "--set", "b=3", "--record-every", "20"]
SIZE = ["--num-cpus=4", "--disable-usage-stats", "--object-store-memory=100000000"]
QUICK = '{"health_check_initial_delay_ms":0,"health_check_period_ms":1000,"health_check_failure_threshold":5}'
PATIENT = {name: value for name, value in QUIET.items() if name.endswith(("timeout_seconds", "timeout_ms"))}
PAGE = (Path(__file__).parents[2] / "experiments/cluster/README.md").read_text()


def command(beginning, first=None):
    """The page's command that begins so, with the address of the first host, as words."""
    [line] = [line.strip() for line in PAGE.splitlines() if line.startswith(f"    {beginning}")]
    return (line if first is None else line.replace("HEAD", first.address)).split()


@pytest.fixture(scope="module")
def hosts():
    """Three hosts with a Ray across them, by the page's commands; a module of one's own is on the first alone."""
    if reason := why_not():
        pytest.skip(f"{reason}; two raylets on one host are tested instead, in test_processes.py")
    with racked(3) as (switch, hosts):
        first, *others = hosts
        first.switch = switch
        for host in hosts:
            host.environment = environment(host)
        succeed(first, command("ray get-auth-token"))
        token = succeed(first, ["cat", ".ray/auth_token"])
        for host in hosts:
            succeed(host, ["mkdir", "-p", ".ray"])
            host.write(".ray/auth_token", token)
            succeed(host, ["sh", "-c", " ".join(command("chmod"))])
            host.environment["RAY_AUTH_MODE"] = "token"
        first.write("mine.py", MINE)
        succeed(first, [*command("ray start --head"), *SIZE, "--system-config", QUICK])
        for host in others:
            succeed(host, [*command("ray start --address", first), *SIZE])
        wait_until(lambda: succeed(first, command("ray status")).count("1 node_") == 3, "the status of three nodes")
        yield hosts


def environment(host):
    """Programs of this installation; a home, and Ray's folder, on the host's own disk; time to start in."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    kept |= PATIENT
    path = os.pathsep.join([str(Path(sys.executable).parent), kept["PATH"]])
    return {**kept, "PATH": path, "HOME": str(host.disk), "RAY_TMPDIR": str(host.disk)}


def succeed(host, words, **settings):
    """Run this on a host; what it printed."""
    done = host.run(words, env=host.environment, **settings)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def game():
    """The problem of the module."""
    exec(MINE, names := {})
    return names["make"]()


def uninterrupted(iterations):
    method = rd.DREAM(eta=0.05, gamma=0.3, b=3)
    return run(game(), rd.topology.ring(6, self_weight=0.5), method, iterations=iterations, record_every=20)


def told(folder):
    """What run.json says."""
    return json.loads((folder / "run.json").read_text())


def struck(hosts, folder, strike, *more):
    """A run over the hosts that recovers from what `strike` does to it, to the bits of one process: its recoveries.

    strike  is given where the actors live, as run.json tells it
    """
    first, run = hosts[0], folder / "r"
    words = [*command("raydream run --address HEAD:6379 --problem", first), *WORDS, *more]
    words += ["--iterations", "1000000", "--checkpoint-every", "40", "--directory", str(run)]
    with open(folder / "err", "w+") as err:
        process = subprocess.Popen(first.words(words), env=first.environment, stdout=err, stderr=err, text=True)
        try:
            wait_until(lambda: checkpoint_of(folder) > 0 or process.poll() is not None, "a checkpoint")
            assert process.poll() is None, Path(err.name).read_text()
            strike(told(run)["places"])
            wait_until(lambda: told(run)["recoveries"] or process.poll() is not None, "a recovery")
            (run / "stop").touch()
            process.wait(timeout=PATIENCE)
        finally:
            process.kill()
            process.wait(timeout=PATIENCE)
        assert "go on with: raydream resume" in Path(err.name).read_text()
    done, events = checkpoint_of(folder), told(run)["recoveries"]
    resumed = rd.resume(run, iterations=done + 30, backend="local", problem=game())
    assert_same_bits(resumed, uninterrupted(done + 30))
    return events


def addresses(places):
    """Where actors live."""
    return {place["address"] for place in places}


def test_a_stopped_process_of_another_host_is_replaced(hosts, tmp_path):
    """SIGSTOP: nobody hangs up, and its machine answers for it; only it says nothing any more."""
    _, second, _ = hosts
    doomed = []

    def stop(places):
        doomed.append(next(place for place in places if place["address"] == second.address))
        succeed(second, ["sh", "-c", f"kill -STOP {doomed[0]['pid']}"])

    events = struck(hosts, tmp_path, stop)
    [agent] = doomed[0]["agents"]
    assert any(agent in event["agents"] and "did not answer any more" in event["reason"] for event in events)


def test_hosts_that_are_parted_are_named_and_the_agents_of_one_move(hosts, tmp_path):
    """Each reaches the first, and not the other: both addresses are in the sentence, and room elsewhere is used."""
    _, second, third = hosts

    def part(places):
        assert addresses(places) == {host.address for host in hosts}
        second.blind(third), third.blind(second)

    try:
        events = struck(hosts, tmp_path, part)
    finally:
        second.sees(third), third.sees(second)
    said = [event["reason"] for event in events if "are cut off from each other" in event["reason"]]
    assert said and all(second.address in reason and third.address in reason for reason in said)
    assert any(f"no agent lives at {host.address} any more" in said[-1] for host in (second, third))


def test_agents_on_three_hosts_of_which_one_is_lost(hosts, tmp_path):
    """They spread, with code that one host had; all of a host's processes die; the bits are those of one process."""
    *_, third = hosts

    def kill(places):
        assert addresses(places) == {host.address for host in hosts}
        third.kill()

    struck(hosts, tmp_path, kill)


def test_code_that_the_others_lack_is_named(hosts, tmp_path):
    """Without `--ship`: which module, and what to do."""
    first, *_ = hosts
    words = command("raydream run --address HEAD:6379 --problem", first)
    del words[words.index("--ship") : words.index("--ship") + 2]
    done = first.run([*words, *WORDS, "--directory", str(tmp_path / "r")], env=first.environment)
    assert done.returncode == 2
    assert "No module named 'mine'; send it along with `ship` (--ship PATH)." in done.stderr


def test_a_job_brings_its_own_code(hosts, tmp_path):
    """`ray job submit`: the run finds Ray, and its actors the module."""
    if importlib.util.find_spec("aiohttp_cors") is None:
        pytest.skip("the extra `cluster` is not installed")
    first, *_ = hosts
    words = [word.replace("/shared/runs/mine", str(tmp_path / "r")) for word in command("ray job submit")]
    out = succeed(first, [*words, *WORDS, "--iterations", "40"])
    assert "succeeded" in out
    assert_same_bits(rd.load(tmp_path / "r"), uninterrupted(40))


def test_a_link_that_goes_down_is_noticed_by_its_silence(hosts, tmp_path):
    """Nobody hangs up: the links' own heartbeat tells, before Ray does, and all agents go where there is room."""
    first, second, _ = hosts
    try:
        events = struck(hosts, tmp_path, lambda places: first.switch.down(second), "--on-loss", "repack")
    finally:
        first.switch.up(second)
    assert "are cut off from each other" in events[0]["reason"] and second.address in events[0]["reason"]
    assert "all agents now live on" in events[-1]["reason"]


def test_a_host_leaves(hosts):
    """`ray stop` on it."""
    _, second, _ = hosts
    succeed(second, command("ray stop"))


def test_the_page_and_the_readme_agree():
    """The command that both give is run as the README's, on two raylets of one host; the job's as this page's."""
    for beginning in ("raydream run --address HEAD:6379 --agents", "ray job submit"):
        assert " ".join(command(beginning)) in commands_of_the_cluster_section()
