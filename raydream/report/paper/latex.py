"""A table as LaTeX has it, ruled by booktabs."""

from collections.abc import Iterable
from dataclasses import replace

from raydream.report.tables.table import Cell, Table
from raydream.report.tables.tex import comment, escaped

NARROW = 4  # columns that go into one column of a page
NEEDS = "Needs \\usepackage{booktabs}."


def booktabs(table: Table, note: str) -> str:
    """The table, with what was done to make it in a comment at the top."""
    shown = _telling(table)
    spread = "table" if len(shown.heads) <= NARROW else "table*"
    columns = "".join("r" if head.numeric else "l" for head in shown.heads)
    lines = [
        rf"\begin{{{spread}}}[t]",
        r"\centering\small",
        rf"\caption{{{escaped(shown.caption)}}}",
        rf"\label{{tab:{table.name}}}\vspace{{3pt}}",
        rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
        r"\toprule",
        _line(head.tex for head in shown.heads),
        r"\midrule",
        *_body(shown.rows),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\end{{{spread}}}",
    ]
    return comment(f"{note}\n{NEEDS}") + "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _body(rows: tuple[tuple[Cell, ...], ...]) -> list[str]:
    """A line for each row; a thin rule where the first cell of a longer block changes."""
    lines: list[str] = []
    firsts = [row[0].tex for row in rows]
    blocks = len(set(firsts)) < len(firsts)
    for place, row in enumerate(rows):
        again = blocks and place > 0 and firsts[place] == firsts[place - 1]
        if blocks and place and not again:
            lines.append(r"\addlinespace")
        lines.append(_line(["" if again else row[0].tex, *(cell.tex for cell in row[1:])]))
    return lines


def _telling(table: Table) -> Table:
    """Without columns that CSV has, and those that tell no rows apart: equal seeds, a y that always followed."""
    keep = []
    for place, head in enumerate(table.heads):
        texts = {row[place].text for row in table.rows}
        idle = head.text == "seeds" or (head.text in IDLE and texts <= {"yes", "-", "no", "", "0"})
        if head.text not in DROPPED and not (idle and len(texts) == 1):
            keep.append(place)
    rows = tuple(tuple(row[place] for place in keep) for row in table.rows)
    return replace(table, heads=tuple(table.heads[place] for place in keep), rows=rows)


DROPPED = ("dual gap", "trials", "spent")  # which CSV has
IDLE = ("y has followed", "diverged", "failed", "at an edge", "remark")
