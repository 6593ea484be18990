"""Catalyst-DREAM: an inexact proximal point method around DREAM."""

from dataclasses import dataclass
from typing import cast

from raydream.agents import Agents
from raydream.algorithms.dream import DREAM
from raydream.algorithms.estimators import thinned_page
from raydream.algorithms.facts import Counting, Facts
from raydream.algorithms.parameters import ProximalWeight, StageLength, SymmetricMixing
from raydream.algorithms.state import Tracked
from raydream.program import Program
from raydream.types import Array


@dataclass
class Anchored(Tracked):
    """Iterates, gradient estimators, gradient trackers, and the anchors that x is drawn to."""

    A: Array


@dataclass(frozen=True, kw_only=True)
class CatalystDREAM(DREAM):
    """DREAM on a problem made convex in x, whose anchor follows.

        a <- x                                                          in every T-th iteration
        x_{t+1} = FastMix(x_t - gamma eta (u_t + prox (x_t - a)), K)
        y_{t+1}, g_{t+1}, s_{t+1} as in DREAM

    These are T iterations of DREAM on f(x, y) + prox/2 |x - a|^2, then the same around the point found. The added term
    is known exactly: it needs no sample, no tracker and no round, and estimators and trackers go on from one stage to
    the next. Where f curves down in x by less than prox, every stage is strongly convex in x, and gamma need not fall
    with the condition number.

    eta, gamma  ascent step in y, and the ratio of the descent step in x to it
    p           probability of a large batch (default: b q / (b q + b_large))
    q           probability that an agent takes part in a correction
    b, b_large  small and large batch, as in DREAM
    K0, K, K_large  rounds of mixing, as in DREAM
    mixing, momentum  as in DREAM, without push-sum
    prox        weight of the proximal term (twice the smoothness in the one-machine analysis)
    T           iterations between two moves of the anchor

    Cost: that of DREAM: K0 rounds and b_large SFO per agent at the start; then K + (K_large or K) rounds, and b_large
    or, for an agent that takes part, 2b SFO per agent and iteration.

    Reference: Chen, Yao, Luo, "Faster Stochastic Algorithms for Minimax Optimization under Polyak-Lojasiewicz
    Conditions", NeurIPS 2022 (AccSPIDER-GDA, one machine), around DREAM: what the DREAM paper leaves for the future, to
    get from kappa^2 towards kappa.

    Differs from the paper: there is no paper, and no proof, of this method; that it needs fewer gradients is not
    claimed. Stages have a fixed length, and the anchor is not extrapolated.
    """

    mixing: SymmetricMixing = "fastmix"
    prox: ProximalWeight = 1.0
    T: StageLength = 20

    def init(self, agents: Agents) -> Program:
        s = yield from super().init(agents)
        return Anchored(s.Z, s.G, s.S, agents.x(s.Z).copy())

    def step(self, s: Anchored, agents: Agents, t: int, coin: bool) -> Program:  # type: ignore[override]
        A = agents.x(s.Z).copy() if t % self.T == 0 else s.A
        D = s.S.copy()
        agents.x(D)[...] += self.prox * (agents.x(s.Z) - A)
        Z = agents.project(agents.descend_ascend(s.Z, D, self.eta, self.gamma))
        Z = yield from self.mix(Z, self.K, agents)
        b = cast("int | None", self.b)  # settled
        G = thinned_page(agents, Z, s.Z, s.G, coin=coin, b=b, b_large=self.b_large, q=self.q)
        S = yield from self.mix(s.S + G - s.G, self.K_large if coin else self.K, agents)
        return Anchored(Z, G, S, A)


CatalystDREAM.facts = Facts(
    name="catalyst-dream",
    cases=("online", "offline"),
    constraint="project, then mix",
    covered="no",
    arrays="1",
    sfo="b' (chance p), else 2b (chance q)",
    rounds="K + (K' or K)",
    no_rate="not analysed: the DREAM paper's future work",
    reference="after Chen, Yao, Luo, NeurIPS 2022",
    source="reconstruction, checked by laws",
    colour="#FF44BB",
    spaces={"wide": {"prox": (0.1, 1.0, 10.0), "T": (5, 20, 100), "K": (1, 2)}},
    counting=Counting("between", untracked=lambda given: given.get("K")),
)
