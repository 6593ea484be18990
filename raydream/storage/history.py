"""A history's rows while a run lasts: the numbers of each record, and how far each agent was from the mean."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from raydream.columns import RECORDED
from raydream.types import Array

if TYPE_CHECKING:
    import pandas as pd


class Row(dict[str, float]):
    """A record's numbers by column, and beside them `distances`: ||z(i) - z_bar|| for every agent i.

    A run of more than two million distances (records times agents) keeps none of them: its rows have None.
    """

    distances: Array | None = None


def stacked_distances(rows: Sequence[dict[str, float]]) -> Array | None:
    """The rows' distances, one under the other; NaN for a row without them, None where all are."""
    kept = [getattr(row, "distances", None) for row in rows]
    known = next((one for one in kept if one is not None), None)
    if known is None:
        return None
    return np.array([np.full(len(known), np.nan) if one is None else one for one in kept])


def header(columns: Iterable[str] = RECORDED) -> bytes:
    """The first line of history.csv."""
    return (",".join(columns) + "\n").encode()


def line_of(row: Mapping[str, float], columns: Iterable[str] = RECORDED) -> bytes:
    """A row as a line of history.csv; nothing stands for NaN, and for a column that the row lacks."""
    cells = (row.get(column, math.nan) for column in columns)
    return (",".join("" if math.isnan(value) else repr(value) for value in cells) + "\n").encode()


def table_to_csv(table: "pd.DataFrame") -> bytes:
    """A whole history as history.csv."""
    columns = [str(name) for name in table.columns]
    values = zip(*(table[name].tolist() for name in columns), strict=True)
    return header(columns) + b"".join(line_of(dict(zip(columns, row, strict=True)), columns) for row in values)


def filled(table: "pd.DataFrame") -> "pd.DataFrame":
    """A history with every column that is recorded today; those that an older run lacks are NaN."""
    if "iteration" not in table.columns:
        raise ValueError("history.csv has no column 'iteration'")
    missing = [name for name in RECORDED if name not in table.columns]
    if not missing:
        return table
    others = [name for name in table.columns if name not in RECORDED]
    return table.assign(**dict.fromkeys(missing, math.nan))[[*RECORDED, *others]]
