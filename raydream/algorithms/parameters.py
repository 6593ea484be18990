"""The hyper-parameters that methods share, each with its rule and its meaning, and the refusals that they share."""

from math import isqrt
from typing import Annotated, Any

from raydream.algorithms.tracking import FORMS
from raydream.constraints import Everything
from raydream.parameters import Count, Positive, Probability, one_of
from raydream.problems.protocol import Problem
from raydream.topology.mixing import METHODS as MIXINGS
from raydream.topology.mixing import MOMENTA

ROOT = "sqrt(n)"  # a batch of that size, until the problem is known
THEOREM = "theorem"  # a batch of the size that DREAM's theorem has

Ascent = Annotated[Positive, "ascent step in y"]
Ratio = Annotated[Positive, "the descent step in x is gamma eta"]
Batch = Annotated[Count | None, "samples of a batch; empty: all of an agent's"]
Correction = Annotated[Count | None, "samples of a correction"]
LargeBatch = Annotated[Count | None, "samples of a large batch; empty: all of an agent's"]
Share = Annotated[Probability, "share of the way that the iterates go"]
ProximalWeight = Annotated[Positive, "weight of a term that draws x to its anchor"]
StageLength = Annotated[Count, "iterations between two moves of the anchor"]
Root = Annotated[str, one_of((ROOT,))]
Theorem = Annotated[str, one_of((THEOREM,))]
Form = Annotated[str, one_of(FORMS), "combine, then adapt (one exchange for both arrays), or adapt, then combine (two)"]
MultiplierStep = Annotated[Positive, "step of the multiplier that brings the agents' y together"]
MixingKind = Annotated[str, one_of(MIXINGS), "FastMix, plain gossip, or push-sum, where links have a direction"]
SymmetricMixing = Annotated[str, one_of(MIXINGS[:2]), "FastMix, or plain gossip"]
Momentum = Annotated[str, one_of(MOMENTA), "of FastMix: the classical optimum, or as the paper prints it"]

BATCHES = (64, 128, 256, 512)  # that the DREAM paper's experiments try


def root(n: int | None) -> int:
    """sqrt(n) rounded up; 1 where there is no n."""
    return isqrt((n or 1) - 1) + 1


def whole_shard_online(problem: Problem, **batches: Any) -> str | None:
    """Why a method that asks for a whole shard cannot have it from an online problem."""
    missing = " and ".join(f"`{name}`" for name, size in batches.items() if size is None)
    if problem.samples is None and missing:
        return f"an online problem has no whole shard: give {missing} as a number."
    return None


def finite_sums_only(problem: Problem) -> str | None:
    """Why a method that goes through whole shards again and again cannot solve an online problem."""
    if problem.samples is None:
        return "it needs whole shards, and an online problem has none; use DREAM, DMHSGD or DGDAVR."
    return None


def one_machine_only(problem: Problem) -> str | None:
    """Why a method without communication cannot solve a problem of several agents."""
    if problem.agents > 1:
        return (
            f"it runs on one machine, and the problem has {problem.agents} agents; "
            "give it `problem.pooled()` and a topology of one agent, such as ring(1)."
        )
    return None


def both_ways_only(balanced: bool) -> str | None:
    """Why a method that rests on W = W' cannot run where links have a direction."""
    return "its theory rests on a symmetric W, and the links have a direction; use GTGDA, or DREAM by gossip."


def free_only(problem: Problem) -> str | None:
    """Why a method that cannot project cannot solve a problem with a constraint on y."""
    if not isinstance(problem.constraint, Everything):
        return "its form allows no constraint on y, and the problem has one; use DREAM or GTGDA."
    return None
