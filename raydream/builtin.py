"""What `raydream compare` compares when it is asked for nothing else: DREAM and the paper's baselines, tuned alike.

The parameters are the winners, 60 configurations each, of

    raydream tune --methods dream,dm-hsgd,gt-da,gt-gda,gt-srvr --topology-set self_weight=0.5 \\
        --budget 160000 --axis sfo --space wide --search random --trials 60
"""

from typing import Any

TOPOLOGY = ("ring", {"self_weight": 0.5})
MAX_SFO = 160_000  # eighty passes over the built-in data
TARGET = 0.5  # of P, for the table of what it took

METHODS: dict[str, dict[str, Any]] = {
    "dream": {"eta": 3.0, "gamma": 10.0, "b": 256, "K": 5},
    "dm-hsgd": {"eta": 1.0, "gamma": 10.0, "b": 64, "beta": 0.1},
    "gt-da": {"eta": 0.3, "gamma": 10.0},
    "gt-gda": {"eta": 0.3, "gamma": 10.0},
    "gt-srvr": {"eta": 0.3, "gamma": 10.0, "b": 64},
}
