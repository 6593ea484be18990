"""Laws of mixing: FastMix is its polynomial, keeps the mean, contracts as Proposition 2.3 says."""

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raydream import topology as tp
from raydream.program import Program
from raydream.topology import Topology, mixing, network
from raydream.topology.mixing import Network
from raydream.types import Array

EVERY_WAY = [("fastmix", "optimal"), ("fastmix", "paper"), ("gossip", "optimal")]


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    """A random connected network, sometimes lazy."""
    m = draw(st.integers(1, 10))
    graph = nx.empty_graph(m)
    graph.add_edges_from((i, draw(st.integers(0, i - 1))) for i in range(1, m))
    numbers = st.integers(0, m - 1)
    graph.add_edges_from(draw(st.lists(st.tuples(numbers, numbers), max_size=2 * m)))
    topology = tp.from_graph(graph, weights=draw(st.sampled_from(["metropolis", "max-degree"])))
    return topology.lazy() if draw(st.booleans()) else topology


def operator(topology: Topology, K: int, method: str, momentum: str) -> Array:
    """The K-round operator as a dense matrix, by the two-term recursion written out."""
    W = topology.W.toarray()
    m = len(W)
    if m == 1:
        return np.eye(1)
    if method == "gossip":
        return np.linalg.matrix_power(W, K)
    lam = np.abs(np.linalg.eigvalsh(W - np.full((m, m), 1 / m))).max()
    s = np.sqrt(max(0.0, 1 - lam**2))
    eta = (1 - s) / (1 + s) if momentum == "optimal" else 1 / (1 + s)
    before, now = np.eye(m), np.eye(m)
    for _ in range(K):
        before, now = now, (1 + eta) * W @ now - eta * before
    return now


def disagreement(P: Array) -> float:
    """The norm of a symmetric operator on vectors of mean zero."""
    m = len(P)
    off = np.eye(m) - 1 / m
    return float(np.abs(np.linalg.eigvalsh(off @ P @ off)).max())


def rows(m: int, seed: int, columns: int = 3) -> Array:
    return np.random.default_rng(seed).standard_normal((m, columns))


@settings(deadline=None, max_examples=60)
@given(topologies(), st.integers(0, 8), st.sampled_from(EVERY_WAY), st.integers(0, 99))
def test_mixing_is_its_matrix_polynomial(topology: Topology, K: int, way: tuple[str, str], seed: int) -> None:
    """K rounds on rows equal the dense two-term recursion on the identity, times the rows."""
    V = rows(topology.m, seed)
    expected = operator(topology, K, *way) @ V
    np.testing.assert_allclose(topology.mix(V, K, *way), expected, rtol=0, atol=1e-10 * 3**K)


@settings(deadline=None, max_examples=60)
@given(topologies(), st.integers(0, 30), st.sampled_from(EVERY_WAY), st.integers(0, 99))
def test_mixing_keeps_the_mean(topology: Topology, K: int, way: tuple[str, str], seed: int) -> None:
    """1^T mix(V) = 1^T V."""
    V = rows(topology.m, seed)
    mixed = topology.mix(V, K, *way)
    np.testing.assert_allclose(mixed.mean(axis=0), V.mean(axis=0), atol=1e-11)


@settings(deadline=None, max_examples=60)
@given(topologies(), st.integers(0, 10), st.sampled_from(EVERY_WAY), st.floats(-3, 3))
def test_mixing_is_linear(topology: Topology, K: int, way: tuple[str, str], a: float) -> None:
    """mix(U + a V) = mix(U) + a mix(V)."""
    U, V = rows(topology.m, 1), rows(topology.m, 2)
    together = topology.mix(U + a * V, K, *way)
    apart = topology.mix(U, K, *way) + a * topology.mix(V, K, *way)
    np.testing.assert_allclose(together, apart, atol=1e-10)


