"""ED-GDA and ED-PAGE: exact diffusion, which needs no tracker, and sends one array a round."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated

from raydream.agents import Agents
from raydream.algorithms.estimators import full, page
from raydream.algorithms.facts import Counting, Facts
from raydream.algorithms.method import Method, Mixing
from raydream.algorithms.parameters import (
    Ascent,
    Correction,
    LargeBatch,
    Ratio,
    both_ways_only,
    finite_sums_only,
    free_only,
    whole_shard_online,
)
from raydream.parameters import Probability
from raydream.problems.protocol import Problem
from raydream.program import Program
from raydream.topology.mixing import Network
from raydream.types import Array


@dataclass
class Diffused:
    """Iterates, gradient estimators, and where the last step led before it was corrected and mixed."""

    Z: Array
    G: Array
    Psi: Array


def diffuse(s: Diffused, agents: Agents, eta: float, gamma: float, estimate: Callable[[Array], Array]) -> Program:
    """One step of exact diffusion: one round, of one array.

    psi+ = z -+ step g,   phi = psi+ + z - psi,   z+ = (phi + W phi)/2
    """
    Psi = agents.descend_ascend(s.Z, s.G, eta, gamma)
    Phi = Psi + s.Z - s.Psi
    heard = yield Phi
    Z = 0.5 * (Phi + heard)
    return Diffused(Z, estimate(Z), Psi)


@dataclass(frozen=True, kw_only=True)
class EDGDA(Method):
    """Exact-Diffusion Gradient Descent Ascent.

        psi+ = (x - gamma eta g_x, y + eta g_y)
        z+ = (I + W)/2 (psi+ + z - psi)

    where g(i) = grad f_i(z(i)) is the full local gradient and psi_0 = z_0. The mean moves by the mean gradient alone,
    since z_bar = psi_bar; and a point that stays is one of agreement at which the mean gradient is 0.

    eta, gamma  ascent step in y, and the ratio of the descent step in x to it

    Cost: n SFO per agent at the start; then n SFO per agent and iteration, and 1 round that carries one array, half
    of what a tracker needs.

    Reference: Yuan, Ying, Zhao, Sayed, "Exact Diffusion for Distributed Optimization and Learning", IEEE Transactions
    on Signal Processing, 2019, applied to descent-ascent.

    Differs from the paper: it has no minimax problem. y cannot be constrained: a projection would break the sum that
    makes it exact.
    """

    eta: Ascent
    gamma: Ratio

    def init(self, agents: Agents) -> Diffused:
        Z = agents.start()
        return Diffused(Z, full(agents, Z), Z)

    def step(self, s: Diffused, agents: Agents, t: int, coin: bool) -> Program:
        return diffuse(s, agents, self.eta, self.gamma, lambda Z: full(agents, Z))

    def mixings(self) -> list[Mixing]:
        return []  # (I + W)/2 has no eigenvalue below 0: no network makes it swing

    def refuse(self, problem: Problem) -> str | None:
        return free_only(problem) or finite_sums_only(problem)

    def refuse_direction(self, balanced: bool) -> str | None:
        return both_ways_only(balanced)


EDGDA.facts = Facts(
    name="ed-gda",
    cases=("offline",),
    constraint="none: refused",
    covered="no",
    arrays="1",
    sfo="n",
    rounds="1",
    no_rate="not stated for minimax problems",
    reference="after Yuan, Ying, Zhao, Sayed, IEEE TSP 2019",
    source="reconstruction, checked by laws",
    colour="#1177FF",
    dash="dash",
    counting=Counting("none"),
)


@dataclass(frozen=True, kw_only=True)
class EDPAGE(Method):
    """Exact diffusion along PAGE estimators.

        psi_{t+1} = (x_t - gamma eta g_x, y_t + eta g_y)
        z_{t+1} = (I + W)/2 (psi_{t+1} + z_t - psi_t)
        g_{t+1} = mean gradient over b' samples at z_{t+1}                            if zeta_t = 1
        g_{t+1} = g_t + mean over b samples of [gradient at z_{t+1} - gradient at z_t]    else

    where psi_0 = z_0, g_0 is a mean over b' samples and zeta_t ~ Bernoulli(p) is one coin for the whole network.

    eta, gamma  ascent step in y, and the ratio of the descent step in x to it
    p           probability of a large batch (default: b / (b + b_large))
    b, b_large  small and large batch; b_large=None is the whole shard

    Cost: b_large SFO per agent at the start; then 1 round that carries one array, and b_large or 2b SFO per agent and
    iteration.

    Reference: Cai, Alghunaim, Sayed, "DAMA: A Unified Accelerated Approach for Decentralized Nonconvex Minimax
    Optimization", 2025: its exact-diffusion form with its loopless estimator.

    Differs from the paper: only the abstract was at hand; the form is exact diffusion as it is known, and PAGE is one
    of the estimators that the paper's unify. y cannot be constrained; without a constraint the paper covers functions
    that are Polyak-Lojasiewicz in y.
    """

    eta: Ascent
    gamma: Ratio
    p: Annotated[Probability | None, "chance of a large batch; empty: b / (b + b_large)"] = None
    b: Correction = 64
    b_large: LargeBatch = None

    def init(self, agents: Agents) -> Diffused:
        Z = agents.start()
        return Diffused(Z, agents.gradient(Z, self.b_large), Z)

    def step(self, s: Diffused, agents: Agents, t: int, coin: bool) -> Program:
        return diffuse(
            s, agents, self.eta, self.gamma,
            lambda Z: page(agents, Z, s.Z, s.G, coin=coin, b=self.b, b_large=self.b_large),
        )  # fmt: skip

    @property
    def coin_probability(self) -> float | None:
        return self.p

    def settled(self, problem: Problem, network: Network) -> "EDPAGE":
        small, large = self.b or problem.samples or 1, self.b_large or problem.samples or 1
        return replace(self, p=small / (small + large) if self.p is None else self.p)

    def mixings(self) -> list[Mixing]:
        return []  # (I + W)/2 has no eigenvalue below 0: no network makes it swing

    def refuse(self, problem: Problem) -> str | None:
        return free_only(problem) or whole_shard_online(problem, b=self.b, b_large=self.b_large)

    def refuse_direction(self, balanced: bool) -> str | None:
        return both_ways_only(balanced)


EDPAGE.facts = Facts(
    name="ed-page",
    cases=("online", "offline"),
    constraint="none: refused",
    covered="no",
    arrays="1",
    sfo="b' (chance p), else 2b",
    rounds="1",
    no_rate="not seen: its abstract has no formula",
    reference="Cai, Alghunaim, Sayed, 2025",
    source="abstract and reconstruction, checked by laws",
    colour="#3344FF",
    spaces={"wide": {"b": (32, 128)}},
    counting=Counting("between"),
)
