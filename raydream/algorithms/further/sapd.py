"""SAPD+: an inexact proximal point method around an accelerated primal-dual one, on one machine."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from raydream.agents import Agents
from raydream.algorithms.facts import Counting, Facts
from raydream.algorithms.method import Method, Mixing
from raydream.algorithms.parameters import (
    Ascent,
    Batch,
    ProximalWeight,
    Ratio,
    StageLength,
    one_machine_only,
    whole_shard_online,
)
from raydream.parameters import NotNegative
from raydream.problems.protocol import Problem
from raydream.theory.rates import Order, Rate, Term
from raydream.types import Array


@dataclass
class Staged:
    """Iterates, the last gradient in y, and the anchor that x is drawn to."""

    Z: Array
    H: Array
    A: Array


@dataclass(frozen=True, kw_only=True)
class SAPDPlus(Method):
    """Stochastic Accelerated Primal-Dual method, around an anchor that follows, on one machine.

        a <- x_t,   h <- g_y                                             in every T-th iteration
        y_{t+1} = Pi(y_t + eta [g_y + theta (g_y - h)]),   then h <- g_y
        x_{t+1} = x_t - gamma eta (g'_x + prox (x_t - a))

    where g is a mean over b samples of the gradient at (x_t, y_t), and g' over b others of that at (x_t, y_{t+1}). A
    stage of T iterations solves f(x, y) + prox/2 |x - a|^2, and the next one begins where it ends.

    eta, gamma  ascent step in y, and the ratio of the descent step in x to it
    theta       momentum of the ascent
    prox        weight of the proximal term
    T           iterations between two moves of the anchor
    b           batch; None is all samples

    Cost: no rounds, and 2b SFO per iteration: the second gradient waits for the new y.

    Reference: Zhang, Aybat, Gurbuzbalaban, "SAPD+: An Accelerated Stochastic Method for Nonconvex-Concave Minimax
    Problems", NeurIPS 2022.

    Differs from the paper: its box was not at hand; this is the authors' code without its variance reduction, with
    T and theta fixed (there theta grows to 0.9 and T = log 256 / log(1/theta)), and with fresh samples for the second
    gradient (there it has those of the first).
    """

    eta: Ascent
    gamma: Ratio
    theta: Annotated[NotNegative, "momentum of the ascent"] = 0.8
    prox: ProximalWeight = 1.0
    T: StageLength = 25
    b: Batch = 64

    def init(self, agents: Agents) -> Staged:
        Z = agents.start()
        return Staged(Z, np.zeros_like(agents.y(Z)), agents.x(Z).copy())

    def step(self, s: Staged, agents: Agents, t: int, coin: bool) -> Staged:
        begins = t % self.T == 0
        A = agents.x(s.Z).copy() if begins else s.A
        g = agents.y(agents.gradient(s.Z, self.b)).copy()
        h = g if begins else s.H
        Z = s.Z.copy()
        agents.y(Z)[...] += self.eta * (g + self.theta * (g - h))
        Z = agents.project(Z)
        down = agents.x(agents.gradient(Z, self.b)) + self.prox * (agents.x(Z) - A)
        Z_new = Z.copy()
        agents.x(Z_new)[...] -= self.gamma * self.eta * down
        return Staged(Z_new, g, A)

    def mixings(self) -> list[Mixing]:
        return []

    def refuse(self, problem: Problem) -> str | None:
        return one_machine_only(problem) or whole_shard_online(problem, b=self.b)


SAPDPlus.facts = Facts(
    name="sapd-plus",
    cases=("online", "offline"),
    one_machine=True,
    constraint="project",
    covered="yes",
    arrays="0",
    sfo="2b",
    rounds="0",
    rates={"online": Rate(sfo=Order((Term(kappa=1, inverse_epsilon=4),)), rounds=Order())},
    reference="Zhang, Aybat, Gurbuzbalaban, NeurIPS 2022",
    source="public code",
    colour="#FF0066",
    dash="dot",
    spaces={"wide": {"theta": (0.0, 0.8), "prox": (0.1, 1.0, 10.0), "T": (10, 25, 100), "b": (64, 256)}},
    counting=Counting("none"),
)
