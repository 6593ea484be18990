"""The oracle is itself checked, on games of a few numbers: theorems, closed forms, counts made by hand."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.dream import Array, Batch, Batches, Draw, dream, fastmix_matrix, gossip_matrix, lyapunov
from reference.theory import dream_parameters_by_hand

PATH = np.array([[2, 1, 0], [1, 1, 1], [0, 1, 2]]) / 3  # three agents, four directed edges


def ring(m: int, self_weight: float) -> Array:
    """The lazy random walk on a ring."""
    right = np.roll(np.eye(m), 1, axis=1)
    return self_weight * np.eye(m) + (1 - self_weight) / 2 * (right + right.T)


def lazy_metropolis(m: int, seed: int) -> Array:
    """Positive semidefinite weights on a path with random chords."""
    linked = np.triu(np.random.default_rng(seed).random((m, m)) < 0.3, 1) | np.eye(m, k=1, dtype=bool)
    linked = linked | linked.T
    degree = linked.sum(axis=1)
    W = linked / (1 + np.maximum.outer(degree, degree))
    return np.asarray((np.eye(m) + W + np.diag(1 - W.sum(axis=1))) / 2)


@dataclass(frozen=True)
class Game:
    """F_ij(z) = z'H_ij z / 2 + c_ij'z with z = (x, y) in R^2 x R^2 and y in [-radius, radius]^2.

    The mean of the H_ij is [[I/4, I], [I, -I]]; no single agent has it, and some are not convex in x.
    """

    H: Array
    c: Array
    radius: float = np.inf

    @classmethod
    def draw(cls, m: int, n: int, seed: int, radius: float = np.inf) -> "Game":
        rng = np.random.default_rng(seed)
        noise = rng.uniform(-0.7, 0.7, (m, n, 4, 4))
        noise[..., 2:, 2:] = 0  # strong concavity of every component
        noise = noise + noise.swapaxes(-1, -2)
        mean = np.kron([[0.25, 1], [1, -1]], np.eye(2))
        return cls(mean + noise - noise.mean(axis=(0, 1)), rng.normal(size=(m, n, 4)), radius)

    def gradient(self, i: int, x: Array, y: Array, batch: Batch) -> Array:
        rows = slice(None) if batch is None else np.asarray(batch)
        components: Array = self.H[i, rows] @ np.concatenate([x, y]) + self.c[i, rows]
        return np.asarray(components.mean(axis=0))

    def exact(self, Z: Array) -> Array:
        return np.array([self.gradient(i, z[:2], z[2:], None) for i, z in enumerate(Z)])

    def project(self, y: Array) -> Array:
        return np.clip(y, -self.radius, self.radius)

    def primal_gradient(self, x: Array) -> Array:
        p, r = self.c.mean(axis=(0, 1))[:2], self.c.mean(axis=(0, 1))[2:]
        return np.asarray(x / 4 + p + self.project(x + r))


def settings_of(game: Game, W: Array, **changes: Any) -> dict[str, Any]:
    """Arguments of `dream` that every test here can share."""
    z0 = np.array([1.0, -1.0, 0.2, 0.1])
    common = {
        "gradient": game.gradient,
        "project": game.project,
        "z0": z0,
        "dim_x": 2,
        "W": W,
        "n": game.H.shape[1],
    }
    return common | {"eta": 0.2, "gamma": 0.5, "q": 1.0, "K0": 3, "K": 2, "K_large": 4} | changes


def exact_steps(m: int, iterations: int, coin: bool = True) -> Batches:
    """Whole shards throughout, every agent taking part."""
    return Batches([None] * m, [Draw(coin, [None] * m, [1] * m)] * iterations)


def random_steps(m: int, n: int, iterations: int, seed: int) -> Batches:
    """Coins, omegas and batches of three samples."""
    rng = np.random.default_rng(seed)

    def batch() -> list[Batch]:
        return list(rng.integers(n, size=(m, 3)))

    steps = [Draw(rng.random() < 0.5, batch(), rng.integers(2, size=m).tolist()) for _ in range(iterations)]
    return Batches(batch(), steps)


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 12), st.integers(0, 10**6), st.integers(0, 60), st.sampled_from(["optimal", "paper"]))
def test_fastmix_keeps_the_mean_and_the_printed_bound(m: int, seed: int, K: int, momentum: str) -> None:
    """1'M = 1' and ||M - J|| <= sqrt(14) (1 - c2 sqrt(delta))^K for positive semidefinite W (prop:fm)."""
    W = lazy_metropolis(m, seed)
    M = fastmix_matrix(W, K, momentum)
    delta = 1 - np.linalg.eigvalsh(W)[-2]
    bound = sqrt(14) * (1 - (1 - 1 / sqrt(2)) * sqrt(delta)) ** K

    np.testing.assert_allclose(M.sum(axis=0), 1, atol=1e-12)
    assert np.linalg.norm(M - 1 / m, 2) <= bound


def test_plain_gossip_breaks_the_bound_that_fastmix_keeps() -> None:
    """On the paper's ring W^1000 is 30 times above the bound: without A_{k-1} there is no sqrt(delta)."""
    W = ring(8, 0.999)
    bound = sqrt(14) * (1 - (1 - 1 / sqrt(2)) * sqrt(1 - np.linalg.eigvalsh(W)[-2])) ** 1000

    assert np.linalg.norm(gossip_matrix(W, 1000) - 1 / 8, 2) > 30 * bound
    assert np.linalg.norm(fastmix_matrix(W, 1000, "optimal") - 1 / 8, 2) < 1e-6 * bound
    assert np.linalg.norm(fastmix_matrix(W, 1000, "paper") - 1 / 8, 2) < 1e-3 * bound


