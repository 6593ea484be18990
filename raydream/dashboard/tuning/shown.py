"""What the page of a tuning tells and draws: the words and figures of its report."""

from typing import Any

from dash import dcc, html

from raydream.dashboard.parts import STILL, address, card, note, table, tiles
from raydream.dashboard.watching.tunings import WatchedTuning
from raydream.report.tuning import figures, words
from raydream.report.tuning.page import WIDTH
from raydream.report.tuning.tried import tried
from raydream.report.tuning.won import won
from raydream.studies.tuning.tuning import Tuning


def title(watched: WatchedTuning) -> list[Any]:
    """Name and state."""
    return [watched.name, " ", html.Span(watched.state, className=f"state {watched.state}")]


def told(watched: WatchedTuning, metric: str, root: str) -> list[Any]:
    """On what it was tuned and how, what won, and how to compare the winners."""
    tuning = watched.tuning(metric)
    reason = [note(watched.reason)] if watched.reason else []
    if tuning is None:
        return [*reason, note(f"There is no trial in {root}/{watched.name} yet.")]
    sentence, command = words.hint(tuning)
    best = won(tuning)
    shown = html.Div(table([head.text for head in best.heads], best.texts), className="wrapping")
    return [
        note(words.lead(tuning)),
        *reason,
        tiles(words.tiles(tuning)),
        card("What leads" if words.under_way(tuning) else "What won", shown),
        card("Compare the winners", html.P(sentence), *([html.Pre(command)] if command else [])),
    ]


def drawn(tuning: Tuning, label: str, dark: bool) -> list[Any]:
    """The figures of one method."""
    one = tried(tuning, label)
    if not one.marks:
        return [note("Nothing was tried of this method yet.")]
    if not one.varied:
        return [note(f"{words.about_method(one)} Nothing varies.")]
    width = f"{WIDTH * (len(one.varied) + (one.rungs > 1) + 1)}px"
    return [
        note(words.about_method(one)),
        html.H3("Score against each parameter"),
        html.Div([_placed(figures.panel(one, name, dark)) for name in one.varied], className="panels"),
        note(figures.key_of(one)),
        html.H3("Which parameter mattered"),
        html.Div(_placed(figures.mattered(one, dark)), className="narrow"),
        note(words.about_mattered(one)),
        html.H3("All parameters at once"),
        html.Div(html.Div(_placed(figures.parallel(one, dark)), style={"minWidth": width}), className="across"),
        note(words.PARALLEL),
    ]


def spent(tuning: Tuning, dark: bool) -> list[Any]:
    """What the trials of each method have cost."""
    every = [one for label in tuning.about["methods"] if (one := tried(tuning, label)).marks]
    bills = [_placed(figures.spent(every, cost, dark)) for cost in words.costs_of(tuning)]
    return [html.Div(bills, className="beneath narrow"), note(words.SPENT)]


def report(name: str, metric: str) -> str:
    """Where the report is."""
    return address("/report", tuning=name, metric=metric)


def _placed(figure: Any) -> Any:
    return dcc.Graph(figure=figure, config=STILL, style={"height": f"{figure.layout.height}px"})
