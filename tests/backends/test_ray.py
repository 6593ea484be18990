"""Every agent an actor: the same bits as in one process, whatever happens on the way."""

import os
import socket
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest
import ray
from conftest import listening, numbers_with
from laws import METHODS_UNDER_TEST, ONE_MACHINE, assert_same_bits, run
from letters import letters_in
from saboteurs import Sabotaged, Tampered
from test_links import ATTACKS, attack
from waiting import PATIENCE, wait_until

import raydream as rd
from raydream.backends.local import LocalSession
from raydream.backends.protocol import Plan
from raydream.backends.ray import recovery as recovery_module
from raydream.backends.ray import session as session_module
from raydream.backends.ray.actors import Actors
from raydream.backends.ray.agent import Agent
from raydream.backends.ray.links import LINKS, Terms
from raydream.backends.ray.runtime import attached
from raydream.backends.ray.session import RaySession
from raydream.constraints import Ball
from raydream.errors import AgentsHang, AgentsLost
from raydream.problems import QuadraticGame, RobustLogisticRegression

pytestmark = pytest.mark.usefixtures("shared_ray")

RING = rd.topology.ring(8)
METHOD = rd.DREAM(eta=0.05, gamma=0.3, p=0.3, q=0.7, b=3, K0=2, K=1, K_large=2)


def game(agents=8, constraint=Ball(0.5)):  # noqa: B008
    return QuadraticGame.random(agents=agents, samples=7, dim_x=3, dim_y=4, constraint=constraint, seed=3)


@pytest.fixture(scope="module")
def expected():
    return run(game(), RING, METHOD, iterations=23, record_every=5)


def plain(backend):
    return lambda folder: rd.run(game(), RING, METHOD, iterations=23, record_every=5, backend=backend)


def resumed(first, second):
    def way(folder):
        settings = dict(record_every=5, checkpoint_every=4, directory=folder / "r")
        rd.run(game(), RING, METHOD, iterations=13, backend=first, **settings)
        return rd.resume(folder / "r", iterations=23, backend=second, problem=game())

    return way


def killed(call, packing, lost):
    def way(folder):
        problem = Sabotaged(game(), "kill", agent=5, call=call, flag=folder / "killed")
        backend = rd.RayBackend(agents_per_actor=packing)
        result = rd.run(problem, RING, METHOD, iterations=23, record_every=5, backend=backend)
        assert [event["agents"] for event in result.recoveries] == [lost]
        assert result.recoveries[0]["reason"].startswith("lost agent") and "5" in result.recoveries[0]["reason"]
        return result

    return way


