"""Where methods meet: problems of the library in which agents differ, and networks on which mixing is quick or slow."""

from functools import cache
from typing import Any

import raydream as rd

AGENTS, SAMPLES = 8, 256
# Shares of the norm of P's gradient at the start, which exact descent reaches in some tens to hundreds of steps.
TARGETS = {
    "quadratic": 0.01,
    "pl-game": 0.01,
    "policy-evaluation": 0.01,
    "auc": 0.1,
    "group-dro": 0.03,
    "robust-logistic": 0.05,
}
PROBLEMS = tuple(TARGETS)
NETWORKS = ("ring", "erdos-renyi", "exponential")
PRICES = {  # in seconds: a gradient of one sample, a message, a byte on a link
    "data centre": (1e-4, 1e-4, 1e-9),
    "cloud regions": (1e-4, 5e-2, 1e-7),
    "phones": (1e-3, 1e-1, 1e-5),
}
ON_ROWS = {
    "auc": rd.problems.AUC,
    "group-dro": rd.problems.GroupDRO,
    "robust-logistic": rd.problems.RobustLogisticRegression,
}


@cache
def problem_of(name: str, samples: int, agents: int = AGENTS) -> Any:
    """A problem of agents with as many samples each; rows of data are dealt sorted along their widest direction."""
    if agents == 1:
        return problem_of(name, samples).pooled()
    if name == "quadratic":
        ball = rd.constraints.Ball(1.0)
        return rd.problems.QuadraticGame.random(agents, samples, 8, 6, spread=2.0, constraint=ball, seed=7)
    if name == "pl-game":
        return rd.problems.PLGame.random(agents, samples, 8, 6, seed=7)
    if name == "policy-evaluation":
        return rd.problems.PolicyEvaluation.random(agents, samples, states=20, features=6, rho=0.1, seed=7)
    rows = rd.data.synthetic(agents * samples, 20, density=0.5, seed=7)
    return ON_ROWS[name](rd.data.shards(rows, agents=agents, by="features", cut=True))


@cache
def network_of(name: str) -> Any:
    """Eight agents in a ring, in a random graph, or each linked to those 1, 2 and 4 places on; or one alone."""
    if name == "alone":
        return rd.topology.ring(1)
    if name == "erdos-renyi":
        return rd.topology.erdos_renyi(AGENTS, 0.4, seed=3)
    return {"ring": rd.topology.ring, "exponential": rd.topology.exponential, "complete": rd.topology.complete}[name](
        AGENTS
    )
