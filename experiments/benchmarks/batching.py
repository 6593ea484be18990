"""Could gradients of agents that share a process be batched by vmap? How many numbers change, and what it would save.

    python experiments/benchmarks/batching.py [--repeats 30]

Gradients of 8 agents, each with its own x, y and 32 rows, by torch.func.vmap and jax.vmap: a net x against an adversary
y who weighs the classes. Blocks of 1, 2 and 3 agents are set against all 8 at once. The table counts the numbers that
differ in some bit, of all numbers in full blocks, and gives the time of 8 calls without vmap over that of one call with
it. Libraries that are not installed are left out.
"""

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np

AGENTS, SAMPLES, BLOCKS = 8, 32, (1, 2, 3)
# by name: the shape of a row, and the width of each layer after it; a picture goes through a convolution first
NETS: dict[str, tuple[tuple[int, ...], list[int]]] = {
    "linear": ((7,), [3]),
    "linear, wide": ((123,), [2]),
    "mlp": ((20,), [32, 10]),
    "cnn": ((1, 12, 12), [10]),
}
Point = tuple[list[Any], Any, Any, Any]  # parameters, y, rows and labels
Slopes = Callable[..., Any]


def torch_slopes() -> Slopes:
    """The gradients of one agent in torch, in x and in y."""
    import torch

    torch.set_num_threads(1)

    def loss(x: list[Any], y: Any, rows: Any, labels: Any) -> Any:
        if rows.dim() > 2:
            rows = torch.relu(torch.nn.functional.conv2d(rows, x[0], x[1])).flatten(1)
            x = x[2:]
        for place in range(0, len(x), 2):
            rows = torch.nn.functional.linear(torch.tanh(rows) if place else rows, x[place], x[place + 1])
        each = torch.nn.functional.cross_entropy(rows, labels, reduction="none")
        return (y[labels] * each).mean() - (y**2).sum() / 2

    return torch.func.grad(loss, argnums=(0, 1))


def jax_slopes(dtype: str) -> Slopes:
    """The same in JAX."""
    import jax
    from jax import lax
    from jax import numpy as jnp

    jax.config.update("jax_enable_x64", dtype == "float64")

    def loss(x: list[Any], y: Any, rows: Any, labels: Any) -> Any:
        if rows.ndim > 2:
            rows = jax.nn.relu(lax.conv(rows, x[0], (1, 1), "VALID") + x[1][:, None, None])
            rows, x = rows.reshape(len(rows), -1), x[2:]
        for place in range(0, len(x), 2):
            rows = (jnp.tanh(rows) if place else rows) @ x[place].T + x[place + 1]
        each = -jax.nn.log_softmax(rows)[jnp.arange(len(labels)), labels]
        return jnp.mean(y[labels] * each) - jnp.sum(y**2) / 2

    return jax.grad(loss, argnums=(0, 1))


def drawn(name: str, dtype: str) -> Point:
    """Parameters, y, rows and labels of all agents."""
    (row, widths), generator = NETS[name], np.random.default_rng(0)
    shapes: list[tuple[int, ...]] = [(4, 1, 3, 3), (4,)] if len(row) > 1 else []
    first = 4 * 10 * 10 if len(row) > 1 else row[0]
    shapes += [shape for before, after in pairwise([first, *widths]) for shape in ((after, before), (after,))]
    x = [(generator.normal(size=(AGENTS, *shape)) / 3).astype(dtype) for shape in shapes]
    y = generator.random(size=(AGENTS, widths[-1])).astype(dtype)
    rows = generator.normal(size=(AGENTS, SAMPLES, *row)).astype(dtype)
    return x, y, rows, generator.integers(widths[-1], size=(AGENTS, SAMPLES))


def measured(library: str, name: str, dtype: str, repeats: int) -> list[str]:
    """One row of the table."""
    one, several, made = _torch() if library == "torch" else _jax(dtype)
    x, y, rows, labels = drawn(name, dtype)

    def of(part: Any) -> Point:
        return [made(array[part].copy()) for array in x], *(made(array[part].copy()) for array in (y, rows, labels))

    whole, single = of(slice(None)), [of(i) for i in range(AGENTS)]
    together, changed = _flat(several(*whole)), []
    for size in BLOCKS:
        begins = range(0, AGENTS - size + 1, size)
        found = np.concatenate([_flat(several(*of(slice(i, i + size)))) for i in begins])
        changed.append(f"{np.count_nonzero(found != together[: len(found)])} of {found.size}")
    slow = _seconds(lambda: [_parts(one(*point)) for point in single], repeats)
    return [library, name, dtype, *changed, f"{slow / _seconds(lambda: _parts(several(*whole)), repeats):.1f}"]


def _torch() -> tuple[Slopes, Slopes, Callable[[Any], Any]]:
    import torch

    slopes = torch_slopes()
    return slopes, torch.func.vmap(slopes), torch.tensor


def _jax(dtype: str) -> tuple[Slopes, Slopes, Callable[[Any], Any]]:
    import jax

    slopes = jax_slopes(dtype)
    return jax.jit(slopes), jax.jit(jax.vmap(slopes)), np.array


def _parts(slopes: Any) -> list[Any]:
    return [np.asarray(part) for part in (*slopes[0], slopes[1])]


def _flat(slopes: Any) -> Any:
    """All numbers of several agents, one row for each."""
    return np.concatenate([part.reshape(len(part), -1) for part in _parts(slopes)], axis=1)


def _seconds(call: Callable[[], Any], repeats: int) -> float:
    took = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        call()
        took.append(time.perf_counter() - began)
    return float(np.median(took[1:]))


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=30, help="timed calls of each kind")
    repeats = parser.parse_args().repeats
    head = ["library", "net", "dtype", *(f"changed, blocks of {size}" for size in BLOCKS), "times as fast"]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for library in ("torch", "jax"):
        for name in NETS if find_spec(library) else ():
            for dtype in ("float64", "float32"):
                print("| " + " | ".join(measured(library, name, dtype, repeats)) + " |", flush=True)


if __name__ == "__main__":
    main()
