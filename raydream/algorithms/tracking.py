"""One iteration of descent-ascent along gradient trackers, in the two orders that papers use."""

from collections.abc import Callable, Mapping
from typing import Any

from raydream.agents import Agents
from raydream.algorithms.state import Tracked
from raydream.program import Program
from raydream.types import Array

Estimate = Callable[[Array], Array]  # the estimators at new points


def combine_then_adapt(s: Tracked, agents: Agents, eta: float, gamma: float, estimate: Estimate) -> Program:
    """Mix first: one round, which carries Z and S.

    x+ = W x - gamma eta u,   y+ = Pi(W y + eta v),   s+ = W s + g+ - g
    """
    WZ, WS = yield s.Z, s.S
    Z = agents.project(agents.descend_ascend(WZ, s.S, eta, gamma))
    G = estimate(Z)
    return Tracked(Z, G, WS + G - s.G)


def adapt_then_combine(s: Tracked, agents: Agents, eta: float, gamma: float, estimate: Estimate) -> Program:
    """Step and project first: two rounds, since s+ needs the gradients at z+.

    x+ = W (x - gamma eta u),   y+ = W Pi(y + eta v),   s+ = W (s + g+ - g)
    """
    Z = yield agents.project(agents.descend_ascend(s.Z, s.S, eta, gamma))
    G = estimate(Z)
    S = yield s.S + G - s.G
    return Tracked(Z, G, S)


FORMS = {"cta": combine_then_adapt, "atc": adapt_then_combine}


def rounds_of_iterates(given: Mapping[str, Any]) -> int:
    """Rounds of an iteration that carry Z and no S, from a method's parameters."""
    return int(given.get("form") == "atc")
