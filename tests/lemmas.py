"""The DREAM paper's lemmas as laws: each is a function that takes any class of methods and raises where it fails.

A step is the method's own, taken by many copies of the network side by side. Expectations are over samples and
participation, by drawing, and over the shared coin, exactly: E = p E[. | coin 1] + (1 - p) E[. | coin 0].
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from raydream.agents import Agents
from raydream.agents.streams import Streams
from raydream.algorithms.state import Tracked
from raydream.program import perform
from raydream.theory import ALPHA, C1, C2, dream_parameters, starting_gap

ROUNDING = 1e-11  # of the terms of an inequality, of which some are differences of larger numbers


class Copies:
    """R copies of a network: arrays are (R, m, d), and row r m + i of what the method sees is agent i of copy r."""

    def __init__(self, game, topology, method, seed=0):
        self.game, self.topology, self.method = game, topology, method
        self.W, self.streams = topology.W.toarray(), Streams(seed)
        self.shards = [game.local(i) for i in range(game.agents)]

    def start(self, R):
        """The states after `init`."""
        return self._driven(np.arange(R), 0, self.method.init)

    def step(self, state, coins, t):
        """The states after step t, each copy with its own coin."""
        Z, G, S = (np.empty_like(part) for part in state)
        for coin in (False, True):
            mine = np.flatnonzero(np.asarray(coins) == coin)
            if mine.size:
                rows = Tracked(*(part[mine].reshape(-1, part.shape[-1]) for part in state))
                Z[mine], G[mine], S[mine] = self._driven(mine, t + 1, partial(self.method.step, rows, t=t, coin=coin))
        return Z, G, S

    def _driven(self, copies, iteration, act):
        m = self.game.agents
        agents = Agents(
            [int(r) * m + i for r in copies for i in range(m)],
            self.shards * len(copies),
            network=self.topology.network,
            constraint=self.game.constraint,
            start=self.game.start(),
            streams=self.streams,
        )
        agents.begin(iteration)
        made = perform(act(agents), lambda V: (self.W @ V.reshape(len(copies), m, -1)).reshape(V.shape))
        return tuple(part.reshape(len(copies), m, -1) for part in (made.Z, made.G, made.S))


@dataclass
class Measured:
    """What the lemmas speak of, one number for each state (last axis: copies)."""

    Psi: np.ndarray
    C: np.ndarray
    V: np.ndarray
    U: np.ndarray
    slope: np.ndarray  # ||grad P(x_bar)||^2
    z_bar: np.ndarray

    def Phi(self, m, eta, p):
        return self.Psi + self.C / (m * eta) + eta / (m * p) * self.V + eta / p * self.U


def exact_gradients(game, Z):
    """grad f_i(z(i)) for states (..., m, d)."""
    slope = np.concatenate([game.forms.p, game.forms.q], axis=1)
    g = np.einsum("mij,...mj->...mi", game.forms.hessian(), Z) + slope
    g[..., : game.dim_x] += game.penalty.gradient(Z[..., : game.dim_x])
    return g


def values(game, X, Y):
    """f at rows of x and y."""
    A, B, C, p, q = game.form.parts
    penalty = game.penalty.theta * np.sum(1 - 1 / (1 + game.penalty.nu * X**2), axis=1)
    quadratic = np.sum(X @ A * X, axis=1) / 2 + np.sum(X @ B * Y, axis=1) - np.sum(Y @ C * Y, axis=1) / 2
    return quadratic + X @ p + Y @ q + penalty


def best_responses(game, X):
    """y*(x) of rows of x: the mean C is a multiple of the identity, or y is free."""
    return game.constraint.project((X @ game.form.B + game.form.q) @ np.linalg.inv(game.form.C))


def measured(game, eta, state):
    """The paper's quantities at states (R, m, d); P* is the problem's lower bound of P, which all differences lose."""
    Z, G, S = state
    z_bar = Z.mean(axis=-2)
    X, Y = z_bar[:, : game.dim_x], z_bar[:, game.dim_x :]
    best = best_responses(game, X)
    P, f = values(game, X, best), values(game, X, Y)
    gradient = X @ game.form.A + best @ game.form.B.T + game.form.p + game.penalty.gradient(X)
    errors = G - exact_gradients(game, Z)

    def spread(V):
        return np.sum((V - V.mean(axis=-2, keepdims=True)) ** 2, axis=(-1, -2))

    return Measured(
        Psi=P - game.primal_bound() + ALPHA * (P - f),
        C=spread(Z) + eta**2 * spread(S),
        V=np.sum(errors**2, axis=(-1, -2)) / Z.shape[-2],
        U=np.sum(errors.mean(axis=-2) ** 2, axis=-1),
        slope=np.sum(gradient**2, axis=1),
        z_bar=z_bar,
    )


def prescribed(game, topology, epsilon=10.0):
    """The theorem's parameters. (epsilon has a say in T, K0 and, online, b'.)"""
    known = game.constants()
    return dream_parameters(
        L=known.L, mu=known.mu, epsilon=epsilon, m=game.agents, delta=topology.spectral_gap,
        psi0=starting_gap(game), n=game.samples, sigma=known.sigma,
    )  # fmt: skip


def method_of(kind, game, found, **changes):
    """A method of this class with the theorem's parameters."""
    names = ("eta", "gamma", "b", "q", "p", "K0", "K", "K_large")
    given = {name: getattr(found, name) for name in names}
    return kind(**{**given, "b_large": found.b_large if game.samples is None else None, **changes})


