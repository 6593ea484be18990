"""How the costs of reaching epsilon grow, as papers state it: numbers, and the formulas that are printed from them."""

from dataclasses import dataclass
from typing import Literal, get_args

Case = Literal["offline", "online"]  # finite sums, or fresh samples
CASES: tuple[Case, ...] = get_args(Case)

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


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

    @property
    def formula(self) -> str:
        """As papers write it: √(mN) κ^p ε⁻²."""
        both = self.m == self.N == 0.5
        samples = ["√(mN)"] if both else [_raised("m", self.m), _raised("N", self.N)]
        factors = [*samples, _raised("κ", self.kappa), _raised("ε", -self.inverse_epsilon)]
        return " ".join(filter(None, factors)) or "1"


@dataclass(frozen=True)
class Order:
    """A sum of terms, up to constants and perhaps logarithms.

    terms       none where nothing is paid: one machine needs no rounds
    logarithms  whether factors that are logarithms are left out as well
    """

    terms: tuple[Term, ...] = ()
    logarithms: bool = False

    def at(self, *, kappa: float, epsilon: float, m: float, N: float = float("inf"), open_power: float = 2) -> float:
        """Its value. Online N is infinite, as in the DREAM paper: no formula for that case asks for it."""
        return sum(term.at(kappa=kappa, epsilon=epsilon, m=m, N=N, open_power=open_power) for term in self.terms)

    @property
    def formula(self) -> str:
        """As papers write it: O(N + √N κ² ε⁻²), Õ(κ² ε⁻²), or 0."""
        if not self.terms:
            return "0"
        return f"{'Õ' if self.logarithms else 'O'}({' + '.join(term.formula for term in self.terms)})"

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


def _raised(letter: str, power: float | str) -> str:
    """A letter to a power: nothing for the power 0, a root for one half."""
    if isinstance(power, str):
        return f"{letter}^{power}"
    if power == int(power):
        return {0: "", 1: letter}.get(int(power), letter + str(int(power)).translate(_RAISED))
    return f"√{letter}" if power == 0.5 else f"{letter}^{power:g}"
