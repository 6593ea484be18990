"""Laws of networks whose links have a direction: who hears whom, what is kept, and a sentence for every mistake."""

import json

import networkx as nx
import numpy as np
import pytest

from raydream import topology as tp
from raydream.topology import Topology, network

UNEVEN = nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (3, 1), (1, 4), (4, 0)])


def test_each_is_heard_by_the_next():
    """W_ij is what i takes of what j says: on a directed ring of the agent before it, and of nobody else."""
    ring = tp.directed_ring(5, self_weight=0.25)
    assert [row.tolist() for row in ring.neighbours] == [[4], [0], [1], [2], [3]]
    assert [row.tolist() for row in ring.listeners] == [[1], [2], [3], [4], [0]]
    assert ring.mix([1.0, 0, 0, 0, 0], 1, "gossip").tolist() == [0.25, 0.75, 0, 0, 0]
    assert ring.directed and ring.balanced and ring.edges == 5
    exponential = tp.directed_exponential(6)
    assert sorted(exponential.listeners[1].tolist()) == [2, 3, 5]
    assert np.allclose(exponential.W.data, 1 / 4)


@pytest.mark.parametrize("build", [tp.directed_ring, tp.directed_exponential])
@pytest.mark.parametrize("m", [1, 2, 3, 8, 13])
def test_builders_balance(build, m):
    """Rows and columns sum to 1; with two agents links go both ways, and one is a network too."""
    found = build(m)
    assert np.allclose(found.W.sum(axis=0), 1, atol=1e-15) and np.allclose(found.W.sum(axis=1), 1, atol=1e-15)
    assert found.directed == (m > 2 and (build, m) != (tp.directed_exponential, 3)) and found.balanced


