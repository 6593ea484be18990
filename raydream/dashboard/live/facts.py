"""What the page of one run tells: its state, its pace, where its agents live, what happened, and what it was told."""

import json
import math
from typing import Any

from dash import dcc, html

from raydream.dashboard.new.again import again
from raydream.dashboard.parts import address, bar, captioned, card, drawing, note, table, tiles
from raydream.dashboard.reports import saved_run
from raydream.dashboard.watching.watched import Watched
from raydream.report import figures
from raydream.report.collect import words
from raydream.report.figures.network import topology_of
from raydream.report.figures.reach import si
from raydream.running.progress import duration
from raydream.storage.naming import setting_name
from raydream.studies.setting import ENDLESS

MOST = 200  # rows of a table
LONGEST = 100_000  # characters of run.json that are shown


def title(run: Watched) -> list[Any]:
    """Name and state."""
    return [run.name, " ", html.Span(run.state, className=f"state {run.state}")]


def facts(run: Watched) -> list[Any]:
    """How far it is, at what pace, and where it stands."""
    record = run.record if run.sound else {}
    shown = {
        "iteration": f"{run.iteration:,}" + (f" of {record['iterations']:,}" if _ends(record) else ""),
        "iterations/s": f"{run.rate:.3g}" if run.rate else "",
        "time left": duration(run.seconds_left) if run.live and run.seconds_left else "",
        "P(x̄)": _number(run.last("primal"), ".6g"),
        "‖∇P(x̄)‖": _number(run.last("grad_norm"), ".3g"),
        "SFO calls": "" if math.isnan(run.last("sfo")) else si(run.last("sfo")),
        "rounds": "" if math.isnan(run.last("rounds")) else si(run.last("rounds")),
        "payload": "" if math.isnan(run.last("bytes")) else si(run.last("bytes"), " ") + "B",
        "without evaluation": "" if math.isnan(run.last("seconds")) else f"{run.last('seconds'):.3g} s",
        "recoveries": str(len(run.recoveries)) if run.recoveries else "",
    }
    said: list[Any] = [bar(run.share), tiles({name: value for name, value in shown.items() if value})]
    return [note(lead(run)), *([note(run.reason)] if run.reason else []), *said]


def lead(run: Watched) -> str:
    """What runs, on what, over which network."""
    if not run.sound:
        return ""
    record = run.record
    asked = record.get("asked") or record["method"].get("parameters") or {}
    settings = words({name: value for name, value in asked.items() if value is not None})
    made = (record["problem"].get("spec") or {}).get("parameters") or {}
    more = words({name: value for name, value in made.items() if name != "data"})
    return f"{record['method'].get('name')} ({settings}), seed {record.get('seed')}; {setting_name(record)}" + (
        f"; {more}" if more else ""
    )


def actions(run: Watched) -> list[Any]:
    """Stop it while it goes on; after that, go on, report, or run it again with changes."""
    report = html.A("Report", href=address("/report", runs=[run.name]), target="_blank", className="button")
    form = again(run.record, run.form) if run.sound or run.form else None
    hidden = {"display": "none"}
    resumable = run.resumable
    total = dcc.Input(
        id="live-total",
        type="number",
        min=1,
        step=1,
        placeholder=f"to {run.record['iterations']}" if run.sound and _ends(run.record) else "to",
        style={} if resumable else hidden,
    )
    return [
        html.Button("Stop", id="live-stop", className="button", style={} if run.live else hidden),
        html.Button("Resume", id="live-resume", className="button primary", style={} if resumable else hidden),
        total,
        *([report] if run.sound else []),
        *([dcc.Link("Again, with changes", href=form, className="button")] if form else []),
    ]


def more(run: Watched, dark: bool) -> list[Any]:
    """The network it runs on; at the end also how far each agent was from the mean, and the Lyapunov function."""
    if not run.sound:
        return []
    shown = []
    network = topology_of(run.record["topology"])
    if network is not None and network.m > 1:
        links = captioned(
            "agents and links; a line's width is its weight", drawing(figures.network(network, dark=dark))
        )
        speed = captioned("what is left of disagreement, at worst", drawing(figures.mixing_speed(network, dark=dark)))
        shown.append(card("Network", html.Div([links, speed], className="pair")))
    saved = saved_run(run)
    if saved is not None and saved.distances is not None and (saved.distances > 0).any():
        heat = figures.distances(saved.distances, saved.columns["iteration"], dark=dark)
        shown.append(card("Agents' distance to the mean", drawing(heat)))
    if saved is not None and "Psi" in saved.columns:
        shown.append(card("Lyapunov function", drawing(figures.lyapunov(saved, dark=dark))))
    return [html.Div(shown, className="beside")]


def details(run: Watched) -> list[Any]:
    """Agents and where they live, what happened to them, and everything that run.json says."""
    record, sections = run.record if run.sound else {}, list[Any]()
    places = record.get("places") or []
    if places:
        rows = [(_spans(p["agents"]), p.get("actor"), p.get("address"), str(p.get("node", ""))[:12], p.get("pid"))
                for p in places[:MOST]]  # fmt: skip
        sections.append(card("Agents", table(("agents", "actor", "address", "node", "process"), rows)))
    elif (record.get("backend") or {}).get("name") == "local":
        sections.append(card("Agents", note("All agents live in the driver's process.")))
    if run.recoveries:
        latest = run.recoveries[:-MOST:-1]
        events = [(e["iteration"], e["rolled_back_to"], _spans(e["agents"]), e.get("reason")) for e in latest]
        sections.append(
            card("Recoveries", table(("at iteration", "rolled back to", "agents", "what happened"), events))
        )
    shown = {name: value for name, value in record.items() if name not in ("places", "recoveries")}
    if "topology" in shown:
        shown["topology"] = {name: value for name, value in shown["topology"].items() if name != "W"}
    blocks = [html.Details([html.Summary("run.json"), html.Pre(json.dumps(shown, indent=2)[:LONGEST])])]
    return [html.Div(sections, className="beside"), card("Configuration", *blocks)]


def _ends(record: dict[str, Any]) -> bool:
    """Whether the number of iterations means anything: a comparison's runs are ended by their budgets."""
    return 0 < (record.get("iterations") or 0) < ENDLESS


def _number(value: float, form: str) -> str:
    return "" if math.isnan(value) else format(value, form)


def _spans(agents: list[int]) -> str:
    """0-3, 7: agents in order, neighbours drawn together."""
    parts: list[list[int]] = []
    for agent in agents:
        if parts and agent == parts[-1][1] + 1:
            parts[-1][1] = agent
        else:
            parts.append([agent, agent])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
