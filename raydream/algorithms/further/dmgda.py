"""DM-GDA: tracked STORM estimators, and iterates that go a share of the way."""

from dataclasses import dataclass
from typing import Annotated

from raydream.agents import Agents
from raydream.algorithms.estimators import storm
from raydream.algorithms.facts import Counting, Facts
from raydream.algorithms.method import Method
from raydream.algorithms.parameters import Ascent, Correction, Ratio, Share, whole_shard_online
from raydream.algorithms.state import Tracked
from raydream.parameters import Count, Probability
from raydream.problems.protocol import Problem
from raydream.program import Program
from raydream.theory.rates import Order, Rate, Term


@dataclass(frozen=True, kw_only=True)
class DMGDA(Method):
    """Decentralized Momentum-based Gradient Descent Ascent.

        x_{t+1} = x_t + alpha (W x_t - gamma eta u_t - x_t)
        y_{t+1} = y_t + alpha (Pi(W y_t + eta v_t) - y_t)
        g_{t+1} = mean over b samples of gradient at z_{t+1} + (1 - beta) (g_t - the same samples at z_t)
        s_{t+1} = W (s_t + g_{t+1} - g_t)

    where s = (u, v), g_0 is a mean over b0 samples and s_0 = W g_0.

    eta, gamma  ascent step in y, and the ratio of the descent step in x to it
    alpha       share of the way that the iterates go
    beta        share of the old estimator's error that is forgotten
    b, b0       batch, and first batch (None: the whole shard)

    Cost: 1 round and b0 SFO per agent at the start; then 2 rounds, of Z and of S, and 2b SFO per agent and
    iteration. With constants the method ends at a noise floor, which falls with the steps and beta.

    Reference: Huang, Chen, "Near-Optimal Decentralized Momentum Method for Nonconvex-PL Minimax Problems", 2023.

    Differs from the paper: only the abstract was at hand; the update is reconstructed. Without a constraint the paper
    covers functions that are Polyak-Lojasiewicz in y; one on y is projected here, and not covered. One batch, one
    alpha and one beta serve both x and y, and they are constants (in the paper they fall, beta as alpha^2).
    """

    eta: Ascent
    gamma: Ratio
    alpha: Share = 0.5
    beta: Annotated[Probability, "momentum of the estimator"] = 0.01
    b: Correction = 64
    b0: Annotated[Count | None, "samples of the first batch"] = 512

    def init(self, agents: Agents) -> Program:
        Z = agents.start()
        G = agents.gradient(Z, self.b0)
        S = yield G
        return Tracked(Z, G, S)

    def step(self, s: Tracked, agents: Agents, t: int, coin: bool) -> Program:
        WZ = yield s.Z
        goal = agents.project(agents.descend_ascend(WZ, s.S, self.eta, self.gamma))
        Z = s.Z + self.alpha * (goal - s.Z)
        G = storm(agents, Z, s.Z, s.G, beta=self.beta, b=self.b)
        S = yield s.S + G - s.G
        return Tracked(Z, G, S)

    def refuse(self, problem: Problem) -> str | None:
        return whole_shard_online(problem, b=self.b, b0=self.b0)


DMGDA.facts = Facts(
    name="dm-gda",
    cases=("online", "offline"),
    constraint="mix, then project",
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
    reference="Huang, Chen, 2023",
    source="abstract and reconstruction, checked by laws",
    colour="#FF9988",
    spaces={"wide": {"alpha": (0.3, 1.0), "b": (16, 64, 256), "beta": (0.01, 0.1, 0.3)}},
    counting=Counting("all", untracked=lambda given: 1),
)
