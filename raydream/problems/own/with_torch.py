"""Losses that torch differentiates: a module or tensors for x, tensors for y, pinned to one thread."""

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from raydream.checks import numbers
from raydream.problems.own.data import Arrays
from raydream.problems.own.loss import FromLoss, library
from raydream.problems.own.trees import Layout, flattened, leaves_of, shape_of, started, tree_of
from raydream.types import Array, Numbers


def from_torch(
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
    """A problem from loss(x, y, *tensors), the mean over the rows of the tensors; torch finds the gradients.

    x     a module, whose parameters that need a gradient are x and its start; a shape, which starts at 0; or a pytree
          of tensors or arrays (dicts by sorted keys, lists, tuples), which starts at their values
    y     a shape or a pytree; it starts at the point of Y nearest to that
    constraint, weights, metrics, mu, primal, best_response  as for `FromFunctions`, of flat vectors

    The module is copied. It must depend on its parameters and rows alone: no batch norm or dropout in training mode.
    `problem.unflatten_x(result.x_bar)` gives the trained one.

    Calls run on one thread, with deterministic algorithms, and with `dtype` as torch's default; torch is then left as
    it was. Each agent's gradient is a call of its own: `torch.func.vmap` over agents that share a process would be two
    to four times as fast with small nets, but its sums change with the number of agents, even of a linear model
    (experiments/benchmarks/README.md), and a run's numbers must not depend on where agents live.
    """
    kind = numbers("dtype", dtype)
    torch = library("torch")
    if not callable(loss):
        raise TypeError(f"`loss` must be a function f(x, y, *tensors); got {loss!r}.")
    if isinstance(y, torch.nn.Module):
        raise TypeError("`y` must be a shape or a pytree of arrays; got a module.")
    variable = TorchModule(x, kind) if isinstance(x, torch.nn.Module) else TorchTree("x", x)
    return FromLoss(
        TorchLoss(loss, variable, TorchTree("y", y), kind), data, constraint,
        weights=weights, dtype=kind, metrics=metrics, mu=mu, primal=primal, best_response=best_response,
    )  # fmt: skip


class TorchTree:
    """A variable that is a tensor, or a pytree of them."""

    def __init__(self, name: str, given: Any) -> None:
        shape = shape_of(given)
        if shape is not None:
            self.like, self.layout, self.start = None, Layout([shape]), started(name, shape)
            return
        leaves = [_array(name, leaf) for leaf in leaves_of(given)]
        if not leaves:
            raise TypeError(f"`{name}` must be {_kinds(name)}; got {given!r}.")
        self.like = tree_of(given, iter([None] * len(leaves)))
        self.layout, self.start = Layout([leaf.shape for leaf in leaves]), flattened(name, leaves)

    def put(self, flat: Any) -> tuple[Any, list[Any]]:
        """What the loss is given, and the tensors to differentiate by."""
        flat.requires_grad_()
        return tree_of(self.like, iter(self.layout.cut(flat))), [flat]

    def unflatten(self, flat: Array) -> Any:
        """As the loss has it."""
        return tree_of(self.like, iter(self.layout.cut(library("torch").tensor(flat))))


class TorchModule:
    """A variable that is a module's parameters."""

    def __init__(self, module: Any, dtype: Numbers) -> None:
        torch, name = library("torch"), type(module).__name__
        if any(torch.nn.parameter.is_lazy(p) for p in module.parameters()):
            raise ValueError(
                f"`x` must be a module whose parameters have shapes; {name} is lazy. Call it on a row first."
            )
        self.module = copy.deepcopy(module).to("cpu", _torch_dtype(dtype))
        if not self.parameters:
            raise ValueError(f"`x` must be a module with parameters that need a gradient; {name} has none.")
        self.layout = Layout([tuple(p.shape) for p in self.parameters])
        self.start = flattened("x", [p.detach().numpy() for p in self.parameters])
        self._dtype = _torch_dtype(dtype)

    @property
    def parameters(self) -> list[Any]:
        """Those that are x."""
        return [p for p in self.module.parameters() if p.requires_grad]

    def put(self, flat: Any) -> tuple[Any, list[Any]]:
        """The module with these parameters, and the parameters."""
        if flat.dtype != self._dtype:
            self.module.to(flat.dtype)
            self._dtype = flat.dtype
        parameters = self.parameters
        for parameter, value in zip(parameters, self.layout.cut(flat), strict=True):
            parameter.data = value
        return self.module, parameters

    def unflatten(self, flat: Array) -> Any:
        """A copy of the module with these parameters."""
        self.put(library("torch").tensor(flat))
        module = copy.deepcopy(self.module)
        for parameter in module.parameters():
            parameter.data = parameter.data.clone()  # else all of them would lie in one vector
        return module


class TorchLoss:
    """The loss, its two variables, and how torch is asked about them."""

    def __init__(self, loss: Callable[..., Any], x: TorchModule | TorchTree, y: TorchTree, dtype: Numbers) -> None:
        self.loss, self.x, self.y, self.dtype = loss, x, y, dtype

    def value(self, x: Array, y: Array, *arrays: Any) -> float:
        """The loss on these rows."""
        with self._pinned(x, y) as dtype:
            return float(self._asked(x, y, arrays, dtype)[0].detach())

    def gradient(self, x: Array, y: Array, *arrays: Any) -> tuple[Array, Array]:
        """Its gradients in x and in y."""
        torch = library("torch")
        with self._pinned(x, y) as dtype:
            loss, in_x, in_y = self._asked(x, y, arrays, dtype)
            slopes = torch.autograd.grad(loss, [*in_x, *in_y], allow_unused=True, materialize_grads=True)
            parts = slopes[: len(in_x)], slopes[len(in_x) :]
            gx, gy = (torch.cat([slope.reshape(-1) for slope in part]).numpy() for part in parts)
        return gx, gy

    def check(self, x: Array, y: Array, arrays: Arrays) -> None:
        """Refuse a module that draws random numbers or remembers calls."""
        if not isinstance(self.x, TorchModule):
            return
        torch, module = library("torch"), self.x.module
        what = "`x` must be a module that depends on its parameters and rows alone;"
        for part in module.modules():
            if part.training and isinstance(part, torch.nn.modules.batchnorm._BatchNorm):
                raise ValueError(f"{what} {type(part).__name__} in training mode does not. Call its .eval() first.")
        before = {name: buffer.clone() for name, buffer in module.named_buffers()}
        first, second = (self.value(x, y, *arrays) for _ in range(2))
        if first != second and not math.isnan(first):
            raise ValueError(f"{what} it gives another value each time. Call its .eval() first if it drops out.")
        for name, buffer in module.named_buffers():
            if not torch.equal(buffer, before[name]):
                raise ValueError(f"{what} a call changes its `{name}`. Call its .eval() first.")

    def _asked(self, x: Array, y: Array, arrays: Arrays, dtype: Any) -> tuple[Any, list[Any], list[Any]]:
        """The loss as a tensor, and the tensors to differentiate by.

        torch allocates all of them anew, since products may round otherwise where an array lies otherwise in memory.
        """
        torch = library("torch")
        in_x, by_x = self.x.put(torch.tensor(x, dtype=dtype, device="cpu"))
        in_y, by_y = self.y.put(torch.tensor(y, dtype=dtype, device="cpu"))
        kinds = (dtype if array.dtype.kind == "f" else None for array in arrays)
        rows = [torch.tensor(array, dtype=kind, device="cpu") for array, kind in zip(arrays, kinds, strict=True)]
        loss = self.loss(in_x, in_y, *rows)
        if not isinstance(loss, torch.Tensor):
            raise TypeError(f"`loss` must return one number as a tensor; it returned {loss!r}.")
        if loss.dim():
            raise TypeError(
                f"`loss` must return one number; it returned a tensor of shape {tuple(loss.shape)}. "
                "Take the mean over the rows."
            )
        if not loss.requires_grad:
            raise ValueError("`loss` must depend on x or y through torch; it returned a constant.")
        return loss, by_x, by_y

    @contextmanager
    def _pinned(self, x: Array, y: Array) -> Iterator[Any]:
        """Torch as it must be for the same bits everywhere: float32 where agents ask for it, float64 for metrics."""
        torch = library("torch")
        single = self.dtype == x.dtype == y.dtype == np.float32
        dtype = torch.float32 if single else torch.float64
        before = torch.get_num_threads(), torch.get_deterministic_debug_mode(), torch.get_default_dtype()
        precision = torch.get_float32_matmul_precision()
        torch.set_num_threads(1)
        torch.set_deterministic_debug_mode("error")
        torch.set_default_dtype(dtype)
        torch.set_float32_matmul_precision("highest")
        try:
            with torch.enable_grad():
                yield dtype
        finally:
            torch.set_num_threads(before[0])
            torch.set_deterministic_debug_mode(before[1])
            torch.set_default_dtype(before[2])
            torch.set_float32_matmul_precision(precision)


def _array(name: str, leaf: Any) -> Array:
    """A leaf of a pytree as numbers."""
    if hasattr(leaf, "detach"):
        leaf = leaf.detach().cpu().numpy()
    if not isinstance(leaf, np.ndarray | np.number) or leaf.dtype.kind not in "iuf":
        raise TypeError(f"`{name}` must be {_kinds(name)}; got {leaf!r}.")
    return np.asarray(leaf, dtype=np.float64)


def _kinds(name: str) -> str:
    return ("a module, " if name == "x" else "") + "a shape or a pytree of arrays"


def _torch_dtype(dtype: Numbers) -> Any:
    return getattr(library("torch"), str(dtype))
