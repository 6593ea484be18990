"""Compressed messages: means are kept, memory brings the exact solution back, and bytes are those on the wire."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from counting import called_in, counted_in, laid_in
from laws import METHODS_UNDER_TEST, ONE_MACHINE, assert_same_bits
from saboteurs import Sabotaged

import raydream as rd
from raydream.backends.ray.links import LINKS
from raydream.problems import QuadraticGame
from raydream.report.collect import collect
from raydream.report.page.facts import _networks

RING = rd.topology.ring(8)
METHOD = rd.DREAM(eta=0.05, gamma=0.3, p=0.3, q=0.7, b=3, K0=2, K=1, K_large=2)
TRACKING = rd.GTGDA(eta=0.1, gamma=0.3)
LOST = rd.Conditions(compression="top-0.3", memory=True, drop="bursts-0.1-0.4", latency="uniform-0.01-0.1", uplink=1e5)
QUANTISED = rd.Conditions(compression="qsgd-4", memory=True, bandwidth=1e4)
ALL = ("top-0.3", "random-0.3", "shared-random-0.3", "qsgd-4", "sign", "float32", "float16")


def game(agents=8):
    return QuadraticGame.random(agents=agents, samples=7, dim_x=3, dim_y=4, seed=3)


def run(conditions, method=METHOD, topology=RING, **settings):
    settings = {"iterations": 23, "record_every": 5, "backend": "local", "seed": 1} | settings
    return rd.run(game(topology.m), topology, method, conditions=conditions, **settings)


@dataclass(frozen=True)
class Talk:
    """Says its rows twice in a step, at the second place twice as large; keeps what it heard first."""

    eta: float = 1.0

    def init(self, agents):
        numbers = [np.random.default_rng(agent).normal(size=agents.start().shape[1]) for agent in agents.hosted]
        return Rows(np.stack(numbers))

    def step(self, state, agents, t, coin):
        Z = yield state.Z
        yield 2.0 * state.Z
        return Rows(Z)


@dataclass
class Rows:
    Z: Any


def largest(V, kept):
    """The numbers of largest magnitude, by sorting."""
    found = np.zeros_like(V)
    for row, said in zip(found, V, strict=True):
        places = sorted(range(len(said)), key=lambda place: -abs(said[place]))[:kept]
        row[places] = said[places]
    return found


@pytest.mark.parametrize(("memory", "step"), [(None, 1.0), (0.3, 0.3), (True, 6 / 7)])
def test_the_rounds_are_the_formula(memory, step):
    """v + step (W - 1) c, where c is C(v), or with memory c + C(v - c): here in dense matrices, place by place."""
    W, kept = RING.W.toarray(), 3
    Z = np.stack([np.random.default_rng(agent).normal(size=7) for agent in range(8)])
    heard = np.zeros_like(Z)
    for _ in range(6):
        heard = heard + largest(Z - heard, kept) if memory else largest(Z, kept)
        Z = Z + step * (W @ heard - heard)
    found = run(rd.Conditions(compression="top-3", memory=memory), Talk(), iterations=6).arrays["Z"]
    assert np.allclose(found, Z, rtol=1e-13, atol=1e-13)


def keepers(conditions):
    """The methods whose tracker has the mean of their estimator after thirty iterations."""
    found = set()
    for name, method in METHODS_UNDER_TEST.items():
        if not isinstance(method, ONE_MACHINE):
            arrays = run(conditions, method, iterations=30, record_every=30).arrays
            if {"S", "G"} <= arrays.keys() and arrays["S"].shape == arrays["G"].shape:
                gap = np.abs(arrays["S"].mean(axis=0) - arrays["G"].mean(axis=0)).max()
                found |= {name} if gap < 1e-11 * (1 + np.abs(arrays["S"]).max()) else set()
    return found


@pytest.mark.parametrize(
    "given",
    [
        {"compression": "top-0.3", "memory": True, "drop": 0.3, "asleep": 0.1},
        {"compression": "random-0.3", "memory": True},
        {"compression": "shared-random-0.3", "drop": 0.3},
        {"compression": "qsgd-3"},
        {"compression": "sign", "memory": 0.2},
        {"compression": "float16"},
    ],
    ids=str,
)
def test_the_tracker_s_mean_is_the_estimator_s(given, usual):
    """What one end of a link gains the other loses: every method that keeps it still does."""
    assert len(usual) > 10
    assert keepers(rd.Conditions(**given)) >= usual


@pytest.fixture(scope="module")
def usual():
    return keepers(None)


DREAM = rd.DREAM(eta=0.1, gamma=0.3, p=0.5, b=None, K=2, K0=3, K_large=3)
SOLVED = [
    (TRACKING, {"compression": kind, "memory": True}) for kind in ("top-0.3", "random-0.3", "qsgd-4", "sign", "float16")
] + [
    (DREAM, {"compression": kind, "memory": True}) for kind in ("top-0.3", "random-0.3", "qsgd-4")
] + [
    (TRACKING, {"compression": "top-0.3", "memory": True, "drop": 0.2}),
    (DREAM, {"compression": "qsgd-4", "memory": True, "drop": 0.2}),
    (TRACKING, {"compression": "shared-random-0.3"}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "given"), SOLVED, ids=str)
def test_memory_brings_the_solution_back(method, given):
    """Unequal agents: ||grad P|| below 1e-8, also where links fail. One mask for all needs no memory: its rounds are
    those of the network, of some numbers at a time."""
    result = run(rd.Conditions(**given), method, iterations=5000, record_every=250, target_grad_norm=1e-8)
    assert result.outcome == "target"


@pytest.mark.parametrize(
    ("kind", "floor"),
    [("top-0.3", 1e-3), ("random-0.3", 1e-3), ("qsgd-4", 1e-4), ("sign", 1e-3), ("float16", 1e-6)],
)
def test_without_memory_the_error_stays(kind, floor):
    """What is cut off of a message is as large as ever where the method would rest: it stalls, however long it runs."""
    history = run(rd.Conditions(compression=kind), TRACKING, iterations=3000, record_every=100).history
    assert history.grad_norm.iloc[-15:].min() > floor


def test_bytes_and_seconds_are_those_of_the_codes():
    """Two arrays of seven numbers in every frame: each with its norm and seven times four bits."""
    history = run(rd.Conditions(compression="qsgd-4", bandwidth=100.0), TRACKING).history
    assert (history.bytes == history.messages * 2 * (8 + 4)).all()
    assert np.allclose(history.sim_seconds, history.rounds * 24 / 100.0)
    lost = run(rd.Conditions(compression="top-0.3", memory=True, drop=0.3), TRACKING).history
    assert (lost.bytes == lost.messages * 2 * 3 * 10).all() and (lost.dropped.iloc[1:] > 0).all()
    assert (lost.messages + lost.dropped == 16 * lost.rounds).all()


def test_prices_of_compressed_runs_are_exact():
    """A recorded comparison under compression knows what every network would have made of it, and still says so."""
    given = {"compression": "top-0.3", "memory": True}
    methods, settings = [TRACKING], dict(seeds=[1], iterations=10, record_every=5, backend="local", progress=False)
    priced = rd.compare(
        game(), RING, methods, conditions=rd.Conditions(**given, latency=0.1, bandwidth=50.0), **settings
    )
    found = rd.compare(game(), RING, methods, conditions=rd.Conditions(**given), **settings)
    found = found.at_prices(latency=0.1, bandwidth=50.0)
    (wanted,), (result,) = priced.results.values(), found.results.values()
    assert np.allclose(result.history.sim_seconds, wanted.history.sim_seconds)
    assert result.record.conditions == wanted.record.conditions


def test_one_agent_compresses_nothing():
    """It has nobody to talk to."""
    one = rd.topology.complete(1)
    found = run(rd.Conditions(compression="sign", memory=True), TRACKING, one)
    assert np.array_equal(found.arrays["Z"], run(None, TRACKING, one).arrays["Z"]) and found.ledger.bytes == 0


class Single(QuadraticGame):
    dtype = np.float32


@pytest.mark.parametrize("kind", ALL)
def test_rows_of_single_precision_are_compressed_too(kind):
    """Their dtype is kept, and their numbers have four bytes."""
    problem = Single.random(agents=8, samples=7, dim_x=3, dim_y=4, seed=3)
    result = rd.run(problem, RING, TRACKING, iterations=5, backend="local", conditions=rd.Conditions(
        compression=kind, memory=True, drop=0.1))  # fmt: skip
    assert all(array.dtype == np.float32 for name, array in result.arrays.items() if name in ("Z", "S", "G"))
    assert np.isfinite(result.arrays["Z"]).all()


def test_direction_is_fine_where_the_network_balances():
    """Its rounds keep means, and memory the solution; where messages are lost too, a sentence."""
    given = rd.Conditions(compression="top-0.3", memory=True)
    ring = rd.topology.directed_exponential(8)
    result = run(given, TRACKING, ring, iterations=5000, record_every=250, target_grad_norm=1e-8)
    assert result.outcome == "target"
    with pytest.raises(ValueError, match="`compression` must be left out where links have a direction"):
        run(rd.Conditions(compression="sign", drop=0.1), rd.DREAM(eta=0.1, gamma=0.3, mixing="push-sum"), ring)


def test_more_numbers_than_there_are_get_a_sentence():
    """Before anything runs, alone or compared."""
    sentence = "`compression` 'top-8' must keep no more numbers than a message has, which are dim_x . dim_y = 7"
    with pytest.raises(ValueError, match=sentence):
        run(rd.Conditions(compression="top-8"))
    with pytest.raises(ValueError, match=sentence):
        rd.compare(game(), RING, [TRACKING], iterations=3, conditions=rd.Conditions(compression="top-8"))


@pytest.mark.parametrize("kind", ALL)
def test_the_record_knows_the_code(kind, tmp_path):
    """Through run.json and back."""
    conditions = rd.Conditions(compression=kind, memory=True)
    run(conditions, directory=tmp_path / "r", iterations=2)
    assert rd.load(tmp_path / "r").record.conditions == conditions


def test_the_report_names_the_conditions():
    """Beside what it says of the network."""
    result = run(rd.Conditions(compression="top-0.3", memory=True, drop=0.1), iterations=2)
    assert [one["facts"].split(". ")[-1] for one in _networks(collect(result))] == [
        "Conditions: drop 0.1, compression top-0.3, memory True."
    ]
    assert all("Conditions" not in one["facts"] for one in _networks(collect(run(None, iterations=2))))


def killed(conditions, folder):
    problem = Sabotaged(game(), "kill", agent=5, call=12, flag=folder / "killed")
    backend = rd.RayBackend(agents_per_actor=[3, 5])
    result = rd.run(
        problem, RING, METHOD, iterations=23, record_every=5, seed=1, backend=backend, conditions=conditions
    )
    assert [event["agents"] for event in result.recoveries] == [[3, 4, 5, 6, 7]]
    return result


def resumed(conditions, folder):
    run(
        conditions, iterations=13, checkpoint_every=4, directory=folder / "r", backend=rd.RayBackend(agents_per_actor=3)
    )
    return rd.resume(folder / "r", iterations=23, backend=rd.RayBackend(agents_per_actor=4), problem=game())


WAYS = {
    "actors": lambda conditions, folder: run(conditions, backend="ray"),
    "packed, ray links": lambda conditions, folder: run(
        conditions, backend=rd.RayBackend(agents_per_actor=3, links="ray")
    ),
    "resumed": resumed,
    "killed": killed,
}


@pytest.fixture(scope="module")
def expected():
    return {conditions: run(conditions) for conditions in (LOST, QUANTISED)}


@pytest.mark.usefixtures("shared_ray")
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("conditions", [LOST, QUANTISED], ids=["lost", "quantised"])
def test_codes_and_memories_have_the_same_bits_everywhere(conditions, way, expected, tmp_path):
    """One memory for each agent or for each link, wherever they live, resumed or recovered."""
    assert_same_bits(way(conditions, tmp_path), expected[conditions])


def large():
    """Whose frames go through memory also when they are half as long."""
    features = np.random.default_rng(0).normal(size=(1200, 3))
    return rd.problems.RobustLogisticRegression(features, np.where(features[:, 0] > 0, 1.0, -1.0), agents=8)


TRANSPORTS = {
    "sockets": (counted_in, game, LOST),
    "memory": (laid_in, large, rd.Conditions(compression="float32")),
    "calls": (called_in, game, QUANTISED),
}


@pytest.mark.usefixtures("shared_ray")
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_what_travels_is_what_the_ledger_bills(transport, monkeypatch, tmp_path):
    """Counted where it comes in, without headers and stamps: over sockets, in memory, and through Ray's calls."""
    links, problem, conditions = TRANSPORTS[transport]
    monkeypatch.setitem(LINKS._entries, "counted", links(tmp_path))
    result = rd.run(problem(), RING, TRACKING, iterations=5, record_every=5, conditions=conditions,
                    backend=rd.RayBackend(links="counted"))  # fmt: skip
    told = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
    assert sum(one["rows"] for one in told) == result.ledger.messages > 0
    assert sum(one["payload"] for one in told) == result.ledger.bytes
