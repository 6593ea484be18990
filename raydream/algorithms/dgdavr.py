"""DGDA-VR: tracked SPIDER estimators in one exchange per iteration."""

from dataclasses import dataclass
from typing import Annotated

from raydream.agents import Agents
from raydream.algorithms.estimators import spider
from raydream.algorithms.facts import Counting, Facts
from raydream.algorithms.method import Method
from raydream.algorithms.parameters import Ascent, Correction, LargeBatch, Ratio, whole_shard_online
from raydream.algorithms.state import Tracked
from raydream.parameters import Count
from raydream.problems.protocol import Problem
from raydream.program import Program
from raydream.theory.rates import Order, Rate, Term


@dataclass(frozen=True, kw_only=True)
class DGDAVR(Method):
    """Decentralized Gradient Descent Ascent with Variance Reduction.

        x_{t+1} = W x_t - gamma eta d_x,   y_{t+1} = Pi(W y_t + eta d_y),   (d_x, d_y) = W s_t
        g_{t+1} = mean over b' samples of gradient at z_{t+1}                             if Q divides t + 1
        g_{t+1} = g_t + mean over b samples of [gradient at z_{t+1} - gradient at z_t]    else
        s_{t+1} = W s_t + g_{t+1} - g_t

    where s_0 = g_0 is a mean over b' samples. The paper's tracker is d_t = W s_t, which obeys
    d_{t+1} = W (d_t + g_{t+1} - g_t) from d_0 = W g_0; its mean is that of s_t and of g_t. What is kept between two
    iterations is s_t, not yet mixed: so it travels with z_t, in one round.

    eta, gamma  ascent step in y, and the ratio of the descent step in x to it
    Q           iterations between two large batches
    b, b_large  small and large batch; b_large=None is the whole shard

    Cost: b_large SFO per agent at the start; then exactly 1 round, which carries Z and S, and b_large SFO in every
    Q-th iteration and 2b in the others, per agent.

    Reference: Zhang, Mancino-Ball, Aybat, Xu, "Jointly Improving the Sample and Communication Complexities in
    Decentralized Stochastic Minimax Optimization", AAAI 2024.

    Differs from the paper: d_0 = W g_0, which is what the recursion gives from nothing; Q = b = 32 are the values in
    the authors' code. `tracking` in a history is of s_t, before it is mixed.
    """

    eta: Ascent
    gamma: Ratio
    Q: Annotated[Count, "iterations between two large batches"] = 32
    b: Correction = 32
    b_large: LargeBatch = None

    def init(self, agents: Agents) -> Tracked:
        Z = agents.start()
        G = agents.gradient(Z, self.b_large)
        return Tracked(Z, G, G)

    def step(self, s: Tracked, agents: Agents, t: int, coin: bool) -> Program:
        WZ, D = yield s.Z, s.S
        Z = agents.project(agents.descend_ascend(WZ, D, self.eta, self.gamma))
        G = spider(agents, Z, s.Z, s.G, t=t, Q=self.Q, b=self.b, b_large=self.b_large)
        return Tracked(Z, G, D + G - s.G)

    def refuse(self, problem: Problem) -> str | None:
        return whole_shard_online(problem, b=self.b, b_large=self.b_large)


DGDAVR.facts = Facts(
    name="dgda-vr",
    cases=("online", "offline"),
    constraint="mix, then project",
    covered="not checked",
    arrays="2",
    sfo="b' every Q-th, else 2b",
    rounds="1",
    rates={"online": Rate(sfo=Order((Term(inverse_epsilon=3),)), rounds=Order((Term(inverse_epsilon=2),)))},
    reference="Zhang, Mancino-Ball, Aybat, Xu, AAAI 2024",
    source="public code",
    colour="#56B4E9",
    spaces={"wide": {"b": (32, 128)}},
    counting=Counting("between", untracked=lambda given: 0),
)
