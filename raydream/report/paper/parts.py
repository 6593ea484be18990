"""What there is to export of each kind of source: its tables with captions, its numbers, and its figures."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from raydream.columns import USUAL_Y
from raydream.report import figures
from raydream.report.collect import Run, collect, grouped
from raydream.report.deciding import Judgement, decided
from raydream.report.figures.intervals import intervals
from raydream.report.figures.reach import failures_of
from raydream.report.paper import numbers
from raydream.report.paper.caption import caption, tuning_caption
from raydream.report.plot import Plot
from raydream.report.source import Source
from raydream.report.study.tables import study_tables
from raydream.report.tables.reach import reach
from raydream.report.tables.standing import pairs, standing
from raydream.report.tables.table import MARKED, Table, Value
from raydream.report.tuning import figures as tuning_figures
from raydream.report.tuning.tried import tried
from raydream.report.tuning.won import won
from raydream.report.tuning.words import costs_of
from raydream.studies.study.study import Study
from raydream.studies.tuning.tuning import Tuning

Numbers = tuple[list[str], list[list[Value]]]


@dataclass(frozen=True)
class Wish:
    """What is to be seen: a metric over a cost, and the target of a metric."""

    x: str = "sfo"
    y: str = "grad_norm"
    target: float | None = None
    metric: str | None = None

    def options(self) -> dict[str, Any]:
        """What differs from the usual, by the names that `export` has for it."""
        usual = Wish()
        return {name: value for name, value in vars(self).items() if value != getattr(usual, name)}


@dataclass
class Parts:
    """Tables, numbers and figures by the names of their files, and the runs that they are of."""

    tables: list[Table] = field(default_factory=list)
    numbers: dict[str, Numbers] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)


def parts_of(source: Source, wish: Wish, drawn: bool) -> Parts:
    """All of it; figures only where they are wanted, as they take time."""
    if isinstance(source, Tuning):
        return _of_tuning(source, drawn)
    if isinstance(source, Study):
        return _of_study(source, wish, drawn)
    return _of_runs(source, wish, drawn)


def tables_of(
    every: list[Run],
    failed: Mapping[str, int],
    tuned: str = "",
    target: float | None = None,
    metric: str = USUAL_Y,
    judged: Judgement | None = None,
) -> list[Table]:
    """The tables of runs: where methods stand, what pairs differ by, and what it took to reach a target."""
    judged = decided(every) if judged is None else judged
    told = caption(every, tuned)
    where = standing(every, failed, judged)
    found = [where.captioned(f"{_upper(where.about)}, with 95 % intervals",
                             *([MARKED] if judged.decisions else []), *told)]  # fmt: skip
    if judged.decisions:
        each = pairs(judged)
        found.append(each.captioned(f"{_upper(each.about)}, with 95 % intervals", *told))
    if not any(metric in run.metrics for run in every):
        return found
    took = reach(every, target, metric, failed)
    several = [MARKED] if len(grouped(every)) > 1 else []
    found.append(took.captioned(f"{_upper(took.about)}: medians over seeds, with quartiles", *several, *told))
    return found


def _of_runs(source: Any, wish: Wish, drawn: bool) -> Parts:
    every = collect(source)
    found = Parts(runs=every)
    metric = wish.metric or wish.y
    found.tables = tables_of(every, failures_of(source), str(getattr(source, "tuned", "")), wish.target, metric)
    found.numbers = {"history": numbers.history(every), "convergence": numbers.curves(every, wish.x, wish.y)}
    if drawn:
        found.figures = _drawn(source, every, wish, metric)
    return found


def _drawn(source: Any, every: list[Run], wish: Wish, metric: str) -> dict[str, Any]:
    """Every figure of the report that these runs have."""
    plot = Plot(source)
    found = {"convergence": plot.convergence(wish.x, wish.y)}
    judged, groups = decided(every), grouped(every)
    found |= {f"standing-{one.metric}": intervals(one, groups) for one in judged.decisions}
    for cost in [name for name in ("sfo", "rounds", "bytes") if any(name in run.columns for run in every)]:
        found[f"reach-{cost}"] = plot.to_reach(wish.target, metric, costs=(cost,))
        found[f"ledger-{cost}"] = plot.ledger(costs=(cost,))
    networked = any(run.config.get("topology", {}).get("m", 1) > 1 for run in every)
    if networked and any((run.config.get("topology") or {}).get("W") for run in every):
        found |= {"network": plot.network(), "spectrum": plot.spectrum(), "mixing": plot.mixing_speed()}
    if any("Psi" in run.columns for run in every):
        found["lyapunov"] = plot.lyapunov()
    if networked and any(run.distances is not None for run in every):
        found["distances"] = plot.distances()
    return found


def _of_tuning(tuning: Tuning, drawn: bool) -> Parts:
    table = won(tuning)
    found = Parts(tables=[table.captioned(*tuning_caption(tuning))])
    trials = tuning.trials
    flat = [
        {**{f"parameter_{name}": value for name, value in row.pop("parameters").items()}, **row}
        for row in trials.to_dict("records")
    ]
    names = list(dict.fromkeys(name for row in flat for name in row))
    plain = [[_plain(row.get(name)) for name in names] for row in flat]
    found.numbers = {"trials": (names, plain)}
    if drawn:
        every = [one for label in tuning.about["methods"] if (one := tried(tuning, label)).marks]
        found.figures = {f"spent-{cost}": tuning_figures.spent(every, cost) for cost in costs_of(tuning)}
        for one in every:
            for name in one.varied:
                found.figures[f"{one.label}-{name}"] = tuning_figures.panel(one, name)
            if one.varied:
                found.figures[f"{one.label}-mattered"] = tuning_figures.mattered(one)
                found.figures[f"{one.label}-parallel"] = tuning_figures.parallel(one)
    return found


def _of_study(study: Study, wish: Wish, drawn: bool) -> Parts:
    cells = {cell: one for cell, one in study.comparisons.items() if one.results}
    found = Parts(runs=[run for one in cells.values() for run in collect(one)])
    found.tables = study_tables(study)
    rows: list[dict[str, Value]] = []
    for cell, one in cells.items():
        own, values = numbers.history(collect(one), cell=cell)
        rows += [dict(zip(own, row, strict=True)) for row in values]
    names = list(dict.fromkeys(name for row in rows for name in row))
    found.numbers["history"] = names, [[row.get(name) for name in names] for row in rows]
    if drawn:
        for cell, one in cells.items():
            found.figures[f"{cell}-{wish.y}"] = figures.convergence(one, wish.x, wish.y)
    return found


def _plain(value: Any) -> Value:
    if value is None or isinstance(value, str | int | float):
        return value
    return str(value)


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
