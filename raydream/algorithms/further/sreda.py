"""SREDA: recursive estimators, bounded steps in x, and several ascent steps in y, on one machine."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from raydream.agents import Agents
from raydream.algorithms.facts import Facts
from raydream.algorithms.method import Method, Mixing
from raydream.algorithms.parameters import (
    Ascent,
    Correction,
    LargeBatch,
    Ratio,
    one_machine_only,
    whole_shard_online,
)
from raydream.parameters import Count, Positive
from raydream.problems.protocol import Problem
from raydream.theory.rates import Order, Rate, Term
from raydream.types import Array


@dataclass
class Estimated:
    """Iterates and gradient estimators."""

    Z: Array
    G: Array


@dataclass(frozen=True, kw_only=True)
class SREDA(Method):
    """Stochastic Recursive gradiEnt Descent Ascent on one machine.

        x_{t+1} = x_t - min(gamma eta, longest/|g_x|) g_x
        g <- g + mean over b samples of [gradient at (x_{t+1}, y) - gradient at (x_t, y)]
        R times:   y+ = Pi(y + eta g_y),   g <- g + mean over b samples of [gradient at (x_{t+1}, y+) - at (x_{t+1}, y)]
        g <- mean over b' samples of gradient at z_{t+1}      if Q divides t + 1

    where g_0 is a mean over b' samples. Every correction has samples of its own.

    eta, gamma  ascent step in y, and the ratio of the descent step in x to it
    longest     longest step in x; None: no bound
    R           ascent steps per iteration
    Q           iterations between two large batches
    b, b_large  small and large batch; b_large=None is all samples

    Cost: no rounds; b_large SFO at the start, then 2b (R + 1) SFO per iteration, and b_large more in every Q-th.

    Reference: Luo, Ye, Huang, Zhang, "Stochastic Recursive Gradient Descent Ascent for Stochastic Nonconvex-Strongly-
    Concave Minimax Problems", NeurIPS 2020.

    Differs from the paper: its box was not at hand; the update is reconstructed from public code of others. y begins
    where the problem says (the paper maximises first), and the last inner point is taken (its theory takes one at
    random). The paper's steps are gamma eta = 1/(10 kappa L), longest = epsilon/(5 kappa L), R = O(kappa).
    """

    eta: Ascent
    gamma: Ratio
    longest: Annotated[Positive | None, "longest step in x; empty: no bound"] = 0.1
    R: Annotated[Count, "steps in y for each step in x"] = 4
    Q: Annotated[Count, "iterations between two large batches"] = 32
    b: Correction = 64
    b_large: LargeBatch = None

    def init(self, agents: Agents) -> Estimated:
        Z = agents.start()
        return Estimated(Z, agents.gradient(Z, self.b_large))

    def step(self, s: Estimated, agents: Agents, t: int, coin: bool) -> Estimated:
        Z, G = s.Z.copy(), s.G
        agents.x(Z)[...] -= self.length(agents.x(G)) * agents.x(G)
        G = G + agents.correction(Z, s.Z, self.b)
        for _ in range(self.R):
            Z_old, Z = Z, agents.project(agents.descend_ascend(Z, G, self.eta, 0.0))
            G = G + agents.correction(Z, Z_old, self.b)
        if (t + 1) % self.Q == 0:
            G = agents.gradient(Z, self.b_large)
        return Estimated(Z, G)

    def length(self, Gx: Array) -> Array:
        """The step in x, one for each row."""
        norms = np.sqrt(np.sum(np.ascontiguousarray(Gx) ** 2, axis=1, keepdims=True))
        longest = np.inf if self.longest is None else self.longest
        return np.asarray(np.minimum(self.gamma * self.eta, longest / np.maximum(norms, 1e-300)))

    def mixings(self) -> list[Mixing]:
        return []

    def refuse(self, problem: Problem) -> str | None:
        return one_machine_only(problem) or whole_shard_online(problem, b=self.b, b_large=self.b_large)


SREDA.facts = Facts(
    name="sreda",
    cases=("online", "offline"),
    one_machine=True,
    constraint="project",
    covered="yes",
    arrays="0",
    sfo="2b (R + 1), and b' every Q-th",
    rounds="0",
    rates={
        "offline": Rate(sfo=Order((Term(kappa=2, inverse_epsilon=2, N=0.5),)), rounds=Order()),
        "online": Rate(sfo=Order((Term(kappa=3, inverse_epsilon=3),)), rounds=Order()),
    },
    reference="Luo, Ye, Huang, Zhang, NeurIPS 2020",
    source="public code",
    colour="#AABB77",
    dash="dash",
    spaces={"wide": {"longest": (None, 0.1), "R": (2, 8), "b": (32, 128)}},
)
