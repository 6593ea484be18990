"""The tables of a study: those of its cells, one under the other."""

from raydream.report.collect import collect
from raydream.report.figures.reach import failures_of
from raydream.report.tables.standing import standing
from raydream.report.tables.table import Table, joined
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
