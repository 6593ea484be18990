"""Problems: min over x, max over y in Y, of the mean of the agents' functions.

A problem is any object with the parts of `Problem`, and what agent i owns is any object with the parts of
`LocalProblem`: no base class, no registration. Only `agents`, `dim_x`, `dim_y` and `local` are required of your
own problem; `complete` supplies the rest from them, and `rd.check` says whether a problem keeps the laws of one.
`FromFunctions`, `from_torch` and `from_jax` make one from functions of rows and the rows of every agent.

Names are looked up in `everything` when one is first used: an actor imports the problem that it has, and no other.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from raydream.problems.everything import *  # noqa: F403


def __getattr__(name: str) -> Any:
    if not name.startswith("__"):
        everything = import_module("raydream.problems.everything")
        if name in globals():  # a module of this folder, which is there now
            return globals()[name]
        if hasattr(everything, name):
            return getattr(everything, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(import_module("raydream.problems.everything").__all__)
