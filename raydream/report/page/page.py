"""The report: one self-contained interactive page that opens from disk, without a network."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from raydream.report.collect import Run, collect, grouped
from raydream.report.deciding import LEADS, decided
from raydream.report.page.facts import Groups, facts_of, failed_of
from raydream.report.page.packing import Packed, pack
from raydream.report.page.sections import configurations, heading, runs_table, who_leads
from raydream.report.page.shell import HERE, as_json, framed, joined, room_beside, write_page
from raydream.report.paper.embedded import look, reaching, saved
from raydream.report.paper.parts import tables_of
from raydream.report.source import home_of
from raydream.storage.naming import shared_name

# The files of the page's program, one after the other.
PROGRAM = (
    "common", "saving", "records", "convergence", "bars", "prices", "winners", "begin", "reaching", "tables",
)  # fmt: skip


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
    missing = {str(label): str(why) for label, why in getattr(runs, "missing", {}).items()}
    tuned = str(getattr(runs, "tuned", ""))
    text = page(every, title, failures, constants, tuned=tuned, missing=missing, home=home_of(runs))
    return write_page(path, text)


def page(
    every: list[Run],
    title: str | None = None,
    failures: Mapping[Any, str] | None = None,
    constants: dict[str, float] | None = None,
    *,
    tuned: str = "",
    missing: Mapping[str, str] | None = None,
    home: Path | None = None,
) -> str:
    """The page as text.

    failures        the sentences of runs that ended with an error, by (label, seed)
    tuned, missing  how the parameters were found, and which methods won nothing, and why
    home            the directory that the runs are kept in, for the commands in what is saved
    """
    groups = grouped(every)
    failures = failures or {}
    failed = failed_of(failures)
    title = title or _title(groups)
    judged = decided(every)
    facts = facts_of(every, groups, constants, judged, failures)
    leads = who_leads(every, judged, failed)
    parts = {
        "heading": heading(title, every, groups, failures, judged, tuned, missing),
        "leads": f'<div class="bar"><h2>{LEADS}</h2></div>{leads}',
        "without": "" if leads else "hidden",
        "table": runs_table(every, failures),
        "configurations": configurations(groups),
    }
    brought = {
        "paper": look(),
        "tables": saved(tables_of(every, failed, tuned, judged=judged), home, every),
        "reaching": reaching(every, home, tuned),
    }
    room = room_beside(program_text(), as_json(facts), as_json(brought), *parts.values())
    packed = pack(every, max(room, 100_000))
    facts_with = {**facts, **brought, "packed": packed.runs, "remark": _remark(packed, every)}
    return framed(
        HERE / "page.html", program_text(), title, **parts, facts=as_json(facts_with), data=packed.text
    )  # fmt: skip


def program_text() -> str:
    """The page's program."""
    return joined(*PROGRAM)


def _title(groups: Groups) -> str:
    every = [run.config for runs in groups.values() for run in runs if run.config.get("problem")]
    names = list(groups)
    subject = ", ".join(names) if len(names) <= 3 else f"{len(names)} methods"
    return f"{subject}: {shared_name(every)}" if every else subject


def _remark(packed: Packed, every: list[Run]) -> str:
    recorded = sum(len(run.columns["iteration"]) for run in every)
    if packed.rows < recorded:
        return f"{packed.rows:,} of {recorded:,} records are kept here: the extremes of every stretch."
    if not packed.exact:
        return f"All {recorded:,} records are here, metrics to seven digits; zoom in to see each."
    return f"All {recorded:,} records are here; zoom in to see each." if recorded > 2000 else ""
