"""All runs below the root: what they are, how far they are, and which to compare."""

import math
from typing import Any

from dash import ALL, Dash, Input, Output, State, ctx, dcc, html
from dash.exceptions import PreventUpdate

from raydream.dashboard.parts import Query, address, bar, note, state, text
from raydream.dashboard.watching.jobs import Jobs
from raydream.dashboard.watching.watched import Watched
from raydream.report import theme
from raydream.report.figures.reach import si
from raydream.storage.naming import setting_name

TITLE = "Runs"
COLUMNS = ("run", "state", "progress", "method", "on", "P(x̄)", "‖∇P(x̄)‖", "SFO calls")
MOST = 300  # rows at a time
LATEST, PATIENCE = 100, 10.0  # runs that are looked at every time; seconds for which a look at the others is good


def layout(query: Query, jobs: Jobs) -> Any:
    """The list, with a tick for each run."""
    return [
        html.Div(
            [
                html.H1("Runs"),
                text("search", "search", query.one("search"), placeholder="name, method, data, state"),
                html.Button("Tick all", id="overview-all", className="button", title="tick every run that is shown"),
                html.Button("Untick", id="overview-none", className="button"),
                dcc.Link("Compare", id="compare-link", href="/compare", className="button"),
                dcc.Link("New run", href="/new", className="button primary"),
            ],
            className="heading",
        ),
        html.Section(
            [
                html.Div(
                    [html.Span(name) for name in COLUMNS],
                    className="row head",
                ),
                html.Div(id="overview-rows"),
                # What is ticked, whether it is shown or not, for the address.
                dcc.Checklist([], query.many("runs"), id=state("runs"), style={"display": "none"}),
                html.Div(id="overview-note"),
            ]
        ),
        dcc.Interval(id="overview-tick", interval=1500),
        dcc.Store(id="overview-shown"),
    ]


def register(app: Dash, jobs: Jobs) -> None:
    """Keep the list as it is on the disk."""

    @app.callback(
        Output("overview-rows", "children"),
        Output("overview-note", "children"),
        Output("overview-shown", "data"),
        Input("overview-tick", "n_intervals"),
        Input(state("search"), "value"),
        State("overview-shown", "data"),
        State(state("runs"), "value"),
    )
    def follow(_: int, wanted: str | None, shown: str | None, ticked: list[str] | None) -> Any:
        names = jobs.runs.names()
        seen = jobs.look_at(names[:LATEST]) + jobs.look_at(names[LATEST:], patience=PATIENCE)
        found = [one for one in seen if matches(one, wanted or "")]
        version = str(hash(repr([wanted, [(one.name, one.version) for one in found]])))
        if version == shown:
            raise PreventUpdate
        rows = [ticked_row(one, one.name in (ticked or [])) for one in found[:MOST]]
        return rows, said_of(found, jobs, wanted or ""), version

    @app.callback(
        Output(state("runs"), "value"),
        Input({"type": "tick", "run": ALL}, "value"),
        State({"type": "tick", "run": ALL}, "id"),
        State(state("runs"), "value"),
        prevent_initial_call=True,
    )
    def hear(values: list[list[str]], ids: list[dict[str, str]], ticked: list[str] | None) -> list[str]:
        """Ticks of rows that are not shown stay."""
        shown = {one["run"]: bool(value) for one, value in zip(ids, values, strict=True)}
        return [name for name in ticked or [] if shown.get(name, True)] + [
            name for name, on in shown.items() if on and name not in (ticked or [])
        ]

    @app.callback(Output("compare-link", "href"), Output("compare-link", "children"), Input(state("runs"), "value"))
    def link(ticked: list[str] | None) -> Any:
        return address("/compare", runs=ticked or []), f"Compare {len(ticked)} ticked" if ticked else "Compare"

    @app.callback(
        Output({"type": "tick", "run": ALL}, "value"),
        Input("overview-all", "n_clicks"),
        Input("overview-none", "n_clicks"),
        State({"type": "tick", "run": ALL}, "id"),
        prevent_initial_call=True,
    )
    def tick(_: int | None, __: int | None, ids: list[dict[str, str]]) -> list[list[str]]:
        return [[one["run"]] if ctx.triggered_id == "overview-all" else [] for one in ids]


def matches(run: Watched, wanted: str) -> bool:
    """Whether every word that is searched for is in what is known of the run."""
    record = run.record if run.sound else {}
    parts = [record.get(part) or {} for part in ("method", "problem", "topology")]
    said = [run.name, run.state, *(part.get("name") for part in parts), where(run)]
    whole = " ".join(str(one).lower() for one in said)
    return all(word in whole for word in wanted.lower().split())


def ticked_row(run: Watched, ticked: bool) -> Any:
    """A run with its tick."""
    box = dcc.Checklist([{"label": "", "value": run.name}], [run.name] if ticked else [],
                        id={"type": "tick", "run": run.name})  # fmt: skip
    return html.Div([box, row(run)], className="line")


def row(run: Watched) -> Any:
    """One run in one line."""
    method = str(run.record["method"].get("name", "")) if run.sound else ""
    colour = theme.colour(method) if method else "transparent"
    return html.Span(
        [
            dcc.Link(run.name, href=address("/run", run=run.name), className="name"),
            html.Span(run.state, className=f"state {run.state}", title=run.reason),
            bar(run.share),
            html.Span([html.I(className="swatch", style={"background": colour}), html.Span(method)]),
            html.Span(where(run)),
            html.Span(number(run.last("primal"), 6)),
            html.Span(number(run.last("grad_norm"), 3)),
            html.Span("" if math.isnan(run.last("sfo")) else si(run.last("sfo"))),
        ],
        className="row",
    )


def where(run: Watched) -> str:
    """Problem, data, network and agents."""
    return setting_name(run.record) if run.sound else ""


def number(value: float, digits: int) -> str:
    """A number, or nothing where there is none."""
    return "" if math.isnan(value) else f"{value:.{digits}g}"


def said_of(found: list[Watched], jobs: Jobs, wanted: str) -> Any:
    """What the list itself does not say."""
    if not found and wanted:
        return note("No run matches.")
    if not found:
        return note(f"There is no run in {jobs.runs.root.name}/ yet: start one with New run, or with raydream run.")
    return note(f"The {MOST} latest of {len(found)}.") if len(found) > MOST else ""
