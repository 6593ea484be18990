"""A method's line in the convergence figure: its one run, or the median over its runs with a band."""

from typing import NamedTuple

from raydream.report.collect import Run, directions
from raydream.report.figures.bands import common_grid, thinned
from raydream.studies.curves import quantiles_of, resampled
from raydream.types import Array

POINTS = 4000  # of one drawn line


def median_and_band(
    group: list[Run], x: str, y: str, shares: tuple[float, float], points: int = 400, logarithmic: bool = False
) -> tuple[Array, Array, Array, Array]:
    """The places on x, and there the median, the low and the high quantile of y over the runs that reach them."""
    grid = common_grid([run.columns[x] for run in group], points, logarithmic)
    median, low, high = quantiles_of(
        resampled([run.columns for run in group], x, y, grid, directions(group)), (0.5, *shares)
    )
    return grid, median, low, high


class Curve(NamedTuple):
    """A method's line as it is drawn, and its band where it has several runs."""

    x: Array
    middle: Array
    low: Array | None = None
    high: Array | None = None


def curve_of(group: list[Run], x: str, y: str, band: tuple[float, float] = (0.25, 0.75), log_x: bool = False) -> Curve:
    """The records of one run, thinned where they are many; else the median over runs, and its band."""
    if len(group) == 1:
        keep = thinned([group[0].columns[y]], POINTS)
        return Curve(group[0].columns[x][keep], group[0].columns[y][keep])
    return Curve(*median_and_band(group, x, y, band, logarithmic=log_x))
