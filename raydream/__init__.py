"""raydream: decentralized nonconvex-strongly-concave minimax optimisation in which every agent is a Ray actor.

Names are looked up when first used, so that `import raydream` is quick and starts nothing; type checkers and editors
see them all the same.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from raydream import algorithms as algorithms
    from raydream import conditions as conditions
    from raydream import constraints as constraints
    from raydream import data as data
    from raydream import errors as errors
    from raydream import problems as problems
    from raydream import theory as theory
    from raydream import topology as topology
    from raydream.algorithms import *  # noqa: F403  every method
    from raydream.algorithms.facts import Range as Range
    from raydream.backends.local import LocalBackend as LocalBackend
    from raydream.backends.ray import RayBackend as RayBackend
    from raydream.checking.check import check as check
    from raydream.columns.evaluation import Evaluation as Evaluation
    from raydream.columns.own import Metric as Metric
    from raydream.conditions import Conditions as Conditions
    from raydream.program import Frame as Frame
    from raydream.report.paper.export import export as export
    from raydream.running.callbacks import MLflow as MLflow
    from raydream.running.callbacks import TensorBoard as TensorBoard
    from raydream.running.callbacks import WandB as WandB
    from raydream.running.replay import Replayed as Replayed
    from raydream.running.replay import replay as replay
    from raydream.running.run import resume as resume
    from raydream.running.run import run as run
    from raydream.storage.result import Result as Result
    from raydream.storage.result import load as load
    from raydream.studies.advising.advice import Advice as Advice
    from raydream.studies.advising.advise import advise as advise
    from raydream.studies.compare import compare as compare
    from raydream.studies.comparison import Comparison as Comparison
    from raydream.studies.study.study import Study as Study
    from raydream.studies.study.study import study as study
    from raydream.studies.tuning.tune import tune as tune
    from raydream.studies.tuning.tuning import Tuning as Tuning
    from raydream.topology import mixing as mixing

# The same names as above, for programs that run (a test compares the two); methods are found in their registry.
_NAMES = {
    "Advice": "raydream.studies.advising.advice",
    "Comparison": "raydream.studies.comparison",
    "Conditions": "raydream.conditions",
    "Evaluation": "raydream.columns.evaluation",
    "Frame": "raydream.program",
    "LocalBackend": "raydream.backends.local",
    "MLflow": "raydream.running.callbacks",
    "Metric": "raydream.columns.own",
    "Range": "raydream.algorithms.facts",
    "RayBackend": "raydream.backends.ray",
    "Replayed": "raydream.running.replay",
    "Result": "raydream.storage.result",
    "Study": "raydream.studies.study.study",
    "TensorBoard": "raydream.running.callbacks",
    "Tuning": "raydream.studies.tuning.tuning",
    "WandB": "raydream.running.callbacks",
    "advise": "raydream.studies.advising.advise",
    "check": "raydream.checking.check",
    "compare": "raydream.studies.compare",
    "export": "raydream.report.paper.export",
    "load": "raydream.storage.result",
    "mixing": "raydream.topology",
    "replay": "raydream.running.replay",
    "resume": "raydream.running.run",
    "run": "raydream.running.run",
    "study": "raydream.studies.study.study",
    "tune": "raydream.studies.tuning.tune",
}
_MODULES = ("algorithms", "conditions", "constraints", "data", "errors", "problems", "theory", "topology")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"raydream.{name}")
    if name in _NAMES:
        return getattr(import_module(_NAMES[name]), name)
    if name == "__all__":
        return sorted([*_MODULES, *_NAMES, *_methods()])
    if name[:1].isupper() and name in _methods():  # modules, which Python asks for here too, are lower case
        return _methods()[name]
    raise AttributeError(f"module 'raydream' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__getattr__("__all__"), "__version__"]


def _methods() -> dict[str, Any]:
    """The classes of methods by their names in Python."""
    from raydream.algorithms import METHODS

    return {kind.__name__: kind for kind in METHODS.values()}
