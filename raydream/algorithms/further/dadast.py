"""D-AdaST and D-TiAda: steps that need no tuning, with and without agreement on their lengths."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from raydream.agents import Agents
from raydream.algorithms.facts import Counting, Facts
from raydream.algorithms.method import Method
from raydream.algorithms.parameters import Ascent, Batch, Ratio, whole_shard_online
from raydream.parameters import Probability
from raydream.problems.protocol import Problem
from raydream.program import Program
from raydream.theory.rates import Order, Rate, Term
from raydream.types import Array

PowerX = Annotated[Probability, "power of the sums of squares in the step of x"]
PowerY = Annotated[Probability, "power of the sum of squares in the step of y, below `power_x`"]


@dataclass
class Scaled:
    """Iterates, and the two sums of squares that scale the steps: of the gradients in x, and in y."""

    Z: Array
    M: Array


class Adaptive(Method):
    """What the two share: sums of squared gradient norms, and the step that they scale."""

    eta: float
    gamma: float
    power_x: float
    power_y: float
    b: int | None

    def init(self, agents: Agents) -> Scaled:
        Z = agents.start()
        return Scaled(Z, np.zeros((len(Z), 2), dtype=Z.dtype))

    def scaled_step(self, s: Scaled, agents: Agents) -> tuple[Array, Array]:
        """Where the step leads, not yet mixed or projected, and the sums with this step's gradients."""
        G = agents.gradient(s.Z, self.b)
        squares = [np.sum(np.ascontiguousarray(part) ** 2, axis=1) for part in (agents.x(G), agents.y(G))]
        M = s.M + np.stack(squares, axis=1)
        # A gradient that was 0 from the start has no length to be divided by, and no step.
        both, own = (np.maximum(sums, np.finfo(sums.dtype).tiny) for sums in (M.max(axis=1), M[:, 1]))
        agents.x(G)[...] /= (both**self.power_x)[:, None]
        agents.y(G)[...] /= (own**self.power_y)[:, None]
        return agents.descend_ascend(s.Z, G, self.eta, self.gamma), M

    def refuse(self, problem: Problem) -> str | None:
        return whole_shard_online(problem, b=self.b)


@dataclass(frozen=True, kw_only=True)
class DAdaST(Adaptive):
    """Distributed Adaptive minimax method with Stepsize Tracking.

        m_x <- m_x + |g_x|^2,   m_y <- m_y + |g_y|^2
        x+ = W (x - gamma eta g_x / max(m_x, m_y)^power_x)
        y+ = Pi(W (y + eta g_y / m_y^power_y))
        m+ = W m

    where g(i) is agent i's own gradient at z(i), full or over b samples, and m = (m_x, m_y) begins at 0. Nobody needs
    to know L, mu or the noise; and since the sums are mixed, all agents come to scale their steps alike. Without
    tracking their own gradients do not vanish where agents differ: the sums grow with t, the steps fall, and
    ||grad P|| with them, about as t^(-power_y).

    eta, gamma  ascent step in y before scaling, and the ratio of the descent step in x to it
    power_x, power_y  powers of the sums (alpha and beta in the paper, 0 < beta < alpha < 1)
    b           batch; None is the whole shard

    Cost: nothing at the start; then 1 round, of Z and two numbers, and n or b SFO per agent and iteration.

    Reference: Huang, Li, Shen, He, Xu, "Achieving Near-Optimal Convergence for Distributed Minimax Optimization with
    Adaptive Stepsizes", NeurIPS 2024.

    Differs from the paper: its box was not at hand. Agents scale by their sums before these are mixed, so that one
    exchange serves both; a sum's last term is then the agent's own. The rate is O(e^-(4+d)) for any d > 0.
    """

    eta: Ascent
    gamma: Ratio
    power_x: PowerX = 0.6
    power_y: PowerY = 0.4
    b: Batch = None

    def step(self, s: Scaled, agents: Agents, t: int, coin: bool) -> Program:
        Z, M = self.scaled_step(s, agents)
        WZ, WM = yield Z, M
        return Scaled(agents.project(WZ), WM)


DAdaST.facts = Facts(
    name="d-adast",
    cases=("online", "offline"),
    constraint="mix, then project",
    covered="not checked",
    arrays="2",
    sfo="n or b",
    rounds="1",
    rates={
        "online": Rate(
            sfo=Order((Term(inverse_epsilon=4),), logarithms=True),
            rounds=Order((Term(inverse_epsilon=4),), logarithms=True),
        )
    },
    reference="Huang, Li, Shen, He, Xu, NeurIPS 2024",
    source="abstract and reconstruction, checked by laws",
    colour="#22CC11",
    spaces={"wide": {"b": (None, 64)}},
    counting=Counting("none"),
)


@dataclass(frozen=True, kw_only=True)
class DTiAda(Adaptive):
    """D-AdaST without agreement on the steps' lengths: the negative control.

        m_x <- m_x + |g_x|^2,   m_y <- m_y + |g_y|^2
        x+ = W (x - gamma eta g_x / max(m_x, m_y)^power_x)
        y+ = Pi(W (y + eta g_y / m_y^power_y))

    where every agent keeps its own m. An agent whose gradients are large takes smaller steps than the others for ever:
    what the agents come to agree on is a solution of the problem in which they are weighed by their steps, and no
    step, however small, makes it one of the problem itself.

    eta, gamma  ascent step in y before scaling, and the ratio of the descent step in x to it
    power_x, power_y  powers of the sums
    b           batch; None is the whole shard

    Cost: nothing at the start; then 1 round, of Z, and n or b SFO per agent and iteration.

    Reference: Li, Yang, He, "TiAda: A Time-Scale Adaptive Algorithm for Nonconvex Minimax Optimization", ICLR 2023,
    run by every agent of a network, as in the D-AdaST paper.
    """

    eta: Ascent
    gamma: Ratio
    power_x: PowerX = 0.6
    power_y: PowerY = 0.4
    b: Batch = None

    def step(self, s: Scaled, agents: Agents, t: int, coin: bool) -> Program:
        Z, M = self.scaled_step(s, agents)
        WZ = yield Z
        return Scaled(agents.project(WZ), M)


DTiAda.facts = Facts(
    name="d-tiada",
    cases=("online", "offline"),
    constraint="mix, then project",
    covered="no",
    arrays="1",
    sfo="n or b",
    rounds="1",
    no_rate="does not converge where agents differ",
    reference="after Li, Yang, He, ICLR 2023",
    source="abstract and reconstruction, checked by laws",
    colour="#AABB00",
    dash="dashdot",
    counting=Counting("none"),
)