@settings(deadline=None, max_examples=60)
@given(topologies(), st.integers(0, 12), st.sampled_from(EVERY_WAY))
def test_mixing_range_holds_the_extreme_eigenvalues(topology: Topology, K: int, way: tuple[str, str]) -> None:
    """Exactly the smallest and the largest eigenvalue of the dense operator on the complement of ones."""
    m = topology.m
    if m == 1:
        assert topology.mixing_range(K, *way) == (0.0, 0.0)
        return
    basis = np.linalg.svd(np.ones((1, m)))[2][1:]  # rows: an orthonormal basis of the complement
    values = np.linalg.eigvalsh(basis @ operator(topology, K, *way) @ basis.T)
    np.testing.assert_allclose(topology.mixing_range(K, *way), (values[0], values[-1]), atol=1e-9)


@pytest.mark.parametrize("way", EVERY_WAY)
def test_no_rounds_are_the_identity(way: tuple[str, str]) -> None:
    """K = 0 returns the rows, bit for bit, and its eigenvalues are 1."""
    V = rows(8, 0)
    np.testing.assert_array_equal(tp.ring(8).mix(V, 0, *way), V)
    assert tp.ring(8).mixing_range(0, *way) == (1.0, 1.0)


@pytest.mark.parametrize("m", [2, 3, 8])
def test_optimal_momentum_on_the_complete_graph_is_the_mean_at_once(m: int) -> None:
    """W = J has lambda_2 = 0, hence eta_a = 0; the paper's 1/2 overshoots to -1/2 of the disagreement."""
    V = rows(m, 0)
    complete = tp.complete(m)
    np.testing.assert_allclose(complete.mix(V, 1), np.broadcast_to(V.mean(axis=0), V.shape), atol=1e-15)
    assert complete.mixing_range(1, momentum="paper") == pytest.approx((-0.5, -0.5))


def test_momentum_weights() -> None:
    """(1 - s) / (1 + s) and 1 / (1 + s) at s = 0.6, and at both ends of the range, past rounding."""
    assert mixing.momentum_weight(0.8) == pytest.approx(0.25)
    assert mixing.momentum_weight(0.8, "paper") == pytest.approx(0.625)
    assert (mixing.momentum_weight(0.0), mixing.momentum_weight(0.0, "paper")) == (0.0, 0.5)
    assert mixing.momentum_weight(1 + 1e-16) == mixing.momentum_weight(np.nextafter(1, 2), "paper") == 1.0


def test_what_an_agent_knows_of_the_network() -> None:
    """lam is the larger of |lambda_2| and |lambda_m|, at most 1, and 0 for one agent."""
    assert Network(4, 0.5, -0.75).lam == 0.75
    assert Network(4, -0.25, -0.25).lam == 0.25
    assert Network(4, 0.5, -1 - 1e-15).lam == 1.0
    assert Network(1, 0.0, 1.0).lam == 0.0
    assert Network(4, 0.75, -0.5).spectral_gap == 0.25


def proposition(gap: float, K: int) -> float:
    """sqrt(14) (1 - c_2 sqrt(delta))^K with c_2 = 1 - 1 / sqrt(2)."""
    return float(np.sqrt(14) * (1 - (1 - 1 / np.sqrt(2)) * np.sqrt(gap)) ** K)


ROUNDS = (1, 2, 3, 5, 8, 13, 30, 80, 200, 500, 1500)


@pytest.mark.parametrize("momentum", mixing.MOMENTA)
@pytest.mark.parametrize("tau", [1 / 3, 1 / 2, 0.999])
@pytest.mark.parametrize("m", range(4, 33, 4))
def test_fastmix_contracts_as_the_paper_says(m: int, tau: float, momentum: str) -> None:
    """Proposition 2.3 on rings; tau = 1/3 shows that it does not hang on positive semidefiniteness."""
    ring = tp.ring(m, self_weight=tau)
    V = rows(m, 0)
    apart = np.linalg.norm(V - V.mean(axis=0))
    for K in ROUNDS:
        bound = proposition(ring.spectral_gap, K)
        assert max(map(abs, ring.mixing_range(K, momentum=momentum))) <= bound + 1e-14
        left = np.linalg.norm(ring.mix(V, K, momentum=momentum) - V.mean(axis=0))
        assert left <= bound * apart + 1e-11


