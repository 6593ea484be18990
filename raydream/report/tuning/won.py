"""What won: one row per method, with what was tried of how much, and what to know before believing it."""

import math
from typing import Any

from raydream.report.collect import words
from raydream.report.tables.table import Cell, Head, Mark, Table, marks, said, scored, worded
from raydream.report.tables.tex import escaped
from raydream.report.tuning.tried import tried
from raydream.report.tuning.words import spent_in_words, under_way
from raydream.studies.tuning.tuning import Tuning


def won(tuning: Tuning) -> Table:
    """The table; the best score is bold, and nothing is tied: on the seeds that chose, intervals would flatter."""
    about, rows = tuning.judged_by, tuning.table.to_dict("records")
    heads = (
        said("method"), *(_counted(name) for name in ("tried", "trials", "diverged", "failed")),
        _scored(about.short, about.tex, about.name),
        _scored(f"{about.short} at the start", f"{about.tex or escaped(about.short)} at the start", "started"),
        said("parameters"), said("at an edge"), said("spent"), said("remark"),
    )  # fmt: skip
    best = marks([row["score"] for row in rows], about.better, [False for _ in rows])
    cells = tuple(_row(tuning, row, mark) for row, mark in zip(rows, best, strict=True))
    return Table("winners", heads, cells, about=f"what won at {tuning.budget:g} {tuning.axis}")


def _counted(name: str) -> Head:
    return Head(name, name, (name, "of") if name == "tried" else (name,), numeric=True)


def _scored(text: str, tex: str, key: str) -> Head:
    return Head(text, tex or escaped(text), (key,), numeric=True)


def _row(tuning: Tuning, row: dict[str, Any], mark: Mark) -> tuple[Cell, ...]:
    label = row["method"]
    own = [record for record in tuning.records if record["method"] == label]
    known = tried(tuning, label)
    count = row["configurations"] if _there(row["configurations"]) else len({mark.number for mark in known.marks})
    edges = [f"{name} ({'lower' if side < 0 else 'upper'})" for name, side in known.sides.items()]
    text = f"{count:.0f}" + (f" of {row['of']:.0f}" if _there(row["of"]) else "")
    return (
        worded(label),
        Cell(text, text, (int(count), int(row["of"]) if _there(row["of"]) else None)),
        *(worded(str(row[name]), int(row[name])) for name in ("trials", "diverged", "failed")),
        scored(row["score"], mark),
        scored(row["started"]),
        worded(words(row["parameters"]) or "none"),
        worded(", ".join(edges) or ("-" if under_way(tuning) or not known.winner else "no")),
        worded(spent_in_words(tuning, own)),
        worded(row["remark"]),
    )


def _there(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and math.isnan(value))
