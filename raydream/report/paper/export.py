"""export(): what a paper needs of runs, a comparison, a tuning or a study, each file with the command that made it."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from raydream.checks import choice, number, path
from raydream.report.paper.again import command, noted, runs_again
from raydream.report.paper.images import images
from raydream.report.paper.latex import booktabs
from raydream.report.paper.numbers import as_csv, as_parquet, cells
from raydream.report.paper.parts import Parts, Wish, parts_of
from raydream.report.paper.style import paper, remarks
from raydream.report.paper.tikz import has_curves, tikz
from raydream.report.source import home_of, opened
from raydream.storage.files import whole_file

FORMATS = ("tex", "csv", "parquet", "svg", "pdf", "tikz")
USUAL = ("tex", "csv", "tikz")  # which need no more than is there
STYLES = ("paper", "screen")
DRAWN = ("svg", "pdf", "tikz")


def export(
    source: Any,
    out: Any = None,
    formats: str | Iterable[str] = USUAL,
    *,
    style: str = "paper",
    x: str = "sfo",
    y: str = "grad_norm",
    target: float | None = None,
    metric: str | None = None,
) -> list[Path]:
    """Write tables, numbers and figures for a paper, and return the files.

    source   a result, several results, a comparison, a tuning or a study, or the directory of one
    out      where to (default: `export` in the directory)
    formats  of tex (booktabs), csv, parquet (extra `parquet`), svg and pdf (extra `export`), tikz (pgfplots)
    style    "paper": a column wide, serif, lines that greyscale tells apart; "screen": as in the report
    x, y     the columns of the convergence figure
    target, metric  what is to be reached (default: of y, what all methods reach)
    """
    wanted = _formats(formats)
    choice("style", style, STYLES)
    if target is not None:
        number("target", target)
    directory = Path(source) if isinstance(source, str | os.PathLike) else None
    found = source if directory is None else opened(directory)
    home = directory or home_of(found)
    if out is None and home is None:
        raise TypeError("`out` must be given where the source is not kept in a directory.")
    folder = path("out", home / "export" if out is None and home is not None else out)
    wish = Wish(x, y, target, metric)
    made = parts_of(found, wish, any(one in DRAWN for one in wanted))
    options = wish.options() | ({} if style == "paper" else {"style": style})
    again = command(home, ",".join(wanted), options)
    contents = _contents(made, wanted, style, noted(again, runs_again(made.runs)))
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        with whole_file(folder / name) as file:
            file.write(content)
    return [folder / name for name in contents]


def _contents(made: Parts, wanted: list[str], style: str, note: str) -> dict[str, bytes]:
    """Every file by its name; nothing is written before all of it is there."""
    found: dict[str, bytes] = {}
    note = "\n".join(filter(None, [note, *dict.fromkeys(remarks(one) for one in made.figures.values())]))
    drawn = {_file(name): paper(one) if style == "paper" else one for name, one in made.figures.items()}
    numbers = {**made.numbers, **{table.name: cells(table) for table in made.tables}}
    for kind in wanted:
        if kind == "tex":
            found |= {f"{one.name}.tex": booktabs(one, note).encode() for one in made.tables}
        elif kind == "csv":
            found |= {f"{name}.csv": as_csv(*one) for name, one in numbers.items()}
        elif kind == "parquet":
            found |= {f"{name}.parquet": as_parquet(*one) for name, one in numbers.items()}
        elif kind == "tikz":
            curved = {name: one for name, one in drawn.items() if has_curves(one)}
            found |= {f"{name}.tikz": tikz(one, note).encode() for name, one in curved.items()}
        else:
            found |= {f"{name}.{kind}": content for name, content in images(drawn, kind, note).items()}
    return {**found, "again.txt": f"{note}\n".encode()}


def _formats(given: str | Iterable[str]) -> list[str]:
    several = given.split(",") if isinstance(given, str) else list(given)
    words = [choice("formats", one.strip() if isinstance(one, str) else one, FORMATS) for one in several]
    return list(dict.fromkeys(words))


def _file(name: str) -> str:
    """A name that is a file's anywhere."""
    return re.sub(r"[^\w.+=-]+", "-", name).strip("-.") or "figure"
