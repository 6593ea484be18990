"""Laws of topologies: Assumption 2.5, closed-form spectra, and a sentence for every mistake."""

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import eye_array
from scipy.sparse.csgraph import connected_components

from raydream import topology as tp
from raydream.topology import Topology, network, spectrum
from raydream.types import Array

BUILDERS: dict[str, Callable[..., Topology]] = {
    "ring": lambda **options: tp.ring(9, **options),
    "path": lambda **options: tp.path(7, **options),
    "grid": lambda **options: tp.grid(12, **options),
    "torus": lambda **options: tp.torus(12, **options),
    "flat torus": lambda **options: tp.torus(10, rows=2, **options),
    "star": lambda **options: tp.star(6, **options),
    "complete": lambda **options: tp.complete(6, **options),
    "hypercube": lambda **options: tp.hypercube(16, **options),
    "exponential": lambda **options: tp.exponential(11, **options),
    "erdos_renyi": lambda **options: tp.erdos_renyi(20, 0.2, **options),
    "random_regular": lambda **options: tp.random_regular(12, 3, **options),
    "from_graph": lambda **options: tp.from_graph(nx.petersen_graph(), **options),
}
REGULAR = ("ring", "torus", "flat torus", "complete", "hypercube", "exponential", "random_regular", "from_graph")
ALONE: list[Callable[[], Topology]] = [
    lambda: tp.ring(1),
    lambda: tp.ring(1, self_weight=0.5),
    lambda: tp.path(1),
    lambda: tp.grid(1),
    lambda: tp.torus(1),
    lambda: tp.star(1, weights="best-constant"),
    lambda: tp.complete(1, weights="max-degree"),
    lambda: tp.hypercube(1),
    lambda: tp.exponential(1),
    lambda: tp.erdos_renyi(1, 0.5),
    lambda: tp.random_regular(1, 0),
    lambda: tp.from_matrix([[1]]),
]


@st.composite
def connected_graphs(draw: st.DrawFn, most: int = 12) -> nx.Graph:
    """A random tree with some further edges."""
    m = draw(st.integers(1, most))
    graph = nx.empty_graph(m)
    graph.add_edges_from((i, draw(st.integers(0, i - 1))) for i in range(1, m))
    numbers = st.integers(0, m - 1)
    graph.add_edges_from(draw(st.lists(st.tuples(numbers, numbers), max_size=2 * m)))
    return graph


def obeys_assumption(topology: Topology) -> None:
    """Symmetric to the bit, doubly stochastic, connected, in the promised sparse form."""
    W = topology.W
    assert W.dtype == np.float64 and W.format == "csr"
    assert all((np.diff(W.indices[a:b]) > 0).all() for a, b in zip(W.indptr, W.indptr[1:], strict=False))
    assert (W.data > 0).all()
    assert (W != W.T).nnz == 0
    assert np.abs(W.sum(axis=1) - 1).max() < 1e-12
    assert connected_components(W)[0] == 1


@pytest.mark.parametrize("weights", tp.WEIGHTS)
@pytest.mark.parametrize("name", BUILDERS)
def test_every_builder_meets_the_assumption_with_every_weighting(name: str, weights: str) -> None:
    """W is symmetric, doubly stochastic and irreducible, or best-constant weights are refused as negative."""
    if weights == "best-constant" and name in ("star", "grid", "erdos_renyi"):
        with pytest.raises(ValueError, match="nonnegative"):
            BUILDERS[name](weights=weights)
        return
    obeys_assumption(BUILDERS[name](weights=weights))


@pytest.mark.parametrize("self_weight", [0.0, 1 / 3, 0.999])
@pytest.mark.parametrize("name", REGULAR)
def test_regular_graphs_take_a_self_weight(name: str, self_weight: float) -> None:
    """The lazy walk has tau on the diagonal and (1 - tau) / degree on every link."""
    topology = BUILDERS[name](self_weight=self_weight)
    obeys_assumption(topology)
    W = topology.W.toarray()
    degree = len(topology.neighbours[0])
    assert (np.diag(W) == self_weight).all()
    links = W[~np.eye(topology.m, dtype=bool)]
    np.testing.assert_allclose(links[links > 0], (1 - self_weight) / degree, rtol=1e-15)


