"""GT-GDA: tracked full gradients, x and y stepped together."""

from dataclasses import dataclass

from raydream.agents import Agents
from raydream.algorithms.estimators import full
from raydream.algorithms.facts import Counting, Facts
from raydream.algorithms.method import Method
from raydream.algorithms.parameters import Ascent, Form, Ratio, finite_sums_only
from raydream.algorithms.state import Tracked
from raydream.algorithms.tracking import FORMS, rounds_of_iterates
from raydream.problems.protocol import Problem
from raydream.program import Program
from raydream.theory.rates import Order, Rate, Term


@dataclass(frozen=True, kw_only=True)
class GTGDA(Method):
    """Gradient-Tracking Gradient Descent Ascent.

        form="cta"                          form="atc"
        x+ = W x - gamma eta u              x+ = W (x - gamma eta u)
        y+ = Pi(W y + eta v)                y+ = W Pi(y + eta v)
        s+ = W s + g+ - g                   s+ = W (s + g+ - g)

    where g(i) = grad f_i(z(i)) is the full local gradient, s = (u, v) and s_0 = g_0.

    eta, gamma  ascent step in y, and the ratio of the descent step in x to it
    form        "cta", combine then adapt, or "atc", adapt then combine

    Cost: n SFO per agent at the start; then n SFO per agent and iteration, and 1 round that carries Z and S (cta)
    or 2 rounds that carry Z, then S (atc).

    Reference: Zhang, Liu, Liu, Zhu, Lu, "Taming Communication and Sample Complexities in Decentralized Policy
    Evaluation for Cooperative Multi-Agent Reinforcement Learning", NeurIPS 2021.

    Differs from the paper: y may be constrained, for which the paper has no theory. Its box was not at hand; "cta"
    is believed to be its form.
    """

    eta: Ascent
    gamma: Ratio
    form: Form = "cta"

    def init(self, agents: Agents) -> Tracked:
        Z = agents.start()
        G = full(agents, Z)
        return Tracked(Z, G, G)

    def step(self, s: Tracked, agents: Agents, t: int, coin: bool) -> Program:
        return FORMS[self.form](s, agents, self.eta, self.gamma, lambda Z: full(agents, Z))

    def refuse(self, problem: Problem) -> str | None:
        return finite_sums_only(problem)


GTGDA.facts = Facts(
    name="gt-gda",
    cases=("offline",),
    constraint="mix, then project (cta); project, then mix (atc)",
    covered="no",
    arrays="2 (cta), 1 (atc)",
    sfo="n",
    rounds="1 (cta), 2 (atc)",
    rates={
        "offline": Rate(
            sfo=Order((Term(kappa="p", inverse_epsilon=2, N=1),)),
            rounds=Order((Term(kappa="q", inverse_epsilon=2),)),
        )
    },
    reference="Zhang, Liu, Liu, Zhu, Lu, NeurIPS 2021",
    source="reconstruction, checked by laws",
    colour="#009E73",
    spaces={"wide": {"form": tuple(FORMS)}},
    counting=Counting("none", untracked=rounds_of_iterates),
)
