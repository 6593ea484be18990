"""Where tuning looks: a grid of parameters for each method, and the configurations drawn from it."""

import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from raydream.algorithms import METHODS
from raydream.checks import choice
from raydream.problems.completed import complete
from raydream.studies.setting import Setting

Grid = dict[str, tuple[Any, ...]]  # the values that each parameter may take
SEARCHES = ("grid", "halving", "random")
LARGEST_GRID = 1000  # configurations of one method that are tried without being asked for
LARGEST_SPACE = 10**7
TRIALS = 27  # drawn by random search and by halving, unless another number is asked for

# The grids of the DREAM paper's experiments (its section 4); what it does not vary keeps the method's default, as
# GT-SRVR's period, sqrt(n) rounded up.
BATCHES = (64, 128, 256, 512)
PAPER: dict[str, Grid] = {
    "": {"eta": (1.0, 0.1, 0.01, 0.001), "gamma": (0.1, 0.01, 0.001, 0.0001)},
    "dream": {
        "b": BATCHES, "b_large": BATCHES, "p": (0.2, 0.5, 0.9), "q": (0.2, 0.5, 0.9),
        "K0": (2, 5, 10), "K": (2, 5, 10), "K_large": (2, 5, 10),
    },
    "dm-hsgd": {"b": BATCHES, "b0": BATCHES, "beta": (0.01,)},
    "gt-da": {"R": (4,)},
}  # fmt: skip

# Steps that reach further, for every method alike; few values of the rest. None is the method's own choice, or, for
# a batch, the whole shard.
WIDE: dict[str, Grid] = {
    "": {"eta": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0), "gamma": (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)},
    "dream": {"b": (64,), "b_large": (None, 512), "K": (2, 5)},
    "dm-hsgd": {"b": (64, 256), "beta": (0.01, 0.1)},
    "gt-srvr": {"b": (64, "sqrt(n)")},
    "dgda-vr": {"b": (32, 128)},
    "sgda": {"b": (64, 256)},
}
SPACES = {"paper": PAPER, "wide": WIDE}


def grid_of(space: Any, label: str, kind: Any, labels: list[str]) -> Grid:
    """The grid of one method: built in, given for it, or given for all methods alike."""
    if isinstance(space, str):
        built_in = SPACES[choice("space", space, SPACES)]
        return {**built_in[""], **built_in.get(_command_name(kind), {})}
    if not isinstance(space, Mapping) or not space:
        raise TypeError(f'`space` must be "paper", "wide" or a dict of parameters or of methods; got {space!r}.')
    if any(isinstance(part, Mapping) for part in space.values()) or set(space) <= set(labels):
        for name in space:
            choice("space", name, labels)
        if label not in space:
            raise ValueError(f"`space` must have an entry for every method; {label!r} has none.")
        return grid_of(space[label], label, kind, labels)
    grid = {str(name): _values(str(name), values) for name, values in space.items()}
    if is_dataclass(kind):
        for name in grid:
            choice(f"parameter of {label}", name, [field.name for field in fields(kind)])
    return grid


def configurations(
    label: str, kind: Any, grid: Grid, setting: Setting, *, search: str, trials: int | None, seed: int
) -> list[dict[str, Any]]:
    """The configurations to try: all of a grid, or `trials` drawn from it; no two that are equal in effect.

    Two are equal in effect if the method settles on the same parameters for this problem and network.
    """
    size = math.prod(len(values) for values in grid.values())
    most = trials if trials is not None else LARGEST_GRID if search == "grid" else TRIALS
    if search == "grid" and size > most:
        raise ValueError(
            f'`search` "grid" would try {size} configurations of {label}, more than `trials` = {most}; '
            'use "random" or "halving", a smaller `space`, or allow as many `trials`.'
        )
    if size > LARGEST_SPACE:
        raise ValueError(f"`space` must hold at most {LARGEST_SPACE} configurations; that of {label} holds {size}.")
    order = np.arange(size)
    if search != "grid":
        order = np.random.default_rng([seed, zlib.crc32(label.encode())]).permutation(size)
    chosen: dict[str, dict[str, Any]] = {}
    refusal = None
    for parameters in _decoded(grid, order):
        method = kind(**parameters)
        problem = complete(setting.of(method)[0])
        refused = method.refuse(problem) if hasattr(method, "refuse") else None
        refusal = refusal or refused
        if not refused:
            chosen.setdefault(repr(setting.settled(method)), parameters)
        if len(chosen) == most:
            break
    if not chosen:
        raise ValueError(f"`methods` has {label}, which cannot solve this `problem`: {refusal}")
    return list(chosen.values())


def _decoded(grid: Grid, order: Any) -> Iterator[dict[str, Any]]:
    """The configurations with these numbers, the last parameter running fastest."""
    shape = tuple(len(values) for values in grid.values())
    for number in order:
        places = np.unravel_index(number, shape)
        yield {name: values[place] for (name, values), place in zip(grid.items(), places, strict=True)}


def _values(name: str, values: Any) -> tuple[Any, ...]:
    """The values of one parameter; a single one is fixed."""
    several = list(values) if isinstance(values, list | tuple | range | np.ndarray) else [values]
    if not several:
        raise ValueError(f"`space` must give `{name}` at least one value.")
    return tuple(value.item() if isinstance(value, np.generic) else value for value in several)


def _command_name(kind: Any) -> str:
    return {known: name for name, known in METHODS.items()}.get(kind, "")
