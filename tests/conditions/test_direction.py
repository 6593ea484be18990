"""Links that have a direction: who may run on them, what is billed, how delays travel, and the same bits everywhere."""

import numpy as np
import pytest
from laws import METHODS_UNDER_TEST, ONE_MACHINE, assert_same_bits
from saboteurs import Sabotaged

import raydream as rd
from raydream.conditions.clock import Clock
from raydream.conditions.wires import Wires
from raydream.problems import QuadraticGame

RING = rd.topology.directed_ring(6)
WIDE = rd.topology.directed_exponential(6)
METHOD = rd.DREAM(eta=0.05, gamma=0.3, p=0.3, q=0.7, b=3, K0=2, K=1, K_large=2, mixing="gossip")
PRICED = rd.Conditions(gradient_seconds="exponential-0.001", latency="uniform-0.01-0.1", uplink=1e5)


def game(agents=6, **sizes):
    return QuadraticGame.random(**{"agents": agents, "samples": 7, "dim_x": 3, "dim_y": 4, "seed": 3} | sizes)


def run(topology=WIDE, method=METHOD, problem=None, **settings):
    settings = {"iterations": 17, "record_every": 5, "backend": "local", "seed": 1} | settings
    return rd.run(problem or game(topology.m), topology, method, **settings)


@pytest.mark.parametrize("topology", [RING, WIDE], ids=lambda t: t.name)
@pytest.mark.parametrize("method", [rd.GTGDA(eta=0.03, gamma=0.3), rd.GTGDA(eta=0.03, gamma=0.3, form="atc"),
                                    rd.DREAM(eta=0.03, gamma=0.3, p=1.0, K=2, mixing="gossip")],
                         ids=["gt-gda", "gt-gda, atc", "dream"])  # fmt: skip
def test_gradient_tracking_solves_the_game(topology, method):
    """Unequal agents, links one way: ||grad P|| below 1e-8."""
    result = run(topology, method, iterations=20000, record_every=100, target_grad_norm=1e-8)
    assert result.outcome == "target"


def test_the_tracker_s_mean_is_the_estimator_s():
    """Columns that sum to 1 keep means: every method that keeps it where links go both ways, and may run here, does."""
    kept = 0
    for method in METHODS_UNDER_TEST.values():
        if isinstance(method, ONE_MACHINE) or method.refuse_direction(True):
            continue
        arrays = [run(on, method, iterations=20, record_every=20).arrays for on in (rd.topology.ring(6), WIDE)]
        if {"S", "G"} <= arrays[0].keys() and arrays[0]["S"].shape == arrays[0]["G"].shape:
            gaps = [np.abs(one["S"].mean(axis=0) - one["G"].mean(axis=0)).max() for one in arrays]
            assert gaps[0] > 1e-11 or gaps[1] < 1e-11
            kept += gaps[1] < 1e-11
    assert kept > 7


def test_the_ledger_counts_directed_links():
    """One frame for each: six of a ring of six, three times as many of the exponential one."""
    ring, wide = run(RING), run(WIDE)
    assert ring.ledger.messages == 6 * ring.ledger.rounds and wide.ledger.messages == 18 * wide.ledger.rounds
    assert ring.ledger.bytes == ring.ledger.messages * 7 * 8


def test_a_delay_travels_along_the_links():
    """A straggler's delay arrives after as many rounds as it is hops away: on a directed ring, one way round."""
    clock = Clock(rd.Conditions(latency=1.0), Wires.of(RING.neighbours, range(6), np.arange(6)), 0)
    clock.seconds = np.array([100.0, 0, 0, 0, 0, 0])
    for round in range(1, 6):
        clock.arrive(clock.depart(8))
        assert (clock.seconds >= 100).tolist() == [hops <= round for hops in range(6)]


def test_an_uplink_is_shared_by_those_that_listen():
    """Not by those that are heard."""
    W = np.array([[0.5, 0, 0.5, 0], [0.25, 0.75, 0, 0], [0.25, 0, 0.5, 0.25], [0, 0.25, 0, 0.75]])
    topology = rd.topology.from_matrix(W, directed=True)
    clock = Clock(rd.Conditions(uplink=8.0), Wires.of(topology.neighbours, range(4), np.arange(4)), 0)
    assert clock.depart(8).tolist() == [float(len(those)) for those in topology.listeners] == [2, 1, 1, 1]


@pytest.fixture(scope="module")
def expected():
    return run(conditions=PRICED)


def killed(folder):
    problem = Sabotaged(game(), "kill", agent=4, call=9, flag=folder / "killed")
    result = run(problem=problem, conditions=PRICED, backend=rd.RayBackend(agents_per_actor=[2, 4]))
    assert len(result.recoveries) == 1
    return result


def resumed(folder):
    run(conditions=PRICED, iterations=9, checkpoint_every=4, directory=folder / "r")
    return rd.resume(folder / "r", iterations=17, backend=rd.RayBackend(agents_per_actor=4), problem=game())


WAYS = {
    "actors": lambda folder: run(conditions=PRICED, backend="ray"),
    "packed, ray links": lambda folder: run(
        conditions=PRICED, backend=rd.RayBackend(agents_per_actor=[3, 1, 2], links="ray")
    ),
    "resumed": resumed,
    "killed": killed,
}


@pytest.mark.usefixtures("shared_ray")
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_direction_has_the_same_bits_everywhere(way, expected, tmp_path):
    """Whoever is heard need not listen, wherever both live."""
    assert_same_bits(way(tmp_path), expected)


@pytest.mark.usefixtures("shared_ray")
def test_long_frames_reach_those_that_never_answer():
    """On a directed ring nobody hears whom it speaks to, and frames of 16 KB come as they are."""
    problem, settings = game(samples=2, dim_x=1500, dim_y=600), dict(iterations=6, record_every=6, method=METHOD)
    ideal = run(RING, problem=problem, **settings)
    assert_same_bits(run(RING, problem=problem, backend="ray", **settings), ideal)
    assert_same_bits(run(WIDE, problem=problem, backend="ray", **settings), run(WIDE, problem=problem, **settings))


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        (rd.DREAM(eta=0.1, gamma=1.0), 'DREAM cannot run on directed_ring: FastMix .*use `mixing="gossip"`'),
        (rd.EDGDA(eta=0.1, gamma=1.0), "EDGDA cannot run on directed_ring: its theory rests on a symmetric W"),
        (rd.VRLM(eta=0.1, gamma=1.0), "VRLM cannot run on directed_ring: its theory rests on a symmetric W"),
        (rd.DGDMax(eta=0.1, gamma=1.0), "DGDMax cannot run on directed_ring: its theory rests"),
    ],
)
def test_methods_that_need_both_directions_say_so(method, sentence):
    """By name, with a remedy, before anything runs."""
    with pytest.raises(ValueError, match=sentence):
        run(RING, method)


def test_what_does_not_balance_needs_push_sum():
    """Gossip would end at another average."""
    W = np.array([[0.5, 0.3, 0.5], [0.5, 0.7, 0.0], [0.0, 0.0, 0.5]])
    W[2, 0], W[0, 0] = 0.25, 0.25
    uneven = rd.topology.from_matrix(W, directed=True)
    with pytest.raises(ValueError, match=r'GTGDA cannot run on matrix: gossip needs a doubly stochastic W.*"push-sum"'):
        run(uneven, rd.GTGDA(eta=0.1, gamma=1.0))
    with pytest.raises(ValueError, match=r"`drop` and `asleep` must be left out where links have a direction"):
        run(RING, rd.GTGDA(eta=0.1, gamma=1.0), conditions=rd.Conditions(drop=0.1))
