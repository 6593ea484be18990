"""What `raydream compare` compares when it is asked for nothing else: DREAM and the paper's baselines, tuned alike;
and how `tune` looks for parameters when nobody says otherwise.

The parameters are the winners, among 138 configurations of each method and the median of two seeds, of

    raydream tune --topology-set self_weight=0.5 --budget 160000 --search random --trials 60 --seeds 100,101

of which no step lies at an edge of its range.
"""

from typing import Any

TOPOLOGY = ("ring", {"self_weight": 0.5})
MAX_SFO = 160_000  # eighty passes over the built-in data

METHODS: dict[str, dict[str, Any]] = {
    "dream": {"eta": 0.0205, "gamma": 468.0, "b": "theorem", "K": 2, "mixing": "gossip"},
    "dm-hsgd": {"eta": 0.0393, "gamma": 1400.0, "b": 64, "beta": 0.3},
    "gt-da": {"eta": 0.00585, "gamma": 802.0, "R": 2},
    "gt-gda": {"eta": 0.188, "gamma": 277.0, "form": "atc"},
    "gt-srvr": {"eta": 0.00975, "gamma": 1080.0, "b": "sqrt(n)", "form": "atc"},
}

SPACE, SEARCH, TRIALS = "wide", "random", 36  # where `tune` looks, how, and how often
