"""The hyper-parameters that methods share, checked in one place."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from raydream.checks import choice, positive, probability, whole
from raydream.mixing import METHODS as MIXINGS
from raydream.mixing import MOMENTA
from raydream.problems.protocol import Problem

RULES: dict[str, Callable[[Any], Any]] = {
    "eta": lambda value: positive("eta", value),
    "gamma": lambda value: positive("gamma", value),
    "p": lambda value: probability("p", value),
    "q": lambda value: probability("q", value),
    "b": lambda value: whole("b", value, 1),
    "b_large": lambda value: whole("b_large", value, 1),
    "K0": lambda value: whole("K0", value),
    "K": lambda value: whole("K", value),
    "K_large": lambda value: whole("K_large", value),
    "mixing": lambda value: choice("mixing", value, MIXINGS),
    "momentum": lambda value: choice("momentum", value, MOMENTA),
}


def check_parameters(method: Any) -> None:
    """Refuse a wrong value by name; None stands for a default that is settled later, where the field allows it."""
    for field in fields(method):
        value = getattr(method, field.name)
        if field.name in RULES and not (value is None and "None" in str(field.type)):
            RULES[field.name](value)


def whole_shard_online(problem: Problem, *batches: int | None) -> str | None:
    """Why a method that asks for a whole shard cannot have it from an online problem."""
    if problem.samples is None and None in batches:
        return "an online problem has no whole shard: give `b` and `b_large` as numbers."
    return None
