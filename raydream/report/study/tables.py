"""The tables of a study: those of its cells, one under the other."""

from raydream.report.collect import collect
from raydream.report.figures.reach import failures_of
from raydream.report.tables.standing import standing
from raydream.report.tables.table import MARKED, Table, joined
from raydream.report.tuning.won import won
from raydream.studies.study.study import Study


def standings(study: Study) -> Table:
    """Where methods stand in every cell, the best of each cell bold."""
    found = [
        standing(collect(comparison), failures_of(comparison)).within("cell", cell)
        for cell, comparison in study.comparisons.items()
        if comparison.results
    ]
    return joined("standing", found)


def winners(study: Study) -> Table:
    """What tuning found in every cell."""
    return joined("winners", [won(tuning).within("cell", cell) for cell, tuning in study.tunings.items()])


def study_tables(study: Study) -> list[Table]:
    """Both with their captions."""
    file = study.file
    budget = f"{file.amount:g} {file.axis}" if file.amount is not None else f"{file.passes:g} passes over the data"
    said = f"{file.title}: medians over seeds with 95 % intervals, every run up to {budget}"
    found = [standings(study).captioned(said, MARKED)]
    return [*found, *([winners(study).captioned("How parameters were found in every cell")] if study.tunings else [])]
