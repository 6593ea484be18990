"""DM-HSGD: tracked STORM estimators, one gossip per array and iteration."""

from dataclasses import dataclass
from typing import Annotated

from raydream.agents import Agents
from raydream.algorithms.estimators import storm
from raydream.algorithms.facts import Counting, Facts
from raydream.algorithms.method import Method
from raydream.algorithms.parameters import BATCHES, Ascent, Correction, Ratio, whole_shard_online
from raydream.algorithms.state import Tracked
from raydream.algorithms.tracking import adapt_then_combine
from raydream.parameters import Count, Positive, Probability
from raydream.problems.protocol import Problem
from raydream.program import Program
from raydream.theory.rates import Order, Rate, Term


@dataclass(frozen=True, kw_only=True)
class DMHSGD(Method):
    """Decentralized Minimax Hybrid Stochastic Gradient Descent.

        x_{t+1} = W (x_t - gamma eta_t u_t)
        y_{t+1} = W Pi(y_t + eta_t v_t)
        g_{t+1} = mean over b samples of gradient at z_{t+1} + (1 - beta_t) (g_t - the same samples at z_t)
        s_{t+1} = W (s_t + g_{t+1} - g_t)

    where s = (u, v), g_0 is a mean over b0 samples and s_0 = W g_0. The step and the momentum are constants, or, if
    `decay` is given, eta_t = eta (1 + t/decay)^(-1/3) and beta_t = beta (1 + t/decay)^(-2/3).

    eta, gamma  ascent step in y, and the ratio of the descent step in x to it
    beta        share of the old estimator's error that is forgotten
    b, b0       batch, and first batch (None: the whole shard)
    decay       iterations after which step and momentum begin to fall; None keeps them constant

    Cost: 1 round and b0 SFO per agent at the start; then 2 rounds, of Z and of S, and 2b SFO per agent and
    iteration. With constants the method ends at a noise floor, which falls with eta and beta.

    Reference: Xian, Huang, Zhang, Huang, "A Faster Decentralized Algorithm for Nonconvex Minimax Problems",
    NeurIPS 2021.

    Differs from the paper: one batch and one beta serve both x and y. Its code projects y after mixing, the paper
    before, as here; its theory does not cover a constraint (the DREAM paper, Appendix B): its equation (29) holds for
    the step before the projection, and is false for the step itself wherever a constraint is active.
    """

    eta: Ascent
    gamma: Ratio
    beta: Annotated[Probability, "momentum of the estimator"] = 0.01
    b: Correction = 64
    b0: Annotated[Count | None, "samples of the first batch"] = 512
    decay: Annotated[Positive | None, "iterations after which step and momentum begin to fall; empty: they stay"] = None

    def init(self, agents: Agents) -> Program:
        Z = agents.start()
        G = agents.gradient(Z, self.b0)
        S = yield G
        return Tracked(Z, G, S)

    def step(self, s: Tracked, agents: Agents, t: int, coin: bool) -> Program:
        eta, beta = self.schedule(t)
        return adapt_then_combine(
            s, agents, eta, self.gamma, lambda Z: storm(agents, Z, s.Z, s.G, beta=beta, b=self.b)
        )  # fmt: skip

    def schedule(self, t: int) -> tuple[float, float]:
        """eta_t and beta_t; beta_t stays proportional to eta_t^2."""
        if self.decay is None:
            return self.eta, self.beta
        age = 1.0 + t / self.decay
        return self.eta * age ** (-1 / 3), self.beta * age ** (-2 / 3)

    def refuse(self, problem: Problem) -> str | None:
        return whole_shard_online(problem, b=self.b, b0=self.b0)


DMHSGD.facts = Facts(
    name="dm-hsgd",
    cases=("online", "offline"),
    constraint="project, then mix",
    covered="no",
    arrays="1",
    sfo="2b",
    rounds="2",
    rates={
        "online": Rate(
            sfo=Order((Term(kappa=3, inverse_epsilon=3),)),
            rounds=Order((Term(kappa=3, inverse_epsilon=3),)),
        )
    },
    reference="Xian, Huang, Zhang, Huang, NeurIPS 2021",
    source="public code",
    colour="#D55E00",
    spaces={
        "paper": {"b": BATCHES, "b0": BATCHES, "beta": (0.01,)},
        "wide": {"b": (16, 64, 256), "beta": (0.01, 0.03, 0.1, 0.3)},
    },
    counting=Counting("all", untracked=lambda given: 1),
)
