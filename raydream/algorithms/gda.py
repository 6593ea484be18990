"""GDA and SGDA: descent-ascent on one machine, the measure of what decentralization costs."""

from dataclasses import dataclass

from raydream.agents import Agents
from raydream.algorithms.facts import Facts
from raydream.algorithms.parameters import (
    check_parameters,
    finite_sums_only,
    one_machine_only,
    whole_shard_online,
)
from raydream.algorithms.state import Iterates
from raydream.problems.protocol import Problem


@dataclass(frozen=True, kw_only=True)
class GDA:
    """Gradient Descent Ascent on one machine.

        x+ = x - gamma eta grad_x f(x, y),   y+ = Pi(y + eta grad_y f(x, y))

    eta, gamma  ascent step in y, and the ratio of the descent step in x to it

    Cost: no rounds, and N SFO per iteration, where N is the number of all samples.

    Reference: Lin, Jin, Jordan, "On Gradient Descent Ascent for Nonconvex-Concave Minimax Problems", ICML 2020,
    Algorithm 1.
    """

    eta: float
    gamma: float

    facts = Facts(
        setting="offline, one machine",
        constraint="project",
        covered="yes",
        arrays="0",
        sfo="N",
        rounds="0",
        total_sfo="O(N κ² ε⁻²)",
        total_rounds="0",
        reference="Lin, Jin, Jordan, ICML 2020",
        source="reconstruction, checked by laws",
    )

    def __post_init__(self) -> None:
        check_parameters(self)

    def init(self, agents: Agents) -> Iterates:
        return Iterates(agents.start())

    def step(self, s: Iterates, agents: Agents, t: int, coin: bool) -> Iterates:
        G = agents.gradient(s.Z)
        return Iterates(agents.project(agents.descend_ascend(s.Z, G, self.eta, self.gamma)))

    def refuse(self, problem: Problem) -> str | None:
        return one_machine_only(problem) or finite_sums_only(problem)


@dataclass(frozen=True, kw_only=True)
class SGDA:
    """Stochastic Gradient Descent Ascent on one machine.

        x+ = x - gamma eta g_x,   y+ = Pi(y + eta g_y),   g = mean over b samples of gradient at (x, y)

    eta, gamma  ascent step in y, and the ratio of the descent step in x to it
    b           batch; None is all samples, and then this is GDA

    Cost: no rounds, and b SFO per iteration. With constants the method ends at a noise floor.

    Reference: Lin, Jin, Jordan, "On Gradient Descent Ascent for Nonconvex-Concave Minimax Problems", ICML 2020,
    Algorithm 2.
    """

    eta: float
    gamma: float
    b: int | None = 64

    facts = Facts(
        setting="online, offline, one machine",
        constraint="project",
        covered="yes",
        arrays="0",
        sfo="b",
        rounds="0",
        total_sfo="O(κ³ ε⁻⁴)",
        total_rounds="0",
        reference="Lin, Jin, Jordan, ICML 2020",
        source="reconstruction, checked by laws",
    )

    def __post_init__(self) -> None:
        check_parameters(self)

    def init(self, agents: Agents) -> Iterates:
        return Iterates(agents.start())

    def step(self, s: Iterates, agents: Agents, t: int, coin: bool) -> Iterates:
        G = agents.gradient(s.Z, self.b)
        return Iterates(agents.project(agents.descend_ascend(s.Z, G, self.eta, self.gamma)))

    def refuse(self, problem: Problem) -> str | None:
        return one_machine_only(problem) or whole_shard_online(problem, b=self.b)
