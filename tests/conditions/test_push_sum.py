"""DREAM by push-sum: exact where links have a direction and do not balance, where they change, and where they fail."""

import networkx as nx
import numpy as np
import pytest
from laws import assert_same_bits
from saboteurs import Sabotaged

import raydream as rd
from raydream.problems import QuadraticGame

UNEVEN = rd.topology.from_graph(
    nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (3, 1), (1, 4), (4, 0), (0, 3)]), weights="out-degree"
)
WHOLE = rd.DREAM(eta=0.03, gamma=0.3, p=1.0, K=1, mixing="push-sum")
METHOD = rd.DREAM(eta=0.03, gamma=0.3, p=0.3, q=0.7, b=3, K0=2, K=1, K_large=2, mixing="push-sum")
ROUGH = rd.Conditions(
    drop=0.2, asleep=0.05, gradient_seconds="exponential-0.001", latency="uniform-0.01-0.1", uplink=1e5
)


def game(agents=5):
    return QuadraticGame.random(agents=agents, samples=7, dim_x=3, dim_y=4, seed=3)


def run(topology=UNEVEN, method=METHOD, problem=None, **settings):
    settings = {"iterations": 17, "record_every": 5, "backend": "local", "seed": 1} | settings
    return rd.run(problem or game(topology.m), topology, method, **settings)


def solves(topology, conditions=None):
    settings = dict(iterations=20000, record_every=200, target_grad_norm=1e-8)
    return run(topology, WHOLE, conditions=conditions, **settings).outcome == "target"


def turns():
    """Directed graphs of five agents that do not balance, and connect only together."""
    graphs = [nx.DiGraph([(0, 1), (0, 2)]), nx.DiGraph([(2, 3), (1, 3), (4, 0)]), nx.DiGraph([(3, 4), (4, 1)])]
    found = []
    for graph in graphs:
        graph.add_nodes_from(range(5))
        heard = nx.to_numpy_array(graph, nodelist=range(5)).T + np.eye(5)
        found.append(heard / heard.sum(axis=0))
    return found


@pytest.mark.parametrize(
    ("topology", "given"),
    [
        (UNEVEN, None),
        (UNEVEN, {"drop": 0.2}),
        (rd.topology.directed_ring(5), {"drop": 0.2, "asleep": 0.1}),
        (rd.topology.ring(5), None),
        (rd.topology.ring(5), {"schedule": turns()}),
        (rd.topology.ring(5), {"schedule": "one-peer-exponential", "drop": 0.2}),
    ],
    ids=["uneven", "uneven, drops", "ring, drops", "both ways", "changing", "one peer, drops"],
)
def test_it_solves_the_game(topology, given):
    """Unequal agents, weights that favour some: ||grad P|| below 1e-8."""
    assert solves(topology, None if given is None else rd.Conditions(**given))


def test_it_is_push_diging_written_out():
    """Numerators and weights in dense matrices, by hand, on whole gradients."""
    problem, W = game(), UNEVEN.W.toarray()
    step = np.array([-0.03 * 0.3] * 3 + [0.03] * 4)

    def gradients(Z):
        return np.array([np.concatenate(problem.local(i).gradient(z[:3], z[3:])) for i, z in enumerate(Z)])

    U = np.tile(np.concatenate(problem.start()), (5, 1))
    Z, G, p, q = U, gradients(U), np.ones((5, 1)), np.ones((5, 1))
    S, q = W @ G, W @ q
    for _ in range(9):
        U, p = W @ (p * Z + step * p * S / q), W @ p
        Z, G_old = U / p, G
        G = gradients(Z)
        S, q = W @ (S + G - G_old), W @ q
    arrays = run(method=WHOLE, iterations=9, record_every=3).arrays
    for name, wanted in {"Z": Z, "S": S, "P": p, "Q": q}.items():
        np.testing.assert_allclose(arrays[name], wanted, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("conditions", [None, rd.Conditions(drop=0.3), rd.Conditions(schedule=turns())], ids=range(3))
def test_sums_are_kept(conditions):
    """The tracker's mean is the estimator's, and weights add up to the number of agents, whatever is lost."""
    arrays = run(conditions=conditions, iterations=40, record_every=40).arrays
    assert np.abs(arrays["S"].mean(axis=0) - arrays["G"].mean(axis=0)).max() < 1e-12
    assert arrays["P"].sum() == pytest.approx(5, rel=1e-14) and arrays["Q"].sum() == pytest.approx(5, rel=1e-14)
    assert arrays["P"].min() > 0 and np.ptp(arrays["P"]) > 0.1


def test_the_weight_is_one_more_column_and_is_billed():
    """Seven numbers and a weight on every directed link; what is dropped is not."""
    result = run(conditions=rd.Conditions(drop=0.2))
    assert result.ledger.bytes == result.ledger.messages * 8 * 8 and result.ledger.dropped > 0
    assert result.ledger.messages + result.ledger.dropped == result.ledger.rounds * UNEVEN.edges


def test_where_links_go_both_ways_it_is_gossip():
    """Weights stay 1, up to rounding."""
    ring = rd.topology.ring(5)
    found = run(ring, WHOLE, iterations=50).arrays
    wanted = run(ring, rd.DREAM(eta=0.03, gamma=0.3, p=1.0, K=1, mixing="gossip"), iterations=50).arrays
    np.testing.assert_allclose(found["Z"], wanted["Z"], rtol=1e-10)


def resumed(folder):
    run(conditions=ROUGH, iterations=9, checkpoint_every=4, directory=folder / "r")
    return rd.resume(folder / "r", iterations=17, backend=rd.RayBackend(agents_per_actor=2), problem=game())


def killed(folder):
    problem = Sabotaged(game(), "kill", agent=3, call=9, flag=folder / "killed")
    result = run(problem=problem, conditions=ROUGH, backend=rd.RayBackend(agents_per_actor=[2, 3]))
    assert len(result.recoveries) == 1
    return result


WAYS = {"actors": lambda folder: run(conditions=ROUGH, backend="ray"), "resumed": resumed, "killed": killed}


@pytest.mark.usefixtures("shared_ray")
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_push_sum_has_the_same_bits_everywhere(way, tmp_path):
    """Senders take back what is lost, wherever they live."""
    assert_same_bits(way(tmp_path), run(conditions=ROUGH))


def test_what_it_cannot_do_gets_a_sentence():
    """Bursts need both ends of a link; the anchored DREAM has no push-sum."""
    with pytest.raises(ValueError, match="must be chances, not bursts"):
        run(conditions=rd.Conditions(drop="bursts-0.1-0.5"))
    with pytest.raises(ValueError, match=r"`mixing` must be one of 'fastmix', 'gossip'; got 'push-sum'"):
        rd.CatalystDREAM(eta=0.1, gamma=1.0, mixing="push-sum")
