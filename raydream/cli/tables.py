"""Tables for people: ruled on a terminal, never cut elsewhere."""

from collections.abc import Iterable, Mapping
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


def show_table(table: Any, title: str) -> None:
    """A table of the report."""
    show(title, [head.text for head in table.heads], table.texts)


def taken_from_the_table(usual: Mapping[str, Any], given: Mapping[str, Any], problem: Any) -> str:
    """Where the parameters come from that nobody gave, in sentences; nothing where all were given.

    usual  by method, what it has where nothing is said
    """
    from raydream.specs import spec_of
    from raydream.storage.naming import problem_name

    spec = spec_of(problem)
    name = problem_name({"name": type(problem).__name__, "spec": None if spec is None else vars(spec)})
    said = []
    for settled, words in (
        (True, "settled for {name} (raydream/steps); --eta, --gamma and --set say otherwise."),
        (False, "a guess: nothing is settled for {name}; `raydream tune` finds better."),
    ):
        chosen = {
            method: ", ".join(f"{key}={cell(value)}" for key, value in one.parameters.items() if key not in given)
            for method, one in usual.items()
            if one.settled is settled
        }
        shown = [f"{method}: {found}" if len(usual) > 1 else found for method, found in chosen.items() if found]
        said += [f"{'; '.join(shown)}: {words.format(name=name)}"] if shown else []
    return "\n".join(said)


def show_comparison(comparison: Any, target: float | None, title: str = "") -> None:
    """What each method reached and paid, whether that decides anything, and what it took to reach a target."""
    from raydream.report.collect import collect
    from raydream.report.figures.reach import failures_of
    from raydream.report.tables.reach import reach
    from raydream.report.tables.standing import standing

    title = ": ".join(word for word in (title, comparison.on) if word)
    if comparison.tuned:
        title = f"{title} ({comparison.tuned})"
    runs, failed = collect(comparison), failures_of(comparison)
    if runs:
        table = standing(runs, failed)
        show_table(table, f"{title}: {table.about} (95 % intervals; \N{DAGGER} not decided against the best)")
    for (method, seed), sentence in comparison.failures.items():
        print(f"failed: {method}, seed {seed}: {sentence}")
    for method, reason in comparison.missing.items():
        print(f"not compared: {method}: {reason}")
    if not runs:
        return
    print(comparison.verdict("primal"))
    took = reach(runs, target, "primal", failed)
    show_table(took, f"{took.about}: medians (quartiles)")


def show_tuning(tuning: Any) -> None:
    """What won, of how much that was tried, and what to know before believing it."""
    from raydream.report.tuning.won import won

    table = won(tuning)
    title = f"{table.about}, of {len(tuning.records)} trials"
    show_table(table, f"{tuning.on}: {title}" if tuning.on else title)
