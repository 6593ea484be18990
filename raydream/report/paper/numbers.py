"""The numbers behind tables and figures as CSV and Parquet."""

import csv
import io
import math
from collections.abc import Iterable
from typing import Any

from raydream.columns import AXES, column
from raydream.report.collect import Run
from raydream.report.figures.convergence import curves_of
from raydream.report.tables.table import Table, Value


def as_csv(names: Iterable[str], rows: Iterable[Iterable[Value]]) -> bytes:
    """Every number to its last bit, whole ones without a point; nothing stands for what is not known."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([told(value) for value in row] for row in rows)
    return file.getvalue().encode()


def told(value: Value) -> str:
    """A value as it stands in a CSV file."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(float(value))
    return str(value)


def as_parquet(names: list[str], rows: list[list[Value]]) -> bytes:
    """The same in columns, for programs."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(
            "`formats` has parquet, which needs pyarrow, which is not installed: pip install 'raydream[parquet]'."
        ) from None
    import pandas as pd

    file = io.BytesIO()
    pd.DataFrame(rows, columns=names).to_parquet(file, index=False, engine="pyarrow")
    return file.getvalue()


def history(every: list[Run], **front: str) -> tuple[list[str], list[list[Value]]]:
    """All records of all runs: method and seed in front, then every column that some run has."""
    there = dict.fromkeys(name for run in every for name in run.columns)
    rows: list[list[Value]] = []
    for run in every:
        length = len(run.columns["iteration"])
        columns = [run.columns.get(name) for name in there]
        seed = run.seed if run.seed is None or isinstance(run.seed, int) else str(run.seed)
        for place in range(length):
            numbers = [None if one is None else _number(name, float(one[place]))
                       for name, one in zip(there, columns, strict=True)]  # fmt: skip
            rows.append([*front.values(), run.label, seed, *numbers])
    return [*front, "method", "seed", *there], rows


def curves(every: list[Run], x: str, y: str) -> tuple[list[str], list[list[Value]]]:
    """The lines of the convergence figure: the median over runs, or the one run, with the quartiles of the band."""
    rows: list[list[Value]] = []
    for label, (group, line) in curves_of(every, x, y).items():
        for place, at in enumerate(line.x):
            ends = [None if one is None else _finite(one[place]) for one in (line.low, line.high)]
            rows.append([label, len(group), float(at), _finite(line.middle[place]), *ends])
    return ["method", "runs", x, y, "low", "high"], rows


def cells(table: Table) -> tuple[list[str], list[list[Value]]]:
    """The numbers of a table."""
    names = [key for head in table.heads for key in head.keys]
    return names, [[value for cell in row for value in cell.values] for row in table.rows]


def _number(name: str, value: float) -> float:
    return column(name).number(value) if name in AXES else value


def _finite(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None
