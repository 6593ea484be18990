"""The hyper-parameters that methods share, checked in one place, and the refusals that they share."""

from collections.abc import Callable
from dataclasses import fields
from math import isqrt
from typing import Any

from raydream.algorithms.tracking import FORMS
from raydream.checks import choice, positive, probability, whole
from raydream.problems.protocol import Problem
from raydream.topology.mixing import METHODS as MIXINGS
from raydream.topology.mixing import MOMENTA

ROOT = "sqrt(n)"  # a batch of that size, until the problem is known

RULES: dict[str, Callable[[Any], Any]] = {
    "eta": lambda value: positive("eta", value),
    "gamma": lambda value: positive("gamma", value),
    "p": lambda value: probability("p", value),
    "q": lambda value: probability("q", value),
    "beta": lambda value: probability("beta", value),
    "decay": lambda value: positive("decay", value),
    "b": lambda value: whole("b", value, 1),
    "b0": lambda value: whole("b0", value, 1),
    "b_large": lambda value: whole("b_large", value, 1),
    "Q": lambda value: whole("Q", value, 1),
    "R": lambda value: whole("R", value, 1),
    "K0": lambda value: whole("K0", value),
    "K": lambda value: whole("K", value),
    "K_large": lambda value: whole("K_large", value),
    "form": lambda value: choice("form", value, FORMS),
    "mixing": lambda value: choice("mixing", value, MIXINGS),
    "momentum": lambda value: choice("momentum", value, MOMENTA),
}


def check_parameters(method: Any) -> None:
    """Refuse a wrong value by name; None and "sqrt(n)" pass where the field allows them, and are settled later."""
    for field in fields(method):
        value, allowed = getattr(method, field.name), str(field.type)
        settled_later = (value is None and "None" in allowed) or (value == ROOT and "str" in allowed)
        if field.name in RULES and not settled_later:
            RULES[field.name](value)


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
