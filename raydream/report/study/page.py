"""The report of a study: one page with a row of small figures for each cell, and what the seeds decide there."""

import os
from html import escape
from pathlib import Path
from typing import Any

from raydream.columns import column
from raydream.report import theme
from raydream.report.figures import convergence
from raydream.report.page.sections import table, tabled, tiles
from raydream.report.page.shell import as_json, bare, deflated, framed, joined, write_page
from raydream.report.paper.embedded import look, saved
from raydream.report.study.tables import study_tables
from raydream.studies.comparison import Comparison
from raydream.studies.study.study import Study

FRAME = Path(__file__).parent / "page.html"
PROGRAM = ("common", "saving", "study", "tables")
METRICS = ("primal", "grad_norm", "dual_gap", "consensus")
COSTS = ("sfo", "rounds", "bytes")  # rounds never without the bytes that they carried
HEIGHT = 260


def write_study(path: str | os.PathLike[str], study: Study, title: str | None = None) -> Path:
    """Write the page about a study, and return its path."""
    if not any(comparison.results for comparison in study.comparisons.values()):
        raise ValueError("`study` must hold at least one finished run; got none.")
    return write_page(path, page(study, title or study.file.title))


def page(study: Study, title: str) -> str:
    """The page as text."""
    tables = {one.name: one for one in study_tables(study)}
    brought = {"paper": look(), "tables": saved(tables.values(), study.directory, [])}
    facts = as_json({"templates": {"light": theme.template(), "dark": theme.template(dark=True)}, **brought})
    parts = {
        "heading": f"<h1>{escape(title)}</h1><p class=lead>{escape(_lead(study))}</p>{tiles(_tiles(study))}",
        "verdicts": table("verdicts", ("cell", "who leads, by P"), study.verdicts("primal").items(), "told"),
        "table": tabled(tables["standing"], "finals"),
        "tuned": tabled(tables["winners"], "tuned") if study.tunings else "<p>Every parameter was given.</p>",
    }
    cells = {cell: _figures(comparison) for cell, comparison in study.comparisons.items() if comparison.results}
    data = {"metrics": [[name, column(name).label] for name in METRICS], "first": METRICS[0], "cells": cells}
    return framed(FRAME, joined(*PROGRAM), title, **parts, facts=facts, data=deflated(as_json(data)))


def _figures(comparison: Comparison) -> dict[str, list[dict[str, Any]]]:
    """For each metric its figures against the three costs."""
    return {metric: [_small(comparison, cost, metric) for cost in COSTS] for metric in METRICS}


def _small(comparison: Comparison, cost: str, metric: str) -> dict[str, Any]:
    figure = convergence(comparison, cost, metric)
    figure.update_layout(height=HEIGHT, margin={"l": 60, "r": 10, "t": 30, "b": 40}, showlegend=cost == COSTS[0])
    figure.update_layout(legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "font": {"size": 11}})
    return bare(figure)


def _lead(study: Study) -> str:
    file = study.file
    budget = f"{file.amount:g} {file.axis}" if file.amount is not None else f"{file.passes:g} passes over the data"
    searched = "" if file.tuning is None else f", tuned by {file.tuning.get('search', 'random')} search at that budget"
    return f"Every run may spend {budget}{searched}; lines are medians over seeds, bands their quartiles."


def _tiles(study: Study) -> dict[str, str]:
    runs = sum(len(comparison.results) for comparison in study.comparisons.values())
    failed = sum(len(comparison.failures) for comparison in study.comparisons.values())
    found = {"cells": str(len(study.comparisons)), "methods": str(len(study.file.contenders)), "runs": str(runs)}
    trials = sum(len(tuning.records) for tuning in study.tunings.values())
    return found | ({"trials": str(trials)} if trials else {}) | ({"failed": str(failed)} if failed else {})
