"""When a run stops before its last iteration."""

from collections.abc import Iterable, Mapping

from raydream.columns import COLUMNS, Column
from raydream.storage.settings import Limits


def reached(
    limits: Limits, row: Mapping[str, float], aims: Iterable[tuple[Column, float]] = ()
) -> tuple[str, str] | None:
    """The outcome and the reason, if this row of the history meets a target or has used up a budget.

    aims  columns with their targets, beside those of the limits
    """
    given = limits.given()
    limited = [(column, given[column.limit]) for column in COLUMNS.values() if column.limit in given]
    for column, target in (*limited, *aims):
        value = row[column.name]
        if column.kind == "metric" and column.reaches(value, target):
            return "target", f"{column.name} = {value:.6g} reached the target {target:g}"
    for column, budget in limited:
        value = row[column.name]
        if column.kind == "cost" and value >= budget:
            return "budget", f"{column.name} = {value:g} reached the limit {budget:g}"
    return None
