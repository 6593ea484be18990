"""The last lines of what a run and its actors have printed, while they print it."""

from typing import Any

from dash import Dash, Input, Output, State, html, no_update
from dash.exceptions import PreventUpdate

from raydream.dashboard.parts import card, state
from raydream.dashboard.watching.jobs import Jobs
from raydream.dashboard.watching.watched import ACTORS

LINES = 200
HIDDEN = {"display": "none"}
# By the part of the page: the file in the run's folder, and what it is.
LOGS = {"run": ("log.txt", "What it printed"), "actors": (ACTORS, "What its actors printed")}


def log_cards() -> list[Any]:
    """A place for each log, not seen until there is one."""
    return [
        html.Div(
            card(title, html.Div(html.Pre(id=f"live-log-{part}"), className="log")),
            id=f"live-logs-{part}",
            style=HIDDEN,
        )
        for part, (_, title) in LOGS.items()
    ]


def follow_logs(app: Dash, jobs: Jobs) -> None:
    """Show what is new in them."""

    @app.callback(
        *(Output(f"live-log-{part}", "children") for part in LOGS),
        *(Output(f"live-logs-{part}", "style") for part in LOGS),
        Output("live-logged", "data"),
        Input("live-tick", "n_intervals"),
        Input(state("run"), "value"),
        State("live-logged", "data"),
    )
    def show(_: int, name: str, known: list[str] | None) -> Any:
        try:
            run = jobs.look(name)
        except ValueError:
            return *("" for _ in LOGS), *(HIDDEN for _ in LOGS), None
        stamps = [f"{name} {run.stamp(file)}" for file, _ in LOGS.values()]
        if stamps == known:
            raise PreventUpdate
        fresh = [known is None or before != now for before, now in zip(known or stamps, stamps, strict=True)]
        texts = [run.log(LINES, file) if new else "" for new, (file, _) in zip(fresh, LOGS.values(), strict=True)]
        shown = [text if new else no_update for new, text in zip(fresh, texts, strict=True)]
        styles = [({} if text else HIDDEN) if new else no_update for new, text in zip(fresh, texts, strict=True)]
        return *shown, *styles, stamps
