"""One run, followed while it lasts: its curve, its pace, where its agents live, and a way to stop it or go on."""

import json
import math
from typing import Any

from dash import Dash, Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate

from raydream.dashboard import axes
from raydream.dashboard.curves import curve, nothing, runs_of
from raydream.dashboard.forms import again
from raydream.dashboard.jobs import Jobs
from raydream.dashboard.parts import Query, address, bar, card, choice, drawing, graph, note, state, table, tiles
from raydream.dashboard.reports import saved_run
from raydream.dashboard.watched import Watched
from raydream.progress import duration
from raydream.report import figures
from raydream.report.network import topology_of
from raydream.report.reach import si
from raydream.worlds import ENDLESS

TITLE = "Live"
TICK, LAZY = 1000, 5000  # milliseconds between looks at a run that goes on, and at one that has ended


def layout(query: Query, jobs: Jobs) -> Any:
    """The page of one run; without a name, of the latest."""
    names = jobs.runs.names()
    wanted = query.one("run", names[0] if names else "")
    if not wanted:
        return [html.H1("Live"), note("There is no run yet: start one with New run, or with `raydream run`.")]
    if wanted not in names:
        names = [wanted, *names]
    return [
        html.Div(
            [
                html.H1(id="live-title"),
                choice("run", "run", names, wanted),
                html.Div(id="live-actions", className="actions"),
            ],
            className="heading",
        ),
        html.P(id="live-message", className="message", role="status"),
        html.Div(id="live-facts"),
        card("Convergence", graph("live-curve", "tall"), controls=axes.controls(query)),
        html.Div(id="live-more"),
        html.Div(id="live-details"),
        dcc.Interval(id="live-tick", interval=TICK),
        dcc.Store(id="live-told"),  # the version of the run that the page tells of
        dcc.Store(id="live-rows"),  # and the one that is drawn
        dcc.Store(id="live-stage"),  # whether it has begun, and ended
        axes.zoom("live"),
    ]


def register(app: Dash, jobs: Jobs) -> None:
    """Follow the run, and do what the buttons say."""
    axes.keep_zoom(app, "live")

    @app.callback(
        Output("live-title", "children"),
        Output("live-facts", "children"),
        Output("live-actions", "children"),
        Output("live-details", "children"),
        Output("live-tick", "interval"),
        Output("live-told", "data"),
        Output("live-rows", "data"),
        Output("live-stage", "data"),
        Input("live-tick", "n_intervals"),
        Input(state("run"), "value"),
        State("live-told", "data"),
        State("live-rows", "data"),
        State("live-stage", "data"),
    )
    def tell(_: int, name: str, told: str | None, rows: str | None, stage: str | None) -> Any:
        try:
            run = jobs.look(name)
        except ValueError as error:
            return name, note(str(error)), [], [], LAZY, None, name, name
        version = f"{name} {run.version}"
        if version == told:
            raise PreventUpdate
        drawn = f"{name} {len(run.columns.get('iteration', ()))} {run.state} {len(run.recoveries)}"
        now = f"{name} {bool(run.record)} {run.live}"
        fresh = [no_update if before == after else after for before, after in ((rows, drawn), (stage, now))]
        pace = TICK if run.live else LAZY
        return title(run), facts(run), actions(run), details(run), pace, version, *fresh

    @app.callback(
        Output("live-curve", "figure"),
        Input("live-rows", "data"),
        *axes.inputs(),
        Input("live-zoom", "data"),
        Input("dark", "data"),
        State(state("run"), "value"),
    )
    def draw(_: str, x: str, y: str, scale_x: str, scale_y: str, zoomed: Any, dark: bool, name: str) -> Any:
        try:
            run = jobs.look(name)
        except ValueError as error:
            return nothing(str(error), bool(dark))
        return curve(runs_of([run]), x, y, scale_x, scale_y, axes.in_sight(zoomed, x, y, scale_x, scale_y), bool(dark))

    @app.callback(
        Output("live-more", "children"),
        Input("live-stage", "data"),
        Input("dark", "data"),
        State(state("run"), "value"),
    )
    def add(_: str, dark: bool, name: str) -> Any:
        try:
            return more(jobs.look(name), bool(dark))
        except ValueError:
            return []

    @app.callback(
        Output("live-message", "children"),
        Output("live-tick", "interval", allow_duplicate=True),
        Input("live-stop", "n_clicks"),
        Input("live-resume", "n_clicks"),
        State(state("run"), "value"),
        State("live-total", "value"),
        prevent_initial_call=True,
    )
    def act(stop: int | None, resume: int | None, name: str, total: int | None) -> Any:
        if not (stop or resume):  # the buttons have just been drawn
            raise PreventUpdate
        try:
            if ctx.triggered_id == "live-stop":
                jobs.stop(name)
                return "Asked to stop: it writes a checkpoint and ends.", TICK
            jobs.resume(name, total)
            return "Going on from the last checkpoint ...", TICK
        except (ValueError, OSError) as error:
            return str(error), TICK