@pytest.mark.parametrize("m", [3, 8, 15])
def test_a_directed_ring_has_the_eigenvalues_of_its_circle(m):
    """(1 + w) / 2 for the roots of unity w: the second in size is cos(pi / m), and W is normal."""
    ring = tp.directed_ring(m)
    assert ring.second_eigenvalue == pytest.approx(np.cos(np.pi / m), rel=1e-12)
    K = ring.rounds_to_mix(1e-3, "gossip")
    left = [np.linalg.norm(np.linalg.matrix_power(ring.W.toarray(), k) - 1 / m, 2) for k in (K - 1, K)]
    assert left[1] <= 1e-3 < left[0]
    low, high = ring.mixing_range(3, "gossip")
    assert (-low, high) == pytest.approx((np.cos(np.pi / m) ** 3,) * 2, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_rounds_to_mix_are_those_of_the_powers(seed):
    """Where W is not normal its powers, not its eigenvalues, say how long it takes."""
    generator = np.random.default_rng(seed)
    W = (
        sum(share * np.eye(7)[generator.permutation(7)] for share in generator.dirichlet(np.ones(6))) / 2
        + np.eye(7) / 2
    )
    found = Topology(W, directed=True)
    for tolerance in (0.9, 1e-2, 1e-7):
        K = found.rounds_to_mix(tolerance, "gossip")
        left = [np.linalg.norm(np.linalg.matrix_power(W, k) - 1 / 7, 2) for k in (K - 1, K)]
        assert left[1] <= tolerance * (1 + 1e-6) and (K == 1 or left[0] > tolerance * (1 - 1e-6))


def test_beyond_the_dense_a_bound_is_given(monkeypatch):
    """The largest singular value, which is exact where W is normal."""
    exact = tp.directed_ring(20).second_eigenvalue
    monkeypatch.setattr(network, "DENSE", 10)
    assert tp.directed_ring(20).second_eigenvalue == pytest.approx(exact, rel=1e-8)


def test_a_balanced_digraph_needs_no_weights():
    """Max-degree weights are doubly stochastic where every agent hears as many as hear it."""
    graph = nx.DiGraph([(0, 1), (1, 2), (2, 0), (0, 3), (3, 0)])
    found = tp.from_graph(graph)
    assert found.directed and found.balanced
    assert found.W.toarray()[1].tolist() == pytest.approx([1 / 3, 2 / 3, 0, 0])  # 1 hears 0
    assert tp.from_matrix(found.W, graph, directed=True).edges == 5


def test_push_sum_averages_where_gossip_does_not():
    """Out-degree weights keep the sum; the quotients tend to the mean, and equal weights in one step are W's own."""
    found = tp.from_graph(UNEVEN, weights="out-degree")
    V = np.random.default_rng(0).normal(size=(5, 3))
    assert not found.balanced and np.allclose(found.W.sum(axis=0), 1)
    np.testing.assert_allclose(found.mix(V, 200, "push-sum"), np.tile(V.mean(axis=0), (5, 1)), atol=1e-13)
    assert np.abs(found.W.toarray() @ V - V.mean(axis=0)).max() > 0.1
    ring = tp.ring(5)
    np.testing.assert_allclose(ring.mix(V, 7, "push-sum"), ring.mix(V, 7, "gossip"), atol=1e-15)


def test_a_record_s_matrix_keeps_its_direction():
    """from_entries needs no word for it."""
    W = tp.directed_exponential(7).W
    entries = json.loads(json.dumps({part: getattr(W, part).tolist() for part in ("data", "indices", "indptr")}))
    found = tp.from_entries(entries, 7)
    assert found.directed and (found.W != W).nnz == 0
    assert not tp.from_matrix(tp.ring(5).W, directed=True).directed


COLUMN = np.array([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.4]])


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        (lambda: tp.from_matrix(COLUMN.T + np.eye(3, k=1) / 9, directed=True), "columns that sum to 1"),
        (lambda: tp.from_matrix([[1.5, 0.2], [-0.5, 0.8]], directed=True), r"nonnegative; W\[1, 0\] is -0.5"),
        (
            lambda: tp.from_matrix([[1, 0.5, 0], [0, 0.5, 0.5], [0, 0, 0.5]], directed=True),
            "every agent reach every other along its directed links; agents 0 and 1",
        ),
        (lambda: tp.directed_ring(5).mix(np.ones(5), 2), 'FastMix .* needs a symmetric W.*use `mixing="gossip"`'),
        (lambda: tp.directed_ring(5).rounds_to_mix(0.1), "FastMix"),
        (
            lambda: tp.from_graph(UNEVEN, weights="out-degree").mix(np.ones(5), 2, "gossip"),
            'gossip needs a doubly stochastic W.*use `mixing="push-sum"`',
        ),
        (lambda: tp.from_graph(UNEVEN), "`graph` must balance.*agent 2 hears 2 and is heard by 1"),
        (lambda: tp.from_graph(UNEVEN, weights="metropolis"), "`weights` must be one of 'max-degree', 'out-degree'"),
        (lambda: tp.from_graph(UNEVEN, self_weight=0.1), "`self_weight` must be left out where links have a direction"),
        (lambda: tp.directed_ring(4, self_weight=1.0), r"`self_weight` must be in \[0, 1\)"),
    ],
)
def test_every_mistake_gets_its_sentence(mistake, sentence):
    """What came, and what to do."""
    with pytest.raises(ValueError, match=sentence):
        mistake()


def test_the_picture_has_an_arrow_for_every_link():
    """From speaker to listener, and only gossip among the ways of mixing."""
    from raydream.report import figures

    ring = tp.directed_ring(4)
    arrows = next(one for one in figures.network(ring).data if one.marker.symbol == "arrow")
    agents = figures.network(ring).data[-1]
    assert len(arrows.x) == 4
    for i, j, angle in zip(*np.asarray(arrows.customdata)[:, :2].T.astype(int), arrows.marker.angle, strict=True):
        assert (i, j) in {(k, (k - 1) % 4) for k in range(4)}
        way = np.array([agents.x[i] - agents.x[j], agents.y[i] - agents.y[j]])
        np.testing.assert_allclose([np.sin(np.radians(angle)), np.cos(np.radians(angle))], way / np.linalg.norm(way))
    assert [one.name for one in figures.mixing_speed(ring).data] == ["gossip"]
