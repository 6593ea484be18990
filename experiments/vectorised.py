"""DREAM on a quadratic game for many seeds at once: every numpy call serves all agents of all seeds.

The iteration is raydream.DREAM's, with the rounds of a mixing done by their matrix:

    Z+ = M_K Pi(Z + (-gamma eta, eta) S)
    G+ = large batch at Z+ where the seed's coin shows 1,  else G + omega/q (mean_b gradient at Z+ - at Z)
    S+ = (M_K' where the coin shows 1, else M_K) (S + G+ - G)

Arrays are (m, R, d): agent, seed, coordinate of z = (x, y). Everything random is drawn beforehand, a chunk of
iterations at a time (`Draws`), so that a test can hand in the draws of `rd.run` and find its states.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import raydream as rd
from raydream.constraints import Everything
from raydream.problems import OnlineQuadraticGame

CHUNK = 1000  # iterations whose states are held in memory


class RippledGame(OnlineQuadraticGame):
    """An online quadratic game whose samples are signs, so that a batch has a short summary.

    F_i(z; xi) = f_i(z) + sigma sqrt(2/d) sum_k cos(z_k + phi_k), where each phi_k is an odd multiple of pi/4 chosen at
    random. Its gradient differs from that of f_i by -(sigma/sqrt(d)) (a sin z + c cos z) with fair signs a, c in
    every coordinate: deviation sigma at every z. Of b samples only the mean signs matter.
    """

    def local(self, i: int) -> "RippledShard":
        return RippledShard(self.forms[i], self.sigma, self.penalty)

    def constants(self) -> Any:
        """The ripples add sigma^2/d to the square of the forms' smoothness."""
        L_full = self._smoothness(self.forms.hessian())
        L = float(np.hypot(L_full, self.sigma / np.sqrt(self.dim_x + self.dim_y)))
        return rd.problems.Constants(L=L, mu=self.mu, sigma=self.sigma, L_full=L_full)


class RippledShard:
    """One agent's share of a `RippledGame`."""

    samples = None

    def __init__(self, form: Any, sigma: float, penalty: Any) -> None:
        self.form, self.sigma, self.penalty = form, sigma, penalty
        self.dim = form.p.size + form.q.size

    def value(self, x: Any, y: Any) -> float:
        return self.form.value(x, y) + self.penalty.value(x)

    def draw(self, generator: np.random.Generator, size: int) -> Any:
        """The mean signs of `size` samples: (a, c) in every coordinate."""
        return mean_signs(generator, size, (2, self.dim))

    def gradient(self, x: Any, y: Any, batch: Any = None) -> tuple[Any, Any]:
        gx, gy = self.form.gradient(x, y)
        gx = gx + self.penalty.gradient(x)
        if batch is None:
            return gx, gy
        z = np.concatenate([x, y])
        ripple = -self.sigma / np.sqrt(self.dim) * (batch[0] * np.sin(z) + batch[1] * np.cos(z))
        return gx + ripple[: x.size], gy + ripple[x.size :]


def mean_signs(generator: np.random.Generator, size: int, shape: tuple[int, ...]) -> Any:
    """Means of `size` fair signs."""
    if size < 64:  # so many bits of a number: six times as fast as the binomial
        ones = np.bitwise_count(generator.integers(1 << size, size=shape, dtype=np.uint64))
    else:
        ones = generator.binomial(size, 0.5, size=shape)
    return ones * (2 / size) - 1


@dataclass
class Draws:
    """What a chunk of T iterations draws.

    coins   (T, R) zeta_t of each seed
    weight  (T, m, R) omega_t(i)/q
    small   offline (T, m, R, d, d): by how much the batch's mean Hessian differs from the agent's; online
            (2, T, m, R, d): the batch's mean signs
    large   offline None; online (2, T, m, R, d): the mean signs of the large batch, read where the coin shows 1
    """

    coins: Any
    weight: Any
    small: Any
    large: Any = None


@dataclass
class States:
    """Z, G and S, each (T + 1, m, R, d): before the chunk's first iteration, and after every one."""

    Z: Any
    G: Any
    S: Any


