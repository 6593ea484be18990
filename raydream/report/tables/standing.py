"""Where methods stand: medians over seeds with their intervals, and every pair's difference."""

import math
from collections import Counter
from collections.abc import Mapping

from raydream.columns import column
from raydream.report.collect import ENDED, Run, grouped
from raydream.report.deciding import METRICS, Decision, Judgement, budget_of, decided, history_of
from raydream.report.tables.table import Cell, Head, Mark, Table, counted, marks, numbered, said, worded
from raydream.studies.curves import quantile
from raydream.studies.standings import finals

COSTS = ("sfo", "rounds", "bytes")  # rounds never without the bytes that they carried


def standing(every: list[Run], failed: Mapping[str, int] | None = None, judged: Judgement | None = None) -> Table:
    """One row per method: what it reached and what it had spent.

    failed  how many more of its runs ended with an error
    judged  what seeds decide, where that is known already; ties are marked where they decide anything
    """
    judged = decided(every) if judged is None else judged
    found = judged.decisions or _undecided(every)
    groups = {label: [run for run in runs if run.outcome in ENDED] for label, runs in grouped(every).items()}
    heads = [said("method"), Head("seeds", "seeds", ("seeds", "diverged", "failed")),
             *(counted(column(one.metric), marked=True) for one in found),
             *(counted(column(name)) for name in (*COSTS, "dual_gap")), said("y has followed")]  # fmt: skip
    columns = [_marked(one) for one in found]
    rows = []
    for place, end in enumerate(found[0].finals.to_dict("records") if found else []):
        label = str(end["method"])
        ends = [one.finals.iloc[place] for one in found]
        cells = [numbered(one["median"], one["low"], one["high"], column_marks[place])
                 for one, column_marks in zip(ends, columns, strict=True)]  # fmt: skip
        bill = [_spent(groups[label], cost) for cost in COSTS]
        seeds = _seeds(groups[label], (failed or {}).get(label, 0))
        gap = numbered(end["dual_gap"])
        rows.append((worded(label), seeds, *cells, *bill, gap, _followed(end)))
    return Table("standing", tuple(heads), tuple(rows), about=f"medians over seeds {judged.where or 'at the end'}")


def pairs(judged: Judgement) -> Table:
    """One row per pair of methods: mean differences over the seeds they share, or ratios, with their intervals."""
    heads = [said("first"), said("second")]
    for one in judged.decisions:
        about = column(one.metric)
        sign, tex = ("/", "/") if about.log else ("−", "-")
        keys = tuple(f"{about.name}{end}" for end in ("", "_low", "_high"))
        heads.append(Head(f"{about.short}: first {sign} second", f"{about.tex or about.short}: first ${tex}$ second",
                          keys, numeric=True))  # fmt: skip
        heads.append(Head("decided", "decided", (f"{about.name}_decided",)))
    tables = [one.differences.to_dict("records") for one in judged.decisions]
    rows = []
    for several in zip(*tables, strict=True):
        cells: list[Cell] = [worded(str(several[0]["first"])), worded(str(several[0]["second"]))]
        for pair, one in zip(several, judged.decisions, strict=True):
            low = pair["low"] if math.isfinite(pair["high"]) or not column(one.metric).log else math.nan
            cells.append(numbered(pair["middle"], low, pair["high"]))
            cells.append(worded("yes" if pair["decided"] else "no"))
        rows.append(tuple(cells))
    return Table("pairs", tuple(heads), tuple(rows), about=f"differences seed by seed, {judged.where}")


def _undecided(every: list[Run]) -> list[Decision]:
    """Medians where nothing can be decided: one method, or runs that cannot be paired."""
    runs = [run for run in every if run.outcome in ENDED] or every
    histories = {(run.label, place): history_of(run) for place, run in enumerate(runs)}
    x, at = budget_of(runs)
    empty = finals({}, METRICS[0])
    return [
        Decision(metric, finals(histories, metric, x, at), empty, "")
        for metric in METRICS
        if any(metric in run.metrics for run in runs)
    ]


def _marked(one: Decision) -> list[Mark]:
    """The best by a metric, and those whose difference to it the seeds do not decide."""
    labels, better = list(one.finals["method"]), column(one.metric).better
    if not len(one.differences):
        return ["" for _ in labels]
    leader = one.leader[0]
    open_ = {
        str(pair["second"] if pair["first"] == leader else pair["first"])
        for pair in one.differences.to_dict("records")
        if leader in (pair["first"], pair["second"]) and not pair["decided"]
    }
    return marks(one.finals["median"], better, [label in open_ for label in labels])


def _spent(runs: list[Run], cost: str) -> Cell:
    bills = [bill for run in runs if (bill := run.last(cost)) == bill]
    return numbered(quantile(bills, 0.5), whole=True)


def _seeds(runs: list[Run], failed: int) -> Cell:
    lost = Counter({"diverged": sum(run.outcome == "diverged" for run in runs), "failed": failed})
    text = ", ".join([str(len(runs)), *(f"{count} {word}" for word, count in lost.items() if count)])
    return Cell(text, text, (len(runs), lost["diverged"], lost["failed"]))


def _followed(end: Mapping[str, float]) -> Cell:
    if math.isnan(end["dual_gap"]):
        return worded("-")
    text = "yes" if end["followed"] == end["seeds"] else f"in {end['followed']} of {end['seeds']}"
    return worded(text)
