"""Every column of a history, once. The order here is the order of the history, of lists and of menus."""

from collections.abc import Iterable, Mapping

from raydream.columns.column import Column, Kind
from raydream.columns.costs import BILLED, DERIVED, OVERHEAD
from raydream.columns.costs import COSTS as _COSTS
from raydream.columns.costs import COUNTS as _COUNTS
from raydream.columns.lyapunov import DIAGNOSTICS
from raydream.columns.metrics import METRICS as _METRICS
from raydream.columns.own import Better, Directions

COLUMNS: dict[str, Column] = {
    one.name: one for group in (_COUNTS, _COSTS, _METRICS, OVERHEAD, DIAGNOSTICS, DERIVED) for one in group
}

_NONE: Mapping[str, Better] = {}


def column(name: str, own: Directions = _NONE) -> Column:
    """What is known of a column; one that nobody knows is a metric under its own name.

    own  which way metrics of the user's own are better: they are measured at every record
    """
    if name in own:
        return COLUMNS.get(name) or Column(name, "metric", name, name, better=own[name], diverges=True)
    return COLUMNS.get(name) or Column(name, "metric", name, name)


def names(*kinds: Kind) -> tuple[str, ...]:
    """The columns of these kinds, in order."""
    return tuple(one.name for one in COLUMNS.values() if one.kind in kinds)


def missing(there: Iterable[str]) -> list[str]:
    """What a history of today has and an older one with these columns lacks; NaN is put there."""
    known = {*there}
    return [name for name in RECORDED if name not in known]


def with_conditional(usual: Iterable[str], there: Iterable[str]) -> tuple[str, ...]:
    """Columns that every run has, and after the costs among them those conditional ones that are there."""
    known, listed = {*there}, {*usual}
    wanted = listed | {name for name in CONDITIONAL if name in known}
    return (*(name for name in COLUMNS if name in wanted), *(name for name in usual if name not in COLUMNS))


def compared(there: Iterable[str]) -> tuple[str, ...]:
    """The costs by which runs with these columns are compared."""
    return tuple(name for name in with_conditional(COMPARED, there) if COLUMNS[name].compared)


CONDITIONAL = tuple(one.name for one in COLUMNS.values() if one.conditional)  # only of runs under conditions
RECORDED = tuple(name for name in names("count", "cost", "metric", "overhead") if name not in CONDITIONAL)
COSTS = tuple(name for name in names("cost") if name not in CONDITIONAL)
AXES = names("count", "cost", "derived")  # what to draw against
METRICS = names("metric", "diagnostic")  # what to draw
COMPARED = tuple(name for name in COSTS if COLUMNS[name].compared)
DIVERGING = tuple(name for name in RECORDED if COLUMNS[name].diverges)
LIMITED = {one.limit: one for one in COLUMNS.values() if one.limit is not None}  # by the argument that limits it
USUAL_X, USUAL_Y = "sfo", "grad_norm"  # drawn where nothing else is asked for

__all__ = [
    "AXES", "BILLED", "COLUMNS", "COMPARED", "CONDITIONAL", "COSTS", "DIVERGING", "LIMITED", "METRICS", "RECORDED",
    "USUAL_X", "USUAL_Y", "Better", "Column", "Directions", "Kind", "column", "compared", "missing", "names",
    "with_conditional",
]  # fmt: skip