class Many:
    """R runs of one method on one game, side by side; `method` is DREAM with all of its parameters given."""

    def __init__(self, game: Any, topology: Any, method: Any, seeds: int) -> None:
        self.game, self.method, self.seeds = game, method, seeds
        self.online = game.samples is None
        self.H, self.slope = game.forms.hessian(), np.concatenate([game.forms.p, game.forms.q], axis=1)[:, None]
        self.free = isinstance(game.constraint, Everything)
        self.d, self.cut = game.dim_x + game.dim_y, game.dim_x
        self.direction = np.repeat([-method.gamma * method.eta, method.eta], [game.dim_x, game.dim_y])
        self.ripple = -game.sigma / np.sqrt(self.d) if self.online else 0.0
        self.M0, self.M, self.M_large = (
            topology.mix(np.eye(topology.m), K, method.mixing, method.momentum)
            for K in (method.K0, method.K, method.K_large)
        )

    @property
    def shape(self) -> tuple[int, int, int]:
        """(m, R, d)."""
        return self.game.agents, self.seeds, self.d

    def exact(self, Z: Any) -> Any:
        """The gradients of every agent's f_i at its rows; any number of leading axes."""
        g = Z @ self.H + self.slope
        if self.game.penalty.theta:
            g[..., : self.cut] += self.game.penalty.gradient(Z[..., : self.cut])
        return g

    def start(self, generator: np.random.Generator | None = None, signs: Any = None) -> tuple[Any, Any, Any]:
        """Z_0, G_0 and S_0; online from the given mean signs of the first batches, or from fresh ones."""
        Z = np.broadcast_to(np.concatenate(self.game.start()), self.shape).copy()
        G = self.exact(Z)
        if self.online:
            a, c = mean_signs(generator, self.method.b_large, (2, *self.shape)) if signs is None else signs
            G += self.ripple * (a * np.sin(Z) + c * np.cos(Z))
        return Z, G, _mixed(self.M0, G)

    def draw(self, generator: np.random.Generator, T: int) -> Draws:
        """Fresh draws for T iterations."""
        method, (m, R, d) = self.method, self.shape
        coins = generator.random((T, R)) < method.p
        weight = (generator.random((T, m, R)) < method.q) / method.q
        if not self.online:
            batches = generator.integers(self.game.samples, size=(T, m, R, method.b))
            return Draws(coins, weight, self.deviation(batches))
        large = np.zeros((2, T, m, R, d))
        t, r = np.nonzero(coins)
        large[:, t, :, r] = mean_signs(generator, method.b_large, (len(t), 2, m, d))
        return Draws(coins, weight, mean_signs(generator, method.b, (2, T, m, R, d)), large)

    def deviation(self, batches: Any) -> Any:
        """By how much the mean Hessians of batches, sample numbers (T, m, R, b), differ from the agents' own."""
        H = (self.game.components.hessian() - self.H[:, None]) / batches.shape[-1]
        found = np.zeros((*batches.shape[:-1], self.d, self.d))
        for i, own in enumerate(H):
            for k in range(batches.shape[-1]):
                found[:, i] += own[batches[:, i, :, k]]
        return found

    def advance(self, state: tuple[Any, Any, Any], draws: Draws) -> States:
        """All states of a chunk of iterations."""
        T = len(draws.coins)
        Zs, Gs, Ss = (np.empty((T + 1, *self.shape)) for _ in range(3))
        Zs[0], Gs[0], Ss[0] = state
        exact, waves = self.exact(Zs[0]), self._waves(Zs[0])
        for t in range(T):
            Z, G, S = Zs[t], Gs[t], Ss[t]
            step = Z + self.direction * S
            if not self.free:
                step[..., self.cut :] = self._projected(step[..., self.cut :])
            Z_new = _mixed(self.M, step)
            fresh, waves_new = self.exact(Z_new), self._waves(Z_new)
            D = fresh - exact
            exact = fresh
            if self.online:
                (a, c), (A, C) = draws.small[:, t], draws.large[:, t]
                fresh = fresh + self.ripple * (A * waves_new[0] + C * waves_new[1])
                D += self.ripple * (a * (waves_new[0] - waves[0]) + c * (waves_new[1] - waves[1]))
            else:
                D += np.einsum("mrij,mrj->mri", draws.small[t], Z_new - Z)
            coin = draws.coins[t, :, None]
            G_new = np.where(coin, fresh, G + draws.weight[t, :, :, None] * D)
            V = S + G_new - G
            Zs[t + 1], Gs[t + 1] = Z_new, G_new
            Ss[t + 1] = np.where(coin, _mixed(self.M_large, V), _mixed(self.M, V))
            waves = waves_new
        return States(Zs, Gs, Ss)

    def _waves(self, Z: Any) -> Any:
        return (np.sin(Z), np.cos(Z)) if self.online else None

    def _projected(self, Y: Any) -> Any:
        return self.game.constraint.project(Y.reshape(-1, Y.shape[-1])).reshape(Y.shape)


def primal_gradients(game: Any, X: Any) -> Any:
    """grad P at many x (any leading axes), where Y is everything or the mean C a multiple of the identity."""
    form = game.form
    Y = (X @ form.B + form.q) @ np.linalg.inv(form.C)
    Y = game.constraint.project(Y.reshape(-1, game.dim_y)).reshape(Y.shape)
    return X @ form.A + Y @ form.B.T + form.p + game.penalty.gradient(X)


def _mixed(M: Any, V: Any) -> Any:
    """M times the agents' rows."""
    return np.dot(M, V.reshape(len(V), -1)).reshape(V.shape)