@pytest.mark.parametrize("K", [0, 1, 2, 7, 30])
def test_optimal_momentum_damps_the_slowest_mode_critically(K: int) -> None:
    """The eigenvalue lam of W becomes (1 + K (1 - r)) r^K with r = lam / (1 + sqrt(1 - lam^2))."""
    W = ring(8, 0.9)
    values, vectors = np.linalg.eigh(W)
    lam, mode = values[-2], vectors[:, -2]
    r = lam / (1 + sqrt(1 - lam**2))

    np.testing.assert_allclose(fastmix_matrix(W, K, "optimal") @ mode, (1 + K * (1 - r)) * r**K * mode, atol=1e-7)


def test_paper_momentum_is_the_printed_one() -> None:
    """One round is (1 + e) W - e I with e = 1 / (1 + sqrt(1 - lam^2)), and two multiply by W once more."""
    W = ring(5, 0.6)
    e = 1 / (1 + sqrt(1 - np.linalg.eigvalsh(W)[-2] ** 2))
    one = (1 + e) * W - e * np.eye(5)

    np.testing.assert_allclose(fastmix_matrix(W, 1, "paper"), one)
    np.testing.assert_allclose(fastmix_matrix(W, 2, "paper"), (1 + e) * W @ one - e * np.eye(5), atol=1e-14)


def test_momentum_uses_the_eigenvalue_largest_in_magnitude() -> None:
    """The ring of four with self weight .1 has eigenvalues 1, .1, .1 and -.8: s = .6 and eta_a = .4 / 1.6."""
    W = ring(4, 0.1)

    np.testing.assert_allclose(fastmix_matrix(W, 1, "optimal"), 1.25 * W - 0.25 * np.eye(4))


