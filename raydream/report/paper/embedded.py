"""What a page brings along to save: its tables as LaTeX and CSV, and the look of a paper for its figures."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from raydream.columns import column, compared
from raydream.report import theme
from raydream.report.collect import Run, directions, grouped
from raydream.report.paper.again import command, noted, runs_again
from raydream.report.paper.caption import caption
from raydream.report.paper.latex import NARROW, NEEDS, booktabs
from raydream.report.paper.numbers import as_csv, cells
from raydream.report.paper.style import INK, MARKS, PATTERNS, SIZE, SYMBOLS, layout
from raydream.report.tables.table import MARKED, Table, counted
from raydream.report.tables.tex import comment, escaped, printable
from raydream.studies.statistics import student_reach

Saved = dict[str, Any]


def look() -> Saved:
    """The look of a paper, as a page's program applies it."""
    return {"layout": layout(), "dashes": theme.DASHES, "symbols": SYMBOLS, "patterns": PATTERNS, "marks": MARKS,
            "size": SIZE, "ink": INK}  # fmt: skip


def saved(tables: Iterable[Table], home: Path | None, every: list[Run]) -> Saved:
    """Every table by its name, as the files of an export in that one format."""
    note = noted(command(home, "tex"), runs_again(every))
    return {one.name: {"tex": booktabs(one, note), "csv": as_csv(*cells(one)).decode()} for one in tables}


def reaching(every: list[Run], home: Path | None, tuned: str) -> Saved:
    """What the program needs to write the table of a target that the reader has moved."""
    groups, own = grouped(every), directions(every)
    metrics = dict.fromkeys(name for run in every for name in run.metrics)
    costs = compared({name for run in every for name in run.columns})
    about = {name: column(name, own) for name in metrics}
    rest = [": medians over seeds, with quartiles", *([MARKED] if len(groups) > 1 else []), *caption(every, tuned)]
    most = max(len(runs) for runs in groups.values())
    return {
        "again": command(home, "tex"),
        "runs": printable(noted("", runs_again(every))).partition("\n")[2].lstrip("\n"),
        "needs": comment(NEEDS),
        "narrow": NARROW,
        "heads": {cost: counted(column(cost)).tex for cost in costs},
        "keys": {cost: counted(column(cost), marked=True).keys for cost in costs},
        "whole": {cost: column(cost).integer for cost in costs},
        "aim": {name: escaped(f"To reach {one.short} {'≤' if one.better == 'less' else '≥'} ")
                for name, one in about.items()},
        "caption": escaped(" ".join(f"{part.rstrip('.')}." for part in rest)),
        "labels": {label: escaped(label) for label in groups},
        "seeds": {label: [None if run.seed is None else str(run.seed) for run in runs]
                  for label, runs in groups.items()},
        "student": [None if count < 2 else student_reach(count) for count in range(most + 1)],
    }  # fmt: skip
