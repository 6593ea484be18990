"""DREAM, and VRLM, spoilt in one place each: what the laws must notice."""

from dataclasses import dataclass

import numpy as np

from raydream.algorithms import DREAM, VRLM
from raydream.algorithms.state import Multiplied, Tracked


@dataclass(frozen=True, kw_only=True)
class Spoilt(DREAM):
    """DREAM's step, cut where the spoilt ones differ."""

    def step(self, s, agents, t, coin):
        Z = yield from self.mix(self.moved(s, agents), self.K, agents)
        G = agents.gradient(Z, self.b_large) if coin else self.corrected(agents, Z, s)
        S = yield from self.tracked(s.S + G - s.G, coin, agents)
        return Tracked(Z, G, S)

    def moved(self, s, agents):
        return agents.project(agents.descend_ascend(s.Z, s.S, self.eta, self.gamma))

    def corrected(self, agents, Z, s):
        return s.G + agents.correction(Z, s.Z, self.b, self.q)

    def tracked(self, V, coin, agents):
        return self.mix(V, self.K_large if coin else self.K, agents)


class ScaledMemory(Spoilt):
    """1/q multiplies the old estimate as well: g+ = g/q + omega/(b q) sum [...]."""

    def corrected(self, agents, Z, s):
        return s.G / self.q + agents.correction(Z, s.Z, self.b, self.q)


class OtherSamples(Spoilt):
    """The two gradients of a correction are of samples drawn independently."""

    def corrected(self, agents, Z, s):
        return s.G + agents.gradient(Z, self.b) - agents.gradient(s.Z, self.b)


class Unprojected(Spoilt):
    """y is not projected."""

    def moved(self, s, agents):
        return agents.descend_ascend(s.Z, s.S, self.eta, self.gamma)


class Untracked(Spoilt):
    """The trackers are not mixed."""

    def tracked(self, V, coin, agents):
        return self.mix(V, 0, agents)


class PrivateCoin(DREAM):
    """Every agent flips a coin of its own, and mixes its tracker for as many rounds as its own coin says."""

    def step(self, s, agents, t, coin):
        coins = np.array([agents._stream("coin", agent, draw=t).random() < self.p for agent in agents.hosted])
        Z = agents.project(agents.descend_ascend(s.Z, s.S, self.eta, self.gamma))
        Z = yield from self.mix(Z, self.K, agents)
        large, small = agents.gradient(Z, self.b_large), s.G + agents.correction(Z, s.Z, self.b, self.q)
        G = np.where(coins[:, None], large, small)
        V, rounds = s.S + G - s.G, {bool(one): self.K_large if one else self.K for one in coins}
        mixed = {}
        for one, K in rounds.items():  # agents that wait for nobody have one kind of coin
            mixed[one] = yield from self.mix(V.copy(), K, agents)
        return Tracked(Z, G, np.where(coins[:, None], mixed.get(True, 0.0), mixed.get(False, 0.0)))


class FrozenEstimates(VRLM):
    """The old point is stored after the step: both gradients of a correction are of the new one, and cancel."""

    def estimate(self, agents, Z, s, t):
        return super().estimate(agents, Z, Multiplied(Z, s.G, s.S, s.L), t)


class MixedMultiplier(VRLM):
    """The multiplier is replaced by its mixture before it is changed: l+ = W l + rho (W y - y)."""

    def step(self, s, agents, t, coin):
        program = super().step(s, agents, t, coin)
        heard = yield next(program)
        WL = heard[2].copy()
        try:
            program.send(heard)
        except StopIteration as end:
            new = end.value
        return Multiplied(new.Z, new.G, new.S, WL + (new.L - s.L))
