"""Bounded valley games: P is nonconvex with bounded level sets, and its gradient falls like a power of time.

With x = (v, u), two coordinates each, and y in R^2 (unconstrained) or in the box |y_k| <= 1 (constrained),

    f(x, y) = g(v) + c u'y + q ||u||^2/2 + l'y - mu y_1^2/2 - nu y_2^2/2,
    g(v)    = sum_k [ (s/a) (1 + v_k^2)^(-a/2) + (s/2) max(|v_k| - WALL, 0)^2 ],
    P(x)    = g(v) + q ||u||^2/2 + h_mu(c u_1 + l_1) + h_nu(c u_2 + l_2),    h_r(w) = max { w y - r y^2/2 : y in Y_k }.

The valley g is concave near 0, falls more and more slowly, and turns up at a wall, so that P has bounded level sets:
g grows without bound in v, and the rest in u. On the way to the wall (which no run here comes near) exact descent with
step h has |grad P| ~ (h t)^-((a+1)/(a+2)): it needs epsilon^-((a+2)/(a+1)) = epsilon^-1.8 iterations in the limit,
and epsilon^-POWER, POWER = 1.77, over the decade that is measured, where the worst case of theory is epsilon^-2. That
is the exponent which every method would show that did as well as exact descent.

Unconstrained: q = l = 0, and P has the curvature c^2/mu in u_1: with L fixed and mu = L/kappa <= nu the longest step of
exact descent falls like 1/kappa, so that it needs kappa^1 iterations where the theorem allows kappa^2; nu keeps L where
it is as mu falls. Constrained: q = c and l = (2 c + 2 mu, 0): at the solution the first coordinate of y lies on the
boundary with force to spare.

Components and agents differ from f by waves of mean zero. A component is f + D with thirty coefficients e, a, B:

    D(x, y) = e'(x, y) + (a + B'y)'phi(x),    phi(x) = (cos Q x, sin Q x),

where Q is orthogonal and has no zero, so that movement in the valley disturbs all gradients. D is linear in y: every
component is mu-strongly concave. Its size and smoothness are the same all along the valley, and f is one function for
every number of agents and samples. Online, a sample has fresh normal coefficients, and a batch their mean, which is
drawn as such: it costs nothing to compute, whatever it costs in SFO.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import raydream as rd

A, S, C, NU, WALL = 0.25, 0.25, 0.5, 0.8, 200.0
POWER = 1.77  # of 1/epsilon: the iterations of exact descent, from 0.04 to 0.004
V, X, Y = 2, 4, 2  # coordinates of the valley, of x, of y
WAVES = 8
SIZE = (X + Y) + WAVES + Y * WAVES  # coefficients of a component: e, a, B
Q = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
START = np.array([0.5] * V + [0.1] * (X - V) + [0.0] * Y)  # not on the axis of the valley: a step too long must show


@dataclass(frozen=True)
class Shape:
    """What is common to all instances: mu, and whether y is constrained."""

    mu: float
    constrained: bool = False

    @property
    def concavity(self) -> Any:
        return np.array([self.mu, NU])

    @property
    def q(self) -> float:
        return C if self.constrained else 0.0

    @property
    def l(self) -> Any:  # noqa: E743
        return np.array([2 * C + 2 * self.mu, 0.0]) if self.constrained else np.zeros(Y)

    @property
    def constraint(self) -> Any:
        return rd.constraints.Box(-1.0, 1.0) if self.constrained else rd.constraints.Everything()

    def project(self, Z: Any) -> Any:
        """Rows z with y in Y, in place."""
        if self.constrained:
            np.clip(Z[..., X:], -1.0, 1.0, out=Z[..., X:])
        return Z

    def best_response(self, x: Any) -> Any:
        y = (C * x[..., V:] + self.l) / self.concavity
        return np.clip(y, -1.0, 1.0) if self.constrained else y

    def value(self, x: Any, y: Any) -> float:
        v, u = x[:V], x[V:]
        return (
            float(np.sum(S / A * (1 + v * v) ** (-A / 2) + S / 2 * np.maximum(np.abs(v) - WALL, 0) ** 2))
            + float(C * u @ y + self.q * u @ u / 2 + self.l @ y - self.concavity * y @ y / 2)
        )  # fmt: skip

    def gradient(self, Z: Any) -> Any:
        """The gradient of f at rows (..., x, y)."""
        G = np.empty_like(Z)
        u, y = Z[..., V:X], Z[..., X:]
        G[..., :V] = slope(Z[..., :V])
        G[..., V:X] = C * y + self.q * u
        G[..., X:] = C * u + self.l - self.concavity * y
        return G

    def primal_gradient(self, x: Any) -> Any:
        """The gradient of P at rows x."""
        return np.concatenate([slope(x[..., :V]), C * self.best_response(x) + self.q * x[..., V:]], axis=-1)


def slope(v: Any) -> Any:
    """The gradient of g."""
    far = np.maximum(np.abs(v) - WALL, 0)
    return S * (np.sign(v) * far - v * (1 + v * v) ** (-A / 2 - 1))


def wave_gradient(coefficients: Any, Z: Any) -> Any:
    """The gradient of D at rows z; it is linear in the coefficients, so that their mean gives the mean gradient."""
    angle, y = Z[..., :X] @ Q.T, Z[..., X:]
    cos, sin = np.cos(angle), np.sin(angle)
    phi = np.concatenate([cos, sin], axis=-1)
    e, a = coefficients[..., : X + Y], coefficients[..., X + Y : X + Y + WAVES]
    B = coefficients[..., X + Y + WAVES :]
    B0, B1 = B[..., :WAVES], B[..., WAVES:]
    w = a + y[..., :1] * B0 + y[..., 1:] * B1
    G = e.copy()
    G[..., :X] += (cos * w[..., X:] - sin * w[..., :X]) @ Q
    G[..., X] += (B0 * phi).sum(axis=-1)
    G[..., X + 1] += (B1 * phi).sum(axis=-1)
    return G


def average_smoothness(game: "Game", z: Any) -> float:
    """L at z: the largest root mean square, over an agent's components, of what a Hessian does to a unit vector."""
    angle, y = Q @ z[:X], z[X:]
    cos, sin = np.cos(angle), np.sin(angle)
    a, B = (
        game.rows[..., X + Y : X + Y + WAVES],
        game.rows[..., X + Y + WAVES :].reshape(*game.rows.shape[:2], Y, WAVES),
    )
    w = a + np.einsum("k,mnkw->mnw", y, B)
    H = np.zeros((*game.rows.shape[:2], X + Y, X + Y))
    H[..., :X, :X] = np.einsum("wi,mnw,wj->mnij", Q, -cos * w[..., :X] - sin * w[..., X:], Q)
    mixed = np.einsum("mnkw,wi->mnki", cos * B[..., X:] - sin * B[..., :X], Q)
    H[..., X:, :X], H[..., :X, X:] = mixed, np.swapaxes(mixed, -1, -2)
    step = 1e-5 * np.eye(X + Y)
    H += (game.shape.gradient(z + step) - game.shape.gradient(z - step)) / 2e-5
    return float(np.sqrt(np.linalg.eigvalsh(np.matmul(H, H).mean(axis=1)).max()))


