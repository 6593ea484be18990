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
    show(title, chosen.columns, chosen.itertuples(index=False))


def show_comparison(comparison: Any, target: float | None, title: str) -> None:
    """What each method reached and paid, and what it took to reach a target."""

    runs = comparison.runs
    finished = runs[runs.outcome != "failed"]
    rows = []
    for method, group in finished.groupby("method", sort=False):
        outcomes = ", ".join(f"{count} {name}" for name, count in group.outcome.value_counts().items())
        medians = [float(group[column].median()) for column in ("primal", "grad_norm", "sfo", "rounds", "bytes")]
        rows.append((method, outcomes, *medians))
    columns = ("method", "runs", "P", "||grad P||", "SFO", "rounds", "bytes")
    show(f"{title}: medians over seeds at the end", columns, rows)
    for failed in runs[runs.outcome == "failed"].itertuples():
        print(f"failed: {failed.method}, seed {failed.seed}: {failed.reason}")
    if finished.empty:
        return
    if target is None:  # what half of the methods reach
        ends = finished.groupby("method").primal.quantile(0.5, interpolation="higher")
        target = float(ends.quantile(0.5, interpolation="higher"))
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


def spread(row: Any, price: str) -> str:
    """Median and quartiles, or that it was not reached."""
    digits = ",.2f" if price == "seconds" else ",.0f"
    median, low, high = (float(getattr(row, name)) for name in (price, f"{price}_low", f"{price}_high"))
    return "not reached" if median == float("inf") else f"{median:{digits}} ({low:{digits}}-{high:{digits}})"
