"""GT-DA: tracked descent in x, several tracked ascent steps in y."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from raydream.agents import Agents
from raydream.algorithms.estimators import full
from raydream.algorithms.facts import Counting, Facts
from raydream.algorithms.method import Method
from raydream.algorithms.parameters import Ascent, Ratio, finite_sums_only
from raydream.algorithms.state import Tracked
from raydream.parameters import Count
from raydream.problems.protocol import Problem
from raydream.program import Program
from raydream.theory.rates import Order, Rate, Term


@dataclass(frozen=True, kw_only=True)
class GTDA(Method):
    """Gradient-Tracking Descent-Ascent.

        x+ = W x - gamma eta u
        R times:   y+ = Pi(W y + eta v),   v+ = W v + grad_y f_i(x+, y+) - (its last value)
        u+ = W u + grad_x f_i(x+, y+) - (its last value)

    where y+ in the last line is the last inner point, s = (u, v) tracks the agents' full gradients and s_0 = g_0.

    eta, gamma  ascent step in y, and the ratio of the descent step in x to it
    R           ascent steps per iteration

    Cost: n SFO per agent at the start; then R + 1 rounds and n R SFO per agent and iteration. The first round
    carries X and U, each of the others Y and V.

    Reference: Tsaknakis, Hong, Liu, "Decentralized Min-Max Optimization: Formulations, Algorithms and
    Applications in Network Poisoning Attack", ICASSP 2020; R = 4 as in the DREAM paper's experiments.

    Differs from the paper: the paper has several formulations and its box was not at hand; this is the one in which
    y is shared by all agents and tracked, reconstructed, and checked by its laws. The last inner point also serves
    the gradient in x, which saves n SFO per agent and iteration.
    """

    eta: Ascent
    gamma: Ratio
    R: Annotated[Count, "steps in y for each step in x"] = 4

    def init(self, agents: Agents) -> Tracked:
        Z = agents.start()
        G = full(agents, Z)
        return Tracked(Z, G, G)

    def step(self, s: Tracked, agents: Agents, t: int, coin: bool) -> Program:
        X, Y, U, V = (part(rows).copy() for rows in (s.Z, s.S) for part in (agents.x, agents.y))
        WX, WU = yield X, U
        X = WX - self.gamma * self.eta * U
        Z, G = s.Z, s.G
        for _ in range(self.R):
            WY, WV = yield Y, V
            Z, G_old = agents.project(np.hstack([X, WY + self.eta * V])), G
            G = full(agents, Z)
            Y, V = agents.y(Z).copy(), WV + agents.y(G) - agents.y(G_old)
        U = WU + agents.x(G) - agents.x(s.G)
        return Tracked(Z, G, np.hstack([U, V]))

    def refuse(self, problem: Problem) -> str | None:
        return finite_sums_only(problem)


GTDA.facts = Facts(
    name="gt-da",
    cases=("offline",),
    constraint="mix, then project",
    covered="yes",
    arrays="2",
    sfo="n R",
    rounds="R + 1",
    rates={
        "offline": Rate(
            sfo=Order((Term(kappa="p", inverse_epsilon=2, N=1),), logarithms=True),
            rounds=Order((Term(kappa="q", inverse_epsilon=2),), logarithms=True),
        )
    },
    reference="Tsaknakis, Hong, Liu, ICASSP 2020",
    source="reconstruction, checked by laws",
    colour="#E69F00",
    spaces={"paper": {"R": (4,)}, "wide": {"R": (2, 4)}},
    counting=Counting("none"),
)
