"""raydream: decentralized nonconvex-strongly-concave minimax optimisation in which every agent is a Ray actor.

Names are looked up when first used, so that `import raydream` is quick and starts nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_MODULES = ("algorithms", "constraints", "data", "errors", "problems", "theory", "topology")
_NAMES = {
    **dict.fromkeys(
        ("DGDA", "DGDAVR", "DMHSGD", "DREAM", "GDA", "GTDA", "GTGDA", "GTSRVR", "SGDA"), "raydream.algorithms"
    ),
    "Comparison": "raydream.studies.comparison",
    "mixing": "raydream.topology",
    "LocalBackend": "raydream.backends.local",
    "RayBackend": "raydream.backends.ray",
    "Result": "raydream.storage.result",
    "Tuning": "raydream.studies.tune",
    "compare": "raydream.studies.compare",
    "load": "raydream.storage.result",
    "resume": "raydream.running.run",
    "run": "raydream.running.run",
    "tune": "raydream.studies.tune",
}

__all__ = sorted([*_MODULES, *_NAMES])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"raydream.{name}")
    if name in _NAMES:
        return getattr(import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'raydream' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
