"""Where tuning looks: values and ranges of parameters for each method, and the configurations drawn from them."""

import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import Any, Protocol

import numpy as np

from raydream.algorithms.facts import Range
from raydream.algorithms.method import facts_of
from raydream.checks import choice

Grid = dict[str, tuple[Any, ...] | Range]  # what each parameter may be
Parameters = dict[str, Any]
LARGEST_GRID = 1000  # configurations of one method that are tried without being asked for
LARGEST_SPACE = 10**7
PATIENCE = 50  # draws for each configuration wanted: some are refused by the problem, some equal others in effect

# The steps of the built-in spaces, for every method alike; the grids of its other parameters are among its facts.
# "paper": the DREAM paper's experiments (its section 4); what it does not vary keeps the method's default, as
# GT-SRVR's period, sqrt(n) rounded up. "wide": every step between bounds, and few values of the rest.
SPACES: dict[str, Grid] = {
    "paper": {"eta": (1.0, 0.1, 0.01, 0.001), "gamma": (0.1, 0.01, 0.001, 0.0001)},
    "wide": {"eta": Range(0.01, 3.0), "gamma": Range(0.03, 30.0)},
}


class Admission(Protocol):
    """Who may take part."""

    def begin(self) -> None:
        """Forget whom it has refused."""

    def admits(self, method: Any) -> bool:
        """Whether a configuration can be tried."""

    def effect(self, method: Any) -> str:
        """What it comes to on this problem and network."""

    def why_nothing(self, label: str) -> str:
        """A sentence for a method of which nothing was admitted since the beginning."""


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


def size_of(grid: Grid) -> int | None:
    """The number of its configurations; None where a range has no end of them."""
    sizes = [None if isinstance(values, Range) else len(values) for values in grid.values()]
    return None if None in sizes else math.prod(size for size in sizes if size is not None)


def in_steps(grid: Grid) -> Grid:
    """The grid with a few values of each range in its place."""
    return {name: values.grid() if isinstance(values, Range) else values for name, values in grid.items()}


def all_of(label: str, kind: Any, grid: Grid, admission: "Admission", most: int) -> list[Parameters]:
    """Every configuration that is admitted, unless there are more than `most`."""
    size = size_of(grid)
    assert size is not None
    if size > most:
        raise ValueError(
            f'`search` "grid" would try {size} configurations of {label}, more than `trials` = {most}; '
            'use "random" or "halving", a smaller `space`, or allow as many `trials`.'
        )
    return _different(label, kind, _decoded(grid, np.arange(size)), admission, size)


def drawn_from(label: str, kind: Any, grid: Grid, admission: "Admission", count: int, seed: int) -> list[Parameters]:
    """`count` configurations that are admitted, or all where there are fewer; no two that are equal in effect.

    The same seed gives the same ones, and more of them begin with those. Numbers from ranges fill them evenly.
    """
    size, streams = size_of(grid), [seed, zlib.crc32(label.encode())]
    if size is None:
        return _different(label, kind, islice(_spread(grid, streams), PATIENCE * count), admission, count)
    if size > LARGEST_SPACE:
        raise ValueError(f"`space` must hold at most {LARGEST_SPACE} configurations; that of {label} holds {size}.")
    order = np.random.default_rng(streams).permutation(size)
    return _different(label, kind, _decoded(grid, order), admission, count)


def _different(
    label: str, kind: Any, candidates: Iterator[Parameters], admission: "Admission", count: int
) -> list[Parameters]:
    """The first `count` that are admitted and differ in effect.

    Two are equal in effect if the method settles on the same parameters for this problem and network.
    """
    chosen: dict[str, Parameters] = {}
    admission.begin()
    for parameters in candidates:
        method = kind(**parameters)
        if admission.admits(method):
            chosen.setdefault(admission.effect(method), parameters)
        if len(chosen) == count:
            break
    if not chosen:
        raise ValueError(admission.why_nothing(label))
    return list(chosen.values())


def _decoded(grid: Grid, order: Any) -> Iterator[Parameters]:
    """The configurations with these numbers, the last parameter running fastest."""
    lists = {name: values for name, values in grid.items() if not isinstance(values, Range)}
    shape = tuple(len(values) for values in lists.values())
    for number in order:
        places = np.unravel_index(number, shape)
        yield {name: values[place] for (name, values), place in zip(lists.items(), places, strict=True)}


def _spread(grid: Grid, streams: list[int]) -> Iterator[Parameters]:
    """Configurations without end that fill the space evenly: a scrambled Halton sequence."""
    from scipy.stats import qmc

    points = qmc.Halton(len(grid), rng=np.random.default_rng(streams))
    while True:
        place = points.random(1)[0]
        yield {name: _at(values, share) for (name, values), share in zip(grid.items(), place, strict=True)}


def _at(values: tuple[Any, ...] | Range, share: float) -> Any:
    return values.at(share) if isinstance(values, Range) else values[min(int(share * len(values)), len(values) - 1)]


def _values(name: str, values: Any) -> tuple[Any, ...] | Range:
    """The values of one parameter; a single one is fixed."""
    if isinstance(values, Range):
        return values
    several = list(values) if isinstance(values, list | tuple | range | np.ndarray) else [values]
    if not several:
        raise ValueError(f"`space` must give `{name}` at least one value.")
    return tuple(value.item() if isinstance(value, np.generic) else value for value in several)