def test_forgetting_the_previous_iterate_breaks_the_bound() -> None:
    """((1 + eta_a) W - eta_a I)^K and W^K lose the square root of the gap: both exceed Proposition 2.3."""
    ring = tp.ring(8, self_weight=0.999)
    W = ring.W.toarray()
    eta = mixing.momentum_weight(ring.network.lam)
    K = 1500
    bound = proposition(ring.spectral_gap, K)
    assert disagreement(np.linalg.matrix_power((1 + eta) * W - eta * np.eye(8), K)) > 100 * bound
    assert max(ring.mixing_range(K, "gossip")) > 100 * bound
    assert disagreement(operator(ring, K, "fastmix", "optimal")) <= bound


def test_few_rounds_with_the_paper_momentum_overshoot() -> None:
    """Ring of 8: -0.76 at tau = 1/2, K = 2, and -1.17 with metropolis weights, K = 1; optimal momentum does not."""
    half, metropolis = tp.ring(8, self_weight=0.5), tp.ring(8)
    assert half.mixing_range(2, momentum="paper")[0] == pytest.approx(-0.76, abs=0.005)
    assert metropolis.mixing_range(1, momentum="paper")[0] == pytest.approx(-1.17, abs=0.005)
    for K in range(1, 60):
        assert max(map(abs, half.mixing_range(K))) < 1 and max(map(abs, metropolis.mixing_range(K))) < 1


def test_which_momentum_is_ahead_depends_on_the_rounds() -> None:
    """Paper's ring: K = 2 leaves 0.9983 either way, K = 50 leaves .547 against .655, K = 700 the reverse."""
    ring = tp.ring(8, self_weight=0.999)

    def left(K: int, momentum: str) -> float:
        return max(map(abs, ring.mixing_range(K, momentum=momentum)))

    assert left(2, "paper") == pytest.approx(0.9983, abs=5e-5)
    assert left(2, "optimal") == pytest.approx(0.9983, abs=5e-5)
    assert left(50, "paper") == pytest.approx(0.547, abs=1e-3)
    assert left(50, "optimal") == pytest.approx(0.655, abs=1e-3)
    assert left(700, "optimal") < 0.01 * left(700, "paper")


def test_range_beyond_a_thousand_agents_encloses_the_exact_one() -> None:
    """The estimate over [lambda_m, lambda_2] contains the operator's eigenvalues, and closely, on a dense spectrum."""
    ring = tp.ring(1500, self_weight=0.4)
    eigenvalues = 0.4 + 0.6 * np.cos(2 * np.pi * np.arange(1, 1500) / 1500)
    for K in (1, 2, 7, 40):
        for momentum in mixing.MOMENTA:
            weight = mixing.momentum_weight(ring.network.lam, momentum)
            exact = mixing.polynomial(eigenvalues, K, "fastmix", weight)
            low, high = ring.mixing_range(K, momentum=momentum)
            assert low <= exact.min() + 1e-4 and high >= exact.max() - 1e-4
            assert low == pytest.approx(exact.min(), abs=1e-3) and high == pytest.approx(exact.max(), abs=1e-3)


@pytest.mark.parametrize("way", EVERY_WAY)
@pytest.mark.parametrize("topology", [tp.ring(9), tp.star(6).lazy(), tp.complete(4), tp.ring(8, self_weight=0.9)])
@pytest.mark.parametrize("tolerance", [0.9, 1e-2, 1e-7])
def test_rounds_to_mix_are_the_fewest(topology: Topology, way: tuple[str, str], tolerance: float) -> None:
    """K rounds reach the tolerance and no smaller number does."""
    K = topology.rounds_to_mix(tolerance, *way)

    def left(rounds: int) -> float:
        return max(map(abs, topology.mixing_range(rounds, *way)))

    assert left(K) <= tolerance * (1 + 1e-12)
    assert all(left(fewer) > tolerance for fewer in range(K))


@settings(deadline=None, max_examples=200)
@given(st.floats(0.05, 0.999), st.integers(1, 60))
def test_an_exact_power_is_not_rounded_to_its_neighbour(lam: float, K: int) -> None:
    """To reach lam^K takes K gossip rounds, and to go below it K + 1."""
    assert network._least_power(lam, lam**K) == K
    assert network._least_power(lam, float(np.nextafter(lam**K, 0))) == K + 1