@settings(deadline=None, max_examples=60)
@given(connected_graphs(), st.sampled_from(["metropolis", "max-degree"]))
def test_random_graphs_meet_the_assumption(graph: nx.Graph, weights: str) -> None:
    """From any connected graph W has the graph's links as its support and obeys Assumption 2.5 a-d."""
    topology = tp.from_graph(graph, weights=weights)
    obeys_assumption(topology)
    for i, neighbours in enumerate(topology.neighbours):
        assert neighbours.tolist() == sorted(set(graph[i]) - {i})
    assert topology.edges == graph.number_of_edges() - nx.number_of_selfloops(graph)
    assert tp.from_matrix(topology.W, graph).edges == topology.edges


@settings(deadline=None, max_examples=60)
@given(connected_graphs(), st.sampled_from(["metropolis", "max-degree"]))
def test_metropolis_and_max_degree_follow_their_formulas(graph: nx.Graph, weights: str) -> None:
    """A link weighs 1 / (1 + max(deg i, deg j)), or 1 / (1 + the largest degree); the rest stays at home."""
    W = tp.from_graph(graph, weights=weights).W.toarray()
    degree = [len(set(graph[i]) - {i}) for i in range(len(W))]
    for i, j in graph.edges:
        if i != j:
            most = max(degree[i], degree[j]) if weights == "metropolis" else max(degree)
            assert W[i, j] == pytest.approx(1 / (1 + most), rel=1e-15)


@settings(deadline=None, max_examples=60)
@given(connected_graphs())
def test_best_constant_weights_balance_the_spectrum(graph: nx.Graph) -> None:
    """I - 2 / (l_1 + l_{m-1}) Laplacian has lambda_m = -lambda_2; it is refused just where it is negative."""
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    laplacian = nx.laplacian_matrix(graph).toarray().astype(float)
    ends = np.linalg.eigvalsh(laplacian)
    m = len(laplacian)
    W = np.eye(m) - 2 / (ends[-1] + ends[1]) * laplacian if m > 1 else np.eye(1)
    if W.min() < -1e-9:
        with pytest.raises(ValueError, match=r'self weight -.*2\.5d.*weights="metropolis"'):
            tp.from_graph(graph, weights="best-constant")
    else:
        topology = tp.from_graph(graph, weights="best-constant")
        obeys_assumption(topology)
        np.testing.assert_allclose(topology.W.toarray(), W, atol=1e-13)
        if m > 1:
            assert topology.smallest_eigenvalue == pytest.approx(-topology.second_eigenvalue, abs=1e-12)


@pytest.mark.parametrize("make", ALONE)
def test_one_agent_is_a_network(make: Callable[[], Topology]) -> None:
    """m = 1: W = [[1]], no neighbours, gap 1, nothing to mix."""
    topology = make()
    assert topology.W.toarray().tolist() == [[1.0]]
    assert (topology.m, topology.edges, len(topology.neighbours[0])) == (1, 0, 0)
    assert (topology.second_eigenvalue, topology.spectral_gap, topology.network.lam) == (0.0, 1.0, 0.0)
    assert topology.mixing_range(3) == (0.0, 0.0) and topology.rounds_to_mix(1e-9) == 0
    assert topology.remarks == () and topology.lazy().W.toarray().tolist() == [[1.0]]


def test_two_agents_have_one_link_everywhere() -> None:
    """At m = 2 every graph is one link."""
    both = [tp.ring(2), tp.path(2), tp.grid(2), tp.torus(2), tp.star(2), tp.complete(2), tp.hypercube(2)]
    both += [tp.exponential(2), tp.erdos_renyi(2, 0.5), tp.random_regular(2, 1)]
    for topology in both:
        assert topology.W.toarray().tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert tp.path(2, self_weight=0.25).W.toarray().tolist() == [[0.25, 0.75], [0.75, 0.25]]


def whole_spectrum(topology: Topology) -> Array:
    return np.linalg.eigvalsh(topology.W.toarray())


@pytest.mark.parametrize("m", [3, 4, 8, 15])
@pytest.mark.parametrize("tau", [0.0, 1 / 3, 0.999])
def test_spectrum_of_the_ring(m: int, tau: float) -> None:
    """lambda = tau + (1 - tau) cos(2 pi k / m)."""
    expected = np.sort(tau + (1 - tau) * np.cos(2 * np.pi * np.arange(m) / m))
    np.testing.assert_allclose(whole_spectrum(tp.ring(m, self_weight=tau)), expected, atol=1e-13)


