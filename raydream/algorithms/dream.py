"""DREAM: recursive gradient estimators, gradient tracking and FastMix."""

from dataclasses import dataclass, replace
from math import ceil, sqrt
from typing import Annotated, Any, cast

import numpy as np

from raydream.agents import Agents
from raydream.algorithms.estimators import thinned_page
from raydream.algorithms.facts import Counting, Facts
from raydream.algorithms.method import Method, Mixing
from raydream.algorithms.parameters import (
    BATCHES,
    THEOREM,
    Ascent,
    LargeBatch,
    MixingKind,
    Momentum,
    Ratio,
    Theorem,
    whole_shard_online,
)
from raydream.algorithms.state import Pushed, Tracked
from raydream.parameters import Count, Probability, Whole
from raydream.problems.protocol import Problem
from raydream.program import Program
from raydream.theory.rates import Order, Rate, Term
from raydream.topology.mixing import PUSH_SUM, Network, mix, push_sum
from raydream.types import Array


@dataclass(frozen=True, kw_only=True)
class DREAM(Method):
    """Decentralized Recursive-gradient dEscent Ascent Method.

        x_{t+1} = FastMix(x_t - gamma eta u_t, K)
        y_{t+1} = FastMix(Pi(y_t + eta v_t), K)
        g_{t+1} = mean gradient over b' samples at z_{t+1}                               if zeta_t = 1
        g_{t+1}(i) = g_t(i) + omega_t(i)/(b q) sum_b [gradient at z_{t+1} - gradient at z_t]      else
        s_{t+1} = FastMix(s_t + g_{t+1} - g_t, K' if zeta_t else K)

    where z = (x, y), s = (u, v), Pi projects on Y, zeta_t ~ Bernoulli(p) is one coin for the whole network and
    omega_t(i) ~ Bernoulli(q) is private.

    eta, gamma  ascent step in y, and the ratio of the descent step in x to it
    p           probability of a large batch (default: b q / (b q + b_large))
    q           probability that an agent takes part in a correction
    b, b_large  small and large batch; b="theorem" is sqrt(b_large/m) rounded up, and b_large=None is the whole shard
                (the offline case)
    K0, K, K_large  rounds of mixing at the start, per iteration, and of the tracker after a large batch
                (default: 1/sqrt(spectral gap) rounded up, at most 10)
    mixing, momentum  "fastmix", "gossip" or "push-sum"; FastMix's momentum, "optimal" or "paper"

    With mixing="push-sum", where links have a direction and need not balance, iterates and trackers have weights p and
    q, 1 at the start, which are mixed with them in one more column of their frames, and divide them:

        z' = the step above along s_t / q_t,   (u, p_{t+1}) = W^K (p_t z', p_t),   z_{t+1} = u / p_{t+1}
        (s_{t+1}, q_{t+1}) = W^K (s_t + g_{t+1} - g_t, q_t)

    The trackers' mean stays that of the estimators; with p = 1 and K = 1 it is Push-DIGing (Nedic, Olshevsky, Shi,
    2017), adapted before combined.

    Cost: K0 rounds and b_large SFO per agent at the start; then K + (K_large or K) rounds, and b_large or, for an
    agent that takes part, 2b SFO per agent and iteration.

    Reference: Chen, Ye, Luo, "An Efficient Stochastic Algorithm for Decentralized Nonconvex-Strongly-Concave
    Minimax Optimization", AISTATS 2024, Algorithm 2.

    Differs from the paper: FastMix makes K updates (the printed loop makes K + 1 and returns the K-th) with the
    classical momentum; `momentum="paper"` gives the printed one. q has the default 1. Where D is the change of a
    component gradient, b and q cause (1/q - 1) |E D|^2 more variance than a batch of b q samples, and the paper's
    bound E|D|^2/(b q) fails unless b (1 - q) <= 1. Measured in SFO, thinning costs more at the same b q, and at the
    same b it is not decided, while it costs rounds (experiments/findings/ablation_participation.md).
    """

    eta: Ascent
    gamma: Ratio
    p: Annotated[Probability | None, "chance of a large batch; empty: b q / (b q + b_large)"] = None
    q: Annotated[Probability, "chance that an agent takes part in a correction"] = 1.0
    b: Annotated[Count | Theorem | None, "samples of a correction; theorem: √(b'/m) rounded up"] = 64
    b_large: LargeBatch = None
    K0: Annotated[Whole | None, "rounds of mixing at the start; empty: as many as `K_large`"] = None
    K: Annotated[Whole | None, "rounds of mixing; empty: 1/√δ rounded up, at most 10 (δ is the spectral gap)"] = None
    K_large: Annotated[Whole | None, "rounds of the tracker's mixing after a large batch; empty: as many as `K`"] = None
    mixing: MixingKind = "fastmix"
    momentum: Momentum = "optimal"

    def init(self, agents: Agents) -> Program:
        Z = agents.start()  # line 3
        G = agents.gradient(Z, self.b_large)  # lines 5 and 6
        if self.mixing == PUSH_SUM:
            return (yield from begin_to_push(Z, G, self.K0))
        S = yield from self.mix(G, self.K0, agents)  # line 8
        return Tracked(Z, G, S)

    def step(self, s: Tracked, agents: Agents, t: int, coin: bool) -> Program:
        if self.mixing == PUSH_SUM:
            return (yield from push(s, agents, self, coin))
        Z = agents.project(agents.descend_ascend(s.Z, s.S, self.eta, self.gamma))
        Z = yield from self.mix(Z, self.K, agents)  # lines 11 and 12, in the same frames
        b = cast("int | None", self.b)  # settled
        G = thinned_page(agents, Z, s.Z, s.G, coin=coin, b=b, b_large=self.b_large, q=self.q)  # lines 14 to 20
        S = yield from self.mix(s.S + G - s.G, self.K_large if coin else self.K, agents)  # line 23
        return Tracked(Z, G, S)

    def mix(self, V: Array, rounds: int | None, agents: Agents) -> Program:
        return mix(V, rounds or 0, agents.network, self.mixing, self.momentum)

    @property
    def coin_probability(self) -> float | None:
        return self.p

    def settled(self, problem: Problem, network: Network) -> "DREAM":
        large = self.b_large or problem.samples or 1
        b = ceil(sqrt(large / network.m)) if self.b == THEOREM else cast("int | None", self.b)
        small = self.q * (b or problem.samples or 1)
        p = small / (small + large) if self.p is None else self.p
        K = min(10, ceil(1 / sqrt(max(network.spectral_gap, 0.01)))) if self.K is None else self.K
        K_large = K if self.K_large is None else self.K_large
        return replace(self, b=b, p=p, K=K, K_large=K_large, K0=K_large if self.K0 is None else self.K0)

    def mixings(self) -> list[Mixing]:
        return [Mixing(K, self.mixing, self.momentum) for K in (self.K, self.K_large) if K is not None]

    def refuse(self, problem: Problem) -> str | None:
        return whole_shard_online(problem, b=self.b, b_large=self.b_large)


