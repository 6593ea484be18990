"""GT-DA: tracked descent in x, several tracked ascent steps in y."""

from dataclasses import dataclass

import numpy as np

from raydream.agents import Agents
from raydream.algorithms.estimators import full
from raydream.algorithms.facts import Facts
from raydream.algorithms.parameters import check_parameters, finite_sums_only
from raydream.algorithms.state import Tracked
from raydream.problems.protocol import Problem
from raydream.program import Program


@dataclass(frozen=True, kw_only=True)
class GTDA:
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

    eta: float
    gamma: float
    R: int = 4

    facts = Facts(
        setting="offline",
        constraint="mix, then project",
        covered="yes",
        arrays="2",
        sfo="n R",
        rounds="R + 1",
        total_sfo="Õ(N κ^p ε⁻²)",
        total_rounds="Õ(κ^q ε⁻²)",
        reference="Tsaknakis, Hong, Liu, ICASSP 2020",
        source="reconstruction, checked by laws",
    )

    def __post_init__(self) -> None:
        check_parameters(self)

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

    def mixings(self) -> list[tuple[int, str, str]]:
        return [(1, "gossip", "optimal")]

    def refuse(self, problem: Problem) -> str | None:
        return finite_sums_only(problem)