def title(run: Watched) -> list[Any]:
    """Name and state."""
    return [run.name, " ", html.Span(run.state, className=f"state {run.state}")]


def facts(run: Watched) -> list[Any]:
    """How far it is, at what pace, and where it stands."""
    record = run.record
    shown = {
        "iteration": f"{run.iteration:,}" + (f" of {record['iterations']:,}" if _ends(record) else ""),
        "iterations/s": f"{run.rate:.3g}" if run.rate else "",
        "time left": duration(run.seconds_left) if run.live and run.seconds_left else "",
        "P(x̄)": _number(run.last("primal"), ".6g"),
        "‖∇P(x̄)‖": _number(run.last("grad_norm"), ".3g"),
        "SFO calls": "" if math.isnan(run.last("sfo")) else si(run.last("sfo")),
        "rounds": "" if math.isnan(run.last("rounds")) else si(run.last("rounds")),
        "payload": "" if math.isnan(run.last("bytes")) else si(run.last("bytes")) + "B",
        "time": "" if math.isnan(run.last("seconds")) else f"{run.last('seconds'):.3g} s",
        "recoveries": str(len(run.recoveries)) if run.recoveries else "",
    }
    said: list[Any] = [bar(run.share), tiles({name: value for name, value in shown.items() if value})]
    return [note(f"{run.state}: {run.reason}"), *said] if run.reason else said


def actions(run: Watched) -> list[Any]:
    """Stop it while it goes on; after that, go on, report, or run it again with changes."""
    more = [
        html.A("Report", href=address("/report", runs=[run.name]), target="_blank", className="button"),
        dcc.Link("Again, with changes", href=again(run.record), className="button"),
    ]
    hidden = {"display": "none"}
    resumable = run.resumable
    total = dcc.Input(
        id="live-total",
        type="number",
        min=1,
        step=1,
        placeholder=f"to {run.record.get('iterations', '')}",
        style={} if resumable else hidden,
    )
    return [
        html.Button("Stop", id="live-stop", className="button", style={} if run.live else hidden),
        html.Button("Resume", id="live-resume", className="button primary", style={} if resumable else hidden),
        total,
        *(more if run.record and run.state != "damaged" else []),
    ]


def more(run: Watched, dark: bool) -> list[Any]:
    """The network it runs on; at the end also how far each agent was from the mean, and the Lyapunov function."""
    if run.state == "damaged" or not run.record:
        return []
    shown = []
    network = topology_of(run.record["topology"])
    if network is not None and network.m > 1:
        drawn = {
            "agents and links; a line's width is its weight": figures.network(network, dark=dark),
            "what is left of disagreement, at worst": figures.mixing_speed(network, dark=dark),
        }
        shown.append(card("Network", _side_by_side(drawn)))
    saved = saved_run(run)
    if saved is not None and saved.distances is not None and (saved.distances > 0).any():
        heat = figures.distances(saved.distances, saved.columns["iteration"], dark=dark)
        shown.append(card("Agents' distance to the mean", _side_by_side({"": heat})))
    if saved is not None and "Psi" in saved.columns:
        shown.append(card("Lyapunov function", _side_by_side({"": figures.lyapunov(saved, dark=dark)})))
    return [html.Div(shown, className="beside")]


def _side_by_side(drawn: dict[str, Any]) -> Any:
    return html.Div(
        [
            html.Figure([drawing(figure), html.Figcaption(caption) if caption else None])
            for caption, figure in drawn.items()
        ],
        className="pair",
    )


def details(run: Watched) -> list[Any]:
    """Agents and where they live, what happened to them, and everything that run.json says."""
    record, sections = run.record, list[Any]()
    places = record.get("places") or []
    if places:
        rows = [(_spans(p["agents"]), p["actor"], p.get("address", ""), str(p.get("node", ""))[:12], p.get("pid", ""))
                for p in places]  # fmt: skip
        sections.append(card("Agents", table(("agents", "actor", "address", "node", "process"), rows)))
    elif record.get("backend", {}).get("name") == "local":
        sections.append(card("Agents", note("All agents live in the driver's process.")))
    if run.recoveries:
        events = [(e["iteration"], e["rolled_back_to"], _spans(e["agents"]), e["reason"]) for e in run.recoveries]
        sections.append(
            card("Recoveries", table(("at iteration", "rolled back to", "agents", "what happened"), events))
        )
    shown = {name: value for name, value in record.items() if name not in ("places", "recoveries")}
    if "topology" in shown:
        shown["topology"] = {name: value for name, value in shown["topology"].items() if name != "W"}
    blocks = [html.Details([html.Summary("run.json"), html.Pre(json.dumps(shown, indent=2))])]
    if log := run.log():
        blocks.append(html.Details([html.Summary("what it printed"), html.Pre(log)], open=run.state == "failed"))
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
