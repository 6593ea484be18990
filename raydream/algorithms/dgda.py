"""DGDA: decentralized descent-ascent without tracking, the negative control."""

from dataclasses import dataclass

from raydream.agents import Agents
from raydream.algorithms.facts import Counting, Facts
from raydream.algorithms.method import Method
from raydream.algorithms.parameters import Ascent, Batch, Ratio, whole_shard_online
from raydream.algorithms.state import Iterates
from raydream.problems.protocol import Problem
from raydream.program import Program


@dataclass(frozen=True, kw_only=True)
class DGDA(Method):
    """Decentralized Gradient Descent Ascent without gradient tracking.

        x+ = W x - gamma eta g_x,   y+ = Pi(W y + eta g_y)

    where g(i) is agent i's own gradient at z(i), full or over b samples.

    Where agents differ the method stalls: at a solution of the whole problem the agents' own gradients are not 0,
    each step drives them apart, and what they then have in common is no solution. The stall shrinks only with the
    step. Where agents are alike it converges. It is here to show what tracking is for.

    eta, gamma  ascent step in y, and the ratio of the descent step in x to it
    b           batch; None is the whole shard

    Cost: 1 round, of Z, and n or b SFO per agent and iteration.

    Reference: Nedic, Ozdaglar, "Distributed Subgradient Methods for Multi-Agent Optimization", IEEE Transactions
    on Automatic Control, 2009, applied to descent-ascent.
    """

    eta: Ascent
    gamma: Ratio
    b: Batch = None

    def init(self, agents: Agents) -> Iterates:
        return Iterates(agents.start())

    def step(self, s: Iterates, agents: Agents, t: int, coin: bool) -> Program:
        WZ = yield s.Z
        G = agents.gradient(s.Z, self.b)
        return Iterates(agents.project(agents.descend_ascend(WZ, G, self.eta, self.gamma)))

    def refuse(self, problem: Problem) -> str | None:
        return whole_shard_online(problem, b=self.b)


DGDA.facts = Facts(
    name="dgda",
    cases=("online", "offline"),
    constraint="mix, then project",
    covered="no",
    arrays="1",
    sfo="n or b",
    rounds="1",
    no_rate="stalls where agents differ",
    reference="after Nedic, Ozdaglar, IEEE TAC 2009",
    source="reconstruction, checked by laws",
    colour="#8C6BB1",
    dash="dashdot",
    counting=Counting("none"),
)
