"""Where tuning looks: a grid of parameters for each method, and the configurations drawn from it."""

import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from raydream.algorithms.method import completed, facts_of
from raydream.checks import choice
from raydream.problems.completed import complete
from raydream.studies.setting import Setting

Grid = dict[str, tuple[Any, ...]]  # the values that each parameter may take
SEARCHES = ("grid", "halving", "random")
LARGEST_GRID = 1000  # configurations of one method that are tried without being asked for
LARGEST_SPACE = 10**7
TRIALS = 27  # drawn by random search and by halving, unless another number is asked for

# The steps of the built-in spaces, for every method alike; the grids of its other parameters are among its facts.
# "paper": the DREAM paper's experiments (its section 4); what it does not vary keeps the method's default, as
# GT-SRVR's period, sqrt(n) rounded up. "wide": steps that reach further, and few values of the rest.
SPACES: dict[str, Grid] = {
    "paper": {"eta": (1.0, 0.1, 0.01, 0.001), "gamma": (0.1, 0.01, 0.001, 0.0001)},
    "wide": {"eta": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0), "gamma": (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)},
}


def grid_of(space: Any, label: str, kind: Any, labels: list[str]) -> Grid:
    """The grid of one method: built in, given for it, or given for all methods alike."""
    if isinstance(space, str):
        steps, facts = SPACES[choice("space", space, SPACES)], facts_of(kind)
        return {**steps, **(facts.spaces.get(space, {}) if facts else {})}
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
        refused = completed(method).refuse(problem)
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
