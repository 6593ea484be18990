"""DPOSG: decentralized optimistic descent-ascent without tracking, a historical baseline."""

from dataclasses import dataclass

from raydream.agents import Agents
from raydream.algorithms.facts import Counting, Facts
from raydream.algorithms.method import Method
from raydream.algorithms.parameters import Ascent, Batch, Ratio, whole_shard_online
from raydream.problems.protocol import Problem
from raydream.program import Program
from raydream.types import Array


@dataclass
class LookedAhead:
    """Iterates, and the last gradients, which were taken ahead of them."""

    Z: Array
    H: Array


@dataclass(frozen=True, kw_only=True)
class DPOSG(Method):
    """Decentralized Parallel Optimistic Stochastic Gradient.

        ahead_t = Pi(W z_t -+ step h_{t-1})
        h_t(i)  = mean over b samples of agent i's gradient at ahead_t(i)
        z_{t+1} = Pi(W z_t -+ step h_t)

    where -+ step is down by gamma eta in x and up by eta in y, Pi projects y on Y, and h_{-1} is the gradient at z_0.
    Looking ahead along the last gradient steadies games that make plain descent-ascent circle.

    Without tracking the method is biased where agents differ, as DGDA is, and its stall shrinks only with the step.

    eta, gamma  ascent step in y, and the ratio of the descent step in x to it
    b           batch; None is the whole shard

    Cost: n or b SFO per agent at the start; then 1 round, of Z, and n or b SFO per agent and iteration.

    Reference: Liu, Zhang, Mroueh, Cui, Ross, Yang, Das, "A Decentralized Parallel Algorithm for Training Generative
    Adversarial Nets", NeurIPS 2020.

    Differs from the paper: from public code of its successors; one round of gossip per iteration, x and y in steps of
    their own.
    """

    eta: Ascent
    gamma: Ratio
    b: Batch = None

    def init(self, agents: Agents) -> LookedAhead:
        Z = agents.start()
        return LookedAhead(Z, agents.gradient(Z, self.b))

    def step(self, s: LookedAhead, agents: Agents, t: int, coin: bool) -> Program:
        WZ = yield s.Z
        ahead = agents.project(agents.descend_ascend(WZ, s.H, self.eta, self.gamma))
        H = agents.gradient(ahead, self.b)
        return LookedAhead(agents.project(agents.descend_ascend(WZ, H, self.eta, self.gamma)), H)

    def refuse(self, problem: Problem) -> str | None:
        return whole_shard_online(problem, b=self.b)


DPOSG.facts = Facts(
    name="dposg",
    cases=("online", "offline"),
    constraint="mix, then project",
    covered="no",
    arrays="1",
    sfo="n or b",
    rounds="1",
    no_rate="stalls where agents differ",
    reference="Liu, Zhang, Mroueh, Cui, Ross, Yang, Das, NeurIPS 2020",
    source="public code",
    colour="#337700",
    dash="dashdot",
    counting=Counting("none"),
)
