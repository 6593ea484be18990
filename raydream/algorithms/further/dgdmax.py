"""D-GDMax: every agent maximises by itself, and a multiplier brings the agents' y together."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from raydream.agents import Agents
from raydream.algorithms.estimators import full
from raydream.algorithms.facts import Counting, Facts
from raydream.algorithms.method import Method
from raydream.algorithms.parameters import Ascent, MultiplierStep, Ratio, both_ways_only, finite_sums_only
from raydream.algorithms.state import Multiplied
from raydream.parameters import Count
from raydream.problems.protocol import Problem
from raydream.program import Program
from raydream.theory.rates import Order, Rate, Term
from raydream.types import Array


@dataclass(frozen=True, kw_only=True)
class DGDMax(Method):
    """Decentralized Gradient Descent and Maximisation.

        x+ = W x - gamma eta s
        y+ ~ argmax over Y of f_i(x+, y) - <(W l - l)_i, y>      by R accelerated projected steps from y
        l+ = l + rho (W y - y)
        s+ = W s + grad_x f_i(x+, y+) - (its last value)

    where s tracks the agents' full gradients in x, s_0 = g_0, and l_0 = 0. The multiplier l of the constraint W y = y
    has mean 0 at all times, so that at a point that stays, where W y = y, the pushes W l - l cancel over the agents
    and y maximises their mean.

    eta, gamma  ascent step in y, and the ratio of the descent step in x to it
    R           accelerated steps of each maximisation
    rho         step of the multiplier; it must stay below mu over the square of 1 - (least eigenvalue of W)

    Cost: n SFO per agent at the start; then 1 round that carries Z, S and L, and n (R + 1) SFO per agent and
    iteration.

    Reference: Xu, "Decentralized Gradient Descent Maximization Method for Composite Nonconvex Strongly-Concave Minimax
    Problems", SIAM Journal on Optimization, 2024.

    Differs from the paper: only the abstract was at hand; the update is reconstructed from it and from the code of
    VRLM, which shares its multiplier. The number of inner steps is fixed (the paper maximises to a tolerance), all
    that is exchanged is of the last iteration and shares one round, and x has no regulariser.
    """

    eta: Ascent
    gamma: Ratio
    R: Annotated[Count, "accelerated steps of each maximisation"] = 10
    rho: MultiplierStep = 0.1

    def init(self, agents: Agents) -> Multiplied:
        Z = agents.start()
        G = full(agents, Z)
        return Multiplied(Z, G, agents.x(G).copy(), np.zeros_like(agents.y(Z)))

    def step(self, s: Multiplied, agents: Agents, t: int, coin: bool) -> Program:
        WZ, WS, WL = yield s.Z, s.S, s.L
        X, Y = agents.x(WZ) - self.gamma * self.eta * s.S, agents.y(s.Z)
        Z = self.maximised(agents, X, Y, WL - s.L)
        G = full(agents, Z)
        return Multiplied(Z, G, WS + agents.x(G) - agents.x(s.G), s.L + self.rho * (agents.y(WZ) - Y))

    def maximised(self, agents: Agents, X: Array, Y: Array, push: Array) -> Array:
        """(x, y) after R accelerated steps in y, up f_i(x, .) - <push, .>."""
        Z, Y_old = np.hstack([X, Y]), Y
        for k in range(self.R):
            Y = agents.y(Z)
            ahead = np.hstack([X, Y + k / (k + 3) * (Y - Y_old)])
            up = agents.y(full(agents, ahead)) - push
            agents.y(ahead)[...] += self.eta * up
            Z, Y_old = agents.project(ahead), Y
        return Z

    def refuse(self, problem: Problem) -> str | None:
        return finite_sums_only(problem)

    def refuse_direction(self, balanced: bool) -> str | None:
        return both_ways_only(balanced)


DGDMax.facts = Facts(
    name="d-gdmax",
    cases=("offline",),
    constraint="project, never mix",
    covered="yes",
    arrays="3",
    sfo="n (R + 1)",
    rounds="1",
    rates={
        "offline": Rate(
            sfo=Order((Term(kappa=2.5, inverse_epsilon=2, N=1),)),
            rounds=Order((Term(kappa="q", inverse_epsilon=2),)),
        )
    },
    reference="Xu, SIAM J. Optim. 2024",
    source="abstract and reconstruction, checked by laws",
    colour="#FF0022",
    spaces={"wide": {"R": (3, 10), "rho": (0.01, 0.1, 1.0)}},
    counting=Counting("none", untracked=lambda given: 0),
)