def test_rounds_to_mix_at_the_edges() -> None:
    """Nothing to do for a tolerance of 1; an exact power is not rounded up; a periodic network never mixes."""
    assert tp.ring(8).rounds_to_mix(1.0) == 0
    half = tp.from_matrix([[0.75, 0.25], [0.25, 0.75]])
    assert half.rounds_to_mix(2.0**-20, "gossip") == 20
    with pytest.raises(ValueError, match="No number of rounds"):
        tp.ring(8, self_weight=0.0).rounds_to_mix(0.1)
    with pytest.raises(ValueError, match="`tolerance` must be positive"):
        tp.ring(8).rounds_to_mix(0)


def test_rounds_to_mix_gives_up_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tolerance that takes 689 rounds is found with a patience of 689, and refused with 688."""
    ring = tp.ring(8, self_weight=0.999)
    monkeypatch.setattr(network, "PATIENCE", 689)
    assert ring.rounds_to_mix(1e-6) == 689
    monkeypatch.setattr(network, "PATIENCE", 688)
    with pytest.raises(ValueError, match="`tolerance` 1e-06 takes more than 688 rounds"):
        ring.rounds_to_mix(1e-6)


def test_fastmix_needs_the_square_root_of_gossips_rounds() -> None:
    """Paper's ring to 1e-6: gossip 47,163 rounds, FastMix 689, with the paper's momentum 1,128."""
    ring = tp.ring(8, self_weight=0.999)
    counts = [ring.rounds_to_mix(1e-6, *way) for way in (("gossip",), ("fastmix",), ("fastmix", "paper"))]
    assert counts == [47163, 689, 1128]


def said_by(program: Program, hear: Callable[[Array], Any]) -> tuple[list[Array], Array]:
    """Everything a program says, and its result, driven by hand."""
    said = []
    try:
        V = next(program)
        while True:
            said.append(V)
            V = program.send(hear(V))
    except StopIteration as end:
        return said, end.value


@pytest.mark.parametrize("K", [0, 1, 2, 5])
@pytest.mark.parametrize("way", EVERY_WAY)
def test_a_program_speaks_exactly_k_times(K: int, way: tuple[str, str]) -> None:
    """K rounds are K yields, the first of them the rows themselves."""
    V = rows(8, 0)
    ring = tp.ring(8)
    said, result = said_by(mixing.mix(V, K, ring.network, *way), lambda A: ring.W @ A)
    assert len(said) == K
    np.testing.assert_array_equal(said[0] if K else result, V)
    np.testing.assert_array_equal(result, ring.mix(V, K, *way))


def test_fastmix_by_hand() -> None:
    """Two rounds with next and send: A_1 = (1 + eta) h_0 - eta A_0, A_2 = (1 + eta) h_1 - eta A_0."""
    A0, h0, h1 = rows(1, 0), rows(1, 1), rows(1, 2)
    network = Network(5, 0.8, 0.1)  # eta_a = 1/4
    program = mixing.fastmix(A0, 2, network)
    np.testing.assert_array_equal(next(program), A0)
    np.testing.assert_allclose(program.send(h0.copy()), 1.25 * h0 - 0.25 * A0, rtol=1e-14)
    with pytest.raises(StopIteration) as end:
        program.send(h1.copy())
    np.testing.assert_allclose(end.value.value, 1.25 * h1 - 0.25 * A0, rtol=1e-14)


@pytest.mark.parametrize("way", EVERY_WAY)
def test_one_agent_says_nothing(way: tuple[str, str]) -> None:
    """With m = 1 the program returns its rows at once."""
    V = rows(1, 0)
    with pytest.raises(StopIteration) as end:
        next(mixing.mix(V, 5, Network(1, 0.0, 1.0), *way))
    assert end.value.value is V
    np.testing.assert_array_equal(tp.ring(1).mix(V, 5, *way), V)


@pytest.mark.parametrize("way", EVERY_WAY)
def test_nothing_that_is_given_or_said_is_modified(way: tuple[str, str]) -> None:
    """What is heard is the program's own; what it was given or has said stays, and `mix` returns its own array."""
    ring = tp.ring(6)

    def hear(A: Array) -> Array:
        heard: Array = ring.W @ A
        A.setflags(write=False)
        return heard

    V = rows(6, 0)
    V.setflags(write=False)
    _, result = said_by(mixing.mix(V, 4, ring.network, *way), hear)
    np.testing.assert_array_equal(result, ring.mix(V, 4, *way))
    np.testing.assert_array_equal(V, rows(6, 0))
    assert not any(np.shares_memory(ring.mix(V, K, *way), V) for K in (0, 1))


