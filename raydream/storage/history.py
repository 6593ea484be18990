"""A history's rows while a run lasts: the numbers of each record, and how far each agent was from the mean."""

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from raydream.columns import RECORDED, column, missing, with_conditional
from raydream.storage.files import read_bytes
from raydream.types import Array

if TYPE_CHECKING:
    import pandas as pd

MOST_BYTES = 500_000_000  # of a history.csv
MOST_CELLS = 50_000_000  # numbers of one, at 8 bytes each


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


def row_of(columns: Sequence[str], values: Array, distances: Array | None) -> Row:
    """A record from its numbers; what was not recorded when it was made is NaN."""
    there = dict(zip(columns, values, strict=True)) | dict.fromkeys(missing(columns), np.nan)
    ordered = dict.fromkeys([*with_conditional(RECORDED, columns), *columns])
    row = Row((name, column(name).number(there[name])) for name in ordered)
    row.distances = distances
    return row


def filled(table: "pd.DataFrame") -> "pd.DataFrame":
    """A history with every column that is recorded today, NaN in those that were not when it was made."""
    if "iteration" not in table.columns:
        raise ValueError("history.csv has no column 'iteration'")
    if not missing(table.columns):
        return table
    ordered = [*with_conditional(RECORDED, table.columns), *table.columns]
    return table.reindex(columns=[*dict.fromkeys(ordered)])


def check_cells(lines: bytes, columns: int = 1) -> None:
    """Refuse lines that would become more numbers than a history has; every line has so many columns at least."""
    cells = max(lines.count(b","), lines.count(b"\n") * max(columns, lines.partition(b"\n")[0].count(b",")))
    if cells > MOST_CELLS:
        raise ValueError(f"history.csv has more than {MOST_CELLS} numbers")


def read_history(path: Path) -> "pd.DataFrame":
    """history.csv as a table of numbers."""
    import pandas as pd

    content = read_bytes(path, MOST_BYTES)
    check_cells(content)
    table = pd.read_csv(io.BytesIO(content))
    if not isinstance(table.index, pd.RangeIndex):  # what goes beyond the names becomes an index
        raise ValueError("history.csv has lines that are longer than the first")
    for name, kind in table.dtypes.items():
        if kind.kind not in "iuf":
            raise ValueError(f"history.csv's column {ascii(name)[:60]} holds something else than numbers")
    return filled(table)
