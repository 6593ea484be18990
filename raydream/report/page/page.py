"""The report: one self-contained interactive page that opens from disk, without a network."""

import base64
import functools
import hashlib
import json
import os
import zlib
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from raydream.report.collect import Run, collect, grouped
from raydream.report.page.facts import Groups, facts_of
from raydream.report.page.packing import Packed, pack
from raydream.report.page.sections import configurations, heading, runs_table
from raydream.storage.files import whole_file

LIMIT = 5_900_000  # bytes of a finished page
HERE = Path(__file__).parent
PROGRAM = ("records", "convergence", "bars", "begin")  # the files of the page's program, one after the other


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
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    text = page(every, title, failures, constants)
    with whole_file(target) as file:
        file.write(text.encode())
    return target


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
    style, program = (HERE / "page.css").read_text(), program_text()
    engine, compressed, notice = plotly()
    facts = facts_of(every, groups, constants)
    outer = [heading(title, every, groups, failures), runs_table(every, failures), configurations(groups)]
    room = LIMIT - len(compressed) - len(style) - len(program) - len(_json(facts)) - sum(map(len, outer)) - 40_000
    packed = pack(every, max(room, 100_000))
    # Whatever a run file says, only these two scripts may run, and nothing may be loaded.
    policy = (
        f"default-src 'none'; script-src {_hash(program)} {_hash(engine)}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return (
        (HERE / "page.html")
        .read_text()
        .format(
            policy=policy,
            title=escape(title),
            style=style,
            heading=outer[0],
            table=outer[1],
            configurations=outer[2],
            notice=escape(notice),
            facts=_json({**facts, "packed": packed.runs, "remark": _remark(packed, every)}),
            columns=packed.text,
            engine=compressed,
            program=program,
        )
    )


@functools.cache
def program_text() -> str:
    """The page's program: one function, of which the files of program/ are the body."""
    body = "\n".join((HERE / "program" / f"{name}.js").read_text() for name in PROGRAM)
    return f'"use strict";\n(async () => {{\n{body}}})();\n'


@functools.cache
def plotly() -> tuple[str, str, str]:
    """plotly.js: its text, the same deflated in base64, and its copyright notice."""
    from plotly.offline import get_plotlyjs

    text = str(get_plotlyjs())
    notice = " ".join(line.strip("/* ") for line in text[:400].split("*/")[0].splitlines()).strip()
    return text, base64.b64encode(zlib.compress(text.encode(), 9)).decode(), notice


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


def _json(data: Any) -> str:
    """JSON that can stand inside a script element: nothing in it ends the element or starts a comment."""
    text = json.dumps(_without_nan(data), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _without_nan(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key): _without_nan(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_without_nan(value) for value in data]
    return None if isinstance(data, float) and not np.isfinite(data) else data


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
