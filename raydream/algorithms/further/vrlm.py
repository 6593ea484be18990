"""VRLM: variance reduction, a tracker for x, and a multiplier for y, in one exchange."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from raydream.agents import Agents
from raydream.algorithms.estimators import spider, storm
from raydream.algorithms.facts import Counting, Facts
from raydream.algorithms.method import Method
from raydream.algorithms.parameters import (
    Ascent,
    Correction,
    LargeBatch,
    MultiplierStep,
    Ratio,
    both_ways_only,
    whole_shard_online,
)
from raydream.algorithms.state import Multiplied
from raydream.parameters import Count, NotNegative, Probability, one_of
from raydream.problems.protocol import Problem
from raydream.program import Program
from raydream.theory.rates import Order, Rate, Term
from raydream.types import Array


@dataclass(frozen=True, kw_only=True)
class VRLM(Method):
    """Variance Reduction with a Lagrangian Multiplier.

        x_{t+1} = prox(W x_t - gamma eta d),   d = W s_t
        y_{t+1} = Pi(y_t + eta [g_y - (W l_t - l_t)])
        l_{t+1} = l_t + rho (W y_t - y_t)
        g_{t+1} = SPIDER: mean over b' samples of gradient at z_{t+1} if Q divides t + 1, else
                  g_t + mean over b samples of [gradient at z_{t+1} - gradient at z_t]
                  STORM: mean over b samples of gradient at z_{t+1} + (1 - beta) (g_t - the same samples at z_t)
        s_{t+1} = d + (g_{t+1} - g_t)_x

    where s_0 = g_0 in x, g_0 is a mean over b' samples, l_0 = 0, and prox shrinks each entry of x by gamma eta l1
    towards 0. The multiplier l of W y = y is not mixed: its mean is 0 at all times, and at a point that stays, where
    W y = y, the pushes W l - l cancel over the agents.

    eta, gamma  ascent step in y, and the ratio of the descent step in x to it
    estimator   "spider" or "storm"
    Q           iterations between two large batches (spider)
    b, b_large  small batch, and large or first batch; b_large=None is the whole shard
    beta        share of the old estimator's error that is forgotten (storm)
    rho         step of the multiplier; it must stay below mu over the square of 1 - (least eigenvalue of W)
    l1          weight of a regulariser l1 |x|_1 that the method adds to f, and that no metric knows of

    Cost: b_large SFO per agent at the start; then 1 round that carries Z, S and L, and per agent 2b SFO, or b_large in
    every Q-th iteration of spider.

    Reference: Mancino-Ball, Xu, "Variance-Reduced Accelerated Methods for Decentralized Stochastic Double-Regularized
    Nonconvex Strongly-Concave Minimax Problems", 2023.

    Differs from the paper: its box was not at hand; this is the authors' code with two defects repaired. There the old
    point is stored after the step, so that every correction is 0; and l is replaced by W l before it is changed, so
    that it only penalises disagreement. Its two steps of the multiplier matter by one product, rho. y in the second
    line is not mixed (the code has W y; both converge).
    """

    eta: Ascent
    gamma: Ratio
    estimator: Annotated[str, one_of(("spider", "storm")), "large batches now and then, or none after the first"] = (
        "spider"
    )
    Q: Annotated[Count, "iterations between two large batches"] = 100
    b: Correction = 64
    b_large: LargeBatch = None
    beta: Annotated[Probability, "momentum of the estimator"] = 0.01
    rho: MultiplierStep = 0.1
    l1: Annotated[NotNegative, "weight of a regulariser |x|_1, which the method adds"] = 0.0

    def init(self, agents: Agents) -> Multiplied:
        Z = agents.start()
        G = agents.gradient(Z, self.b_large)
        return Multiplied(Z, G, agents.x(G).copy(), np.zeros_like(agents.y(Z)))

    def step(self, s: Multiplied, agents: Agents, t: int, coin: bool) -> Program:
        WZ, D, WL = yield s.Z, s.S, s.L
        Y = agents.y(s.Z)
        X_new = self.prox(agents.x(WZ) - self.gamma * self.eta * D)
        Z = agents.project(np.hstack([X_new, Y + self.eta * (agents.y(s.G) - (WL - s.L))]))
        G = self.estimate(agents, Z, s, t)
        return Multiplied(Z, G, D + agents.x(G) - agents.x(s.G), s.L + self.rho * (agents.y(WZ) - Y))

    def estimate(self, agents: Agents, Z: Array, s: Multiplied, t: int) -> Array:
        if self.estimator == "storm":
            return storm(agents, Z, s.Z, s.G, beta=self.beta, b=self.b)
        return spider(agents, Z, s.Z, s.G, t=t, Q=self.Q, b=self.b, b_large=self.b_large)

    def prox(self, X: Array) -> Array:
        """The proximal step of l1 |x|_1."""
        if self.l1 == 0:
            return X
        return np.sign(X) * np.maximum(np.abs(X) - self.gamma * self.eta * self.l1, 0.0)

    def refuse(self, problem: Problem) -> str | None:
        return whole_shard_online(problem, b=self.b, b_large=self.b_large)

    def refuse_direction(self, balanced: bool) -> str | None:
        return both_ways_only(balanced)


VRLM.facts = Facts(
    name="vrlm",
    cases=("online", "offline"),
    constraint="project, never mix",
    covered="yes",
    arrays="3",
    sfo="2b; b' every Q-th of spider",
    rounds="1",
    rates={
        "offline": Rate(
            sfo=Order((Term(N=1), Term(kappa=2, inverse_epsilon=2, N=0.5, m=0.5))),
            rounds=Order((Term(kappa=2, inverse_epsilon=2),)),
        ),
        "online": Rate(
            sfo=Order((Term(kappa=3, inverse_epsilon=3),)),
            rounds=Order((Term(kappa=2, inverse_epsilon=2),)),
        ),
    },
    reference="Mancino-Ball, Xu, 2023",
    source="public code",
    colour="#FF00FF",
    spaces={"wide": {"estimator": ("spider", "storm"), "b": (32, 128), "rho": (0.01, 0.1, 1.0)}},
    counting=Counting("between", untracked=lambda given: 0),
)
