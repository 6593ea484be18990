"""The report: one self-contained interactive page that opens from disk, without a network."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from raydream.report.collect import Run, collect, grouped
from raydream.report.page.facts import Groups, facts_of
from raydream.report.page.packing import Packed, pack
from raydream.report.page.sections import configurations, heading, runs_table
from raydream.report.page.shell import HERE, as_json, framed, joined, room_beside, write_page

# The files of the page's program, one after the other.
PROGRAM = ("common", "records", "convergence", "bars", "begin", "tables")


def write_report(
    path: str | os.PathLike[str],
    runs: Any,
    title: str | None = None,
    *,
    configs: Mapping[str, dict[str, Any]] | None = None,
    constants: dict[str, float] | None = None,
) -> Path:
    """Write the page for a result, several results, a comparison or a long history table, and return its path.

    configs    configurations by method, where a table is given
    constants  L, mu, psi0 and n or sigma, to draw what the DREAM theorem promises; by default as recorded
    """
    every = collect(runs, configs)
    if not every:
        raise ValueError("`runs` must hold at least one run; got none.")
    if not any(run.metrics for run in every):
        raise ValueError("`runs` must have recorded a metric such as `primal`; none has a finite value.")
    failures = {key: str(sentence) for key, sentence in getattr(runs, "failures", {}).items()}
    return write_page(path, page(every, title, failures, constants))


def page(
    every: list[Run],
    title: str | None = None,
    failures: Mapping[Any, str] | None = None,
    constants: dict[str, float] | None = None,
) -> str:
    """The page as text."""
    groups = grouped(every)
    failures = failures or {}
    title = title or _title(groups)
    facts = facts_of(every, groups, constants)
    outer = [heading(title, every, groups, failures), runs_table(every, failures), configurations(groups)]
    packed = pack(every, max(room_beside(program_text(), as_json(facts), *outer), 100_000))
    return framed(
        HERE / "page.html",
        program_text(),
        title,
        heading=outer[0],
        table=outer[1],
        configurations=outer[2],
        facts=as_json({**facts, "packed": packed.runs, "remark": _remark(packed, every)}),
        data=packed.text,
    )


def program_text() -> str:
    """The page's program."""
    return joined(*PROGRAM)


def _title(groups: Groups) -> str:
    first = next(iter(groups.values()))[0]
    problem = first.config.get("problem", {}).get("name")
    names = list(groups)
    subject = ", ".join(names) if len(names) <= 3 else f"{len(names)} methods"
    return f"{subject} on {problem}" if problem else subject


def _remark(packed: Packed, every: list[Run]) -> str:
    recorded = sum(len(run.columns["iteration"]) for run in every)
    if packed.rows < recorded:
        return f"{packed.rows:,} of {recorded:,} records are kept here: the extremes of every stretch."
    if not packed.exact:
        return f"All {recorded:,} records are here, metrics to seven digits; zoom in to see each."
    return f"All {recorded:,} records are here; zoom in to see each." if recorded > 2000 else ""
