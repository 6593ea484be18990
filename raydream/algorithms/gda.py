"""GDA and SGDA: descent-ascent on one machine, the measure of what decentralization costs."""

from dataclasses import dataclass
from typing import Annotated

from raydream.agents import Agents
from raydream.algorithms.facts import Counting, Facts
from raydream.algorithms.method import Method, Mixing
from raydream.algorithms.parameters import Ascent, Ratio, finite_sums_only, one_machine_only, whole_shard_online
from raydream.algorithms.state import Iterates
from raydream.parameters import Count
from raydream.problems.protocol import Problem
from raydream.theory.rates import Order, Rate, Term


@dataclass(frozen=True, kw_only=True)
class GDA(Method):
    """Gradient Descent Ascent on one machine.

        x+ = x - gamma eta grad_x f(x, y),   y+ = Pi(y + eta grad_y f(x, y))

    eta, gamma  ascent step in y, and the ratio of the descent step in x to it

    Cost: no rounds, and N SFO per iteration, where N is the number of all samples.

    Reference: Lin, Jin, Jordan, "On Gradient Descent Ascent for Nonconvex-Concave Minimax Problems", ICML 2020,
    Algorithm 1.
    """

    eta: Ascent
    gamma: Ratio

    def init(self, agents: Agents) -> Iterates:
        return Iterates(agents.start())

    def step(self, s: Iterates, agents: Agents, t: int, coin: bool) -> Iterates:
        G = agents.gradient(s.Z)
        return Iterates(agents.project(agents.descend_ascend(s.Z, G, self.eta, self.gamma)))

    def mixings(self) -> list[Mixing]:
        return []

    def refuse(self, problem: Problem) -> str | None:
        return one_machine_only(problem) or finite_sums_only(problem)


GDA.facts = Facts(
    name="gda",
    cases=("offline",),
    one_machine=True,
    constraint="project",
    covered="yes",
    arrays="0",
    sfo="N",
    rounds="0",
    rates={"offline": Rate(sfo=Order((Term(kappa=2, inverse_epsilon=2, N=1),)), rounds=Order())},
    reference="Lin, Jin, Jordan, ICML 2020",
    source="reconstruction, checked by laws",
    colour="#7F7F7F",
    dash="dash",
    counting=Counting("none"),
)


@dataclass(frozen=True, kw_only=True)
class SGDA(Method):
    """Stochastic Gradient Descent Ascent on one machine.

        x+ = x - gamma eta g_x,   y+ = Pi(y + eta g_y),   g = mean over b samples of gradient at (x, y)

    eta, gamma  ascent step in y, and the ratio of the descent step in x to it
    b           batch; None is all samples, and then this is GDA

    Cost: no rounds, and b SFO per iteration. With constants the method ends at a noise floor.

    Reference: Lin, Jin, Jordan, "On Gradient Descent Ascent for Nonconvex-Concave Minimax Problems", ICML 2020,
    Algorithm 2.
    """

    eta: Ascent
    gamma: Ratio
    b: Annotated[Count | None, "samples of a batch"] = 64

    def init(self, agents: Agents) -> Iterates:
        return Iterates(agents.start())

    def step(self, s: Iterates, agents: Agents, t: int, coin: bool) -> Iterates:
        G = agents.gradient(s.Z, self.b)
        return Iterates(agents.project(agents.descend_ascend(s.Z, G, self.eta, self.gamma)))

    def mixings(self) -> list[Mixing]:
        return []

    def refuse(self, problem: Problem) -> str | None:
        return one_machine_only(problem) or whole_shard_online(problem, b=self.b)


SGDA.facts = Facts(
    name="sgda",
    cases=("online", "offline"),
    one_machine=True,
    constraint="project",
    covered="yes",
    arrays="0",
    sfo="b",
    rounds="0",
    rates={"online": Rate(sfo=Order((Term(kappa=3, inverse_epsilon=4),)), rounds=Order())},
    reference="Lin, Jin, Jordan, ICML 2020",
    source="reconstruction, checked by laws",
    colour="#A6761D",
    dash="dot",
    spaces={"wide": {"b": (64, 256)}},
    counting=Counting("none"),
)
