"""Networks as they are: what gradients and frames take, what is lost, what of it travels, what changes by the round."""

from raydream.conditions.codes import QSGD, Float16, Float32, Random, SharedRandom, Sign, Top
from raydream.conditions.conditions import Conditions
from raydream.conditions.distributions import Bursts, Exponential, LogNormal, Uniform

__all__ = [
    "QSGD",
    "Bursts",
    "Conditions",
    "Exponential",
    "Float16",
    "Float32",
    "LogNormal",
    "Random",
    "SharedRandom",
    "Sign",
    "Top",
    "Uniform",
]
