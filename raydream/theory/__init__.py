"""Theory: what DREAM's theorem prescribes and predicts, and how costs grow as papers state it."""

from raydream.theory.rates import CASES, Case, Order, Rate, Term
from raydream.theory.theorem import ALPHA, C1, C2, DreamParameters, dream_parameters, parameters_for, starting_gap

__all__ = [
    "ALPHA", "C1", "C2", "CASES", "Case", "DreamParameters", "Order", "Rate", "Term", "dream_parameters",
    "parameters_for", "starting_gap",
]  # fmt: skip
