"""Living on a Ray that others use too: folders, tokens, and what is waited for."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import ray
from conftest import RAY_CPUS
from laws import assert_same_bits, run
from ray._private import worker
from ray.util import placement_group, placement_group_table, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy
from saboteurs import Sabotaged
from waiting import PATIENCE, wait_until

import raydream as rd
from raydream.agents.ledger import Ledger
from raydream.backends.protocol import Snapshot
from raydream.backends.ray import recovery as recovery_module
from raydream.backends.ray.cluster import folders, gauges, logs, waiting
from raydream.backends.ray.cluster.needs import Needs
from raydream.backends.ray.placement import Placement
from raydream.backends.ray.recovery import ATTEMPTS, Recovering
from raydream.backends.registry import backend_again
from raydream.errors import ActorsBroken, AgentsLost, ClusterBusy, ClusterWarning, Interrupted
from raydream.feedback import telling
from raydream.problems import QuadraticGame

RING = rd.topology.ring(4)
METHOD = rd.DREAM(eta=0.05, gamma=0.3, b=3)


def game():
    return QuadraticGame.random(agents=4, samples=7, dim_x=3, dim_y=4, seed=3)


def on_actors(backend, problem=None, **settings):
    return rd.run(problem or game(), RING, METHOD, iterations=12, record_every=4, backend=backend, **settings)


@pytest.fixture(scope="module")
def expected():
    return run(game(), RING, METHOD, iterations=12, record_every=4)


@pytest.fixture
def taken(shared_ray, monkeypatch):
    """All CPUs but one are somebody else's, until they are given back; what is waited for is said at once."""
    monkeypatch.setattr(waiting, "SAY_SECONDS", 0.1)
    group = placement_group([{"CPU": 1}] * (RAY_CPUS - 1))
    assert group.wait(PATIENCE)
    gone = []

    def give_back():
        if not gone:
            gone.append(remove_placement_group(group))

    yield give_back
    give_back()
    wait_until(lambda: ray.available_resources().get("CPU") == RAY_CPUS, "all CPUs")


def test_a_folder_whose_lock_is_held_is_never_swept(tmp_path, monkeypatch):
    """Its driver may live in another container, where its process number means another process, or none here."""
    monkeypatch.setattr(folders.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(folders.os, "getpid", lambda: 2**22 + 1)  # nobody's number
    monkeypatch.setattr(folders, "len", lambda text: 0, raising=False)  # pytest's folders have long names
    with folders.private_folder() as living:
        program = "import sys; from raydream.backends.ray.cluster.folders import sweep, Path; sweep(Path(sys.argv[1]))"
        subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, timeout=PATIENCE)
        assert living.is_dir() and living.stat().st_mode & 0o777 == 0o700
    assert not living.exists()


def test_what_a_killed_driver_left_is_swept_and_nothing_else(tmp_path):
    """A lock that nobody holds; folders without one, links and plain files stay."""
    dead, other = tmp_path / "rd-1-dead", tmp_path / "rd-1-other"
    for folder in (dead, other):
        (folder / "r").mkdir(parents=True)
    (dead / folders.LOCK).touch()
    (tmp_path / "rd-1-link").symlink_to(dead)
    (tmp_path / "rd-1-file").touch()
    folders.sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rd-1-file", "rd-1-link", "rd-1-other"]


TOKENS = {
    "wrong": {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "f" * 64},
    "missing": {"RAY_AUTH_MODE": "token"},
    "not shown": {"RAY_AUTH_MODE": "disabled"},
}