def begin_to_push(Z: Array, G: Array, rounds: int | None) -> Program:
    """The first state of DREAM by push-sum: equal weights."""
    P = np.ones((len(Z), 1), dtype=Z.dtype)
    S, Q = yield from push_sum(G, P, rounds or 0)
    return Pushed(Z, G, S, P, Q)


def push(s: Any, agents: Agents, dream: DREAM, coin: bool) -> Program:
    """A step of DREAM by push-sum."""
    Z = agents.project(agents.descend_ascend(s.Z, s.S / s.Q, dream.eta, dream.gamma))
    U, P = yield from push_sum(s.P * Z, s.P, dream.K or 0)
    Z, b = U / P, cast("int | None", dream.b)
    G = thinned_page(agents, Z, s.Z, s.G, coin=coin, b=b, b_large=dream.b_large, q=dream.q)
    S, Q = yield from push_sum(s.S + G - s.G, s.Q, (dream.K_large if coin else dream.K) or 0)
    return Pushed(Z, G, S, P, Q)


DREAM.facts = Facts(
    name="dream",
    cases=("online", "offline"),
    constraint="project, then mix",
    covered="yes",
    arrays="1",
    sfo="b' (chance p), else 2b (chance q)",
    rounds="K + (K' or K)",
    rates={
        "offline": Rate(
            sfo=Order((Term(N=1), Term(kappa=2, inverse_epsilon=2, N=0.5))),
            rounds=Order((Term(kappa=2, inverse_epsilon=2),), logarithms=True),
        ),
        "online": Rate(
            sfo=Order((Term(kappa=3, inverse_epsilon=3),)),
            rounds=Order((Term(kappa=2, inverse_epsilon=2),), logarithms=True),
        ),
    },
    reference="Chen, Ye, Luo, AISTATS 2024",
    source="paper",
    colour="#0072B2",
    spaces={
        "paper": {
            "b": BATCHES, "b_large": BATCHES, "p": (0.2, 0.5, 0.9), "q": (0.2, 0.5, 0.9),
            "K0": (2, 5, 10), "K": (2, 5, 10), "K_large": (2, 5, 10),
        },
        "wide": {"b": (64, THEOREM), "b_large": (None, 512), "K": (1, 2, 5), "mixing": ("fastmix", "gossip")},
    },
    counting=Counting("between", untracked=lambda given: given.get("K")),
)  # fmt: skip
