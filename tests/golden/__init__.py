"""Histories and final arrays of every method, written down once, so that no rearrangement can change a number unseen.

`cd tests && python -m golden.write new` adds the cases that are not written down yet, and leaves the others alone.
`cd tests && python -m golden.write` writes all anew; do that only when a number is meant to change, and say why.
"""

import json
import platform
from pathlib import Path

import numpy as np
import scipy

import raydream as rd
from raydream.constraints import Ball

FILE = Path(__file__).parent / "numbers.json"
SETTINGS = {
    "dream": dict(eta=0.05, gamma=0.3, b=4),
    "gt-da": dict(eta=0.05, gamma=0.3),
    "gt-gda": dict(eta=0.05, gamma=0.3),
    "gt-srvr": dict(eta=0.05, gamma=0.3),
    "dm-hsgd": dict(eta=0.05, gamma=0.3, b=4, b0=16, decay=20.0),
    "dgda-vr": dict(eta=0.05, gamma=0.3, Q=4, b=4),
    "gda": dict(eta=0.05, gamma=0.3),
    "sgda": dict(eta=0.05, gamma=0.3, b=4),
    "dgda": dict(eta=0.05, gamma=0.3),
    "ed-page": dict(eta=0.05, gamma=0.3, b=4),
    "ed-gda": dict(eta=0.05, gamma=0.3),
    "d-adast": dict(eta=0.5, gamma=0.3),
    "d-tiada": dict(eta=0.5, gamma=0.3),
    "d-gdmax": dict(eta=0.05, gamma=0.3, R=3),
    "vrlm": dict(eta=0.05, gamma=0.3, Q=5, b=4),
    "dm-gda": dict(eta=0.05, gamma=0.3, b=4, b0=16),
    "dposg": dict(eta=0.05, gamma=0.3),
    "sreda": dict(eta=0.05, gamma=0.3, R=3, Q=5, b=4),
    "k-gt-minimax": dict(eta=0.05, gamma=0.3, local_steps=3),
    "catalyst-dream": dict(eta=0.05, gamma=0.3, b=4, T=5),
    "sapd-plus": dict(eta=0.05, gamma=0.3, T=5, b=4),
}
THINNED = dict(p=0.3, q=0.5, b=3, b_large=7, K0=3, K=2, K_large=4, momentum="paper")
VARIANTS = {
    "dream thinned, paper's momentum": ("dream", dict(eta=0.05, gamma=0.3, **THINNED)),
    "dream by gossip": ("dream", dict(eta=0.05, gamma=0.3, b=4, K=1, mixing="gossip")),
    "gt-gda atc": ("gt-gda", dict(eta=0.05, gamma=0.3, form="atc")),
    "gt-srvr atc": ("gt-srvr", dict(eta=0.05, gamma=0.3, form="atc", Q=5, b=3)),
}
ONLINE = {
    "dream": dict(eta=0.05, gamma=0.3, b=4, b_large=16),
    "dm-hsgd": dict(eta=0.05, gamma=0.3, b=4, b0=16),
    "dgda-vr": dict(eta=0.05, gamma=0.3, Q=4, b=4, b_large=16),
    "sgda": dict(eta=0.05, gamma=0.3, b=4),
    "dgda": dict(eta=0.05, gamma=0.3, b=4),
    "ed-page": dict(eta=0.05, gamma=0.3, b=4, b_large=16),
    "d-adast": dict(eta=0.5, gamma=0.3, b=4),
    "vrlm": dict(eta=0.05, gamma=0.3, estimator="storm", b=4, b_large=16, l1=0.01),
    "dm-gda": dict(eta=0.05, gamma=0.3, b=4, b0=16),
    "dposg": dict(eta=0.05, gamma=0.3, b=4),
    "sreda": dict(eta=0.05, gamma=0.3, R=3, Q=5, b=4, b_large=16),
    "k-gt-minimax": dict(eta=0.05, gamma=0.3, local_steps=3, b=4),
    "catalyst-dream": dict(eta=0.05, gamma=0.3, b=4, b_large=16, T=5),
    "sapd-plus": dict(eta=0.05, gamma=0.3, T=5, b=4),
}
ITERATIONS = 24


def machine():
    """What bits depend on."""
    features = sorted(np.__config__.show(mode="dicts")["SIMD Extensions"]["found"])
    return {
        "processor": platform.machine(),
        "simd": features,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def problems():
    """A free game, a constrained one with a penalty, the paper's problem, and an online game."""
    features, labels = rd.data.load("synthetic", samples=96, features=6)
    return {
        "free": rd.problems.QuadraticGame.random(4, 12, 3, 2, seed=3),
        "ball": rd.problems.QuadraticGame.random(4, 12, 3, 2, constraint=Ball(0.5), theta=0.1, seed=4),
        "robust": rd.problems.RobustLogisticRegression(features, labels, 4),
        "online": rd.problems.OnlineQuadraticGame.random(4, 3, 2, sigma=0.5, seed=5),
    }


def cases():
    """Every method on every problem that it can solve: name -> (problem, topology, method)."""
    from raydream.algorithms import METHODS
    from raydream.algorithms.parameters import free_only

    found = {}
    network = rd.topology.ring(4, self_weight=0.5)
    for label, problem in problems().items():
        chosen = {name: (name, given) for name, given in (ONLINE if label == "online" else SETTINGS).items()}
        for name, (method, given) in (chosen | ({} if label == "online" else VARIANTS)).items():
            alone = METHODS[method].facts.one_machine
            if free_only(problem) and METHODS[method](**given).refuse(problem) == free_only(problem):
                continue
            here = (problem.pooled(), rd.topology.ring(1)) if alone else (problem, network)
            found[f"{label}: {name}"] = (*here, METHODS[method](**given))
    return found


def run(problem, topology, method, **options):
    """One golden run."""
    return rd.run(
        problem, topology, method, iterations=ITERATIONS, record_every=8, seed=7, diagnostics=True,
        **({"backend": "local", "progress": False} | options),
    )  # fmt: skip


def numbers(result):
    """All of a result that a rearrangement might change."""
    history = result.history.drop(columns=["seconds", "evaluation_seconds"])
    return {
        "history": {name: history[name].tolist() for name in history.columns},
        "x_out": result.x_out.tolist(),
        **{name: array.tolist() for name, array in sorted(result.arrays.items())},
    }


def read():
    """The file."""
    return json.loads(FILE.read_text())