@pytest.mark.parametrize("m", [3, 6, 11])
def test_spectrum_of_the_path(m: int) -> None:
    """Metropolis weights give I - Laplacian / 3: lambda = 1 - (2/3) (1 - cos(pi k / m))."""
    expected = np.sort(1 - 2 / 3 * (1 - np.cos(np.pi * np.arange(m) / m)))
    np.testing.assert_allclose(whole_spectrum(tp.path(m)), expected, atol=1e-13)


@pytest.mark.parametrize("d", [1, 3, 5])
def test_spectrum_of_the_hypercube(d: int) -> None:
    """Metropolis weights: lambda = 1 - 2 k / (d + 1), as often as d choose k."""
    ones = [bin(i).count("1") for i in range(2**d)]
    expected = np.sort(1 - 2 * np.array(ones) / (d + 1))
    np.testing.assert_allclose(whole_spectrum(tp.hypercube(2**d)), expected, atol=1e-13)


@pytest.mark.parametrize("m", [2, 5, 12])
def test_complete_graph_averages_in_one_round(m: int) -> None:
    """Metropolis weights on the complete graph are J; a self weight tau leaves lambda = (m tau - 1) / (m - 1)."""
    np.testing.assert_allclose(tp.complete(m).W.toarray(), 1 / m, rtol=1e-15)
    lazier = tp.complete(m, self_weight=0.1)
    assert lazier.second_eigenvalue == pytest.approx((m * 0.1 - 1) / (m - 1), abs=1e-13)
    assert lazier.network.lam == pytest.approx(abs(m * 0.1 - 1) / (m - 1), abs=1e-13)


def test_the_network_of_the_paper() -> None:
    """The ring of 8 agents with tau = 0.999 has lambda_2 = 0.99970710678."""
    topology = tp.ring(8, self_weight=0.999)
    assert topology.second_eigenvalue == pytest.approx(0.99970710678, abs=1e-10)
    assert topology.spectral_gap == 1 - topology.second_eigenvalue
    assert topology.positive_semidefinite and topology.remarks == ()


@pytest.mark.parametrize("tau", [1 / 3, 0.999])
def test_ring_of_ten_thousand(tau: float) -> None:
    """Where Lanczos stalls, both ends of the spectrum still come out to 1e-9, and the gap to six digits."""
    m = 10_000
    topology = tp.ring(m, self_weight=tau)
    gap = 2 * (1 - tau) * np.sin(np.pi / m) ** 2
    assert topology.second_eigenvalue == pytest.approx(1 - gap, abs=1e-9)
    assert topology.spectral_gap == pytest.approx(gap, rel=1e-6)
    assert topology.smallest_eigenvalue == pytest.approx(2 * tau - 1, abs=1e-9)


def test_path_of_three_thousand() -> None:
    """lambda_2 and lambda_m of a long path agree with their closed forms."""
    m = 3000
    topology = tp.path(m)
    assert topology.second_eigenvalue == pytest.approx(1 - 2 / 3 * (1 - np.cos(np.pi / m)), abs=1e-9)
    assert topology.smallest_eigenvalue == pytest.approx(1 - 2 / 3 * (1 + np.cos(np.pi / m)), abs=1e-9)


@pytest.mark.parametrize(("rows", "columns"), [(45, 51), (4, 1500)])
def test_large_torus(rows: int, columns: int) -> None:
    """lambda = 1/5 + (2/5) (cos a + cos b) for a large torus, square or long."""
    a, b = (np.cos(2 * np.pi * np.arange(n) / n) for n in (rows, columns))
    expected = np.sort((1 / 5 + 2 / 5 * np.add.outer(a, b)).ravel())
    topology = tp.torus(rows * columns, rows=rows)
    assert topology.second_eigenvalue == pytest.approx(expected[-2], abs=1e-9)
    assert topology.smallest_eigenvalue == pytest.approx(expected[0], abs=1e-9)


