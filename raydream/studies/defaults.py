"""What `raydream compare` compares when it is asked for nothing else: DREAM and the paper's baselines, tuned alike;
and how `tune` looks for parameters when nobody says otherwise.

The parameters are the winners, among all 504 configurations of the "wide" grids, of

    raydream tune --topology-set self_weight=0.5 --budget 160000 --search grid
"""

from typing import Any

STEPS = {"eta": 0.1, "gamma": 1.0}  # of a method that nothing is known of
TOPOLOGY = ("ring", {"self_weight": 0.5})
MAX_SFO = 160_000  # eighty passes over the built-in data

METHODS: dict[str, dict[str, Any]] = {
    "dream": {"eta": 1.0, "gamma": 30.0, "b": 64, "K": 2},
    "dm-hsgd": {"eta": 1.0, "gamma": 10.0, "b": 64, "beta": 0.1},
    "gt-da": {"eta": 0.3, "gamma": 30.0},
    "gt-gda": {"eta": 0.3, "gamma": 30.0},
    "gt-srvr": {"eta": 0.3, "gamma": 30.0, "b": 64},
}

SPACE, SEARCH, TRIALS = "wide", "random", 36  # where `tune` looks, how, and how often
