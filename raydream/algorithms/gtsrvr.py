"""GT-SRVR: GT-GDA with SPIDER instead of full gradients."""

from dataclasses import dataclass, replace
from typing import Annotated, cast

from raydream.agents import Agents
from raydream.algorithms.estimators import full, spider
from raydream.algorithms.facts import Counting, Facts
from raydream.algorithms.method import Method
from raydream.algorithms.parameters import ROOT, Ascent, Form, Ratio, Root, finite_sums_only, root
from raydream.algorithms.state import Tracked
from raydream.algorithms.tracking import FORMS, rounds_of_iterates
from raydream.parameters import Count
from raydream.problems.protocol import Problem
from raydream.program import Program
from raydream.theory.rates import Order, Rate, Term
from raydream.topology.mixing import Network
from raydream.types import Array


@dataclass(frozen=True, kw_only=True)
class GTSRVR(Method):
    """Gradient-Tracking Stochastic Recursive Variance Reduction.

        form="cta"                          form="atc"
        x+ = W x - gamma eta u              x+ = W (x - gamma eta u)
        y+ = Pi(W y + eta v)                y+ = W Pi(y + eta v)
        s+ = W s + g+ - g                   s+ = W (s + g+ - g)

        g_{t+1} = full local gradient at z_{t+1}                                          if Q divides t + 1
        g_{t+1} = g_t + mean over b samples of [gradient at z_{t+1} - gradient at z_t]    else

    where s = (u, v) and s_0 = g_0 is the full local gradient.

    eta, gamma  ascent step in y, and the ratio of the descent step in x to it
    Q           iterations between two full gradients (default: sqrt(n) rounded up)
    b           batch of a correction (default "sqrt(n)": that, rounded up; None: the whole shard)
    form        "cta", combine then adapt, or "atc", adapt then combine

    Cost: n SFO per agent at the start; then n in every Q-th iteration and 2b in the others, per agent; and 1 round
    that carries Z and S (cta) or 2 rounds that carry Z, then S (atc) per iteration.

    Reference: Zhang, Liu, Liu, Zhu, Lu, "Taming Communication and Sample Complexities in Decentralized Policy
    Evaluation for Cooperative Multi-Agent Reinforcement Learning", NeurIPS 2021.

    Differs from the paper: y may be constrained, for which the paper has no theory. Its box was not at hand; "cta"
    is believed to be its form.
    """

    eta: Ascent
    gamma: Ratio
    Q: Annotated[Count | None, "iterations between two full gradients; empty: the square root of the samples"] = None
    b: Annotated[Count | Root | None, "samples of a correction; sqrt(n): the square root of an agent's"] = ROOT
    form: Form = "cta"

    def init(self, agents: Agents) -> Tracked:
        Z = agents.start()
        G = full(agents, Z)
        return Tracked(Z, G, G)

    def step(self, s: Tracked, agents: Agents, t: int, coin: bool) -> Program:
        Q, b = cast("int", self.Q), cast("int | None", self.b)  # settled

        def estimate(Z: Array) -> Array:
            return spider(agents, Z, s.Z, s.G, t=t, Q=Q, b=b)

        return FORMS[self.form](s, agents, self.eta, self.gamma, estimate)

    def settled(self, problem: Problem, network: Network) -> "GTSRVR":
        n = root(problem.samples)
        return replace(self, Q=n if self.Q is None else self.Q, b=n if self.b == ROOT else self.b)

    def refuse(self, problem: Problem) -> str | None:
        return finite_sums_only(problem)


GTSRVR.facts = Facts(
    name="gt-srvr",
    cases=("offline",),
    constraint="mix, then project (cta); project, then mix (atc)",
    covered="no",
    arrays="2 (cta), 1 (atc)",
    sfo="n every Q-th, else 2b",
    rounds="1 (cta), 2 (atc)",
    rates={
        "offline": Rate(
            sfo=Order((Term(N=1), Term(kappa="p", inverse_epsilon=2, N=0.5, m=0.5))),
            rounds=Order((Term(kappa="q", inverse_epsilon=2),)),
        )
    },
    reference="Zhang, Liu, Liu, Zhu, Lu, NeurIPS 2021",
    source="reconstruction, checked by laws",
    colour="#CC79A7",
    spaces={"wide": {"b": (64, ROOT), "form": tuple(FORMS)}},
    counting=Counting("between", untracked=rounds_of_iterates),
)