@dataclass
class Check:
    """One inequality at one state: by how much its left side exceeds its right side, and how sure that is."""

    lemma: str
    excess: float
    error: float
    scale: float

    def violated(self, errors=3.0):
        return self.excess > errors * self.error + ROUNDING * (self.scale + 1e-14)  # squares of what is rounded to 0


def check_lemmas(game, topology, method, state, copies, seed=0):
    """Lemmas P, C, V and U at one state (m, d), as they are stated below.

    P  E Psi+ <= Psi - (gamma eta/2) |grad P|^2 - E|dx|^2/(8 gamma eta) - (alpha/(16 eta)) E|dz|^2
                 + 6 alpha eta U + (3 alpha/(m eta)) C                                                  (lem:Lyp-P)
    C  E C+ <= 12 c rho^2 C + 6 rho'^2 eta^2 m V + 2 c rho^2 m E|dz|^2 + 6 rho'^2 m eta^2 sigma^2/b'    (lem:Lyp-C)
    V  E V+ <= (1-p) V + (4 (1-p) L^2/(m b q)) C + p sigma^2/b' + (3 (1-p) L^2/(b q)) E|dz|^2           (lem:Lyp-V)
    U  E U+ <= (1-p) U + (4 (1-p) L^2/(m^2 b q)) C + p sigma^2/(m b') + (3 (1-p) L^2/(m b q)) E|dz|^2   (lem:Lyp-U)

    where dx and dz are the moves of the means, c = max(1/(b q), 1), rho = c1 (1 - c2 sqrt(delta))^K, and sigma = 0
    offline. All are as printed. P needs alpha in (0, 1] (the print says alpha > 0); here it is 1/8. The proof of C has
    E|g+ - g|^2 shrink like 1/(b q), which its mean does not, and then (1-p)/(b q) + 3p <= c; what its constants need,
    and what holds for the theorem's b and q, is (1-p)/q + 3p <= 4c. V and U need b (1 - q) <= 1.
    """
    m, eta, gamma, p, q = game.agents, method.eta, method.gamma, method.p, method.q
    b, known = method.b, game.constants()
    noise = 0.0 if known.sigma is None else known.sigma**2 / method.b_large
    rho, rho_large = (C1 * (1 - C2 * topology.spectral_gap**0.5) ** K for K in (method.K, method.K_large))
    c, keep = max(1 / (b * q), 1), (1 - p) * known.L**2 / (b * q)
    before = measured(game, eta, tuple(part[None] for part in state))
    network = Copies(game, topology, method, seed)
    sides = {}
    for coin, chance in ((False, 1 - p), (True, p)):
        tiled = tuple(np.broadcast_to(part, (copies, *part.shape)) for part in state)
        after = measured(game, eta, network.step(tiled, [coin] * copies, 0))
        move = (after.z_bar - before.z_bar) ** 2
        dx, dz = move[:, : game.dim_x].sum(axis=1), move.sum(axis=1)
        right = {
            "P": before.Psi - gamma * eta / 2 * before.slope - dx / (8 * gamma * eta) - ALPHA / (16 * eta) * dz
            + 6 * ALPHA * eta * before.U + 3 * ALPHA / (m * eta) * before.C,
            "C": 12 * c * rho**2 * before.C + 6 * rho_large**2 * eta**2 * m * (before.V + noise)
            + 2 * c * rho**2 * m * dz,
            "V": (1 - p) * before.V + 4 * keep / m * before.C + p * noise + 3 * keep * dz,
            "U": (1 - p) * before.U + 4 * keep / m**2 * before.C + p * noise / m + 3 * keep / m * dz,
        }  # fmt: skip
        left = {"P": after.Psi, "C": after.C, "V": after.V, "U": after.U}
        for name in left:
            sides.setdefault(name, []).append((chance, left[name], right[name]))
    return [_check(f"Lemma {name}", parts) for name, parts in sides.items()]


