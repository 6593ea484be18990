"""All runs below the root: what they are, how far they are, and which to compare."""

import math
from typing import Any

from dash import Dash, Input, Output, State, dcc, html
from dash.exceptions import PreventUpdate

from raydream.dashboard.jobs import Jobs
from raydream.dashboard.parts import Query, address, bar, note, state, text
from raydream.dashboard.watched import Watched
from raydream.report import theme
from raydream.report.reach import si

TITLE = "Runs"
MOST = 300  # rows at a time
LATEST, PATIENCE = 100, 10.0  # runs that are looked at every time; seconds for which a look at the others is good


def layout(query: Query, jobs: Jobs) -> Any:
    """The list, with a tick for each run."""
    return [
        html.Div(
            [
                html.H1("Runs"),
                text("search", "Search", query.one("search"), placeholder="name, method, problem, state ..."),
                dcc.Link("New run", href="/new", className="button primary"),
                dcc.Link("Compare the ticked", id="compare-link", href="/compare", className="button"),
            ],
            className="heading",
        ),
        html.Section(
            [
                html.Div(
                    [html.Span(name) for name in ("run", "state", "progress", "method", "P(x̄)", "‖∇P(x̄)‖", "SFO")],
                    className="row head",
                ),
                dcc.Checklist([], query.many("runs"), id=state("runs"), className="rows"),
                html.Div(id="overview-note"),
            ]
        ),
        dcc.Interval(id="overview-tick", interval=1500),
        dcc.Store(id="overview-shown"),
    ]


def register(app: Dash, jobs: Jobs) -> None:
    """Keep the list as it is on the disk."""

    @app.callback(
        Output(state("runs"), "options"),
        Output("overview-note", "children"),
        Output("overview-shown", "data"),
        Input("overview-tick", "n_intervals"),
        Input(state("search"), "value"),
        State("overview-shown", "data"),
    )
    def follow(_: int, wanted: str | None, shown: str | None) -> Any:
        names = jobs.runs.names()
        seen = jobs.look_at(names[:LATEST]) + jobs.look_at(names[LATEST:], patience=PATIENCE)
        found = [one for one in seen if matches(one, wanted or "")]
        version = str(hash(repr([wanted, [(one.name, one.version) for one in found]])))
        if version == shown:
            raise PreventUpdate
        options = [{"label": row(one), "value": one.name} for one in found[:MOST]]
        return options, said_of(found, jobs, wanted or ""), version

    @app.callback(Output("compare-link", "href"), Input(state("runs"), "value"))
    def link(ticked: list[str] | None) -> str:
        return address("/compare", runs=ticked or [])


def matches(run: Watched, wanted: str) -> bool:
    """Whether every word that is searched for is in what the row says."""
    record = run.record if run.sound else {}
    said = [run.name, run.state, record.get("method", {}).get("name"), record.get("problem", {}).get("name"),
            record.get("topology", {}).get("name")]  # fmt: skip
    whole = " ".join(str(one).lower() for one in said)
    return all(word in whole for word in wanted.lower().split())


def row(run: Watched) -> Any:
    """One run in one line."""
    method = str(run.record["method"].get("name", "")) if run.sound else ""
    swatch = html.I(className="swatch", style={"background": theme.colour(method)}) if method else ""
    return html.Span(
        [
            dcc.Link(run.name, href=address("/run", run=run.name), className="name"),
            html.Span(run.state, className=f"state {run.state}", title=run.reason),
            bar(run.share),
            html.Span([swatch, method]),
            html.Span(number(run.last("primal"), 6)),
            html.Span(number(run.last("grad_norm"), 3)),
            html.Span("" if math.isnan(run.last("sfo")) else si(run.last("sfo"))),
        ],
        className="row",
    )


def number(value: float, digits: int) -> str:
    """A number, or nothing where there is none."""
    return "" if math.isnan(value) else f"{value:.{digits}g}"


def said_of(found: list[Watched], jobs: Jobs, wanted: str) -> Any:
    """What the list itself does not say."""
    if not found and wanted:
        return note("No run matches.")
    if not found:
        return note(f"There is no run in {jobs.runs.root.name}/ yet: start one with New run, or with `raydream run`.")
    return note(f"The {MOST} latest of {len(found)}.") if len(found) > MOST else ""
