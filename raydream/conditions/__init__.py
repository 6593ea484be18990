"""Networks as they are: what gradients and messages cost in time, what is lost, the same draws wherever agents live."""

from raydream.conditions.conditions import Conditions
from raydream.conditions.distributions import Bursts, Exponential, LogNormal, Uniform

__all__ = ["Bursts", "Conditions", "Exponential", "LogNormal", "Uniform"]
