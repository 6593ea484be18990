"""Theory as a guide: the slope that a method's paper states, laid through what was measured, and the two in words."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from raydream.algorithms.table import facts_named
from raydream.columns import column
from raydream.report.collect import Run
from raydream.report.figures.bands import recorded
from raydream.report.figures.convergence_lines import curve_of
from raydream.report.figures.promise import AXES, METRIC, Promise
from raydream.theory.rates import CASES, Order
from raydream.types import Array

SPENT = {"sfo": "sfo", "sfo_paper": "sfo", "rounds": "rounds", "rounds_paper": "rounds"}  # of what papers state orders
FEWEST = 4  # improvements from which an exponent is measured
LEAST = 2.0  # times that the gradient must have fallen meanwhile
_RAISED = str.maketrans("-.0123456789", "⁻·⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Guide:
    """A slope of theory beside a curve: from where to where, and what is said of it."""

    label: str
    x: tuple[float, float]
    y: tuple[float, float]
    said: str


def guide(label: str, group: list[Run], x: str, promise: Promise | None = None) -> Guide | None:
    """The slope through the last improvement of the method's median; None where its paper states none for this axis.

    promise  the theorem's own line, where it is known: how far above the measurement it lies is said as well
    """
    order = order_of(group[0], x)
    having = [run for run in group if recorded(run.columns, x) and METRIC in run.columns]
    if order is None or not order.terms or not having:
        return None
    power = order.leading.inverse_epsilon
    costs, norms = improvements(*curve_of(having, x, METRIC)[:2])
    if not power or len(costs) < 2 or norms[0] <= norms[-1]:
        return None
    said = f"{label}: its paper has {order.formula}, {column(x).short} that grow like ε{_raised(-power)}"
    measured = exponent(costs, norms)
    said += "; too little is seen to measure an exponent" if measured is None else f"; measured ε{_raised(-measured)}"
    end = float(costs[-1]), float(norms[-1])
    said += _gap(group[0], promise, x, *end)
    first = max(float(costs[0]), end[0] * float(norms[-1] / norms[0]) ** power)  # no further than the curve goes
    return Guide(label, (first, end[0]), (end[1] * (end[0] / first) ** (1 / power), end[1]), f"{said}.")


def order_of(run: Run, x: str) -> Order | None:
    """How a cost grows, as the method's paper states it for the run's case."""
    facts = facts_named(run.method)
    if facts is None or x not in SPENT:
        return None
    offline, online = CASES
    samples = (run.config.get("problem") or {}).get("samples")
    rate = facts.rates.get(online if samples is None else offline)
    return None if rate is None else rate.sfo if SPENT[x] == "sfo" else rate.rounds


def improvements(costs: Array, norms: Array) -> tuple[Array, Array]:
    """The places where a curve is lower than ever before, and something was spent."""
    sound = np.isfinite(costs) & np.isfinite(norms) & (costs > 0) & (norms > 0)
    costs, norms = costs[sound], norms[sound]
    if not len(norms):
        return costs, norms
    better = np.concatenate([[True], norms[1:] < np.minimum.accumulate(norms)[:-1]])
    return costs[better], norms[better]


def exponent(costs: Array, norms: Array) -> float | None:
    """k in cost ~ (1/epsilon)^k, by least squares over the later half of the fall; None where too little is seen."""
    late = np.log(norms) <= (math.log(norms[0]) + math.log(norms[-1])) / 2
    costs, norms = costs[late], norms[late]
    if len(costs) < FEWEST or norms[0] / norms[-1] < LEAST:
        return None
    return float(np.polyfit(-np.log(norms), np.log(costs), 1)[0])


def _gap(run: Run, promise: Promise | None, x: str, cost: float, norm: float) -> str:
    """How many times more the theorem allows than was spent to get there."""
    if promise is None or run.method != "dream" or x not in promise["costs"] or x not in AXES:
        return ""
    values = np.array(promise["values"])
    allowed = math.exp(float(np.interp(-math.log(norm), -np.log(values), np.log(promise["costs"][x]))))
    return f"; the theorem's bound at ‖∇P‖ = {norm:.3g} is {allowed / cost:.2g} times what was spent"


def _raised(power: float) -> str:
    return f"{power:.2g}".translate(_RAISED)


def guides(groups: dict[str, list[Run]], axes: Any, promise: Promise | None) -> dict[str, list[dict[str, Any]]]:
    """For each axis the guides of all methods that have one, as a page takes them."""
    found = {x: [one for label, group in groups.items() if (one := guide(label, group, x, promise))] for x in axes}
    return {x: [vars(one) for one in several] for x, several in found.items() if several}
