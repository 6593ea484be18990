"""Looking further: where the best value of a range lies at its edge, the range grows for all methods alike."""

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any

from raydream.algorithms.facts import Range
from raydream.studies.tuning.spaces import Grid, Parameters
from raydream.studies.tuning.winners import edges

FACTOR = 10.0  # by which a range grows
Draw = Callable[[str, Grid, int], list[Parameters]]  # so many configurations of a method from a grid


def outgrown(
    grids: Mapping[str, Grid], winners: Mapping[str, Mapping[str, Any]], stepped: bool
) -> list[tuple[str, int]]:
    """The ranges at whose edge a winner lies, each with its side, -1 or 1."""
    found = {
        (name, side): None
        for label, winner in winners.items()
        for name, side in edges(winner["parameters"], grids[label], stepped).items()
        if isinstance(grids[label][name], Range)
    }
    return sorted(found)


def widened(
    grids: dict[str, Grid], chosen: dict[str, list[Parameters]], name: str, side: int, draw: Draw, trials: int
) -> tuple[dict[str, Grid], dict[str, list[Parameters]]]:
    """Grids whose range `name` reaches further, and further configurations, the same number for every method.

    As many are drawn from the new part as were from the old for each decade. A method without that range gets as many
    from all of its grid.
    """
    spans = [values.decades for grid in grids.values() if isinstance(values := grid.get(name), Range)]
    count = ceil(trials / min(spans))
    further, more = {}, {}
    for label, grid in grids.items():
        values = grid.get(name)
        strip = grid
        further[label] = grid
        if isinstance(values, Range):
            new = Range(values.low / FACTOR, values.low) if side < 0 else Range(values.high, values.high * FACTOR)
            strip = {**grid, name: new}
            further[label] = {**grid, name: Range(min(new.low, values.low), max(new.high, values.high))}
        known = {repr(one) for one in chosen[label]}
        extra = [one for one in draw(label, strip, count) if repr(one) not in known]
        more[label] = [*chosen[label], *extra]
    return further, more