def _check(name, parts):
    """An inequality from its two sides under either coin."""
    excess = sum(chance * np.mean(left - right) for chance, left, right in parts)
    squares = [(chance * np.std(left - right, ddof=1)) ** 2 / len(left) for chance, left, right in parts]
    scale = max(np.abs(side).max() for _, *both in parts for side in both)
    return Check(name, float(excess), float(np.sqrt(sum(squares))), float(scale))


def law_of_lemmas(kind, game, topology, states, *, copies=64, **changes):
    """Lemmas P, C, V and U hold at every state, within three standard errors."""
    method = method_of(kind, game, prescribed(game, topology), **changes)
    for number, state in enumerate(states):
        for check in check_lemmas(game, topology, method, state, copies, seed=number):
            assert not check.violated(), f"{check.lemma} at state {number}: {check}"


def resting(kind, game, topology, steps=600):
    """The state (m, d) in which a method of this class comes to rest, with full gradients and long steps."""
    eta = 1 / (4 * game.constants().L)
    network = Copies(game, topology, kind(eta=eta, gamma=1.0, p=1.0, b=None, K0=8, K=8, K_large=8))
    state = network.start(1)
    for t in range(steps):
        state = network.step(state, [True], t)
    return tuple(part[0] for part in state)


def law_of_drift(Phi, slope, C, *, m, eta, gamma, noise):
    """E Phi_t <= E[Phi_0 - sum_{s<t} (gamma eta/2) |grad P(x_bar_s)|^2 - (4 alpha/(eta m)) C_s] + t 3 eta noise/m.

    Arrays are (T + 1, R), noise is sigma^2/b' online and 0 offline; within three standard errors at every t.
    """
    spent = np.cumsum(gamma * eta / 2 * slope + 4 * ALPHA / (eta * m) * C - 3 * eta * noise / m, axis=0)[:-1]
    excess = Phi[1:] - Phi[0] + spent
    errors = excess.std(axis=1, ddof=1) / np.sqrt(excess.shape[1])
    slack = excess.mean(axis=1) - 3 * errors - ROUNDING * np.abs(Phi).max()
    assert (slack <= 0).all(), f"the drift inequality fails at t = {1 + int(np.argmax(slack > 0))}: {slack.max():.3g}"


def drift_of(kind, game, topology, *, copies, steps, epsilon, seed=0, **changes):
    """What `law_of_drift` takes, from steps of a method of this class with the theorem's parameters."""
    found = prescribed(game, topology, epsilon)
    method = method_of(kind, game, found, **changes)
    network, coins = Copies(game, topology, method, seed), np.random.default_rng(seed)
    state = network.start(copies)
    rows = [measured(game, found.eta, state)]
    for t in range(steps):
        state = network.step(state, coins.random(copies) < found.p, t)
        rows.append(measured(game, found.eta, state))
    known = game.constants()
    return {
        "Phi": np.array([row.Phi(game.agents, found.eta, found.p) for row in rows]),
        "slope": np.array([row.slope for row in rows]), "C": np.array([row.C for row in rows]),
        "m": game.agents, "eta": found.eta, "gamma": found.gamma,
        "noise": 0.0 if known.sigma is None else known.sigma**2 / found.b_large,
    }  # fmt: skip


def law_of_the_tracker(kind, game, topology, **parameters):
    """s_bar = g_bar after every step (lem:stst12), to 1e-12 of the gradients' size, whatever the coins."""
    network, coins = Copies(game, topology, kind(**parameters)), np.random.default_rng(1)
    state = network.start(4)
    for t in range(12):
        state = network.step(state, coins.random(4) < parameters["p"], t)
        apart = np.abs(state[2].mean(axis=1) - state[1].mean(axis=1)).max()
        assert apart <= 1e-12 * np.abs(state[1]).max(), f"the tracker's mean is {apart:.3g} off after step {t}"


def law_of_the_hypergradient(game, project, X, Y, eta, factor=2.0):
    """||grad P(x) - grad_x f(x, y)|| <= 2 kappa ||G_eta(x, y)|| (lem:hypergrad), for eta <= 1/L.

    G_eta = (Pi(y + eta grad_y f) - y)/eta, where `project` is Pi. y need not be in Y: a projected step from y comes
    nearer to y* by the factor 1 - eta mu at least, so that mu |y - y*| <= |G_eta|. Hence `factor` 1 would do.
    """
    kappa = game.constants().kappa
    for x, y in zip(X, Y, strict=True):
        gx, gy = game.gradient(x, y)
        left = np.linalg.norm(game.primal_gradient(x) - gx)
        right = factor * kappa * np.linalg.norm(project(y + eta * gy) - y) / eta
        assert left <= right * (1 + 1e-9) + ROUNDING / eta, f"{left:.3g} > {right:.3g} at x = {x}, y = {y}"