WAYS = {
    "direct": plain("ray"),
    "ray links": plain(rd.RayBackend(links="ray")),
    "packed [3, 5]": plain(rd.RayBackend(agents_per_actor=[3, 5])),
    "packed auto": plain(rd.RayBackend(agents_per_actor="auto")),
    "packed, ray links": plain(rd.RayBackend(agents_per_actor=4, links="ray")),
    "resumed": resumed(rd.RayBackend(agents_per_actor=4), rd.RayBackend(agents_per_actor=4)),
    "resumed from local on packed actors": resumed("local", rd.RayBackend(agents_per_actor=[3, 5])),
    "resumed from actors on local": resumed(rd.RayBackend(agents_per_actor=3), "local"),
    "killed in the middle": killed(call=12, packing=1, lost=[5]),
    "killed while it starts": killed(call=0, packing=[5, 1, 2], lost=[5]),
    "killed in the first gradient": killed(call=1, packing=3, lost=[3, 4, 5]),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_every_way_of_running_gives_the_same_bits(way, expected, tmp_path):
    """Backend, links, packing, resumption and lost actors leave no trace in the numbers."""
    assert_same_bits(way(tmp_path), expected)


def test_a_frame_that_was_changed_on_its_way_is_refused_and_the_run_recovers(monkeypatch, expected):
    """It is not taken for numbers: everybody goes back to before it, and on to the same bits."""
    monkeypatch.setitem(LINKS._entries, "tampered", Tampered)
    backend = rd.RayBackend(links="tampered", agents_per_actor=[3, 5])
    found = rd.run(game(), RING, METHOD, iterations=23, record_every=5, backend=backend)
    assert_same_bits(found, expected)
    assert [event["agents"] for event in found.recoveries] == [[]]
    assert "refused a frame of actor 1: it was changed on its way" in found.recoveries[0]["reason"]


def test_a_transport_is_one_class_and_one_line(monkeypatch, tmp_path, expected):
    """Links that the package has never seen give the same bits, and bring back an actor that is lost."""
    monkeypatch.setitem(LINKS._entries, "letters", letters_in(tmp_path))
    problem = Sabotaged(game(), "kill", agent=5, call=12, flag=tmp_path / "killed")
    backend = rd.RayBackend(links="letters", agents_per_actor=[3, 5])
    found = rd.run(problem, RING, METHOD, iterations=23, record_every=5, backend=backend)
    assert_same_bits(found, expected)
    assert [event["agents"] for event in found.recoveries] == [[3, 4, 5, 6, 7]]


@pytest.mark.parametrize(
    "topology",
    [rd.topology.star(4), rd.topology.complete(4), rd.topology.grid(6), rd.topology.erdos_renyi(7, 0.5, seed=2)],
    ids=lambda topology: topology.name,
)
def test_topologies_beyond_the_ring(topology):
    """Degrees from 1 to m - 1."""
    problem = game(topology.m)
    backend = rd.RayBackend(agents_per_actor=1 if topology.m == 4 else 2)
    assert_same_bits(
        rd.run(problem, topology, METHOD, iterations=6, backend=backend), run(problem, topology, METHOD, iterations=6)
    )


def test_robust_logistic_regression_on_actors():
    """Sparse shards, a simplex, wide frames."""
    problem = RobustLogisticRegression(*rd.data.synthetic(400, 20, seed=1), agents=4)
    method = rd.DREAM(eta=0.1, gamma=1.0, p=0.3, b=8, K=2)
    topology = rd.topology.ring(4)
    backend = rd.RayBackend(agents_per_actor=2)
    assert_same_bits(
        rd.run(problem, topology, method, iterations=10, backend=backend), run(problem, topology, method, iterations=10)
    )


def test_one_agent_on_one_actor():
    """m = 1 has no neighbours and needs none."""
    problem, alone = game().pooled(), rd.topology.ring(1)
    assert_same_bits(rd.run(problem, alone, METHOD, iterations=5), run(problem, alone, METHOD, iterations=5))


def test_an_exception_in_a_problem_ends_the_run_with_the_agent_s_number(tmp_path):
    """The original exception arrives, quickly, and says whose it is and where it arose."""
    problem = Sabotaged(game(4), "raise", agent=2, call=5, flag=tmp_path / "x")
    with pytest.raises(LookupError, match="agent 2: boom") as caught:
        rd.run(problem, rd.topology.ring(4), METHOD, iterations=500)
    assert any("saboteurs.py" in note for note in caught.value.__notes__)
    assert no_actors_are_left()


def test_a_gradient_that_is_not_finite_is_named_on_actors_too():
    """Agent, sample and iteration, as on the local backend."""
    problem = game(4)
    problem.components.q[1, 2, 0] = np.nan
    with pytest.raises(ArithmeticError, match=r"agent 1, sample 2: .* not finite"):
        rd.run(problem, rd.topology.ring(4), METHOD, iterations=200)


def test_a_hang_says_who_waits_for_whom(tmp_path):
    """After `patience` the run ends with the waiting agents and the silent one."""
    problem = Sabotaged(game(4), "hang", agent=2, call=4, flag=tmp_path / "x")
    backend = rd.RayBackend(patience=8.0)  # enough for those who do not hang
    with pytest.raises(AgentsHang, match=r"no progress for 8 s: .*agent 1 waits for agent 2.*Silent: agent 2\."):
        rd.run(problem, rd.topology.ring(4), METHOD, iterations=500, backend=backend)
    assert no_actors_are_left()


def test_a_stopped_actor_is_replaced_like_a_lost_one(tmp_path):
    """SIGSTOP, a machine that sleeps: whoever does not even answer Ray is not waited for."""
    problem = Sabotaged(game(4), "stop", agent=2, call=4, flag=tmp_path / "x")
    found = rd.run(problem, rd.topology.ring(4), METHOD, iterations=23, record_every=5, backend="ray")
    assert_same_bits(found, run(game(4), rd.topology.ring(4), METHOD, iterations=23, record_every=5))
    assert any(2 in event["agents"] and "did not answer any more" in event["reason"] for event in found.recoveries)


def test_an_agent_that_always_dies_is_given_up(tmp_path, monkeypatch):
    """Recovery does not go on for ever."""
    monkeypatch.setattr(recovery_module, "STUBBORN", 0.0)
    problem = Sabotaged(game(2), "kill always", agent=1, call=2, flag=tmp_path / "x")
    with pytest.raises(AgentsLost, match=r"5 times in a row, without progress .*; the last time: lost agent 1"):
        rd.run(problem, rd.topology.ring(2), METHOD, iterations=50, check=False)  # else it were this process that dies


def test_ray_kill_and_several_losses_at_once(monkeypatch):
    """Two actors killed through Ray between two blocks, and one more later: the agents go on from a snapshot."""
    monkeypatch.setattr(session_module, "SNAPSHOT_SECONDS", 0.0)
    problem, topology, coins = game(4), rd.topology.ring(4), [True, False, False, True, False, False]
    plan = Plan(problem, topology, METHOD, 0, problem.start())
    local, remote = LocalSession(plan), rd.RayBackend().open(plan)
    try:
        assert isinstance(remote, RaySession)
        local.init(()), remote.init(())
        for t in range(0, 6, 2):
            doomed = {0: [], 2: [1, 3], 4: [0]}[t]
            for number in doomed:
                ray.kill(remote.actors.handles[number])
            wanted = local.advance(t, coins[t : t + 2], None, None)
            found = remote.advance(t, coins[t : t + 2], None, None)
            assert found.ledger == wanted.ledger and found.iteration == wanted.iteration
            assert all(np.array_equal(found.arrays[name], wanted.arrays[name]) for name in "ZGS")
        assert {agent for event in remote.recoveries for agent in event["agents"]} == {0, 1, 3}
        assert any(event["rolled_back_to"] == 4 for event in remote.recoveries)
    finally:
        remote.close()


def test_attacked_listeners_let_nobody_in(monkeypatch, expected):
    """Garbage, a wrong secret, floods and half-open calls at every listener: the run has the same bits."""
    connect, callers = Actors._connect, []

    def attacked(self, heard):
        callers.extend(attack(address, kind) for address in heard.values() for kind in ATTACKS)
        connect(self, heard)

    monkeypatch.setattr(Actors, "_connect", attacked)
    found = rd.run(game(), RING, METHOD, iterations=23, record_every=5, backend=rd.RayBackend(agents_per_actor=2))
    for caller in callers:
        caller.close()
    assert len(callers) == 4 * len(ATTACKS)
    assert_same_bits(found, expected)
    assert found.recoveries == []


LOOPBACK = ("0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000")  # as the kernel says it


def test_a_run_on_one_machine_is_reached_by_nobody_else(monkeypatch):
    """Ray, the driver and the agents listen on loopback alone, and nobody else may look into Ray's folder."""
    connect, heard = Actors._connect, []

    def noted(self, contacts):
        heard.extend(listening([os.getpid(), *numbers_with("RAYDREAM_DRIVER", str(os.getpid()))]))
        connect(self, contacts)

    monkeypatch.setattr(Actors, "_connect", noted)
    rd.run(game(2), rd.topology.ring(2), METHOD, iterations=2)
    assert len(heard) >= 7 and set(heard) <= set(LOOPBACK)  # GCS, raylet, its agent, the driver, two actors, two agents
    [folder] = Path(tempfile.gettempdir()).glob(f"rd-{os.getpid()}-*")
    assert folder.stat().st_mode & 0o777 == 0o700


class Locked:
    """A problem whose shards hold what cannot be sent."""

    agents, dim_x, dim_y = 2, 1, 1

    def local(self, i):
        shard = type("Shard", (), {"samples": 3})()
        shard.parts = {"inner": type("Inner", (), {})()}
        shard.parts["inner"].lock = threading.Lock()
        return shard


def test_what_cannot_be_sent_is_named(monkeypatch):
    """The attribute at fault, before any actor is started."""
    started = []
    monkeypatch.setattr(RaySession, "__init__", lambda *_: started.append(1))
    with pytest.raises(TypeError, match=r"`problem\.local\(0\)\.parts\['inner'\]\.lock` cannot be sent to an actor"):
        rd.run(Locked(), rd.topology.ring(2), METHOD, iterations=1, start=(np.zeros(1), np.zeros(1)))
    assert not started


def test_an_actor_owns_its_own_shard_alone():
    """What is sent to agent i does not grow with the other agents' data."""
    problem = RobustLogisticRegression(*rd.data.synthetic(4000, 50, seed=1), agents=8)
    whole, own = len(ray.cloudpickle.dumps(problem)), len(ray.cloudpickle.dumps(problem.local(3)))
    assert own < whole / 7


def test_a_running_ray_is_used_and_left_running():
    """A run inside an initialised Ray neither ends it nor leaves actors in it."""
    before = ray.get_runtime_context().gcs_address
    rd.run(game(2), rd.topology.ring(2), METHOD, iterations=2)
    assert ray.is_initialized() and ray.get_runtime_context().gcs_address == before
    assert no_actors_are_left()


def test_agents_run_blas_on_one_thread():
    """Threaded sums have other bits."""
    import threadpoolctl

    handle = ray.remote(num_cpus=1)(Agent).remote(0, LINKS["direct"], Terms(b"r" * 16, b"s" * 32, 1.0))
    pools = ray.get(handle.__ray_call__.remote(lambda self: threadpoolctl.threadpool_info()), timeout=PATIENCE)
    ray.kill(handle)
    assert pools and all(pool["num_threads"] == 1 for pool in pools if pool["user_api"] == "blas")


REFUSED = {
    "a packing that does not add up": (dict(agents_per_actor=[3, 4]), "must add up to the 8 agents; .* adds up to 7"),
    "more actors than fit": (dict(cpus_per_actor=3), "needs 8 actors of 3 CPU each, but the cluster has room for 2"),
    "what no node has": (dict(resources={"tpu": 1}), "of 1 CPU and 1 tpu each, but .* room for 0 .*0 of 0 tpu"),
    "one per node, on one": (dict(placement="one-per-node"), "a node for each of 8 actors; the cluster has 1"),
}


@pytest.mark.parametrize(("settings", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_the_cluster_cannot_hold_is_refused(settings, sentence):
    """One sentence with the numbers and the remedy."""
    with pytest.raises(ValueError, match=sentence):
        rd.run(game(), RING, METHOD, iterations=1, backend=rd.RayBackend(**settings))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (dict(agents_per_actor=0), "`agents_per_actor` must be at least 1"),
        (dict(agents_per_actor="atuo"), '`agents_per_actor` must be a number, "auto" or a list'),
        (dict(links="drect"), "Did you mean 'direct'"),
        (dict(placement="spred"), "Did you mean 'spread'"),
        (dict(cpus_per_actor=-1), "`cpus_per_actor` must not be negative"),
        (dict(patience=0), "`patience` must be positive"),
        (dict(on_loss="repak"), "Did you mean 'repack'"),
        (dict(num_gpus=-1), "`num_gpus` must not be negative"),
        (dict(resources={"tpu": 0}), "`resources\\['tpu'\\]` must be positive"),
    ],
)
def test_bad_settings_are_named(settings, sentence):
    """Before anything is started."""
    with pytest.raises(ValueError, match=sentence):
        rd.RayBackend(**settings)


def test_a_thousand_agents_packed():
    """m = 1000 on the CPUs there are."""
    problem = QuadraticGame.random(agents=1000, samples=2, dim_x=2, dim_y=2, seed=1)
    topology = rd.topology.torus(1000).lazy()
    backend = rd.RayBackend(agents_per_actor=500)
    method = rd.DREAM(eta=0.05, gamma=0.3, p=0.5, b=1, K=2, mixing="gossip")
    found = rd.run(problem, topology, method, iterations=3, backend=backend)
    assert_same_bits(found, run(problem, topology, method, iterations=3))


def no_actors_are_left():
    """No actor of this job is alive (Ray may take a moment to say so)."""
    return wait_until(lambda: not any(info["State"] == "ALIVE" for info in _actors()), "the actors' end")


def _actors():
    from ray._private.state import actors

    return list(actors().values())


@pytest.mark.parametrize(
    ("name", "method"), METHODS_UNDER_TEST.items(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_method_gives_the_same_bits_on_actors(name, method):
    """All methods, on actors of one and three agents; one-machine methods on one actor."""
    alone = isinstance(method, ONE_MACHINE)
    problem = game(4).pooled() if alone else game(4, None if method.refuse(game(4)) else Ball(0.5))
    topology = rd.topology.ring(1 if alone else 4)
    backend = rd.RayBackend(agents_per_actor=1 if alone else [1, 3])
    found = rd.run(problem, topology, method, iterations=9, record_every=4, backend=backend)
    assert_same_bits(found, run(problem, topology, method, iterations=9, record_every=4))


def test_an_address_of_another_ray_is_not_passed_over(shared_ray):
    """Where Ray is there already, naming another one is refused; naming this one is fine."""
    here = ray.get_runtime_context().gcs_address
    with attached(here, 1), attached("auto", 1), attached(None, 1):
        pass
    with pytest.raises(ConnectionError, match="did not answer"), attached("127.0.0.1:1", 1):
        pass
    with socket.create_server(("127.0.0.1", 0)) as listener:
        other = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(ValueError, match="must be that of the Ray which this program has joined"):
            attached(other, 1).__enter__()
