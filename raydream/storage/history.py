"""A history's rows while a run lasts: the numbers of each record, and how far each agent was from the mean."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from raydream.columns import RECORDED, column, missing
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


def row_of(columns: Sequence[str], values: Array, distances: Array | None) -> Row:
    """A record from its numbers; what was not recorded when it was made is NaN."""
    there = dict(zip(columns, values, strict=True)) | dict.fromkeys(missing(columns), np.nan)
    ordered = dict.fromkeys([*RECORDED, *columns])
    row = Row((name, column(name).number(there[name])) for name in ordered)
    row.distances = distances
    return row


def filled(history: "pd.DataFrame") -> "pd.DataFrame":
    """A history with every column that is recorded today, NaN in those that were not when it was made."""
    if not missing(history.columns):
        return history
    return history.reindex(columns=[*dict.fromkeys([*RECORDED, *history.columns])])
