"""A run described as plain data: what `run.json` holds."""

import platform
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np

import raydream
from raydream.algorithms import METHODS
from raydream.backends import Plan


def describe(plan: Plan) -> dict[str, Any]:
    """Everything needed to run it again, as plain data."""
    import scipy

    problem, topology, method = plan.problem, plan.topology, plan.method
    names = {kind: name for name, kind in METHODS.items()}
    return {
        "raydream": raydream.__version__,
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__},
        "problem": {
            "name": type(getattr(problem, "problem", problem)).__name__,
            "agents": problem.agents,
            "samples": problem.samples,
            "dim_x": problem.dim_x,
            "dim_y": problem.dim_y,
            "constraint": repr(problem.constraint),
            "spec": getattr(problem, "spec", None),
        },
        "topology": {
            "name": topology.name,
            "m": topology.m,
            "second_eigenvalue": topology.second_eigenvalue,
            "spec": getattr(topology, "spec", None),
        },
        "method": {
            "name": names.get(type(method), type(method).__name__),
            "parameters": asdict(method) if is_dataclass(method) and not isinstance(method, type) else {},
        },
        "seed": plan.seed,
    }
