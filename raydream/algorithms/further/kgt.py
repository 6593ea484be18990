"""K-GT-Minimax: several local steps between two rounds, corrected so that agents do not drift apart."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from raydream.agents import Agents
from raydream.algorithms.facts import Counting, Facts
from raydream.algorithms.method import Method
from raydream.algorithms.parameters import Ascent, Batch, Ratio, Share, whole_shard_online
from raydream.parameters import Count
from raydream.problems.protocol import Problem
from raydream.program import Program
from raydream.types import Array


@dataclass
class Corrected:
    """Iterates, and what each agent adds to its own gradients to step as the whole network would."""

    Z: Array
    C: Array


@dataclass(frozen=True, kw_only=True)
class KGTMinimax(Method):
    """Gradient tracking with local steps.

        local_steps times, from z:   d_k = g_k + c,   z <- Pi(z -+ step d_k)
        z+ = W (z + alpha (the last local point - z))
        c+ = c + W d - d,   d = mean of the d_k

    where -+ step is down by gamma eta in x and up by eta in y, g_k(i) is agent i's own gradient at its k-th local
    point, full or over b samples, and c_0 = W g_0 - g_0. The corrections c have mean 0 at all times; at a point that
    stays, all d are alike, and they are the mean gradient. With one local step g + c is a tracker.

    eta, gamma  ascent step in y, and the ratio of the descent step in x to it
    local_steps  steps between two rounds (K in the paper)
    alpha       share of the way that the iterates go (the paper's step of the server)
    b           batch of a local step; None is the whole shard

    Cost: 1 round and n or b SFO per agent at the start; then 1 round, which carries Z and D, and n or b SFO times
    local_steps per agent and iteration.

    Reference: Li, "Fast Decentralized Gradient Tracking for Federated Minimax Optimization with Local Updates", 2024.

    Differs from the paper: only the abstract was at hand; the update is K-GT (Liu, Lin, Koloskova, Stich, 2023) as it
    is known, with ascent in y. y may be constrained, and its local steps are then projected: no theory covers it. The
    abstract states O(kappa^3 e^-2) rounds, and no number of gradients.
    """

    eta: Ascent
    gamma: Ratio
    local_steps: Annotated[Count, "local steps between two rounds"] = 5
    alpha: Share = 1.0
    b: Batch = None

    def init(self, agents: Agents) -> Program:
        Z = agents.start()
        G = agents.gradient(Z, self.b)
        heard = yield G
        return Corrected(Z, heard - G)

    def step(self, s: Corrected, agents: Agents, t: int, coin: bool) -> Program:
        local, total = s.Z, np.zeros_like(s.Z)
        for _ in range(self.local_steps):
            D = agents.gradient(local, self.b) + s.C
            local = agents.project(agents.descend_ascend(local, D, self.eta, self.gamma))
            total += D
        mean = total / self.local_steps
        Z, heard = yield s.Z + self.alpha * (local - s.Z), mean
        return Corrected(Z, s.C + heard - mean)

    def refuse(self, problem: Problem) -> str | None:
        return whole_shard_online(problem, b=self.b)


KGTMinimax.facts = Facts(
    name="k-gt-minimax",
    cases=("online", "offline"),
    constraint="project at every local step, then mix",
    covered="no",
    arrays="2",
    sfo="n or b, times local_steps",
    rounds="1",
    no_rate="its abstract states O(κ³ ε⁻²) rounds alone",
    reference="Li, 2024",
    source="abstract and reconstruction, checked by laws",
    colour="#9933BB",
    spaces={"wide": {"local_steps": (2, 5, 20), "b": (None, 64)}},
    counting=Counting("none"),
)
