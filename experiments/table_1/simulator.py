"""Many runs of one method at once: the same iterates and counts as raydream.run, in stacked arrays.

Z, G and S have the shape (runs, agents, dimension). GT-GDA, GT-SRVR, DREAM and DM-HSGD are one recursion,

    Z+ = A Pi(B Z - h S),    G+ = an estimator at Z+,    S+ = A (B S + G+ - G),    S_0 = A_0 G_0,

with h S = (gamma eta u, -eta v); B = W and A = A_0 = I in the form "cta"; B = A_0 = I and A = W in the form "atc";
B = I and A = A_0 = the matrix of K rounds of mixing in DREAM, which for DM-HSGD is W. GT-DA has its own inner loop.
tests/experiments/test_table_1.py compares all of them with raydream.run, draw by draw.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from table_1.game import SIZE, START, Game, X, Y, wave_gradient

import raydream as rd

FAR = 1e6  # a run whose gradient is this long has diverged
SHORTEST = 20  # iterations before a run may count as arrived
TIDY = 25  # iterations between two looks for runs that have ended


@dataclass
class Outcome:
    """The first iteration t at which the mean of |grad P| over t/2 + 1, ..., t is at most epsilon, and its bill.

    The theorem speaks of the mean over all iterations; the later half forgets the start, but no single lucky iterate
    counts, and being free of a scale of its own it bends no power of epsilon.
    """

    iterations: int | None = None
    sfo: int | None = None
    rounds: int | None = None
    bytes: int | None = None


class Draws:
    """Random numbers of all runs, from one stream; `t` is 0 at the start and t + 1 in step t, as in raydream."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)

    def coins(self, t: int, runs: Any, p: Any) -> Any:
        return self.generator.random(len(runs)) < p

    def samples(self, t: int, runs: Any, m: int, n: int, b: int) -> Any:
        return self.generator.integers(n, size=(len(runs), m, b))

    def waves(self, t: int, runs: Any, m: int) -> Any:
        return self.generator.normal(size=(len(runs), m, SIZE))


class Stack:
    """The state of many runs: run r has methods[r], all of one class, on games[instances[r]]."""

    def __init__(self, games: Sequence[Game], methods: Sequence[Any], instances: Sequence[int], W: Any, draws: Any):
        self.shape, self.noise = games[0].shape, games[0].noise
        self.m, self.n = games[0].agents, games[0].samples
        self.rows = None if self.n is None else np.stack([game.rows for game in games])
        self.means = np.stack([game.means for game in games])[np.asarray(instances)]
        self.draws, self.kind = draws, type(methods[0])
        self.runs, self.game = np.arange(len(methods)), np.asarray(instances)
        self.sfo = np.zeros(len(methods), dtype=np.int64)
        matrices = [_matrices(method, W) for method in methods]
        self.B, self.A, first = (np.stack(those) for those in zip(*matrices, strict=True))
        steps = [[m.gamma * m.eta] * X + [-m.eta] * Y for m in methods]
        self.h = np.array(steps)[:, None, :]
        self.given = {name: np.array([vars(m)[name] for m in methods]) for name in NEEDED[self.kind]}
        self.Z = np.tile(START, (len(methods), self.m, 1))
        self.G = self._start()
        self.S = first @ self.G

    def step(self, t: int) -> None:
        """Iteration t."""
        if self.kind is rd.GTDA:
            return _ascend(self)
        Z = self.A @ self.shape.project(self.B @ self.Z - self.h * self.S)
        G = ESTIMATORS[self.kind](self, t, Z)
        self.S = self.A @ (self.B @ self.S + G - self.G)
        self.Z, self.G = Z, G

    def keep(self, those: Any) -> None:
        """Go on with some of the runs."""
        for name in ("runs", "game", "means", "sfo", "A", "B", "h", "Z", "G", "S"):
            setattr(self, name, getattr(self, name)[those])
        self.given = {name: values[those] for name, values in self.given.items()}

    def batch(self, t: int, b: Any, those: Any) -> Any:
        """The mean coefficients of b samples per agent for some of the runs."""
        if self.n is None:
            fresh = self.draws.waves(t, self.runs[those], self.m)
            return self.means[those] + self.noise / np.sqrt(_column(b)) * fresh
        numbers = self.draws.samples(t, self.runs[those], self.m, self.n, int(b[0]))
        return self.rows[self.game[those][:, None, None], np.arange(self.m)[:, None], numbers].mean(axis=2)

    def gradient(self, Z: Any, coefficients: Any) -> Any:
        return self.shape.gradient(Z) + wave_gradient(coefficients, Z)

    def full(self, Z: Any) -> Any:
        """The agents' own gradients, paid for."""
        self.sfo += self.m * self.n
        return self.gradient(Z, self.means)

    def norms(self) -> Any:
        """|grad P(x_bar)| of every run."""
        return np.linalg.norm(self.shape.primal_gradient(self.Z[:, :, :X].mean(axis=1)), axis=1)

    def _start(self) -> Any:
        large = {rd.DREAM: "b_large", rd.DMHSGD: "b0"}.get(self.kind)
        if large is None or self.n is not None:
            return self.full(self.Z)
        b = self.given[large]
        self.sfo += self.m * b
        return self.gradient(self.Z, self.batch(0, b, slice(None)))


