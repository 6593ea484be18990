"""A tuning, also while it lasts: what was tried, what leads or won, and what it cost."""

from typing import Any

from dash import Dash, Input, Output, State, dcc, html
from dash.exceptions import PreventUpdate

from raydream.columns import column
from raydream.dashboard.parts import Query, attempt, card, choice, note, state
from raydream.dashboard.tuning import shown
from raydream.dashboard.watching.jobs import Jobs
from raydream.dashboard.watching.tunings import USUAL, WatchedTuning, metric_among
from raydream.studies.tuning.closing import METRICS

TITLE = "Tuning"
TICK = 1500


def layout(query: Query, jobs: Jobs) -> Any:
    """Which tuning, which of its methods, and, as long as the tuning does not say it, by which metric."""
    names = jobs.tunings.names()
    wanted = query.among("tuning", names, names[0] if names else "")
    methods = jobs.tunings.look(wanted).methods if wanted else []
    labels = {name: column(name).label for name in METRICS}
    none = f"There is no tuning in {jobs.runs.root.name}/ yet: make one with raydream tune."
    return [
        html.Div(
            [
                html.H1("Tuning", id="tuning-title"),
                choice("tuning", "tuning", names, wanted),
                html.A("Report", id="tuning-report", target="_blank", className="button", href="/report"),
            ],
            className="heading",
        ),
        note("" if names else none),
        html.Div(id="tuning-told"),
        card(
            "What was tried",
            html.Div(id="tuning-drawn"),
            controls=[
                choice("method", "method", methods, query.among("method", methods, methods[0] if methods else "")),
                html.Span(
                    choice("metric", "judged by", labels, query.among("metric", METRICS, USUAL)), id="tuning-metric"
                ),
            ],
        ),
        card("Budget spent", html.Div(id="tuning-spent")),
        dcc.Interval(id="tuning-tick", interval=TICK),
        dcc.Store(id="tuning-version"),  # which tuning, and how far it is
    ]


def register(app: Dash, jobs: Jobs) -> None:
    """Follow the tuning that is chosen."""

    def look(name: str | None) -> WatchedTuning | None:
        return attempt(lambda: jobs.tunings.look(name))[0] if name else None

    @app.callback(
        Output("tuning-version", "data"),
        Output("tuning-title", "children"),
        Output("tuning-told", "children"),
        Output("tuning-report", "href"),
        Output("tuning-metric", "style"),
        Output(state("method"), "options"),
        Output(state("method"), "value"),
        Input("tuning-tick", "n_intervals"),
        Input(state("tuning"), "value"),
        Input(state("metric"), "value"),
        State(state("method"), "value"),
        State("tuning-version", "data"),
    )
    def follow(_: int, name: str | None, metric: str, method: str | None, known: str | None) -> Any:
        """Cheap, and often: whether it has grown, and what it says."""
        watched = look(name)
        if watched is None:
            raise PreventUpdate
        by = metric_among(metric)
        version = f"{watched.name} {watched.version} {by}"
        if version == known:
            raise PreventUpdate
        methods = watched.methods
        chosen = method if method in methods else methods[0] if methods else ""
        hidden = {"display": "none"} if watched.finished else {}
        return (
            version, shown.title(watched), shown.told(watched, by, jobs.runs.root.name),
            shown.report(watched.name, by), hidden, methods, chosen,
        )  # fmt: skip

    @app.callback(
        Output("tuning-drawn", "children"),
        Input("tuning-version", "data"),
        Input(state("method"), "value"),
        Input("dark", "data"),
        State(state("tuning"), "value"),
        State(state("metric"), "value"),
    )
    def draw(_: str, method: str | None, dark: bool, name: str | None, metric: str) -> Any:
        watched = look(name)
        tuning = watched.tuning(metric_among(metric)) if watched else None
        if tuning is None or method is None or method not in tuning.about["methods"]:
            return []
        return shown.drawn(tuning, method, bool(dark))

    @app.callback(
        Output("tuning-spent", "children"),
        Input("tuning-version", "data"),
        Input("dark", "data"),
        State(state("tuning"), "value"),
    )
    def bill(_: str, dark: bool, name: str | None) -> Any:
        watched = look(name)
        tuning = watched.tuning() if watched else None
        return [] if tuning is None else shown.spent(tuning, bool(dark))
