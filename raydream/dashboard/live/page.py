"""One run, followed while it lasts: its curve, its pace, where its agents live, and a way to stop it or go on."""

from typing import Any

from dash import Dash, Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate

from raydream.dashboard import axes
from raydream.dashboard.curves import curve, nothing, runs_of
from raydream.dashboard.live.facts import actions, details, facts, more, title
from raydream.dashboard.live.logs import follow_logs, log_cards
from raydream.dashboard.parts import Query, card, choice, graph, note, state
from raydream.dashboard.watching.jobs import Jobs

TITLE = "Live"
TICK, LAZY = 1000, 5000  # milliseconds between looks at a run that goes on, and at one that has ended


def layout(query: Query, jobs: Jobs) -> Any:
    """The page of one run; without a name, of the latest."""
    names = jobs.runs.names()
    wanted = query.one("run", names[0] if names else "")
    if not wanted:
        return [html.H1("Live"), note("There is no run yet: start one with New run, or with raydream run.")]
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
        *log_cards(),
        html.Div(id="live-details"),
        dcc.Interval(id="live-tick", interval=TICK),
        dcc.Store(id="live-version"),  # the version of the run that the page tells of
        dcc.Store(id="live-rows"),  # and the one that is drawn
        dcc.Store(id="live-logged"),  # the versions of the logs that are shown
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
        Output("live-version", "data"),
        Output("live-rows", "data"),
        Output("live-stage", "data"),
        Output("live-message", "children"),
        Input("live-tick", "n_intervals"),
        Input(state("run"), "value"),
        State("live-version", "data"),
        State("live-rows", "data"),
        State("live-stage", "data"),
    )
    def tell(_: int, name: str, known: str | None, rows: str | None, stage: str | None) -> Any:
        try:
            run = jobs.look(name)
        except ValueError as error:
            return name, note(str(error)), [], [], LAZY, None, name, name, ""
        version = f"{name} {run.version}"
        if version == known:
            raise PreventUpdate
        drawn = f"{name} {len(run.columns.get('iteration', ()))} {run.state} {len(run.recoveries)}"
        now = f"{name} {run.state} {run.edition} {len(run.recoveries)}"
        # What a reader may have opened or typed into is left alone while it means the same.
        kept = (no_update, no_update) if now == stage else (actions(run), details(run))
        fresh = [no_update if before == after else after for before, after in ((rows, drawn), (stage, now))]
        message = "" if stage is not None and now != stage and run.state != "starting" else no_update
        return title(run), facts(run), *kept, TICK if run.live else LAZY, version, *fresh, message

    follow_logs(app, jobs)

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
        Output("live-message", "children", allow_duplicate=True),
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
        except (ValueError, TypeError, OSError) as error:
            return str(error), TICK
