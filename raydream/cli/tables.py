"""Tables for people: ruled on a terminal, never cut elsewhere."""

from collections.abc import Iterable
from typing import Any


def show(title: str, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """A table: ruled on a terminal, and never cut elsewhere."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    content = [[cell(value) for value in row] for row in rows]
    for number, column in enumerate(columns):
        numeric = all(row[number][:1] in "-+0123456789" and " " not in row[number] for row in content)
        table.add_column(column, justify="right" if numeric and number else "left", overflow="fold")
    for row in content:
        table.add_row(*row)
    console = Console()
    Console(width=console.width if console.is_terminal else 160).print(table)


def cell(value: Any) -> str:
    """A value as people read it."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e9 else f"{value:.6g}"
    return str(value)


def show_history(title: str, history: Any) -> None:
    """At most a dozen rows of a history, evenly spread, the last included."""
    step = max(1, -(-len(history) // 11))
    chosen = history.iloc[sorted({*range(0, len(history), step), len(history) - 1})]
    chosen = chosen.drop(columns=["evaluation_seconds", "evaluation_error"])  # which would not fit on a screen
    show(title, chosen.columns, chosen.itertuples(index=False))


def show_comparison(comparison: Any, target: float | None, title: str) -> None:
    """What each method reached and paid, whether that decides anything, and what it took to reach a target."""

    runs = comparison.runs
    finished = runs[runs.outcome != "failed"]
    if comparison.tuned:
        title = f"{title} ({comparison.tuned})"
    ends = comparison.finals("primal").set_index("method")
    rows = []
    for method, group in finished.groupby("method", sort=False):
        outcomes = ", ".join(f"{count} {name}" for name, count in group.outcome.value_counts().items())
        end = ends.loc[method]
        medians = [float(group[column].median()) for column in ("grad_norm", "sfo", "rounds", "bytes")]
        rows.append((method, outcomes, between(end["median"], end.low, end.high), *medians, followed(end)))
    columns = ("method", "runs", "P", "||grad P||", "SFO", "rounds", "bytes", "y has followed")
    show(f"{title}: medians over seeds at the end (95 % intervals)", columns, rows)
    for failed in runs[runs.outcome == "failed"].itertuples():
        print(f"failed: {failed.method}, seed {failed.seed}: {failed.reason}")
    for method, reason in comparison.missing.items():
        print(f"not compared: {method}: {reason}")
    if finished.empty:
        return
    print(comparison.verdict("primal"))
    if target is None:  # what half of the methods reach
        bests = finished.groupby("method").primal.quantile(0.5, interpolation="higher")
        target = float(bests.quantile(0.5, interpolation="higher"))
    reach = comparison.to_reach(target, metric="primal")
    prices = ("sfo", "rounds", "bytes", "seconds")
    table = [
        (row.method, f"{row.reached} of {row.seeds}", *(spread(row, price) for price in prices))
        for row in reach.itertuples()
    ]
    show(
        f"to reach P <= {target:.4g}: medians (quartiles)",
        ("method", "reached", "SFO", "rounds", "bytes", "seconds"),
        table,
    )


def show_tuning(tuning: Any) -> None:
    """What won, of how much that was tried, and what to know before believing it."""
    rows = []
    for row in tuning.table.itertuples():
        tried = str(row.configurations) if row.of is None or row.of != row.of else f"{row.configurations} of {row.of:g}"
        words = " ".join(f"{name}={cell(value)}" for name, value in row.parameters.items()) or "none"
        edge = ", ".join(row.at_edge)
        score = None if row.score in (float("inf"), float("-inf")) else float(row.score)
        rows.append((row.method, tried, row.diverged + row.failed, score, words, edge or "no", row.remark or "-"))
    columns = ("method", "tried", "diverged", tuning.metric, "parameters", "at an edge", "remark")
    show(f"best at {tuning.budget:g} {tuning.axis}, of {len(tuning.records)} trials", columns, rows)


def between(middle: float, low: float, high: float) -> str:
    """A number and its interval."""
    if middle != middle:
        return "-"
    return f"{middle:.6g}" if low == high else f"{middle:.6g} ({low:.5g} to {high:.5g})"


def followed(end: Any) -> str:
    """In how many runs y is near its best response."""
    return "yes" if end.followed == end.seeds else f"in {end.followed:g} of {end.seeds:g} (gap {end.dual_gap:.2g})"


def spread(row: Any, price: str) -> str:
    """Median and quartiles; a dash for what falls on a seed that did not get there."""
    digits = ",.2f" if price == "seconds" else ",.0f"
    median, low, high = (float(getattr(row, name)) for name in (price, f"{price}_low", f"{price}_high"))
    if median != median:
        return "not reached by half" if row.reached else "not reached"
    return f"{median:{digits}} ({low:{digits}}-{'' if high != high else format(high, digits)})"
