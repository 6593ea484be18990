"""What it took to reach a target: medians over seeds with quartiles, by method and cost."""

import math
from collections.abc import Mapping, Sequence

from raydream.columns import Directions, column, compared
from raydream.report.collect import Run, directions, grouped
from raydream.report.figures.reach import suggested_target
from raydream.report.tables.table import Cell, Head, Mark, Table, counted, marks, numbered, said, worded
from raydream.studies.curves import cost_to_reach, quantile
from raydream.studies.statistics import paired_difference

NOT_BY_HALF, NOT = "not reached by half", "not reached"


def reach(
    every: list[Run], target: float | None = None, metric: str = "grad_norm", failed: Mapping[str, int] | None = None
) -> Table:
    """One row per method; a seed that did not get there, or failed, counts as dearer than all others."""
    groups, own = grouped(every), directions(every)
    goal = suggested_target(groups, metric) if target is None else target
    costs = compared({name for run in every for name in run.columns})
    spent = {
        label: [cost_to_reach(run.columns, goal, metric, costs, own) for run in runs] for label, runs in groups.items()
    }
    lost = {label: (failed or {}).get(label, 0) for label in groups}
    seeds = {label: [run.seed for run in runs] for label, runs in groups.items()}
    columns: list[list[Cell]] = []
    for cost in costs:
        bills = {label: [one[cost] for one in spent[label]] + [math.inf] * lost[label] for label in groups}
        columns.append(_column(bills, seeds, whole=column(cost).integer))
    rows = []
    for place, label in enumerate(groups):
        there = sum(any(map(math.isfinite, one.values())) for one in spent[label])
        of = len(spent[label]) + lost[label]
        counts = Cell(f"{there} of {of}", f"{there} of {of}", (there, of))
        rows.append((worded(label), counts, *(cells[place] for cells in columns)))
    heads = (said("method"), Head("reached", "reached", ("reached", "seeds")),
             *(counted(column(cost), marked=True) for cost in costs))  # fmt: skip
    return Table("reach", heads, tuple(rows), about=aim(metric, goal, own))


def aim(metric: str, target: float, own: Directions) -> str:
    """What is reached, in words."""
    about = column(metric, own)
    return f"to reach {about.short} {'≤' if about.better == 'less' else '≥'} {target:.6g}"


def _column(bills: Mapping[str, list[float]], seeds: Mapping[str, Sequence[object]], whole: bool) -> list[Cell]:
    quartiles = {label: [quantile(spent, share) for share in (0.5, 0.25, 0.75)] for label, spent in bills.items()}
    middles = {label: one[0] for label, one in quartiles.items()}
    best = min(middles, key=lambda label: middles[label])
    found: list[Mark] = marks(middles.values(), "less", [not _decided(bills, seeds, best, label) for label in bills])
    cells = []
    for (label, (middle, low, high)), mark in zip(quartiles.items(), found, strict=True):
        if math.isfinite(middle):
            cells.append(numbered(middle, low, high, mark, whole=whole))
        else:
            text = NOT_BY_HALF if any(map(math.isfinite, bills[label])) else NOT
            cells.append(Cell(text, text, (math.nan, low if math.isfinite(low) else math.nan, math.nan, "")))
    return cells


def _decided(bills: Mapping[str, list[float]], seeds: Mapping[str, Sequence[object]], best: str, other: str) -> bool:
    """Whether the seeds that two methods share decide that the first is cheaper."""
    if None in (*seeds[best], *seeds[other]):
        return False
    mine, theirs = (dict(zip(seeds[label], bills[label], strict=False)) for label in (best, other))
    shared = [seed for seed in mine if seed in theirs]
    first, second = [mine[seed] for seed in shared], [theirs[seed] for seed in shared]
    return paired_difference(first, second, ratio=min([*first, *second], default=0.0) > 0).decided
