"""y-PL is enough: DREAM on a game that is not strongly concave in y (the paper's last remark, for free y)."""

import numpy as np
import pytest
from laws import run

import raydream as rd

M, DX, DY, RANK = 5, 3, 4, 2


class PLShard:
    """f_i = x'A x/2 + x'B y - y'C y/2 + p'x + q'y, one sample."""

    samples = 1

    def __init__(self, A, B, C, p, q):
        self.A, self.B, self.C, self.p, self.q = A, B, C, p, q

    def value(self, x, y):
        return float(x @ self.A @ x / 2 + x @ self.B @ y - y @ self.C @ y / 2 + self.p @ x + self.q @ y)

    def gradient(self, x, y, batch=None):
        return self.A @ x + self.B @ y + self.p, self.B.T @ x - self.C @ y + self.q


class PLGame:
    """C has rank 2 of 4, and the mean B'x + q is in its range for every x: the maximum over y is an affine set.

        P(x) = x'A x/2 + p'x + (B'x + q)' C^+ (B'x + q)/2,    y*(x) = C^+ (B'x + q), and whatever C does not see

    where C^+ is the pseudo-inverse. Single agents pull y along the kernel of C, each its own way, and in the mean not.
    """

    agents, dim_x, dim_y = M, DX, DY

    def __init__(self, seed=0):
        generator = np.random.default_rng(seed)
        basis = np.linalg.qr(generator.normal(size=(DY, DY)))[0]
        seen, self.kernel = basis[:, :RANK], basis[:, RANK:]

        def apart(*shape):
            parts = generator.normal(size=(M, *shape))
            return parts - parts.mean(axis=0)

        C = seen @ (np.diag([1.0, 2.0]) + 0.2 * _symmetric(apart(RANK, RANK))) @ seen.T
        B = generator.normal(size=(DX, RANK)) @ seen.T + 0.5 * apart(DX, DY)
        q = seen @ generator.normal(size=RANK) + apart(DY)
        A, p = _symmetric(apart(DX, DX)), generator.normal(size=(M, DX))
        self.inverse = np.linalg.pinv(C.mean(axis=0), rcond=1e-10)
        curvature = B.mean(axis=0) @ self.inverse @ B.mean(axis=0).T
        A = A + 0.5 * np.eye(DX) - curvature  # P curves by 1/2, and f bends down in x
        self.shards = [PLShard(*parts) for parts in zip(A, B, C, p, q, strict=True)]
        self.mean = PLShard(*(part.mean(axis=0) for part in (A, B, C, p, q)))

    def local(self, i):
        return self.shards[i]

    def best_response(self, x):
        return self.inverse @ (self.mean.B.T @ x + self.mean.q)

    def primal(self, x):
        return self.mean.value(x, self.best_response(x))

    def primal_gradient(self, x):
        return self.mean.gradient(x, self.best_response(x))[0]


def _symmetric(squares):
    return (squares + np.swapaxes(squares, 1, 2)) / 2


@pytest.fixture(scope="module")
def game():
    return PLGame()


def test_the_game_is_pl_in_y_and_not_strongly_concave(game):
    """|grad_y f|^2 >= 2 mu (P - f) with mu the least positive eigenvalue of C, and f is flat along the kernel."""
    generator = np.random.default_rng(1)
    eigenvalues = np.linalg.eigvalsh(game.mean.C)
    assert np.abs(eigenvalues[:-RANK]).max() < 1e-12 and eigenvalues[-RANK] == pytest.approx(1.0)
    assert np.linalg.eigvalsh(game.mean.A).min() < 0
    for x, y, along in zip(*(generator.normal(size=(30, size)) for size in (DX, DY, DY - RANK)), strict=True):
        _, gy = game.mean.gradient(x, y)
        gap = game.primal(x) - game.mean.value(x, y)
        assert gy @ gy >= 2 * gap - 1e-10 and gap > 0
        assert game.mean.value(x, y + game.kernel @ along) == pytest.approx(game.mean.value(x, y), abs=1e-10)
        assert max(np.abs(game.kernel.T @ (shard.B.T @ x + shard.q)).max() for shard in game.shards) > 0.1


def test_the_primal_function_is_exact(game):
    """At y*(x) the gradient in y is 0, and the gradient of P is that of its finite differences."""
    generator, h = np.random.default_rng(2), 1e-5
    for x in generator.normal(size=(10, DX)):
        assert np.abs(game.mean.gradient(x, game.best_response(x))[1]).max() < 1e-12
        slopes = [(game.primal(x + h * e) - game.primal(x - h * e)) / (2 * h) for e in np.eye(DX)]
        np.testing.assert_allclose(game.primal_gradient(x), slopes, atol=1e-7)


def test_dream_solves_a_game_that_is_only_pl(game):
    """||grad P|| <= 1e-8 with full gradients, and y comes to rest among the maximisers, not at a chosen one."""
    method = rd.DREAM(eta=0.1, gamma=0.3, p=1.0, b=None, K=3)
    done = run(game, rd.topology.ring(M), method, iterations=6000, record_every=50, target_grad_norm=1e-9)
    assert done.outcome == "target" and np.linalg.norm(game.primal_gradient(done.x_bar)) <= 1e-8
    assert np.abs(game.mean.gradient(done.x_bar, done.y_bar)[1]).max() < 1e-6
    elsewhere = run(
        game, rd.topology.ring(M), method, iterations=6000, record_every=50, target_grad_norm=1e-9,
        start=(np.zeros(DX), game.kernel @ np.ones(DY - RANK)),
    )  # fmt: skip
    np.testing.assert_allclose(elsewhere.x_bar, done.x_bar, atol=1e-6)
    np.testing.assert_allclose(game.kernel.T @ (elsewhere.y_bar - done.y_bar), 1.0, atol=1e-4)