@pytest.mark.parametrize("mix", [gossip_matrix, fastmix_matrix])
def test_trivial_mixing(mix: Callable[[Array, int], Array]) -> None:
    """No round changes nothing, one round with W = J is the mean, one agent is its own mean."""
    np.testing.assert_array_equal(mix(PATH, 0), np.eye(3))
    np.testing.assert_allclose(mix(np.full((4, 4), 0.25), 1), 0.25, atol=1e-12)
    np.testing.assert_array_equal(mix(np.ones((1, 1)), 3), [[1]])


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    K0=st.integers(0, 3),
    K=st.integers(0, 3),
    K_large=st.integers(0, 3),
    mixing=st.sampled_from(["fastmix", "gossip"]),
    momentum=st.sampled_from(["optimal", "paper"]),
)
def test_means_follow_the_paper_whatever_is_drawn(
    seed: int, K0: int, K: int, K_large: int, mixing: str, momentum: str
) -> None:
    """s_bar = g_bar, x_bar moves by -gamma eta u_bar, and y_bar is the mean of the projections."""
    game, W = Game.draw(m=4, n=6, seed=seed, radius=0.3), ring(4, 0.4)
    rounds = {"K0": K0, "K": K, "K_large": K_large, "mixing": mixing, "momentum": momentum}
    arguments = settings_of(game, W, eta=0.1, q=0.5, **rounds)
    states, _ = dream(batches=random_steps(4, 6, 5, seed), **arguments)

    for state in states:
        np.testing.assert_allclose(state.S.mean(axis=0), state.G.mean(axis=0), rtol=1e-9, atol=1e-9)
    for now, after in pairwise(states):
        moved = np.hstack([now.Z[:, :2] - 0.05 * now.S[:, :2], game.project(now.Z[:, 2:] + 0.1 * now.S[:, 2:])])
        np.testing.assert_allclose(after.Z.mean(axis=0), moved.mean(axis=0), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("mixing", ["fastmix", "gossip"])
@pytest.mark.parametrize(("radius", "active"), [(np.inf, False), (0.3, True)])
def test_exact_gradients_reach_a_stationary_point(mixing: str, radius: float, active: bool) -> None:
    """With the coin always 1 and whole shards every agent ends where grad P = 0, constraint active or not."""
    game = Game.draw(m=4, n=3, seed=5, radius=radius)
    states, _ = dream(batches=exact_steps(4, 1500), **settings_of(game, ring(4, 0.5), mixing=mixing))

    assert np.linalg.norm(game.primal_gradient(states[0].Z[0, :2])) > 0.1
    assert bool((np.abs(states[-1].Z[0, 2:]) > radius - 1e-9).any()) == active
    for z in states[-1].Z:
        assert np.linalg.norm(game.primal_gradient(z[:2])) < 1e-10


def test_corrections_on_whole_shards_telescope_to_the_exact_gradient() -> None:
    """With q = 1 and whole shards G_t = grad f(Z_t) although the coin never shows 1."""
    game = Game.draw(m=3, n=4, seed=1)
    states, _ = dream(batches=exact_steps(3, 10, coin=False), **settings_of(game, PATH))

    for state in states:
        np.testing.assert_allclose(state.G, game.exact(state.Z), atol=1e-12)


def test_corrections_are_unbiased() -> None:
    """Summed over omega and every batch of one, with its probability, G_1 - G_0 is the exact difference."""
    game, q = Game.draw(m=3, n=4, seed=2), 0.3
    expected = np.zeros((3, 4))
    for j in range(4):
        for omega, chance in ((1, q), (0, 1 - q)):
            draws = Batches([None] * 3, [Draw(False, [[j]] * 3, [omega] * 3)])
            (before, after), _ = dream(batches=draws, **settings_of(game, PATH, q=q))
            expected += chance / 4 * (after.G - before.G)

    np.testing.assert_allclose(expected, game.exact(after.Z) - game.exact(before.Z), atol=1e-12)


def test_corrections_take_the_same_samples_at_both_points() -> None:
    """At a frozen point (eta = 0) a correction is 0, whichever samples it takes."""
    draws = Batches([None] * 3, [Draw(False, [[0], [1, 3], [2, 2]], [1, 1, 1])])
    (before, after), _ = dream(batches=draws, **settings_of(Game.draw(m=3, n=4, seed=2), PATH, eta=0.0))

    np.testing.assert_allclose(after.G, before.G, atol=1e-12)


def test_rounds_of_each_mixing() -> None:
    """K0 rounds for S_0, K for X and Y, and for S_1 K_large after a 1 but K after a 0."""
    game = Game.draw(m=3, n=4, seed=3, radius=0.3)
    M = {K: fastmix_matrix(PATH, K) for K in (2, 3, 4)}
    for coin, K_t in ((True, 4), (False, 2)):
        arguments = settings_of(game, PATH, K0=3, K=2, K_large=4)
        (s0, s1), _ = dream(batches=exact_steps(3, 1, coin), **arguments)

        np.testing.assert_array_equal(s0.Z, [arguments["z0"]] * 3)
        np.testing.assert_allclose(s0.S, M[3] @ s0.G)
        np.testing.assert_allclose(s1.Z[:, :2], M[2] @ (s0.Z - 0.1 * s0.S)[:, :2])
        np.testing.assert_allclose(s1.Z[:, 2:], M[2] @ game.project((s0.Z + 0.2 * s0.S)[:, 2:]))
        np.testing.assert_allclose(s1.S, M[K_t] @ (s0.S + s1.G - s0.G))


def test_bills_equal_those_counted_by_hand() -> None:
    """Three agents on a path, n = 5, d = 4: 32 bytes a message, four messages a round."""
    draws = Batches(
        first=[None, [0, 1], [3]],  # 5 + 2 + 1
        steps=[
            Draw(True, [None, [0, 0], [1, 2, 3]]),  # 5 + 2 + 3, and 2 + 3 rounds
            Draw(False, [[0, 1], [2, 3], None], [1, 0, 1]),  # 4 + 0 + 10, and 2 + 2 rounds
            Draw(False, [[0], [0], [0]], [0, 0, 0]),  # nothing, and 2 + 2 rounds
        ],
    )
    states, counts = dream(batches=draws, **settings_of(Game.draw(3, 5, seed=4), PATH, q=0.5, K0=4, K=2, K_large=3))

    assert len(states) == 4
    assert counts.sfo == [8, 18, 32, 32]
    assert counts.rounds == [4, 9, 13, 17]
    assert counts.messages == [16, 36, 52, 68]
    assert counts.bytes == [512, 1152, 1664, 2176]


def test_lyapunov_equals_the_value_worked_out_by_hand() -> None:
    """f = x^2/2 + xy - y^2/2, so P = x^2; two agents around (2, 1), where f = 3.5."""
    parts = lyapunov(
        Z=np.array([[1.0, 0.0], [3.0, 2.0]]),  # spread 4
        G=np.array([[2.0, 1.0], [5.0, 3.0]]),  # exact is (1, 1) and (5, 1): errors (1, 0) and (0, 2)
        S=np.array([[0.0, 0.0], [4.0, 0.0]]),  # spread 8
        exact_gradient=lambda i, x, y: np.concatenate([x + y, x - y]),
        value=lambda x, y: float(x @ x / 2 + x @ y - y @ y / 2),
        primal=lambda x: float(x @ x),
        P_star=-1.0,
        eta=0.5,
        p=0.25,
        dim_x=1,
    )

    assert parts == pytest.approx({"Psi": 5.0625, "C": 6, "V": 2.5, "U": 1.25, "Phi": 5.0625 + 6 + 2.5 + 2.5})


def test_parameters_equal_those_worked_out_by_hand() -> None:
    """kappa = 2, b' = 16 on four agents: b = 2, q = 1, p = 1/9."""
    found = dream_parameters_by_hand(L=2, mu=1, epsilon=0.5, m=4, delta=0.25, psi0=0.3, n=16)
    T = 8493484  # 8493465.6 + 18
    steps = {"alpha": 1 / 8, "kappa": 2, "gamma": 1 / 4608, "eta": 1 / 96}
    batches = {"b_large": 16, "b": 2, "q": 1, "p": 1 / 9, "T": T}
    rounds = {"K0": 86, "K": 53, "K_large": 93}  # 85.5, 52.7, 92.4
    counts = {"sfo_paper": 64 + 4 * T * 32 / 9, "sfo": 64 + 4 * T * 48 / 9}
    counts |= {"rounds_paper": 86 + T * 517 / 9, "rounds": 86 + T * 994 / 9}

    assert found == pytest.approx(steps | batches | rounds | counts, rel=1e-12)


def test_online_batch_comes_from_the_noise() -> None:
    """b' = ceil(32 sigma^2 / (gamma m epsilon^2)) = ceil(1474.56)."""
    found = dream_parameters_by_hand(L=2, mu=1, epsilon=0.5, m=4, delta=0.25, psi0=0.3, sigma=0.1)

    assert (found["b_large"], found["b"]) == (1475, 20)


def test_no_initial_rounds_for_a_coarse_target() -> None:
    """K0 is 0, not negative, where 16 c1 / (gamma m epsilon^2) < 1."""
    assert dream_parameters_by_hand(L=1, mu=1, epsilon=1000, m=4, delta=0.25, psi0=1, n=16)["K0"] == 0


@settings(deadline=None)
@given(st.integers(1, 10**6), st.integers(1, 1000))
def test_coin_and_batches_balance(n: int, m: int) -> None:
    """(1 - p) / (m b p q) = 1, and the paper's SFO is m b' + 2 m T b' b q / (b' + b q)."""
    found = dream_parameters_by_hand(L=3, mu=1, epsilon=0.1, m=m, delta=0.1, psi0=1, n=n)
    b, p, q, T = (found[name] for name in ("b", "p", "q", "T"))

    assert (1 - p) / (m * b * p * q) == pytest.approx(1)
    assert found["sfo_paper"] == pytest.approx(m * n + 2 * m * T * n * b * q / (n + b * q))
    assert 0 < q <= 1


def test_misuse_is_named() -> None:
    """A batch without a price, both or neither of n and sigma, unknown mixing or momentum are refused."""
    game, draws = Game.draw(3, 4, seed=0), exact_steps(3, 1)
    with pytest.raises(ValueError, match="`n` must be given"):
        dream(batches=draws, **settings_of(game, PATH, n=None))
    with pytest.raises(ValueError, match="`mixing` must be"):
        dream(batches=draws, **settings_of(game, PATH, mixing="chebyshev"))
    with pytest.raises(ValueError, match="`momentum` must be"):
        fastmix_matrix(PATH, 1, "heavy")
    for wrong in ({}, {"n": 4, "sigma": 1.0}):
        with pytest.raises(ValueError, match="exactly one of `n` and `sigma`"):
            dream_parameters_by_hand(1, 1, 0.1, 3, 0.5, 1, **wrong)  # type: ignore[arg-type]
