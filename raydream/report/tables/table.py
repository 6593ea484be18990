"""A table: heads, cells that say the same in words, in LaTeX and in numbers, and a caption."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from raydream.columns import Column
from raydream.report.tables.rounding import rounded
from raydream.report.tables.tex import escaped, measured

Mark = Literal["", "best", "tied"]
Value = float | int | str | None
TIED = "†"
MARKED = "Bold is the best median; a dagger marks what seeds do not decide to be behind it"


@dataclass(frozen=True)
class Head:
    """The head of a column: as people read it, in LaTeX, and the names of what it has in numbers."""

    text: str
    tex: str
    keys: tuple[str, ...]
    numeric: bool = False


@dataclass(frozen=True)
class Cell:
    """What stands in a cell: as people read it, in LaTeX, and in numbers, as many as its head has names.

    mark  "best" of its column, or "tied" with the best: behind it, but not beyond doubt
    """

    text: str
    tex: str
    values: tuple[Value, ...]
    mark: Mark = ""


@dataclass(frozen=True)
class Table:
    """A table; `caption` is plain text, and `about` what heads it where it is one of several."""

    name: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    about: str = ""

    def captioned(self, *parts: str) -> "Table":
        """The same with a caption of these sentences."""
        return replace(self, caption=" ".join(f"{part.rstrip('.')}." for part in parts if part))

    def within(self, key: str, value: str) -> "Table":
        """The same with a column in front that has one value."""
        front = worded(value)
        return replace(self, heads=(said(key), *self.heads), rows=tuple((front, *row) for row in self.rows))

    @property
    def texts(self) -> list[list[str]]:
        """Every row as people read it."""
        return [[cell.text for cell in row] for row in self.rows]


def joined(name: str, tables: Iterable[Table]) -> Table:
    """Tables with the same heads, one under the other; a column that only some have is empty in the others."""
    several = list(tables)
    heads = {head.text: head for table in several for head in table.heads}
    blank = {text: Cell("", "", (None,) * len(head.keys)) for text, head in heads.items()}
    rows = []
    for table in several:
        for row in table.rows:
            own = dict(zip((head.text for head in table.heads), row, strict=True))
            rows.append(tuple((blank | own)[text] for text in heads))
    return Table(name, tuple(heads.values()), tuple(rows))


def said(text: str) -> Head:
    """The head of a column of words."""
    return Head(text, escaped(text), (text.replace(" ", "_"),))


def counted(about: Column, *, marked: bool = False) -> Head:
    """The head of a column of numbers with intervals, and perhaps with marks."""
    keys = (about.name, f"{about.name}_low", f"{about.name}_high", *([f"{about.name}_mark"] if marked else []))
    return Head(about.short, about.tex or escaped(about.short), keys, numeric=True)


def worded(text: str, value: Value = None) -> Cell:
    """A cell of words, or of a number that is said in words."""
    return Cell(text, escaped(text), (text if value is None else value,))


def numbered(
    middle: float, low: float = math.nan, high: float = math.nan, mark: Mark | None = None, *, whole: bool = False
) -> Cell:
    """A cell of a number with its interval; `mark` where the column has marks."""
    shown = rounded(middle, low, high, whole=whole)
    values: tuple[Value, ...] = (middle, low, high)
    text = shown.text + (TIED if mark == "tied" else "")
    return Cell(text, measured(shown, mark or ""), values if mark is None else (*values, mark), mark or "")


def scored(value: float, mark: Mark = "") -> Cell:
    """A cell of one number to six digits."""
    shown = rounded(value, digits=6)
    return Cell(shown.text, measured(shown, mark), (value if math.isfinite(value) else math.nan,), mark)


def marks(middles: Iterable[float], better: str, undecided: Iterable[bool]) -> list[Mark]:
    """The best of a column, and those that are not beyond doubt behind it.

    undecided  for each whether its difference to the best is not decided; what is not finite has no mark
    """
    known = [one if better == "less" else -one for one in middles]
    finite = [one for one in known if math.isfinite(one)]
    if len(finite) < 2:
        return ["" for _ in known]
    best = known.index(min(finite))
    return [
        "best" if place == best else "tied" if math.isfinite(one) and open_ else ""
        for place, (one, open_) in enumerate(zip(known, undecided, strict=True))
    ]