def test_a_vector_of_numbers_mixes_like_a_column() -> None:
    """One number per agent gives the bits of a matrix with one column."""
    ring = tp.ring(7)
    v = rows(7, 0, columns=1)
    mixed = ring.mix(v[:, 0], 5)
    assert mixed.shape == (7,)
    np.testing.assert_array_equal(mixed, ring.mix(v, 5)[:, 0])


@settings(deadline=None, max_examples=60)
@given(topologies(), st.integers(1, 40), st.data())
def test_rows_have_the_same_bits_however_they_are_blocked(
    topology: Topology, columns: int, data: st.DataObject
) -> None:
    """W @ V, W[block] @ V and the block with only the columns it hears agree to the last bit."""
    V = rows(topology.m, 0, columns)
    whole = topology.W @ V
    block = np.array(sorted(data.draw(st.sets(st.integers(0, topology.m - 1), min_size=1))))
    part = topology.W[block]
    np.testing.assert_array_equal(part @ V, whole[block])
    heard = np.unique(part.indices)
    np.testing.assert_array_equal(part[:, heard] @ V[heard], whole[block])


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=6), st.integers(0, 12), st.floats(0, 1))
def test_polynomial_is_the_operator_in_an_eigenvector(values: list[float], K: int, eta: float) -> None:
    """At eigenvalue lambda: p_{k+1} = (1 + eta) lambda p_k - eta p_{k-1} for FastMix, lambda^K for gossip."""
    eigenvalues = np.array(values)
    for value, result in zip(values, mixing.polynomial(eigenvalues, K, "fastmix", eta), strict=True):
        before, now = 1.0, 1.0
        for _ in range(K):
            before, now = now, (1 + eta) * value * now - eta * before
        assert result == pytest.approx(now, abs=1e-9)
    np.testing.assert_allclose(mixing.polynomial(eigenvalues, K, "gossip", eta), eigenvalues**K, atol=1e-13)


MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: tp.ring(5).mix(np.ones(4), 1), "`V` must have one row for each of the 5 agents; got shape (4,)."),
    (
        lambda: tp.ring(5).mix(np.ones((5, 1, 1)), 1),
        "`V` must have one row for each of the 5 agents; got shape (5, 1, 1).",
    ),
    (lambda: tp.ring(5).mix(np.ones(5), -1), "`rounds` must be at least 0; got -1."),
    (lambda: tp.ring(5).mixing_range(1.5), "`K` must be a whole number; got 1.5."),  # type: ignore[arg-type]
    (
        lambda: tp.ring(5).mix(np.ones(5), 1, "gosip"),
        "`method` must be one of 'fastmix', 'gossip', 'push-sum'; got 'gosip'. Did you mean 'gossip'?",
    ),
    (
        lambda: tp.ring(5).mixing_range(1, momentum="papers"),
        "`momentum` must be one of 'optimal', 'paper'; got 'papers'. Did you mean 'paper'?",
    ),
    (
        lambda: mixing.mix(np.ones((1, 1)), 1, Network(2, 0.0, 0.0), "chebyshev"),
        "`method` must be one of 'fastmix', 'gossip', 'push-sum'; got 'chebyshev'.",
    ),
]


@pytest.mark.parametrize(("mistake", "sentence"), MISTAKES)
def test_every_mistake_gets_its_sentence(mistake: Callable[[], Any], sentence: str) -> None:
    """The argument in backticks, the rule, what came, and the nearest choice."""
    with pytest.raises((ValueError, TypeError)) as caught:
        mistake()
    assert str(caught.value) == sentence