@pytest.mark.parametrize("settings", TOKENS.values(), ids=TOKENS)
def test_a_wrong_or_missing_token_is_named(shared_ray, settings, tmp_path):
    """One sentence, and not that nobody answered."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    words = ["run", "--problem", "quadratic", "--agents", "2", "--address", ray.get_runtime_context().gcs_address]
    done = subprocess.run(
        [sys.executable, "-m", "raydream", *words], cwd=tmp_path, env={**kept, **settings, "HOME": str(tmp_path)},
        capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 2
    [sentence] = [line for line in done.stderr.splitlines() if not re.search("loading|joining Ray|building", line)]
    assert "asks for its token, and this process has none or another one: set RAY_AUTH_TOKEN" in sentence
    assert not list(Path(tmp_path).glob("runs/*"))


def reservations():
    """Room that is held, or asked for, by runs."""
    groups = placement_group_table().values()
    return [one for one in groups if one["name"].startswith("raydream-") and one["state"] != "REMOVED"]


def test_cpus_that_others_have_are_waited_for_in_words(taken, expected):
    """What is needed, what is free, and how long; when they come, the run goes on."""
    heard = []

    def ear(text):
        heard.append(text)
        if text.startswith("waiting for"):
            taken()

    with telling(ear):
        assert_same_bits(on_actors(rd.RayBackend(agents_per_actor=2)), expected)
    said, *_ = [text for text in heard if text.startswith("waiting for")]
    assert re.fullmatch(r"waiting for 2 x 1 CPU \(free now: 1 of 8 CPU on 1 node\); (300|299) s more at most", said), (
        said
    )
    assert not reservations()


def test_patience_ends_with_a_sentence(taken):
    """All or nothing: one of the two actors would have had room."""
    with telling(lambda text: None), pytest.raises(ClusterBusy, match=r"in vain for 2 x 1 CPU .*for the 0.5 s of `pat"):
        on_actors(rd.RayBackend(agents_per_actor=2, patience=0.5))
    assert not reservations()


def test_where_nobody_listens_a_wait_is_a_warning(taken):
    """No wait is silent."""
    with pytest.warns(ClusterWarning, match="waiting for 2 x 1 CPU"), pytest.raises(ClusterBusy):
        on_actors(rd.RayBackend(agents_per_actor=2, patience=0.5))


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_waits_stops_at_the_first_signal(taken, tmp_path, sent):
    """One sentence, and nothing is left: no room, no directory."""
    stopping = telling(lambda text: os.kill(os.getpid(), sent) if text.startswith("waiting") else None)
    with stopping, pytest.raises(Interrupted, match=r"^stopped while it waited for room on its cluster$"):
        on_actors(rd.RayBackend(agents_per_actor=2), directory=tmp_path / "r")
    assert not reservations() and not (tmp_path / "r").exists()


def test_a_cluster_that_grows_is_asked_and_waited_for(taken):
    """What would be refused otherwise, since even the empty cluster cannot hold it."""
    with telling(lambda text: None), pytest.raises(ClusterBusy, match="in vain for 4 x 3 CPU"):
        on_actors(rd.RayBackend(cpus_per_actor=3, autoscale=True, patience=0.5))


def test_agents_are_packed_onto_what_is_left(shared_ray, expected, tmp_path, monkeypatch):
    """Where lost room does not come back: fewer actors, the same bits."""
    hold, asked = Placement.hold, []

    def held(self, settle=False):
        asked.append(settle)
        return hold(self, settle) if asked.count(True) != 1 else False  # the lost room does not come back

    monkeypatch.setattr(Placement, "hold", held)
    monkeypatch.setattr(Needs, "free", lambda self: {"node": 2})
    problem = Sabotaged(game(), "kill", agent=3, call=5, flag=tmp_path / "killed")
    found = on_actors(rd.RayBackend(on_loss="repack"), problem, check=False)
    assert_same_bits(found, expected)
    assert found.recoveries[0]["reason"] == "lost agent 3; all agents now live on 2 actors"
    assert [place["agents"] for place in found.record.places] == [[0, 1], [2, 3]]


def trial():
    """As Ray Tune runs it: inside a reservation of its own."""
    from ray._private.state import actors

    found = on_actors(rd.RayBackend(agents_per_actor=2))
    return found.arrays["Z"], found.record.places, sorted(one["Name"] for one in actors().values())


def test_a_run_lives_in_the_reservation_that_it_is_in(taken, expected):
    """All CPUs belong to others and to the trial: its actors take their room there, named after their agents."""
    taken()
    wait_until(lambda: ray.available_resources().get("CPU") == RAY_CPUS, "all CPUs")
    own, others = placement_group([{"CPU": 1}] * 3), placement_group([{"CPU": 1}] * (RAY_CPUS - 3))
    try:
        assert own.wait(PATIENCE) and others.wait(PATIENCE)
        inside = PlacementGroupSchedulingStrategy(own, 0, placement_group_capture_child_tasks=True)
        call = ray.remote(num_cpus=1)(trial).options(scheduling_strategy=inside)
        Z, places, names = ray.get(call.remote(), timeout=PATIENCE)
    finally:
        remove_placement_group(own)
        remove_placement_group(others)
    assert Z.tobytes() == expected.arrays["Z"].tobytes() and len(places) == 2
    assert sum(bool(re.fullmatch(r"raydream-[0-9a-f]{6}-(0-1|2-3)", name)) for name in names) >= 2


def test_ray_s_metrics_follow_the_run(shared_ray, monkeypatch):
    """Every record, by the run; the Grafana panels show these gauges, and all of them."""
    shown = {}

    class Gauge:
        def __init__(self, name, description, tag_keys):
            self.name, self.keys = name, tag_keys

        def set(self, value, tags):
            assert tuple(tags) == self.keys
            shown.setdefault(self.name, []).append(value)

    monkeypatch.setattr(gauges, "Gauge", Gauge)
    found = on_actors(rd.RayBackend(agents_per_actor=2))
    assert shown.pop("raydream_recoveries") == [0.0] * len(found.history)
    assert shown == {name: found.history[column].tolist() for name, (column, _) in gauges.SHOWN.items()}
    panels = json.loads(Path(__file__).parents[2].joinpath("experiments/cluster/grafana.json").read_text())["panels"]
    drawn = {re.match(r"ray_(\w+)", target["expr"]).group(1) for panel in panels for target in panel["targets"]}
    assert drawn == {*gauges.SHOWN, gauges.RECOVERIES[0]}


def test_what_actors_print_is_kept_with_who_said_it(shared_ray, tmp_path, monkeypatch):
    """Where Ray sends its logs, and of agents alone; else a sentence."""
    ours = {"actor_name": "Agent(agents 0-3)", "pid": 7, "ip": "10.0.0.1", "lines": ["a", "b"]}
    with monkeypatch.context() as patch:
        patch.setattr(worker.global_worker, "logger_thread", "there", raising=False)
        with logs.logged(tmp_path / "kept" / "log.txt", "1f"):
            for batch in (ours, {**ours, "actor_name": "Other"}, {**ours, "actor_name": None}):
                worker.global_worker_stdstream_dispatcher.emit(batch)
    kept = (tmp_path / "kept" / "log.txt").read_text()
    assert kept == "Agent(agents 0-3) (7 at 10.0.0.1): a\nAgent(agents 0-3) (7 at 10.0.0.1): b\n"
    with pytest.raises(ValueError, match="`log` needs a Ray that sends its logs"):
        on_actors(rd.RayBackend(log=str(tmp_path / "log.txt")))
    assert not (tmp_path / "log.txt").exists() and not reservations()


class Fragile:
    """Actors that are lost as a script says: at each call of `ask` the next word, True for a loss."""

    complete = True
    routes = (SimpleNamespace(hosted=(0,), columns=(0,)),)

    def __init__(self, script):
        self.script, self.restarts = list(script), 0
        self.router = self

    def hosted(self, number):
        return range(number, number + 1)

    def restart(self, lost, parted=(), why=""):
        self.restarts += 1
        self.parted = [*getattr(self, "parted", []), set(parted)]
        return ""

    def ask(self, call, *_):
        if self.script and self.script.pop(0):
            raise ActorsBroken({0}, "lost agent 0")
        order = []
        call(type("Handle", (), {"__getattr__": lambda self, name: type("Call", (), {
            "remote": staticmethod(lambda *arguments: order.append((name, arguments)))})()})(), 0)  # fmt: skip
        [(name, arguments)] = order
        if name == "restore":
            self.at = arguments[0]
        elif name == "init":
            self.at = 0
        elif name == "advance":
            self.at = arguments[0] + len(arguments[1])
        return {0: Snapshot(self.at, Ledger())}


def test_losses_between_which_the_run_gets_on_do_not_count():
    """Twenty of them, and not one too many."""
    agents = Recovering(Fragile([]), patience=0.0)
    agents.init(())
    for t in range(20):
        agents._actors.script = [True, False, False]
        assert agents.advance(t, [False], None, ()).iteration == t + 1
    assert len(agents.recoveries) == 20


def test_losses_without_progress_are_given_up_by_number_and_time(monkeypatch):
    """A burst of many within the patience is borne; as many over a longer time are not."""
    now = [0.0]
    monkeypatch.setattr(recovery_module.time, "monotonic", lambda: now[0])
    agents = Recovering(Fragile([]), patience=300.0)
    agents.init(())
    agents._actors.script = [True] * 20
    assert agents.advance(0, [False], None, ()).iteration == 1
    agents._actors.script = [True] * 1000
    restart = agents._actors.restart

    def slowly(*wanted):
        now[0] += 20.0
        return restart(*wanted)

    agents._actors.restart = slowly
    with pytest.raises(AgentsLost, match=f"lost {ATTEMPTS} times in a row, without progress for 80 s; the last time"):
        agents.advance(1, [False], None, ())


def test_a_recovery_says_when_it_was_noticed_and_how_long_it_took(monkeypatch):
    """Until the step that was asked for is done, also where one loss follows the other."""
    now = [100.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    agents = Recovering(Fragile([]), patience=300.0)
    agents.init(())
    restart = agents._actors.restart

    def slowly(*wanted):
        now[0] += 3.0
        return restart(*wanted)

    agents._actors.restart, agents._actors.script = slowly, [True, True]
    agents.advance(0, [False], None, ())
    assert [(event["time"], event["seconds"]) for event in agents.recoveries] == [(100.0, 6.0), (103.0, 3.0)]


def test_a_pair_that_is_parted_twice_without_progress_is_to_be_parted_for_good():
    """The first time the links are made anew where they were: a cable that is out for a moment moves nobody."""
    agents = Recovering(Fragile([]), patience=300.0)
    agents.init(())
    ask, parted = agents._actors.ask, [[(0, 1)], [(0, 1), (1, 2)], [(1, 2)], [], [(1, 2)]]

    def cut(*words):
        if parted:
            raise ActorsBroken(set(), "cut off", parted.pop(0))
        return ask(*words)

    agents._actors.ask = cut
    agents.advance(0, [False], None, ())
    assert agents._actors.parted == [set(), {(0, 1)}, {(1, 2)}, set(), set()]
    parted.append([(1, 2)])
    agents.advance(1, [False], None, ())
    assert agents._actors.parted[-1] == set()


def test_what_was_caught_up_with_is_not_done_a_third_time():
    """After a roll-back the state is kept as soon as it is where it was: the next loss costs less."""
    agents = Recovering(Fragile([]), patience=0.0)
    agents.init(())
    agents.advance(0, [False] * 5, None, ())
    agents._actors.script = [True, False, False, False, True]  # lost; init again, caught up, kept; lost
    assert agents.advance(5, [False], None, ()).iteration == 6
    assert [event["rolled_back_to"] for event in agents.recoveries] == [0, 5]


@pytest.mark.parametrize("paths", [["nowhere.py"], ["notes.txt"]])
def test_what_actors_could_not_import_is_not_shipped(tmp_path, monkeypatch, paths):
    """A path that is none, and a file that is no module, before anything starts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ValueError, match=r"`ship` must name folders of packages, \.py files or wheels"):
        rd.RayBackend(ship=paths)
    with pytest.raises(TypeError, match="`ship` must be a list of paths"):
        rd.RayBackend(ship="mine.py")


def test_code_is_shipped_when_ray_is_joined_or_not_at_all(shared_ray, tmp_path):
    """Ray is there already: said, and not passed over."""
    (tmp_path / "mine.py").touch()
    with pytest.raises(ValueError, match="this program has joined it already, without"):
        rd.RayBackend(ship=[str(tmp_path / "mine.py")]).shared(2).__enter__()


def test_a_record_names_no_code_to_ship(tmp_path):
    """Else a foreign run directory could have files sent away."""
    (tmp_path / "mine.py").touch()
    ship = [str(tmp_path / "mine.py")]
    assert "ship" not in rd.RayBackend(ship=ship).describe()
    assert backend_again({"name": "ray", "ship": ship}) == rd.RayBackend()
