"""What rounds and blocks cost, counted: Ray calls, bytes laid, copied and sent. Never seconds."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from counting import received
from linked import Group

import raydream as rd
from raydream.backends.protocol import Plan
from raydream.backends.ray.actors import Actors
from raydream.backends.ray.links.memory import available
from raydream.backends.ray.links.shared import Shared
from raydream.backends.ray.links.tcp import DirectLinks, TcpLinks
from raydream.backends.ray.neighbourhood import Neighbourhood
from raydream.backends.ray.routing import Router
from raydream.kernels import library
from raydream.problems import QuadraticGame

WIDTH = 20_000
ROW = 8 * WIDTH
RING = rd.topology.ring(8)


class Actorless:
    """The rounds of actors with these blocks of agents, each in a thread of its own."""

    def __init__(self, sizes, kind, topology=RING):
        self.routes = Router(topology, sizes).routes
        self.group = Group([sorted(route.peers) for route in self.routes], kinds=(kind,))
        self.hoods = [
            Neighbourhood(route, links, np.float64) for route, links in zip(self.routes, self.group.links, strict=True)
        ]

    def __enter__(self):
        self.group.connect()
        return self

    def __exit__(self, *_):
        self.group.__exit__()

    def mixed(self, V, rounds):
        """W^rounds V."""
        found = [V[list(route.hosted)] for route in self.routes]

        def talk(i):
            for _ in range(rounds):
                found[i] = self.hoods[i].hear(found[i])

        self.group.each(talk)
        return np.concatenate(found)

    def came(self):
        """Bytes that have come in over all sockets."""
        return sum(received(link.socket) for links in self.group.links for link in links._links.values())


@pytest.mark.parametrize("sizes", [[1] * 8, [4, 4], [3, 5], [8]], ids=str)
@pytest.mark.parametrize("kind", [DirectLinks, TcpLinks])
@pytest.mark.parametrize("loops", ["compiled", "numpy"])
@pytest.mark.parametrize("topology", [RING, rd.topology.directed_exponential(8)], ids=["ring", "directed"])
def test_every_way_of_a_round_has_the_bits_of_one_process(sizes, kind, loops, topology, monkeypatch):
    """Rows that are summed where they lie, and rows that are copied."""
    if loops == "numpy":
        monkeypatch.setattr("raydream.kernels.mixing.compiled", lambda: None)
    V = np.random.default_rng(0).normal(size=(8, 300))
    with Actorless(sizes, kind, topology) as actors:
        assert np.array_equal(actors.mixed(V, 5), topology.mix(V, 5, method="gossip"))


@pytest.mark.skipif(not available(), reason="memory is not shared here")
@pytest.mark.parametrize(("sizes", "rows"), [([1] * 8, 1), ([4, 4], 2)], ids=str)
def test_a_round_through_memory_copies_what_is_said_once(sizes, rows, monkeypatch):
    """What is heard is not copied, what is said to two neighbours is laid once, and nothing is sent."""
    monkeypatch.setattr(Shared, "read", None)
    V = np.random.default_rng(0).normal(size=(8, WIDTH))
    with Actorless(sizes, DirectLinks) as actors:
        before = actors.came()
        actors.mixed(V, 3)
        assert actors.came() == before
        assert {links._shared._room for links in actors.group.links} == {rows * ROW}


def test_a_round_over_tcp_sends_the_rows_and_a_header():
    """For each pair of neighbouring actors and direction."""
    V = np.random.default_rng(0).normal(size=(8, WIDTH))
    with Actorless([4, 4], TcpLinks) as actors:
        before = actors.came()
        actors.mixed(V, 3)
        assert actors.came() - before == 3 * 2 * (2 * ROW + 48)


@pytest.mark.skipif(library.compiled() is None, reason="the loops are in NumPy")
def test_an_actor_s_round_makes_one_array():
    """The sums; all else is used again."""
    route = Router(RING, [8]).routes[0]
    hood, V = Neighbourhood(route, DirectLinks(0, None), np.float64), np.ones((8, WIDTH))
    hood.hear(V)
    hood.hear(V)
    tracemalloc.start()
    try:
        held = [hood.hear(V)]
        assert tracemalloc.get_traced_memory()[1] <= 8 * ROW + 20_000 and held
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("shared_ray")
def test_ray_is_called_once_for_each_actor_and_block(monkeypatch):
    """However many iterations and rounds are in it."""
    asked, ask = [], Actors.ask

    def witness(actors, call, *rest, **named):
        return ask(actors, lambda handle, number: call(Named(handle, asked), number), *rest, **named)

    monkeypatch.setattr(Actors, "ask", witness)
    problem = QuadraticGame.random(agents=4, samples=7, dim_x=3, dim_y=4, seed=3)
    method = rd.DREAM(eta=0.05, gamma=0.3, p=0.3, b=3, K0=2, K=3, K_large=2)
    session = rd.RayBackend(agents_per_actor=2).open(Plan.build(problem, rd.topology.ring(4), method))
    try:
        assert asked == [name for name in ("where", "build", "listen", "connect") for _ in range(2)]
        session.init(())
        for first, count in ((0, 1), (1, 40)):
            asked.clear()
            session.advance(first, [False] * count, None, ())
            assert asked.count("advance") == 2 and not {*asked} - {"advance", "snapshot"}
    finally:
        session.close()


class Named:
    """An actor's handle that writes down what it is asked."""

    def __init__(self, handle, asked):
        self.handle, self.asked = handle, asked

    def __getattr__(self, name):
        self.asked.append(name)
        return getattr(self.handle, name)


def test_an_actor_imports_what_it_needs():
    """No other problem than its own, and nothing of SciPy that only drivers use: every actor pays for it."""
    code = "import sys, raydream.backends.ray.agent, raydream.problems.quadratic; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    found = set(done.stdout.split())
    unwanted = {"pandas", "plotly", "scipy.linalg", "scipy.optimize", "scipy.special", "scipy.sparse.csgraph"}
    assert not found & (unwanted | {"raydream.problems.everything", "raydream.problems.robust_logistic"})
