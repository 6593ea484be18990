"""Losses that JAX differentiates: arrays or pytrees for x and y, compiled for one thread."""

import importlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from raydream.checks import numbers
from raydream.problems.own.data import Arrays
from raydream.problems.own.loss import FromLoss, library
from raydream.problems.own.trees import Layout, flattened, shape_of, started
from raydream.types import Array, Numbers

THREADS = "NPROC"  # the variable from which a new CPU client of JAX takes the number of its threads


def from_jax(
    loss: Callable[..., Any],
    data: Any,
    x: Any,
    y: Any,
    constraint: Any = None,
    *,
    weights: Any = None,
    dtype: Any = "float64",
    metrics: Mapping[str, Any] | None = None,
    mu: float | None = None,
    primal: Callable[[Array], float] | None = None,
    best_response: Callable[[Array], Array] | None = None,
) -> FromLoss:
    """A problem from loss(x, y, *arrays), the mean over the rows of the arrays; JAX compiles and differentiates it.

    x, y  a shape, which starts at 0, or a pytree of arrays, which starts at their values; y at the point of Y nearest
          to that. The parameters of a module are such a pytree, and the loss is a function of them
    constraint, weights, metrics, mu, primal, best_response  as for `FromFunctions`, of flat vectors

    `problem.unflatten_x(result.x_bar)` gives the pytree back. The loss must be pure, as JAX demands.

    Calls run on one thread of the CPU and, where `dtype` is float64, with 64-bit numbers; JAX itself is left as it is.
    Each agent's gradient is a call of its own: `jax.vmap` over agents that share a process would be up to seven times
    as fast with small nets, but its sums change with the number of agents, even of a linear model
    (experiments/benchmarks/README.md), and a run's numbers must not depend on where agents live.
    """
    kind = numbers("dtype", dtype)
    library("jax")
    if not callable(loss):
        raise TypeError(f"`loss` must be a function f(x, y, *arrays); got {loss!r}.")
    return FromLoss(
        JaxLoss(loss, JaxTree("x", x), JaxTree("y", y), kind), data, constraint,
        weights=weights, dtype=kind, metrics=metrics, mu=mu, primal=primal, best_response=best_response,
    )  # fmt: skip


class JaxTree:
    """A variable that is an array, or a pytree of them."""

    def __init__(self, name: str, given: Any) -> None:
        shape, tree = shape_of(given), library("jax").tree
        if shape is not None:
            self.like, self.layout, self.start = 0, Layout([shape]), started(name, shape)
            return
        leaves = [_array(name, leaf) for leaf in tree.leaves(given)]
        if not leaves:
            raise TypeError(f"`{name}` must be a shape or a pytree of arrays; got {given!r}.")
        self.like = tree.map(lambda leaf: 0, given)
        self.layout, self.start = Layout([leaf.shape for leaf in leaves]), flattened(name, leaves)

    def unflatten(self, flat: Any) -> Any:
        """As the loss has it."""
        tree = library("jax").tree
        return tree.unflatten(tree.structure(self.like), self.layout.cut(flat))


class JaxLoss:
    """The loss, its two variables, and how JAX is asked about them."""

    def __init__(self, loss: Callable[..., Any], x: JaxTree, y: JaxTree, dtype: Numbers) -> None:
        self.loss, self.x, self.y, self.dtype = loss, x, y, dtype
        self._compiled: tuple[Any, Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_compiled": None}  # each process compiles for itself

    def value(self, x: Array, y: Array, *arrays: Any) -> float:
        """The loss on these rows."""
        with self._pinned(x, y) as dtype:
            return float(self._functions[0](*_as(dtype, x, y, *arrays)))

    def gradient(self, x: Array, y: Array, *arrays: Any) -> tuple[Array, Array]:
        """Its gradients in x and in y."""
        with self._pinned(x, y) as dtype:
            gx, gy = self._functions[1](*_as(dtype, x, y, *arrays))
            return np.asarray(gx), np.asarray(gy)

    def check(self, x: Array, y: Array, arrays: Arrays) -> None:
        """A loss that JAX can compile is a function of what it is given."""

    @property
    def _functions(self) -> tuple[Any, Any]:
        """Value and gradients of flat vectors, compiled once for each size of batch."""
        if self._compiled is None:
            jax = library("jax")
            slopes = jax.grad(self._flat, argnums=(0, 1))
            self._compiled = tuple(jax.jit(one) for one in (self._flat, slopes))
        return self._compiled

    def _flat(self, x: Any, y: Any, *arrays: Any) -> Any:
        """The loss of flat vectors."""
        jax = library("jax")
        loss = self.loss(self.x.unflatten(x), self.y.unflatten(y), *arrays)
        if not isinstance(loss, jax.Array):
            raise TypeError(f"`loss` must return one number as an array; it returned {loss!r}.")
        if loss.ndim:
            raise TypeError(
                f"`loss` must return one number; it returned an array of shape {loss.shape}. "
                "Take the mean over the rows."
            )
        return loss

    @contextmanager
    def _pinned(self, x: Array, y: Array) -> Iterator[Any]:
        """JAX as it must be for the same bits everywhere: float32 where agents ask for it, float64 for metrics."""
        jax = library("jax")
        single = self.dtype == x.dtype == y.dtype == np.float32
        with jax.enable_x64(not single), jax.default_device(_device()), jax.default_matmul_precision("highest"):
            yield np.float32 if single else np.float64


@cache
def _device() -> Any:
    """A CPU of our own with one thread, beside the one that JAX has for everybody else.

    JAX's has a thread for each core, by no option otherwise, and sums of a small MLP on 1000 rows differ by a rounding
    between one core and two, or two and eight.
    """
    library("jax")
    client = importlib.import_module("jaxlib.xla_client")
    before = os.environ.get(THREADS)
    os.environ[THREADS] = "1"
    try:
        return client.make_cpu_client().local_devices()[0]
    finally:
        os.environ.pop(THREADS)
        os.environ.update({} if before is None else {THREADS: before})


def _as(dtype: Any, *arrays: Any) -> list[Any]:
    """Floating-point arrays as this type; whole numbers and flags as they are."""
    return [array.astype(dtype, copy=False) if array.dtype.kind == "f" else array for array in arrays]


def _array(name: str, leaf: Any) -> Array:
    """A leaf of a pytree as numbers."""
    found = np.asarray(leaf)
    if found.dtype.kind not in "iuf":
        raise TypeError(f"`{name}` must be a shape or a pytree of arrays; got {leaf!r}.")
    return found.astype(np.float64)