def test_large_networks_that_mix_fast() -> None:
    """Known spectra beyond 1000 agents, with a negative lambda_2 and with lambda_m = 0 among them."""
    complete = tp.complete(1100, self_weight=0.0)
    assert complete.second_eigenvalue == pytest.approx(-1 / 1099, abs=1e-9)
    lazy_cube = tp.hypercube(2048, self_weight=0.5)
    assert lazy_cube.second_eigenvalue == pytest.approx(1 - 1 / 11, abs=1e-9)
    assert lazy_cube.smallest_eigenvalue == pytest.approx(0, abs=1e-9) and lazy_cube.positive_semidefinite


def test_large_random_regular_graph_is_an_expander() -> None:
    """Nontrivial adjacency eigenvalues of a random 6-regular graph stay within 5% of 2 sqrt(5), both ways.

    With metropolis weights lambda = (1 + a) / 7 for an adjacency eigenvalue a.
    """
    topology = tp.random_regular(5000, 6, seed=1)
    for end in (topology.second_eigenvalue, -topology.smallest_eigenvalue + 2 / 7):
        assert 0.9 < (7 * end - 1) / (2 * np.sqrt(5)) < 1.05


def test_sparse_eigenvalues_agree_with_dense_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the dense limit the ends of the spectrum are those of the whole one."""
    monkeypatch.setattr(network, "DENSE", 99)
    for topology in (tp.path(150), tp.star(150), tp.erdos_renyi(150, 0.05), tp.exponential(150)):
        values = whole_spectrum(topology)
        assert topology.second_eigenvalue == pytest.approx(values[-2], abs=1e-9)
        assert topology.smallest_eigenvalue == pytest.approx(values[0], abs=1e-9)


@pytest.mark.parametrize("misjudged", [1.0, 0.8])
def test_smallest_eigenvalue_is_found_from_below(monkeypatch: pytest.MonkeyPatch, misjudged: float) -> None:
    """Where Lanczos stalls and Gershgorin's bound is loose, the shift climbs to lambda_m and never past it.

    Not even when the first, loose estimates of 1 / (lambda_m - shift) are a fifth too small.
    """
    from scipy.sparse.linalg import ArpackNoConvergence

    largest = spectrum._largest

    def stalls(apply: Any, m: int, restarts: int = 10_000, tolerance: float = spectrum.ACCURACY) -> float:
        if restarts < 10_000:
            raise ArpackNoConvergence("stalled", np.zeros(0), np.zeros((0, 0)))
        return largest(apply, m, restarts, tolerance) * (misjudged if tolerance > 1e-5 else 1)

    monkeypatch.setattr(spectrum, "_largest", stalls)
    for topology in (tp.erdos_renyi(150, 0.05), tp.star(100), tp.torus(99, rows=9), tp.complete(60)):
        values = whole_spectrum(topology)
        assert (2 * topology.W.diagonal() - 1).min() < values[0] - 1e-3
        assert spectrum.smallest_eigenvalue(topology.W) == pytest.approx(values[0], abs=1e-9)
        assert spectrum.second_eigenvalue(topology.W) == pytest.approx(values[-2], abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(connected_graphs(), st.floats(-1, 1))
def test_pivots_tell_whether_anything_lies_below_a_shift(graph: nx.Graph, shift: float) -> None:
    """W - shift I has all its pivots on the diagonal and positive just when no eigenvalue is below the shift."""
    topology = tp.from_graph(graph)
    values = whole_spectrum(topology)
    assume(np.abs(values - shift).min() > 1e-6)
    factor = spectrum._factor(topology.W - shift * eye_array(topology.m))
    assert spectrum._positive_definite(factor) == (values.min() > shift)


def test_positive_pivots_off_the_diagonal_do_not_count() -> None:
    """[[0, 1], [1, 0]] has pivots 1 and 1 after a swap, and the eigenvalue -1."""
    factor = spectrum._factor(tp.complete(2, self_weight=0.0).W)
    assert (factor.U.diagonal() > 0).all() and not spectrum._positive_definite(factor)


def test_eigenvalues_are_the_same_every_time() -> None:
    """Two equal large networks have equal eigenvalues, to the bit."""
    assert tp.torus(1200).network == tp.torus(1200).network


def test_lazy_halves_the_way_to_the_identity() -> None:
    """(W + I)/2 is positive semidefinite, keeps the links and halves the gap."""
    ring = tp.ring(8)
    lazy = ring.lazy()
    np.testing.assert_array_equal(lazy.W.toarray(), (ring.W.toarray() + np.eye(8)) / 2)
    assert not ring.positive_semidefinite and lazy.positive_semidefinite
    assert lazy.spectral_gap == pytest.approx(ring.spectral_gap / 2, rel=1e-12)
    assert lazy.edges == ring.edges and lazy.name == "lazy ring"


def test_remarks_name_the_smallest_eigenvalue_and_the_remedy() -> None:
    """An indefinite W is remarked on; a periodic one is also said never to mix."""
    (remark,) = tp.ring(8).remarks
    assert "2.5e" in remark and "-0.333333" in remark and "`.lazy()`" in remark
    assert "No number of rounds" in tp.ring(8, self_weight=0.0).remarks[1]
    assert tp.ring(8, self_weight=0.0).lazy().remarks == ()


def test_grids_are_as_square_as_possible() -> None:
    """12 agents make 3 by 4, which has 17 links; given 2 rows, 16; a prime number makes a path."""
    assert (tp.grid(12).edges, tp.grid(12, rows=2).edges, tp.grid(7).edges) == (17, 16, 6)
    assert (tp.torus(12).edges, tp.torus(12, rows=2).edges, tp.torus(7).edges) == (24, 18, 7)


def test_exponential_links_are_powers_of_two() -> None:
    """Agent 0 of 11 hears 1, 2, 4, 8 and their opposites."""
    assert tp.exponential(11).neighbours[0].tolist() == [1, 2, 3, 4, 7, 8, 9, 10]


def test_random_graphs_follow_their_seed() -> None:
    """The same seed gives the same graph, another seed another one."""
    builders: list[Callable[[int], Topology]] = [
        lambda seed: tp.erdos_renyi(20, 0.3, seed),
        lambda seed: tp.random_regular(20, 4, seed),
    ]
    for build in builders:
        assert (build(3).W != build(3).W).nnz == 0
        assert (build(3).W != build(4).W).nnz > 0
    assert {len(row) for row in tp.random_regular(20, 4).neighbours} == {4}


def test_sparse_random_graphs_are_redrawn_until_connected() -> None:
    """Just above the threshold most graphs are disconnected, yet every seed gives a connected one."""
    first = nx.fast_gnp_random_graph(20, 0.12, seed=0)
    assert not nx.is_connected(first)
    obeys_assumption(tp.erdos_renyi(20, 0.12, seed=0))
    obeys_assumption(tp.random_regular(30, 2))


def test_labels_are_numbered_in_order() -> None:
    """Sorted labels number the agents; labels of several kinds keep their insertion order."""
    path = nx.Graph([("c", "a"), ("a", "b")])
    assert [row.tolist() for row in tp.from_graph(path).neighbours] == [[1, 2], [0], [0]]
    mixed = nx.Graph([("c", 1), (1, "b")])
    assert [row.tolist() for row in tp.from_graph(mixed).neighbours] == [[1], [0, 2], [1]]
    double = nx.MultiGraph([(0, 1), (0, 1), (1, 1)])
    assert tp.from_graph(double).W.toarray().tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_a_matrix_keeps_its_numbers() -> None:
    """from_matrix takes dense and sparse matrices and forgives rounding, not more."""
    W = tp.erdos_renyi(9, 0.5).W
    assert (tp.from_matrix(W).W != W).nnz == 0
    assert (tp.from_matrix(W.toarray().tolist()).W != W).nnz == 0
    noise = 1e-16 * np.random.default_rng(0).standard_normal((9, 9))
    assert tp.from_matrix(W.toarray() + noise, nx.from_scipy_sparse_array(W)).edges == tp.from_matrix(W).edges
    obeys_assumption(tp.from_matrix(W.toarray() + noise))


def test_a_topology_cannot_be_changed() -> None:
    """Neither its attributes nor the numbers of W, nor does it share them with the matrix it was built from."""
    given = tp.ring(5).W.toarray()
    topology = tp.from_matrix(given)
    given[0, 0] = 7
    assert topology.W[0, 0] < 1
    with pytest.raises(AttributeError):
        topology.name = "other"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        topology.W.data[0] = 7


def test_a_topology_survives_pickling_without_networkx() -> None:
    """Another process unpickles a topology with the same W and eigenvalues and never imports networkx."""
    topology = tp.erdos_renyi(8, 0.5)
    copy = pickle.loads(pickle.dumps(topology))
    assert (copy.W != topology.W).nnz == 0 and copy.network == topology.network and copy.name == topology.name
    script = (
        "import pickle, sys; t = pickle.load(sys.stdin.buffer); t.mix(t.W.toarray(), 2);"
        "sys.exit('networkx' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], input=pickle.dumps(topology), check=False)
    assert done.returncode == 0


def test_repr_shows_what_matters() -> None:
    """Name, size, links and eigenvalues; nothing is computed for the repr of a large network."""
    assert repr(tp.ring(8)) == (
        "Topology(ring, m=8, edges=8, second_eigenvalue=0.804738, smallest_eigenvalue=-0.333333)"
    )
    assert repr(tp.ring(20_000)) == "Topology(ring, m=20000, edges=20000)"


RING: Array = tp.ring(5).W.toarray()


def changed(*changes: tuple[int, int, float]) -> Array:
    W = RING.copy()
    for i, j, value in changes:
        W[i, j] = value
    return W


MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: tp.ring(0), "`m` must be at least 1; got 0."),
    (lambda: tp.ring(2.5), "`m` must be a whole number; got 2.5."),  # type: ignore[arg-type]
    (lambda: tp.ring(8, self_weight=1.0), "`self_weight` must be in [0, 1); got 1.0."),
    (lambda: tp.ring(8, self_weight=-0.1), "`self_weight` must be in [0, 1); got -0.1."),
    (lambda: tp.ring(1, self_weight=2), "`self_weight` must be in [0, 1); got 2.0."),
    (
        lambda: tp.ring(8, self_weight=0.5, weights="max-degree"),
        "Give `self_weight` or `weights`, not both; got 0.5 and 'max-degree'.",
    ),
    (
        lambda: tp.ring(8, weights="metropols"),
        "`weights` must be one of 'best-constant', 'max-degree', 'metropolis'; got 'metropols'. "
        "Did you mean 'metropolis'?",
    ),
    (
        lambda: tp.star(8, self_weight=0.5),
        "`self_weight` needs a graph whose agents all have equally many neighbours; in this star they have 1 to 7. "
        "Use `weights` instead.",
    ),
    (
        lambda: tp.star(8, weights="best-constant"),
        '`weights="best-constant"` gives agent 0 of this star the self weight -0.555556, but W must be doubly '
        'stochastic, hence nonnegative (Assumption 2.5d); use `weights="metropolis"`.',
    ),
    (lambda: tp.hypercube(6), "`m` must be a power of two for a hypercube; got 6. Use 4 or 8."),
    (lambda: tp.grid(12, rows=5), "`rows` must divide the number of agents, 12; got 5."),
    (lambda: tp.torus(12, rows=0), "`rows` must be at least 1; got 0."),
    (lambda: tp.erdos_renyi(5, 1.5), "`probability` must be in (0, 1]; got 1.5."),
    (
        lambda: tp.erdos_renyi(30, 0.01),
        "None of 1000 random graphs was connected: `probability` 0.01 is too small, try more than log(m)/m = 0.113.",
    ),
    (
        lambda: tp.erdos_renyi(10**6, 1e-9),
        "`probability` 1e-09 is too small: about 999001 of 1000000 agents would have no link at all; try more than "
        "log(m)/m = 1.38e-05.",
    ),
    (lambda: tp.erdos_renyi(5, 0.5, seed=-1), "`seed` must be at least 0; got -1."),
    (lambda: tp.random_regular(5, 3), "`degree` must be even when `m` is odd; got degree 3 for 5 agents."),
    (lambda: tp.random_regular(4, 4), "`degree` must be below the number of agents, 4; got 4."),
    (lambda: tp.random_regular(6, 1), "`degree` must be at least 2 to connect 6 agents; got 1."),
    (lambda: tp.from_graph([0, 1]), "`graph` must be a networkx graph; got list."),
    (lambda: tp.from_graph(nx.Graph()), "`graph` must have at least one agent; got an empty graph."),
    (
        lambda: tp.from_graph(nx.DiGraph([(0, 1)])),
        "`graph` must balance for doubly stochastic weights; agent 0 hears 0 and is heard by 1. Use "
        '`weights="out-degree"` and `mixing="push-sum"`, or a W of your own.',
    ),
    (
        lambda: tp.from_graph(nx.Graph([(0, 1), (1, 2), (3, 4)])),
        "`graph` must connect all agents (Assumption 2.5b, irreducible); it has 2 parts of 3, 2 agents, "
        "and agents 0 and 3 cannot reach each other.",
    ),
    (
        lambda: tp.from_matrix(np.eye(7)),
        "`W` must connect all agents (Assumption 2.5b, irreducible); it has 7 parts of 1, 1, 1, 1, 1, ... agents, "
        "and agents 0 and 6 cannot reach each other.",
    ),
    (
        lambda: tp.from_matrix(changed((3, 3, RING[3, 3] - 0.02))),
        "`W` must be doubly stochastic (Assumption 2.5d); row 3 sums to 0.98.",
    ),
    (
        lambda: tp.from_matrix(changed((0, 1, 0.4), (0, 4, 0.2))),
        "`W` must be symmetric (Assumption 2.5c); W[0, 4] is 0.2 but W[4, 0] is 0.333333. "
        "Links that have a direction are for `from_matrix(W, directed=True)`.",
    ),
    (
        lambda: tp.from_matrix(changed((1, 1, -0.25))),
        "`W` must be doubly stochastic, hence nonnegative (Assumption 2.5d); W[1, 1] is -0.25.",
    ),
    (lambda: tp.from_matrix(changed((2, 4, np.nan))), "`W` must be finite; W[2, 4] is nan."),
    (lambda: tp.from_matrix(changed((0, 0, np.inf))), "`W` must be finite; W[0, 0] is inf."),
    (
        lambda: tp.from_matrix(RING[:3]),
        "`W` must be a square matrix with a row for each agent; got shape (3, 5).",
    ),
    (
        lambda: tp.from_matrix(np.zeros((0, 0))),
        "`W` must be a square matrix with a row for each agent; got shape (0, 0).",
    ),
    (lambda: tp.from_matrix("ring"), "`W` must be a matrix of real numbers; got str."),
    (lambda: tp.from_matrix(RING * 1j), "`W` must be a matrix of real numbers; got ndarray."),
    (
        lambda: tp.from_matrix(RING, nx.path_graph(5)),
        "`W` must be supported on the network (Assumption 2.5a); agents 0 and 4 are not linked in `graph` "
        "but W[0, 4] is 0.333333.",
    ),
    (
        lambda: tp.from_matrix(RING, nx.complete_graph(5)),
        "`W` must be supported on the network (Assumption 2.5a); agents 0 and 2 are linked in `graph` "
        "but W[0, 2] is 0.",
    ),
    (lambda: tp.from_matrix(RING, nx.path_graph(4)), "`W` has 5 agents but `graph` has 4."),
]


@pytest.mark.parametrize(("mistake", "sentence"), MISTAKES)
def test_every_mistake_gets_its_sentence(mistake: Callable[[], Any], sentence: str) -> None:
    """The argument in backticks, the rule (with the paper's assumption), what came, and the remedy."""
    with pytest.raises((ValueError, TypeError)) as caught:
        mistake()
    assert str(caught.value) == sentence


@pytest.mark.parametrize("degree", [31, 33, 52, 60, 62, 63])
def test_nearly_complete_random_regular_graphs_are_drawn_at_once(degree):
    """Pairing up nearly all agents at random would go on for ever."""
    drawn = tp.random_regular(64, degree, seed=1)
    assert all(len(row) == degree for row in drawn.neighbours)


@pytest.mark.parametrize(
    "change",
    [{"indices": [-(10**8)] * 24}, {"indices": [10**8] * 24}, {"indptr": [0, 3]}, {"indptr": [0, 10**9] * 4 + [24]},
     {"data": ["x"] * 24}, {"data": None}, {"indices": {}}, {"data": [0.5] * 24}],
    ids=str,
)  # fmt: skip
def test_a_matrix_from_a_file_is_checked_before_it_is_used(change):
    """Indices that point outside would make scipy read and write there."""
    W = tp.ring(8).W
    entries = {"data": W.data.tolist(), "indices": W.indices.tolist(), "indptr": W.indptr.tolist()}
    assert np.array_equal(tp.from_entries(entries, 8).W.toarray(), W.toarray())
    with pytest.raises(ValueError):
        tp.from_entries({**entries, **change}, 8)
