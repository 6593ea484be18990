"""What is run and compared where nothing else is asked for: the network, the methods, how far; and how `tune` looks.

The methods' parameters stand in raydream/steps.
"""

from typing import Any

TOPOLOGY = ("ring", {"self_weight": 0.5})
METHODS = ("dream", "dm-hsgd", "gt-da", "gt-gda", "gt-srvr")  # DREAM and the paper's baselines
MAX_SFO, PASSES = 160_000, 20  # eighty passes over the built-in data, and no fewer than these over larger ones

SPACE, SEARCH, TRIALS = "wide", "random", 36  # where `tune` looks, how, and how often


def max_sfo(problem: Any) -> int:
    """How far a comparison goes."""
    samples = getattr(problem, "samples", None)
    return MAX_SFO if samples is None else max(MAX_SFO, PASSES * samples * problem.agents)