def simulate(
    games: Sequence[Game], methods: Sequence[Any], instances: Sequence[int], topology: Any, epsilon: float,
    limits: Callable[[list[Outcome]], Any], draws: Any,
) -> list[Outcome]:  # fmt: skip
    """The outcome of every run; run r is given up after limits(outcomes so far)[r] iterations."""
    stack = Stack(games, methods, instances, topology, draws)
    prices, outcomes = [prices_of(method, topology) for method in methods], [Outcome() for _ in methods]
    sums = np.zeros((256, len(methods)))  # row t: the sum of |grad P| over the iterations 0, ..., t
    t, ended = 0, np.zeros(len(methods), dtype=bool)
    while True:
        with np.errstate(all="ignore"):
            norms = stack.norms()
            sums[t] = norms + (sums[t - 1] if t else 0.0)
            arrived = ((sums[t] - sums[t // 2]) / max(1, t - t // 2) <= epsilon) & ~ended & (t >= SHORTEST)
        for r in np.flatnonzero(arrived):
            outcomes[stack.runs[r]] = billed(prices[stack.runs[r]], t, int(stack.sfo[r]))
        ended |= arrived | ~(norms < FAR)
        if t % TIDY == 0:
            ended |= t >= np.asarray(limits(outcomes))[stack.runs]
        if ended.all():
            return outcomes
        if t % TIDY == 0 and ended.any():
            stack.keep(~ended)
            sums, ended = sums[:, ~ended], ended[~ended]
        if t + 1 == len(sums):
            sums = np.concatenate([sums, np.zeros_like(sums)])
        with np.errstate(all="ignore"):
            stack.step(t)
        t += 1


@dataclass(frozen=True)
class Prices:
    """Rounds and bytes of the start and of an iteration."""

    rounds: tuple[int, int]
    bytes: tuple[int, int]


def prices_of(method: Any, topology: Any) -> Prices:
    """What a method pays for communication."""
    links, z = 2 * topology.edges, X + Y
    first, rounds, numbers = {
        rd.DREAM: lambda m: (m.K0, 2 * m.K, 2 * m.K * z),
        rd.DMHSGD: lambda m: (1, 2, 2 * z),
        rd.GTGDA: lambda m: (0, 1 if m.form == "cta" else 2, 2 * z),
        rd.GTSRVR: lambda m: (0, 1 if m.form == "cta" else 2, 2 * z),
        rd.GTDA: lambda m: (0, m.R + 1, 2 * X + 2 * m.R * Y),
    }[type(method)](method)
    return Prices((first, rounds), (8 * links * first * z, 8 * links * numbers))


def billed(prices: Prices, t: int, sfo: int) -> Outcome:
    rounds, sent = (first + t * each for first, each in (prices.rounds, prices.bytes))
    return Outcome(t, sfo, rounds, sent)


def _matrices(method: Any, topology: Any) -> tuple[Any, Any, Any]:
    """B, A and A_0."""
    one, W = np.eye(topology.m), topology.W.toarray()
    if isinstance(method, rd.DREAM):
        if not method.K0 == method.K == method.K_large:
            raise ValueError("`K0`, `K` and `K_large` must be equal here.")
        mixed = topology.mix(one, method.K, method.mixing, method.momentum)
        return one, mixed, mixed
    if isinstance(method, rd.DMHSGD):
        return one, W, W
    return (W, one, one) if isinstance(method, rd.GTDA) or method.form == "cta" else (one, W, one)


def _page(s: Stack, t: int, Z: Any) -> Any:
    """DREAM: the large batch where a run's coin shows 1, a correction elsewhere."""
    coins = s.draws.coins(t, s.runs, s.given["p"])
    G, large, small = np.empty_like(Z), np.flatnonzero(coins), np.flatnonzero(~coins)
    if len(large):
        b = None if s.n else s.given["b_large"][large]
        G[large] = s.gradient(Z[large], s.means[large] if b is None else s.batch(t + 1, b, large))
        s.sfo[large] += s.m * (s.n if b is None else b)
    if len(small):
        G[small] = s.G[small] + _change(s, t, Z, s.given["b"], small)
    return G


def _spider(s: Stack, t: int, Z: Any) -> Any:
    """GT-SRVR: a full gradient in every Q-th iteration (all runs have one Q), a correction in the others."""
    if (t + 1) % int(s.given["Q"][0]) == 0:
        return s.full(Z)
    return s.G + _change(s, t, Z, s.given["b"], np.arange(len(Z)))


def _storm(s: Stack, t: int, Z: Any) -> Any:
    """DM-HSGD."""
    b, keep = s.given["b"], 1.0 - _column(s.given["beta"])
    batch = s.batch(t + 1, b, slice(None))
    s.sfo += 2 * s.m * b
    return s.gradient(Z, batch) + keep * (s.G - s.gradient(s.Z, batch))


def _change(s: Stack, t: int, Z: Any, b: Any, those: Any) -> Any:
    """The change of the mean gradient over b samples."""
    batch = s.batch(t + 1, b[those], those)
    s.sfo[those] += 2 * s.m * b[those]
    return s.gradient(Z[those], batch) - s.gradient(s.Z[those], batch)


def _ascend(s: Stack) -> None:
    """An iteration of GT-DA: x first, then R steps of y, each with its tracker (R is the same in all runs)."""
    x, y = slice(0, X), slice(X, X + Y)
    Z, S, G = np.empty_like(s.Z), np.empty_like(s.S), s.G
    Z[..., x] = s.B @ s.Z[..., x] - s.h[..., x] * s.S[..., x]
    Z[..., y], v = s.Z[..., y], s.S[..., y]
    for _ in range(int(s.given["R"][0])):
        Z[..., y] = s.B @ Z[..., y] - s.h[..., y] * v
        s.shape.project(Z)
        old, G = G, s.full(Z)
        v = s.B @ v + G[..., y] - old[..., y]
    S[..., x], S[..., y] = s.B @ s.S[..., x] + G[..., x] - s.G[..., x], v
    s.Z, s.G, s.S = Z, G, S


def _column(values: Any) -> Any:
    return np.asarray(values, dtype=float).reshape(-1, 1, 1)


ESTIMATORS = {rd.DREAM: _page, rd.GTGDA: lambda s, t, Z: s.full(Z), rd.GTSRVR: _spider, rd.DMHSGD: _storm}
NEEDED = {
    rd.DREAM: ("p", "b", "b_large"), rd.GTGDA: (), rd.GTSRVR: ("Q", "b"), rd.DMHSGD: ("b", "b0", "beta"),
    rd.GTDA: ("R",),
}  # fmt: skip