class Game:
    """One instance: agent i owns n components (offline), or one and fresh waves of size sigma around it (online).

    rows  the coefficients, (m, n, SIZE); online (m, 1, SIZE)
    """

    dim_x, dim_y = X, Y

    def __init__(self, shape: Shape, rows: Any, noise: Any = None) -> None:
        self.shape, self.rows, self.noise = shape, rows, noise
        self.agents, self.samples = len(rows), rows.shape[1] if noise is None else None
        self.constraint = shape.constraint

    @cached_property
    def means(self) -> Any:
        """The coefficients of the agents' own functions, (m, SIZE)."""
        return self.rows.mean(axis=1)

    def local(self, i: int) -> "Shard":
        return Shard(self, i)

    def start(self) -> tuple[Any, Any]:
        return START[:X].copy(), START[X:].copy()

    def value(self, x: Any, y: Any) -> float:
        return self.shape.value(x, y)

    def gradient(self, x: Any, y: Any) -> tuple[Any, Any]:
        g = self.shape.gradient(np.concatenate([x, y]))
        return g[:X], g[X:]

    def best_response(self, x: Any) -> Any:
        return self.shape.best_response(x)

    def primal(self, x: Any) -> float:
        return self.value(x, self.best_response(x))

    def primal_gradient(self, x: Any) -> Any:
        return self.shape.primal_gradient(x)


class Shard:
    """What one agent owns, as raydream asks for it."""

    def __init__(self, game: Game, i: int) -> None:
        self.shape, self.noise, self.samples = game.shape, game.noise, game.samples
        self.rows, self.mean = game.rows[i], game.means[i]

    def value(self, x: Any, y: Any) -> float:
        e, a, B = np.split(self.mean, [X + Y, X + Y + WAVES])
        phi = np.concatenate([np.cos(Q @ x), np.sin(Q @ x)])
        return self.shape.value(x, y) + float(e @ np.concatenate([x, y]) + (a + y @ B.reshape(Y, WAVES)) @ phi)

    def draw(self, generator: np.random.Generator, size: int) -> Any:
        """The mean coefficients of `size` fresh samples: a normal mean, drawn as such."""
        return self.mean + self.noise / np.sqrt(size) * generator.normal(size=SIZE)

    def gradient(self, x: Any, y: Any, batch: Any = None) -> tuple[Any, Any]:
        if batch is None:
            coefficients = self.mean
        else:
            coefficients = batch if self.samples is None else self.rows[batch].mean(axis=0)
        z = np.concatenate([x, y])
        g = self.shape.gradient(z) + wave_gradient(coefficients, z)
        return g[:X], g[X:]


def offline(
    shape: Shape, agents: int, samples: int, groups: int, heterogeneity: float, spread: float, seed: int
) -> Game:
    """N = agents * samples components in `groups` unlike groups of equal size, dealt to the agents in order.

    With `groups` fixed, components of the same kind are dealt to any number of agents that divides it.
    """
    generator = np.random.default_rng(seed)
    rows = spread * _centred(generator, (groups, agents * samples // groups), axis=1)
    rows += heterogeneity * _centred(generator, (groups, 1), axis=0)
    return Game(shape, rows.reshape(agents, samples, SIZE))


def online(shape: Shape, agents: int, heterogeneity: float, spread: float, push: float, seed: int) -> Game:
    """One wave per agent, and fresh waves of size `spread` that also push u and y with size `push`."""
    generator = np.random.default_rng(seed)
    noise = np.array([0.0] * V + [push] * (X + Y - V) + [spread] * (SIZE - X - Y))
    return Game(shape, heterogeneity * _centred(generator, (agents, 1), axis=0), noise)


def _centred(generator: np.random.Generator, counts: tuple[int, int], axis: int) -> Any:
    """Standard normal coefficients whose mean over an axis is zero."""
    drawn = generator.normal(size=(*counts, SIZE))
    return drawn - drawn.mean(axis=axis, keepdims=True)
