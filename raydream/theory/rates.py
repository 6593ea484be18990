"""How the costs of reaching epsilon grow, as the papers state it: the formulas of the table of methods, as numbers."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from raydream.algorithms import METHODS

CASES = ("offline", "online")

# For which case each paper states its rate; a method without one says why in the place of the formula.
STATED = {
    "dream": CASES,
    "gt-da": ("offline",),
    "gt-gda": ("offline",),
    "gt-srvr": ("offline",),
    "gda": ("offline",),
    "dm-hsgd": ("online",),
    "dgda-vr": ("online",),
    "sgda": ("online",),
}

_SUM = re.compile(r"[OÕ]\((?P<terms>.+)\)")
_FACTOR = re.compile(r"(?P<root>√?)\(?(?P<letters>[κεNm]+)\)?(?P<power>[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+|\^[a-z])?")
_DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


@dataclass(frozen=True)
class Term:
    """kappa^a (1/epsilon)^b N^c m^d, without a constant.

    kappa  the power a, or the letter that a paper writes where it does not say the power
    """

    kappa: float | str = 0
    inverse_epsilon: float = 0
    N: float = 0
    m: float = 0

    def at(self, *, kappa: float, epsilon: float, m: float, N: float, open_power: float) -> float:
        """Its value; `open_power` stands in where the paper leaves the power of kappa open."""
        power = open_power if isinstance(self.kappa, str) else self.kappa
        return float(kappa**power * epsilon**-self.inverse_epsilon * N**self.N * m**self.m)


@dataclass(frozen=True)
class Order:
    """A sum of terms, up to constants and logarithms.

    formula  as the table of methods prints it
    terms    none where nothing is paid: one machine needs no rounds
    """

    formula: str
    terms: tuple[Term, ...]

    def at(self, *, kappa: float, epsilon: float, m: float, N: float = float("inf"), open_power: float = 2) -> float:
        """Its value. Online N is infinite, as in the DREAM paper: no formula for that case asks for it."""
        return sum(term.at(kappa=kappa, epsilon=epsilon, m=m, N=N, open_power=open_power) for term in self.terms)

    @property
    def leading(self) -> Term:
        """The term that outgrows the others as epsilon goes to 0."""
        return max(self.terms, key=lambda term: term.inverse_epsilon, default=Term())

    @property
    def epsilon_alone(self) -> bool:
        """Whether the paper states the power of epsilon and is silent on the others."""
        return bool(self.terms) and all(term == Term(inverse_epsilon=term.inverse_epsilon) for term in self.terms)


@dataclass(frozen=True)
class Rate:
    """What a method costs to reach ||grad P|| <= epsilon: SFO calls of all agents, and rounds."""

    sfo: Order
    rounds: Order


@cache
def rates(case: str) -> dict[str, Rate]:
    """The stated rates for the offline or the online case, by method, in the order of `METHODS`."""
    return {
        name: Rate(parse(_of(kind.facts.total_sfo, case)), parse(_of(kind.facts.total_rounds, case)))
        for name, kind in METHODS.items()
        if case in STATED.get(name, ())
    }


def why_none(method: str, case: str) -> str | None:
    """Why a method has no rate for this case, in words; None if it has one."""
    stated = STATED.get(method)
    if stated is None:
        return str(METHODS[method].facts.total_sfo)
    return None if case in stated else f"rate stated for the {' and '.join(stated)} case only"


def parse(formula: str) -> Order:
    """A formula of the table of methods, such as O(N + √(mN) κ^p ε⁻²), as a sum of terms."""
    if formula == "0":
        return Order(formula, ())
    found = _SUM.fullmatch(formula)
    if found is None:
        raise ValueError(f"`formula` must look like 'O(N + √N κ² ε⁻²)'; got {formula!r}.")
    return Order(formula, tuple(_term(words) for words in found["terms"].split(" + ")))


def _of(formulas: str, case: str) -> str:
    """Of 'A offline, B online' the one for this case; a formula without a case holds for every one."""
    for formula in formulas.split(", "):
        said, _, word = formula.rpartition(" ")
        if word == case:
            return said
    return formulas


def _term(words: str) -> Term:
    powers: dict[str, Any] = {}
    for word in words.split():
        factor = _FACTOR.fullmatch(word)
        if factor is None:
            raise ValueError(f"`formula` must be made of powers of κ, ε, N and m; got {word!r}.")
        power = _power(factor["power"] or "¹", 0.5 if factor["root"] else 1)
        for letter in factor["letters"]:
            powers[letter] = power
    epsilon = powers.pop("ε", 0)
    return Term(kappa=powers.pop("κ", 0), inverse_epsilon=-epsilon, **powers)


def _power(written: str, of: float) -> Any:
    """What stands raised: digits, or after ^ a letter that stays one."""
    return written[1:] if written.startswith("^") else int(written.translate(_DIGITS)) * of
