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

from raydream.report import figures, theme
from raydream.report.collect import Run, collect, grouped, variants, words
from raydream.report.figures.convergence import wrapped
from raydream.report.figures.distances import TIMES
from raydream.report.figures.network import topology_of
from raydream.report.figures.promise import promise_over
from raydream.report.figures.reach import suggested_target
from raydream.report.page.packing import Packed, pack
from raydream.report.page.sections import configurations, heading, runs_table
from raydream.report.plot import mixing_of
from raydream.storage.files import whole_file

LIMIT = 5_900_000  # bytes of a finished page
MOST_NETWORKS = 12
MOST_CELLS = 150_000  # of all heat maps together, each about 5 bytes of the page
HERE = Path(__file__).parent


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
    style, program = (HERE / "page.css").read_text(), (HERE / "page.js").read_text()
    engine, compressed, notice = plotly()
    facts = _facts(every, groups, constants)
    outer = [heading(title, every, groups, failures), runs_table(every, failures), configurations(groups)]
    room = LIMIT - len(compressed) - len(style) - len(program) - len(_json(facts)) - sum(map(len, outer)) - 40_000
    packed = pack(every, max(room, 100_000))
    facts |= {"packed": packed.runs, "remark": _remark(packed, every)}
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
            facts=_json(facts),
            columns=packed.text,
            engine=compressed,
            program=program,
        )
    )


@functools.cache
def plotly() -> tuple[str, str, str]:
    """plotly.js: its text, the same deflated in base64, and its copyright notice."""
    from plotly.offline import get_plotlyjs

    text = str(get_plotlyjs())
    notice = " ".join(line.strip("/* ") for line in text[:400].split("*/")[0].splitlines()).strip()
    return text, base64.b64encode(zlib.compress(text.encode(), 9)).decode(), notice


def _facts(every: list[Run], groups: dict[str, list[Run]], constants: dict[str, float] | None) -> dict[str, Any]:
    """What the page's program needs to know besides the columns."""
    place, number = {id(run): i for i, run in enumerate(every)}, variants(groups)
    metrics = list(dict.fromkeys(name for run in every for name in run.metrics))
    return {
        "groups": [
            {
                "label": label,
                "line": theme.line(runs[0].method, number[label]),
                "runs": [place[id(run)] for run in runs],
                "configuration": wrapped(words(runs[0].parameters)),
            }
            for label, runs in groups.items()
        ],
        "axes": {name: _axis(name) for name in theme.AXES if any(name in run.columns for run in every)},
        "metrics": {name: _axis(name) for name in metrics},
        "targets": {name: _finite(suggested_target(groups, name)) for name in metrics},
        "promise": promise_over(every, constants),
        "networks": _networks(every),
        "lyapunov": _per_group(groups, lambda run: figures.lyapunov(run) if "Psi" in run.columns else None),
        "distances": _per_group(groups, lambda run: _distances(run, MOST_CELLS // len(groups))),
        "templates": {"light": theme.template(), "dark": theme.template(dark=True)},
        "neutral": theme.NEUTRAL,
    }


def _axis(name: str) -> dict[str, Any]:
    return {
        "name": theme.axis_name(name),
        "short": theme.SHORT.get(name, name),
        "ticks": theme.ticks(name),
        "log": name in theme.LOGARITHMIC,
    }


def _distances(run: Run, most_cells: int) -> Any:
    """The heat map, in so many cells; none where the agents never differed, or are too many to be drawn."""
    if run.distances is None or not (np.isfinite(run.distances) & (run.distances > 0)).any():
        return None
    times = min(TIMES, most_cells // run.distances.shape[1])
    return figures.distances(run.distances, run.columns["iteration"], most_times=times) if times > 1 else None


def _networks(every: list[Run]) -> list[dict[str, Any]]:
    """The different networks of more than one agent, drawn, once for each way in which they are mixed.

    Plain gossip needs no picture of its own where the same network is also mixed by FastMix: that one shows both.
    """
    seen: dict[str, dict[str, Run]] = {}
    for run in every:
        described = run.config.get("topology") or {}
        if described.get("m", 1) > 1 and described.get("W") is not None:
            ways = seen.setdefault(json.dumps(described["W"]), {})
            ways.setdefault(json.dumps(mixing_of(run)), run)
    shown = [
        run
        for ways in seen.values()
        for run in [run for run in ways.values() if mixing_of(run)["mixing"] == "fastmix"] or [*ways.values()][:1]
    ]
    return [_network(run) for run in shown[:MOST_NETWORKS]]


def _network(run: Run) -> dict[str, Any]:
    topology = topology_of(run.config["topology"])
    assert topology is not None
    name = topology.name.replace("_", " ")
    return {
        "label": f"{name}, {topology.m} agents ({run.label})",
        "facts": f"{name}: {topology.m} agents, {topology.edges} links; λ₂ = {topology.second_eigenvalue:.6g}, "
        f"λₘ = {round(topology.smallest_eigenvalue, 12) + 0.0:.6g}, spectral gap δ = {topology.spectral_gap:.4g}.",
        "figures": {
            "network": _figure(figures.network(topology)),
            "spectrum": _figure(figures.spectrum(topology, **mixing_of(run))),
            "mixing": _figure(figures.mixing_speed(topology)),
        },
    }


def _per_group(groups: dict[str, list[Run]], draw: Any) -> list[dict[str, Any]]:
    """A figure of each group's first run, where there is something to draw."""
    drawn = ((label, draw(runs[0])) for label, runs in groups.items())
    return [{"label": label, "figure": _figure(figure)} for label, figure in drawn if figure is not None]


def _figure(figure: Any) -> dict[str, Any]:
    """A figure as the page takes it: without template and background, which follow the reader's light or dark."""
    described: dict[str, Any] = json.loads(figure.to_json())
    for part in ("template", "paper_bgcolor", "plot_bgcolor"):
        described["layout"].pop(part, None)
    return described


def _title(groups: dict[str, list[Run]]) -> str:
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


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


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
