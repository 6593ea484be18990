"""The powers of kappa, 1/epsilon, N and m in the costs that the papers state, as rows of a table."""

from collections.abc import Iterable
from dataclasses import astuple

from raydream.algorithms.table import COLUMNS, rates, table, why_none
from raydream.theory import Order

HEADS = ("method", COLUMNS["total_sfo"], "κ", "1/ε", "N", "m", COLUMNS["total_rounds"], "κ", "1/ε",
         "constraint in theory", "reference")  # fmt: skip


def rows(case: str) -> Iterable[list[str]]:
    """For each method with a rate for this case: formulas and exponents, what theory covers, and where it stands."""
    facts = {row.name: row for row in table()}
    for name, rate in rates(case).items():
        sfo = [rate.sfo.formula, *_powers(rate.sfo)]
        rounds = [rate.rounds.formula, *_powers(rate.rounds)[:2]]
        yield [name, *sfo, *rounds, facts[name].covered, facts[name].reference]


def remarks(case: str, power: float) -> Iterable[str]:
    """What the table does not show; `power` is what the figures take where one is left open."""
    yield "Exponents of the term that leads as ε → 0, m with N held fixed."
    if leaves_open(case):
        yield f"The powers p and q are not given in the papers; the figures draw both as {power:g}."
    if silent := [name for name, rate in rates(case).items() if rate.sfo.epsilon_alone]:
        yield f"Of {', '.join(silent)} the power of ε alone is stated; the figures draw no other, whatever they are."
    absent: dict[str, list[str]] = {}
    for row in table():
        if why := why_none(row.name, case):
            absent.setdefault(why, []).append(row.name)
    yield "Not shown: " + "; ".join(f"{', '.join(names)} ({why})" for why, names in absent.items()) + "."


def leaves_open(case: str) -> bool:
    """Whether a paper writes a letter for the power of kappa."""
    return any(isinstance(rate.sfo.leading.kappa, str) for rate in rates(case).values())


def _powers(order: Order) -> list[str]:
    """The exponents of kappa, 1/epsilon, N and m, as the table shows them."""
    if not order.terms:
        return ["–"] * 4
    kappa, epsilon, N, m = (_fraction(power) for power in astuple(order.leading))
    return ["not stated", epsilon, "not stated", "not stated"] if order.epsilon_alone else [kappa, epsilon, N, m]


def _fraction(power: float | str) -> str:
    return power if isinstance(power, str) else {0.5: "½"}.get(power, f"{power:g}")
