"""Findings are a function of their CSV files: write the tables, read them back, and render the text from what was read.

Beside `findings/<script>.md` lie `findings/<script>_<table>.csv`. The script has a TITLE and a pure `text_of(tables)`,
which gets {table: rows} as `read_csv` restores them and gives (summary, body): so the text can be rendered again from
the files alone, and be compared to the letter. The table `setting` has one row: what holds for all runs, with the
`size` of the experiment and the `seconds` that its runs took.
"""

import csv
import json
import shutil
from collections.abc import Callable
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

FINDINGS = Path(__file__).resolve().parent / "findings"
Row = dict[str, Any]
Tables = dict[str, list[Row]]
TextOf = Callable[[Tables], tuple[str, str]]


def write_csv(path: Path, rows: list[Row]) -> None:
    """Rows of numbers, booleans, strings and None; a float keeps ten digits and its point, so that it stays one."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_cell(path.name, name, row.get(name)) for name in names] for row in rows)


def read_csv(path: Path) -> list[Row]:
    """The rows with their types: "" is None, "True" and "False" are booleans, 3 an int, 3.0 a float."""
    with path.open(newline="") as file:
        return [{name: _value(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


def read_tables(folder: Path, script: str) -> Tables:
    """Every table of a script: {table: rows} of `<script>_<table>.csv`."""
    start = f"{script}_"
    return {path.stem.removeprefix(start): read_csv(path) for path in sorted(folder.glob(f"{start}*.csv"))}


def page(title: str, text_of: TextOf, tables: Tables) -> str:
    """The whole text; the summary is what README.md shows, the fingerprint changes with any number of the tables."""
    summary, body = text_of(tables)
    (setting,) = tables["setting"]
    took = f"All runs of the {setting['size']} size together: {setting['seconds'] / 60:.1f} minutes of one core."
    digest = sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest()
    return f"# {title}\n\n{summary}\n\n{body.strip()}\n\n{took} Fingerprint of the files: {digest[:8]}.\n"


def publish(given: Any, title: str, text_of: TextOf, tables: Tables) -> Tables:
    """Write each table as CSV, read it back, and render the text from what was read; after a full run in findings/ too.

    given    what `sweeps.options` gives: name, size, where results go, and the seconds of the runs
    text_of  gives (summary, body) from the tables; `summary` is the sentence that README.md shows
    tables   with `setting` or without; it gets `size` and `seconds`

    Answers the tables as they were read, for a figure.
    """
    (setting,) = tables.get("setting", [{}])
    spent = round(sum(given.seconds.values()), 1)
    tables = {**tables, "setting": [{**setting, "size": given.size, "seconds": spent}]}
    for stem, rows in tables.items():
        write_csv(given.out / f"{stem}.csv", rows)
    read = {stem: read_csv(given.out / f"{stem}.csv") for stem in tables}
    text = page(title, text_of, read)
    (given.out / "findings.md").write_text(text)
    print(text)
    if given.size == "full" or given.findings:
        FINDINGS.mkdir(exist_ok=True)
        for stale in FINDINGS.glob(f"{given.name}_*.csv"):
            stale.unlink()
        for stem in tables:
            shutil.copy(given.out / f"{stem}.csv", FINDINGS / f"{given.name}_{stem}.csv")
        (FINDINGS / f"{given.name}.md").write_text(text)
    print(f"results: {given.out}")
    return read


def rendered(findings: Path, script: str) -> str | None:
    """What a script of this folder makes of its tables in `findings`; None if there is none that renders its text."""
    if not (Path(__file__).parent / f"{script}.py").exists():
        return None
    module = import_module(script)
    if not (hasattr(module, "TITLE") and hasattr(module, "text_of")):
        return None
    return page(module.TITLE, module.text_of, read_tables(findings, script))


def table(rows: list[Row], columns: dict[str, str]) -> str:
    """Rows as a Markdown table: {column of the rows: heading}."""
    lines = ["| " + " | ".join(columns.values()) + " |", "| " + " | ".join("---" for _ in columns) + " |"]
    lines += ["| " + " | ".join(_shown(row.get(name)) for name in columns) + " |" for row in rows]
    return "\n".join(lines)


def short(value: float) -> str:
    """A number for a sentence."""
    if not np.isfinite(value):
        return "never" if value > 0 else "–"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.3g}"


def _shown(value: Any) -> str:
    if value is None:
        return "never"
    return short(value) if isinstance(value, float) else str(value)


def _cell(file: str, name: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return repr(float(f"{value:.10g}"))
    cell = str(value)
    if type(_value(cell)) is not type(value):
        raise ValueError(
            f"{file}: column {name!r} must hold numbers, booleans, None and strings that are none of these, got "
            f"{value!r}; give it as numbers in columns of their own"
        )
    return cell


def _value(cell: str) -> Any:
    if cell == "":
        return None
    if cell in ("True", "False"):
        return cell == "True"
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            pass
    return cell
