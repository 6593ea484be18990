"""A problem from a loss that a library differentiates: what torch and JAX have in common."""

import importlib
from typing import Any, Protocol

from raydream.checks import vector
from raydream.problems.own.data import Arrays
from raydream.problems.own.functions import FromFunctions, checked_set
from raydream.problems.own.probe import Probe
from raydream.types import Array


class Variable(Protocol):
    """x or y, as the loss has it and as a vector; `start` is the vector that it begins at."""

    @property
    def start(self) -> Array: ...

    def unflatten(self, flat: Array) -> Any:
        """What the loss would be given, as a copy."""


class Engine(Protocol):
    """A loss with its variables, which a library evaluates and differentiates."""

    @property
    def x(self) -> Variable: ...
    @property
    def y(self) -> Variable: ...

    def value(self, x: Array, y: Array, *arrays: Any) -> float:
        """The loss on these rows."""

    def gradient(self, x: Array, y: Array, *arrays: Any) -> tuple[Array, Array]:
        """Its gradients in x and in y."""

    def check(self, x: Array, y: Array, arrays: Arrays) -> None:
        """Refuse a loss that depends on anything else than x, y and rows."""


class FromLoss(FromFunctions):
    """A problem from a loss; made by `from_torch` and `from_jax`."""

    _thin = False

    def __init__(self, engine: Engine, data: Any, constraint: Any, **known: Any) -> None:
        self._engine = engine
        x0, y0 = engine.x.start, engine.y.start
        start = x0, checked_set(constraint, y0.size).project(y0)
        super().__init__(engine.value, engine.gradient, data, x0.size, y0.size, constraint, start=start, **known)

    def unflatten_x(self, x: Array) -> Any:
        """A vector, such as `result.x_bar`, as the loss has x: the module, the array or the pytree, as a copy."""
        return self._engine.x.unflatten(vector("x", x, self.dim_x, self.dtype).copy())

    def unflatten_y(self, y: Array) -> Any:
        """A vector, such as `result.y_bar`, as the loss has y."""
        return self._engine.y.unflatten(vector("y", y, self.dim_y, self.dtype).copy())

    def _look(self) -> None:
        """Refuse a loss that is no mean over rows; its gradients are right by the library's word."""
        x, y = (part.astype(self.dtype) for part in self._start)
        probe = Probe(0, x, y, self._data[0])
        self._engine.check(x, y, probe.once)
        probe.value(self._engine.value, "loss")


def library(name: str) -> Any:
    """torch or jax, which only those need who use them."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(
            f"`from_{name}` needs {name}, which is not installed: pip install 'raydream[{name}]'."
        ) from None
