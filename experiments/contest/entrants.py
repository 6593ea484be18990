"""Who meets there: every method of the package and DREAM's variants, and what of each is searched beside its steps."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import raydream as rd
from raydream.algorithms import METHODS, Tracked
from raydream.algorithms.estimators import thinned_page
from raydream.algorithms.method import facts_of

BATCHES = (4, 16, 64)  # for every method that draws any


@dataclass(frozen=True, kw_only=True)
class OneFrame(rd.DREAM):
    """DREAM in which iterate and tracker travel in the same frames: half the rounds of twice the bytes."""

    def step(self, s, agents, t, coin):
        Z = agents.project(agents.descend_ascend(s.Z, s.S, self.eta, self.gamma))
        both = yield from self.mix(np.concatenate([Z, s.S], axis=1), self.K, agents)
        Z, S = (np.ascontiguousarray(part) for part in np.split(both, 2, axis=1))
        G = thinned_page(agents, Z, s.Z, s.G, coin=coin, b=self.b, b_large=self.b_large, q=self.q)
        return Tracked(Z, G, S + G - s.G)


@dataclass(frozen=True, kw_only=True)
class FixedPeriod(rd.DREAM):
    """DREAM with a large batch in every 1/p-th iteration, instead of a coin."""

    def step(self, s, agents, t, coin):
        return super().step(s, agents, t, (t + 1) % max(1, round(1 / self.p)) == 0)


VARIANTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "as it is": (rd.DREAM, {}),
    "K = 1": (rd.DREAM, {"K": (1,)}),
    "K = 1, gossip": (rd.DREAM, {"K": (1,), "mixing": ("gossip",)}),
    "K = 2": (rd.DREAM, {"K": (2,)}),
    "gossip": (rd.DREAM, {"mixing": ("gossip",)}),
    "paper's momentum": (rd.DREAM, {"momentum": ("paper",)}),
    "one frame": (OneFrame, {}),
    "one frame, K = 1": (OneFrame, {"K": (1,)}),
    "one frame, K = 1, gossip": (OneFrame, {"K": (1,), "mixing": ("gossip",)}),
    "fixed period": (FixedPeriod, {}),
    "q = 0.5": (rd.DREAM, {"q": (0.5,)}),
}
KINDS: dict[str, Any] = {**dict(METHODS.items()), **{name: kind for name, (kind, _) in VARIANTS.items()}}


def grid_of(name: str) -> dict[str, Any]:
    """What is searched of an entrant beside its steps: its own "wide" space, with the same batches for all."""
    if name in VARIANTS:
        return {"b": (*BATCHES, "theorem"), **VARIANTS[name][1]}
    own = dict(facts_of(METHODS[name]).spaces.get("wide", {}))
    if "b" in own:
        own["b"] = (*BATCHES, *(value for value in own["b"] if not isinstance(value, int)))
    if "b_large" in own:
        own["b_large"] = (None, 64)
    return own


def alone(name: str) -> bool:
    """Whether a method is one of one machine."""
    return name in METHODS and facts_of(METHODS[name]).one_machine


def refused(name: str, problem: Any) -> str | None:
    """Why an entrant cannot take part, or None."""
    said = KINDS[name](eta=0.1, gamma=1.0).refuse(problem)
    return None if said is None else str(said)
