"""A run that is about to begin, written down as a `RunRecord`."""

import contextlib
import platform
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

import raydream
from raydream.algorithms import METHODS
from raydream.algorithms.method import Method, kind_of, parameters_of
from raydream.backends.plan import Plan
from raydream.backends.protocol import Backend
from raydream.problems.completed import Completed, dtype_of
from raydream.problems.dealt import DealtRows
from raydream.problems.protocol import Constants, Problem, unequal_sizes
from raydream.specs import Spec
from raydream.storage.record import Entries, MethodRecord, ProblemRecord, RunRecord, TopologyRecord
from raydream.storage.settings import Settings
from raydream.theory import dream_parameters, starting_gap
from raydream.topology import Topology

MOST_ENTRIES = 50_000  # larger mixing matrices are not written into run.json
MOST_WORK = 2e8  # products, about a tenth of a second: constants that take longer are for those who ask for them
_ASKED: WeakKeyDictionary[Any, Constants] = WeakKeyDictionary()


def describe(plan: Plan, settings: Settings, backend: Backend) -> RunRecord:
    """Everything needed to run it again; the run has not begun."""
    import scipy

    return RunRecord(
        problem=described_problem(plan.problem, plan.problem_spec),
        topology=described_topology(plan.topology, plan.topology_spec),
        method=described_method(plan.method),
        seed=plan.seed,
        settings=settings,
        backend=backend.describe(),
        asked=plan.asked,
        constants=theorem_constants(plan),
        own_start=plan.own_start,
        conditions=plan.conditions,
        raydream=raydream.__version__,
        versions={"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__},
    )


def name_of(kind: type[Any]) -> str:
    """What a class of methods is called on the command line; its own name where it is not this package's."""
    return METHODS.name_of(kind) or kind.__name__


def described_method(method: Method) -> MethodRecord:
    """A method's name and parameters."""
    return MethodRecord(name_of(kind_of(method)), parameters_of(method))


def described_problem(problem: Problem, spec: Spec | None) -> ProblemRecord:
    """What is known of a problem, and how it was named."""
    return ProblemRecord(
        name=type(_given(problem)).__name__,
        agents=problem.agents,
        samples=problem.samples,
        dim_x=problem.dim_x,
        dim_y=problem.dim_y,
        constraint=repr(problem.constraint),
        spec=spec,
        dtype=str(dtype_of(problem)),
        sizes=unequal_sizes(problem),
        cut=int(given.cut.size) if isinstance(given := _given(problem), DealtRows) else 0,
    )


def described_topology(network: Topology, spec: Spec | None) -> TopologyRecord:
    """What is known of a network, and how it was named."""
    return TopologyRecord(network.name, network.m, network.second_eigenvalue, spec, _entries(network))


def _entries(topology: Topology) -> Entries | None:
    """The mixing matrix in CSR form, if it is not too large."""
    W = topology.W
    if W.nnz > MOST_ENTRIES:
        return None
    return {"indptr": W.indptr.tolist(), "indices": W.indices.tolist(), "data": W.data.tolist()}


def _given(problem: Any) -> Any:
    """The problem as it was given: one that is completed is so anew for every run."""
    return problem.problem if isinstance(problem, Completed) else problem


def theorem_constants(plan: Plan) -> dict[str, float] | None:
    """L, mu, psi0, and n or sigma, as `dream_parameters` takes them; None where the problem does not know them.

    A report shows with them what the theorem promises. The run itself needs none of them, and goes on whatever
    becomes of the question. A problem whose `constants_work` says that they take long is not asked.
    """
    problem, topology = plan.problem, plan.topology
    with contextlib.suppress(Exception), np.errstate(all="ignore"):
        if not (hasattr(problem, "constants") and hasattr(problem, "primal_bound")):
            return None
        if getattr(problem, "constants_work", 0.0) > MOST_WORK:
            return None
        known = _constants(problem)
        found: dict[str, Any] = {
            "L": float(known.L),
            "mu": float(known.mu),
            "psi0": starting_gap(problem, plan.start),
        }
        if problem.samples is not None:
            found["n"] = int(problem.samples)
        else:
            found["sigma"] = float(known.sigma or 0.0)  # an online problem without it is refused below
        dream_parameters(epsilon=1.0, m=topology.m, delta=topology.spectral_gap, **found)  # else they are of no use
        return found
    return None


def _constants(problem: Any) -> Constants:
    """problem.constants(), asked once: those of a large problem take longer than a short run."""
    asked = _given(problem)
    try:
        if asked not in _ASKED:
            _ASKED[asked] = asked.constants()
        return _ASKED[asked]
    except TypeError:  # a problem that cannot be a key
        found: Constants = asked.constants()
        return found
