"""Several runs side by side, in the figures of the report, also while they last."""

from typing import Any

from dash import Dash, Input, Output, State, dcc, html
from dash.exceptions import PreventUpdate

from raydream.dashboard import axes
from raydream.dashboard.curves import bars_to_reach, bills, curve, nothing, runs_of
from raydream.dashboard.parts import STILL, Query, address, card, graph, labelled, note, number, state, table
from raydream.dashboard.watching.jobs import Jobs
from raydream.dashboard.watching.watched import Watched
from raydream.report import theme
from raydream.report.collect import grouped
from raydream.report.deciding import DECIDED, LEADS, decided
from raydream.report.figures.intervals import intervals
from raydream.report.figures.reach import si, suggested_target
from raydream.report.tables.standing import pairs, standing
from raydream.storage.naming import setting_name

TITLE = "Compare"
MOST = 100  # runs at a time
TICK = 1500


def layout(query: Query, jobs: Jobs) -> Any:
    """Which runs, and their figures."""
    names = jobs.runs.names()
    ticked = [name for name in query.many("runs") if name in names]
    picker = dcc.Dropdown(names, ticked, id=state("runs"), multi=True, placeholder="choose runs to compare")
    target = query.number("target", None)
    return [
        html.Div(
            [
                html.H1("Compare"),
                labelled("runs", picker, "wide"),
                html.A("Report", id="compare-report", target="_blank", className="button", href="/report"),
            ],
            className="heading",
        ),
        card("Convergence", graph("compare-curve", "tall"), controls=axes.controls(query)),
        html.Div(id="compare-judged"),
        card(
            html.Span("To reach a target", id="compare-goal"),
            html.Div(id="compare-reach", className="bars"),
            note(
                "The first record as good as the target: median over seeds, whiskers from quartile to quartile. A seed "
                "that does not get there counts as dearer than all others; where the median falls on one, how many got "
                "there is said instead."
            ),
            controls=[number("target", "target", target, step="any", placeholder="automatic")],
        ),
        card("Ledger", html.Div(id="compare-bills", className="bars")),
        card("Runs", html.Div(id="compare-table")),
        dcc.Interval(id="compare-tick", interval=TICK),
        dcc.Store(id="compare-rows"),  # which runs, and how far they are
        axes.zoom("compare"),
    ]


def register(app: Dash, jobs: Jobs) -> None:
    """Draw what is chosen, and again when it has grown."""
    axes.keep_zoom(app, "compare")

    @app.callback(
        Output("compare-rows", "data"),
        Output("compare-table", "children"),
        Input("compare-tick", "n_intervals"),
        Input(state("runs"), "value"),
        State("compare-rows", "data"),
    )
    def look(_: int, names: list[str] | None, known: str | None) -> Any:
        """Cheap, and often: what is chosen, and whether it has grown."""
        seen = jobs.look_at((names or [])[:MOST])
        version = str(hash(repr([(one.name, one.version) for one in seen])))
        if version == known:
            raise PreventUpdate
        return version, listed(seen)

    @app.callback(
        Output("compare-curve", "figure"),
        Input("compare-rows", "data"),
        *axes.inputs(),
        Input("compare-zoom", "data"),
        Input("dark", "data"),
        State(state("runs"), "value"),
    )
    def draw(
        _: str, x: str, y: str, scale_x: str, scale_y: str, zoomed: Any, dark: bool, names: list[str] | None
    ) -> Any:
        runs = runs_of(jobs.look_at((names or [])[:MOST]))
        if not runs:
            return nothing("choose runs above, or tick them in the list of runs", bool(dark))
        return curve(runs, x, y, scale_x, scale_y, axes.in_sight(zoomed, x, y, scale_x, scale_y), bool(dark))

    @app.callback(
        Output("compare-judged", "children"),
        Input("compare-rows", "data"),
        Input("dark", "data"),
        State(state("runs"), "value"),
    )
    def judge(_: str, dark: bool, names: list[str] | None) -> Any:
        return judged(jobs.look_at((names or [])[:MOST]), bool(dark))

    @app.callback(
        Output("compare-reach", "children"),
        Output("compare-goal", "children"),
        Input("compare-rows", "data"),
        Input(state("y"), "value"),
        Input(state("target"), "value"),
        Input("dark", "data"),
        State(state("runs"), "value"),
    )
    def reach(_: str, y: str, target: float | None, dark: bool, names: list[str] | None) -> Any:
        runs = [run for run in runs_of(jobs.look_at((names or [])[:MOST])) if y in run.metrics]
        if not runs:
            return [], "To reach a target"
        goal = suggested_target(grouped(runs), y) if target is None else target
        return _small(bars_to_reach(runs, y, goal, bool(dark))), f"To reach {theme.axis_name(y)} ≤ {goal:.4g}"

    @app.callback(Output(state("target"), "value"), Input(state("y"), "value"), prevent_initial_call=True)
    def forget(_: str) -> None:
        """A target of another metric means nothing."""
        return None

    @app.callback(
        Output("compare-bills", "children"),
        Input("compare-rows", "data"),
        Input("dark", "data"),
        State(state("runs"), "value"),
    )
    def spent(_: str, dark: bool, names: list[str] | None) -> Any:
        return _small(bills(runs_of(jobs.look_at((names or [])[:MOST])), bool(dark)))

    @app.callback(Output("compare-report", "href"), Input(state("runs"), "value"))
    def link(names: list[str] | None) -> str:
        return address("/report", runs=names or [])


def judged(seen: list[Watched], dark: bool) -> Any:
    """Who leads, and whether seeds that the runs share decide it; why not, where nothing can be said of several."""
    runs = runs_of(seen)
    found = decided(runs)
    if not found.decisions:
        return [card(LEADS, note(f"No verdict: {found.why_not}."))] if found.why_not else []
    groups = grouped(runs)
    tables = standing(runs, judged=found), pairs(found)
    drawn = [html.Div(_small([intervals(one, groups, dark)])) for one in found.decisions]
    return [
        card(
            LEADS,
            *(html.P(one.verdict) for one in found.decisions),
            html.Div(drawn, className="pair"),
            *(table([head.text for head in one.heads], one.texts) for one in tables),
            note(DECIDED.format(where=found.where)),
        )
    ]


def listed(seen: list[Watched]) -> Any:
    """One row per run, with a link to it."""
    lagging = {one.name for one in seen for run in runs_of([one]) if not run.followed}
    rows = [
        (
            dcc.Link(one.name, href=address("/run", run=one.name)),
            html.Span(
                [html.Span(one.state, className=f"state {one.state}")]
                + ([html.Small(" y has not followed", className="warn")] if one.name in lagging else [])
            ),
            str(one.record.get("method", {}).get("name", "")),
            setting_name(one.record),
            str(one.record.get("seed", "")),
            f"{one.iteration:,}",
            f"{one.last('primal'):.6g}",
            f"{one.last('grad_norm'):.3g}",
            si(one.last("sfo")),
            si(one.last("rounds")),
            si(one.last("bytes")),
        )
        for one in seen
        if one.sound
    ]
    return table(
        ("run", "state", "method", "on", "seed", "iterations", "P(x̄)", "‖∇P(x̄)‖", "SFO", "rounds", "bytes"), rows
    )


def _small(figures: list[Any]) -> list[Any]:
    """Figures as high as they ask to be."""
    return [dcc.Graph(figure=one, config=STILL, style={"height": f"{one.layout.height}px"}) for one in figures]
