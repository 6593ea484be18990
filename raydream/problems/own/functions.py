"""A problem from plain functions: what agents own are arrays, and the package cuts the batches."""

import copy
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from raydream.checks import numbers, positive, vector, whole
from raydream.constraints import Everything
from raydream.problems.answers import lent
from raydream.problems.own.data import Arrays, checked_data, checked_weights, joined, parted, rows_in
from raydream.problems.own.probe import Probe
from raydream.problems.protocol import Described
from raydream.types import Array, Indices

Function = Callable[..., Any]


class FromFunctions(Described):
    """Functions of rows, and the rows of every agent.

        f_i(x, y) = value(x, y, *data[i]),   f = sum_i w_i f_i

    where `value` is the mean over the rows that it is given, and `gradient` returns the pair of its gradients in x
    and in y on the same rows. Both are asked about whole shards and about batches of their rows.

    data        for each agent a tuple of arrays (or CSR matrices), all with as many rows; agents may have more or fewer
    constraint  the set Y; None: y is free
    weights     w_i, which add up to 1; by default `data.weights` where the data have them, else 1/m each
    dtype       of floating-point data, iterates and frames: "float64", or "float32"
    start       (x0, y0); by default x = 0 and the point of Y nearest to 0
    metrics     name -> f(x_bar, y_bar), as for `run`
    mu          strong concavity of f in y, where it is known: with it the error of a measured P is proven
    primal, best_response  P(x) and y*(x), where they are known; else an inner maximiser finds them

    The data are copied. A run poses f as the mean of m w_i f_i. `value` and `gradient` have the problem's dtype where
    agents ask, and float64 where metrics do.
    """

    def __init__(
        self,
        value: Function,
        gradient: Function,
        data: Any,
        dim_x: int,
        dim_y: int,
        constraint: Any = None,
        *,
        weights: Any = None,
        dtype: Any = "float64",
        start: tuple[Any, Any] | None = None,
        metrics: Mapping[str, Any] | None = None,
        mu: float | None = None,
        primal: Function | None = None,
        best_response: Function | None = None,
    ) -> None:
        for name, function in {"value": value, "gradient": gradient}.items():
            if not callable(function):
                raise TypeError(f"`{name}` must be a function f(x, y, *arrays); got {function!r}.")
        self.dim_x, self.dim_y = whole("dim_x", dim_x, 1), whole("dim_y", dim_y, 1)
        self.dtype = numbers("dtype", dtype)
        self.constraint = checked_set(constraint, self.dim_y)
        self._functions = value, gradient
        self._data = checked_data(data, self.dtype, self._thin)
        self.agents = len(self._data)
        self.weights = checked_weights(weights, data, self.agents)
        self._pool()
        self._start = self._checked_start(start)
        self.mu = None if mu is None else positive("mu", mu)
        if metrics is not None:
            self.metrics = dict(metrics)
        for name, known in {"primal": primal, "best_response": best_response}.items():
            if known is not None and not callable(known):
                raise TypeError(f"`{name}` must be a function of x; got {known!r}.")
            if known is not None:
                setattr(self, name, known)
        self._look()

    _thin = True  # whether the functions can take sparse rows

    @property
    def samples(self) -> int:
        """n, or the mean of the agents' n_i rounded up."""
        return -(-sum(self.sizes) // self.agents)

    @property
    def sizes(self) -> list[int]:
        """n_i of every agent."""
        return [rows_in(arrays) for arrays in self._data]

    def local(self, i: int) -> "FunctionShard":
        """The rows of agent i, and its function m w_i f_i."""
        return FunctionShard(self._functions, self._data[i], self._scale(i))

    def start(self) -> tuple[Array, Array]:
        """(x0, y0)."""
        return self._start[0].copy(), self._start[1].copy()

    def value(self, x: Array, y: Array) -> float:
        """f(x, y)."""
        if self._whole is not None:
            return self._whole.value(x, y)
        return float(np.mean([self.local(i).value(x, y) for i in range(self.agents)]))

    def gradient(self, x: Array, y: Array) -> tuple[Array, Array]:
        """The gradients of f in x and in y."""
        if self._whole is not None:
            gx, gy = self._whole.gradient(x, y)
            return np.asarray(gx), np.asarray(gy)
        pairs = [self.local(i).gradient(x, y) for i in range(self.agents)]
        return np.mean([gx for gx, _ in pairs], axis=0), np.mean([gy for _, gy in pairs], axis=0)

    def pooled(self) -> Self:
        """The same problem with all rows on one agent, if a mean over all rows is f."""
        if self._whole is None:
            shares = self._shares()
            i = int(np.argmax(np.abs(shares - self.weights)))
            raise ValueError(
                f"`problem` cannot be pooled: agent {i} weighs {self.weights[i]:g} and has {shares[i]:g} of the rows, "
                "so that the mean over all rows is another function."
            )
        whole_problem = copy.copy(self)
        whole_problem._data, whole_problem.agents, whole_problem.weights = [self._whole.arrays], 1, np.ones(1)
        return whole_problem

    def _shares(self) -> Array:
        """What part of all rows each agent has."""
        rows = np.array(self.sizes, dtype=np.float64)
        shares: Array = rows / rows.sum()
        return shares

    def _pool(self) -> None:
        """All rows in one place, where the mean over them is f: metrics ask about them once, not agent by agent.

        The agents' arrays become parts of them, so that nothing is held twice.
        """
        self._whole: FunctionShard | None = None
        if np.abs(self._shares() - self.weights).max() <= 1e-9:
            arrays = joined(self._data)
            self._data = parted(arrays, self._data)
            self._whole = FunctionShard(self._functions, arrays, 1.0)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what can be put together again."""
        return {name: value for name, value in self.__dict__.items() if name != "_whole"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._pool()

    def _scale(self, i: int) -> float:
        scale = float(self.agents * self.weights[i])
        return 1.0 if abs(scale - 1.0) < 1e-12 else scale

    def _checked_start(self, given: tuple[Any, Any] | None) -> tuple[Array, Array]:
        if given is None:
            return np.zeros(self.dim_x), self.constraint.project(np.zeros(self.dim_y))
        try:
            x0, y0 = given
        except (TypeError, ValueError):
            raise ValueError("`start` must be a pair (x0, y0).") from None
        return vector("start[0]", x0, self.dim_x), vector("start[1]", y0, self.dim_y)

    def _look(self) -> None:
        """Refuse functions that do not do what they must on a row of each agent."""
        x, y = (part.astype(self.dtype) for part in self._start)
        for i, arrays in enumerate(self._data):
            probe = Probe(i, x, y, arrays)
            probe.value(self._functions[0])
            probe.gradient(self._functions[1])


class FunctionShard:
    """What one agent owns: its rows, and its function m w_i f_i; `scale` is m w_i."""

    def __init__(self, functions: tuple[Function, Function], arrays: Arrays, scale: float) -> None:
        self.functions, self.arrays, self.scale = functions, arrays, scale
        self.samples = rows_in(arrays)

    def value(self, x: Array, y: Array) -> float:
        """m w_i f_i(x, y)."""
        return self.scale * float(self.functions[0](lent(x), lent(y), *self.arrays))

    def gradient(self, x: Array, y: Array, batch: Indices | None = None) -> tuple[Array, Array]:
        """The mean gradient over the batch, or over all rows."""
        arrays = self.arrays if batch is None else tuple(array[batch] for array in self.arrays)
        gx, gy = self.functions[1](lent(x), lent(y), *arrays)
        if self.scale == 1.0:
            return gx, gy
        return self.scale * np.asarray(gx), self.scale * np.asarray(gy)


def checked_set(constraint: Any, size: int) -> Any:
    """The set Y of vectors of this length."""
    if constraint is None:
        return Everything()
    if not callable(getattr(constraint, "project", None)):
        raise TypeError(f"`constraint` must be a set with `project`, or None; got {constraint!r}.")
    if getattr(constraint, "size", None) not in (None, size):
        raise ValueError(f"`constraint` must be a set of vectors of length {size}; {constraint!r} is not.")
    return constraint
