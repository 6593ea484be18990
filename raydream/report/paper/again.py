"""How an export is made again: the command, and those of the runs that it shows."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from raydream.report.collect import Run, grouped
from raydream.report.page.reproduce import reproduce

MOST_RUNS = 30  # methods whose commands are told


def command(directory: Path | None, formats: str, options: Mapping[str, Any] | None = None) -> str:
    """The export again: a command where it was made from a directory, else a call."""
    given = {name: value for name, value in (options or {}).items() if value is not None}
    if directory is None:
        arguments = "".join(f", {name}={value!r}" for name, value in given.items())
        return f"rd.export(runs, out, {formats!r}{arguments})"
    words = [word for name, value in given.items() for word in (f"--{name}", _plain(value))]
    return shlex.join(["raydream", "export", str(directory), "--format", formats, *words])


def runs_again(every: list[Run]) -> str:
    """For every method how its runs are made again."""
    groups = list(grouped(every).items())
    told = [f"{label}:\n{reproduce(runs)}" for label, runs in groups[:MOST_RUNS]]
    rest = [f"and {len(groups) - MOST_RUNS} more"] if len(groups) > MOST_RUNS else []
    return "\n".join([*told, *rest])


def noted(again: str, runs: str = "") -> str:
    """What stands at the top of a file, or beside it."""
    return f"Made by raydream; again:\n{again}" + (f"\nThe runs, again:\n{runs}" if runs else "")


def _plain(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)
