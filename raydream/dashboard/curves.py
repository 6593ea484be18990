"""The figures of one or many watched runs: the report's own, thinned for the screen and exact where one zooms in."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from raydream.backends.protocol import Recovery
from raydream.columns import BILLED, column, compared
from raydream.dashboard.watching.watched import Watched
from raydream.report import figures, theme
from raydream.report.collect import Run, collect, grouped
from raydream.report.figures.bands import recorded, thinned
from raydream.report.figures.convergence import plain, shortened

POINTS = 30_000  # of all lines of one figure together
MOST_MARKS = 200  # recoveries of one run
LEAST = 300  # of each line, however many there are
WIDEST = 44  # characters of a name in the legend
SCALES = {"auto": "automatic", "log": "logarithmic", "linear": "linear"}


@dataclass(frozen=True)
class Zoom:
    """The ranges in sight, as axes count (a logarithmic one in powers of ten); None is all."""

    x: tuple[float, float] | None = None
    y: tuple[float, float] | None = None


ALL = Zoom()


@dataclass
class Seen:
    """A watched run in the shape of a result, which is what the report draws."""

    history: pd.DataFrame
    config: dict[str, Any]
    outcome: str
    reason: str
    recoveries: list[Recovery]


def runs_of(watched: Sequence[Watched]) -> list[Run]:
    """Those that have something to draw, labelled so that they can be told apart."""
    return collect(
        [
            Seen(pd.DataFrame(one.columns), one.record, one.state, one.reason, one.recoveries)
            for one in watched
            if one.sound and len(one.columns.get("iteration", ()))
        ]
    )


def curve(
    runs: list[Run],
    x: str,
    y: str,
    scale_x: str = "auto",
    scale_y: str = "auto",
    zoom: Zoom = ALL,
    dark: bool = False,
) -> Any:
    """`y` against `x`. In the range of x that is in sight every record is drawn, as far as points last."""
    having = [run for run in runs if recorded(run.columns, x) and y in run.metrics]
    if not having:
        if column(y).kind == "diagnostic" and runs:
            return nothing(f"{y} is recorded where the Lyapunov function was asked for, and shown at the end", dark)
        return nothing(f"nothing recorded yet of {theme.axis_name(y)} against {theme.axis_name(x)}", dark)
    share = max(LEAST, POINTS // len(having))
    within = zoom.x if zoom.x is None or scale_x != "log" else (10.0 ** zoom.x[0], 10.0 ** zoom.x[1])
    shown = [_in_sight(run, x, y, within, share) for run in having]
    log_y = None if scale_y == "auto" else scale_y == "log"
    figure = figures.convergence(shown, x, y, log_x=scale_x == "log", log_y=log_y, dark=dark)
    _mark_recoveries(figure, having, x, y)
    for axis, seen in (("xaxis", zoom.x), ("yaxis", zoom.y)):  # the reader's zoom stays while the curve grows
        if seen is not None:
            figure.layout[axis].range = seen
    figure.for_each_trace(lambda line: line.update(name=shortened(line.name or "", WIDEST)))
    legend = {"maxheight": 110}  # five rows; of more, the rest is scrolled to
    figure.update_layout(uirevision=f"{x} {y} {scale_x} {scale_y}", margin={"t": 24}, legend=legend)
    if len(grouped(having)) == 1:
        figure.update_layout(showlegend=False)
    return figure


def bars_to_reach(runs: list[Run], metric: str, target: float | None, dark: bool = False) -> list[Any]:
    """What it took to reach the target: one figure for each cost."""
    having = [run for run in runs if metric in run.metrics]
    if not having:
        return []
    costs = compared({name for run in having for name in run.columns})
    return [_slim(figures.to_reach(having, target, metric, costs=(cost,), dark=dark), cost) for cost in costs]


def bills(runs: list[Run], dark: bool = False) -> list[Any]:
    """What was spent: one figure for each kind."""
    return [_slim(figures.ledger(runs, costs=(cost,), dark=dark), cost) for cost in BILLED] if runs else []


def nothing(sentence: str, dark: bool = False) -> Any:
    """An empty figure that says why it is empty."""
    import plotly.graph_objects as go

    blank = {"visible": False}
    said = {"text": sentence, "showarrow": False, "x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper"}
    return theme.finished(go.Figure(), dark, xaxis=blank, yaxis=blank, annotations=[said])


def _in_sight(run: Run, x: str, y: str, within: tuple[float, float] | None, points: int) -> Run:
    """The run in a range of x, with as much again on both sides to pan over, thinned to what a screen shows."""
    rows = np.flatnonzero(~np.isnan(run.columns[x]))
    if within is not None:
        room = within[1] - within[0]
        first, last = np.searchsorted(run.columns[x][rows], [within[0] - room, within[1] + room])
        rows = rows[max(0, int(first) - 1) : int(last) + 1]
    if len(rows) > points:
        rows = rows[thinned([run.columns[y][rows]], points)]
    columns = {name: run.columns[name][rows] for name in dict.fromkeys(("iteration", x, y))}
    return Run(
        run.label, run.seed, columns, run.config, run.outcome, run.reason, run.recoveries, followed=run.followed
    )  # fmt: skip


def _mark_recoveries(figure: Any, runs: list[Run], x: str, y: str) -> None:
    """Where agents were lost and the run rolled back."""
    marks = [(run, event) for run in runs for event in run.recoveries[-MOST_MARKS:]]
    if not marks:
        return
    places = [
        min(int(np.searchsorted(run.columns["iteration"], event["iteration"])), len(run.columns[x]) - 1)
        for run, event in marks
    ]
    figure.add_scatter(
        x=[run.columns[x][place] for (run, _), place in zip(marks, places, strict=True)],
        y=[run.columns[y][place] for (run, _), place in zip(marks, places, strict=True)],
        mode="markers",
        name="recovery",
        marker={"symbol": "x", "size": 11, "color": theme.VERMILION, "line": {"width": 1}},
        text=[
            f"{plain(str(event.get('reason', '')))}<br>rolled back to iteration {event['rolled_back_to']}"
            for _, event in marks
        ],
        hovertemplate="%{text}<extra>recovery</extra>",
        showlegend=True,
    )


def _slim(figure: Any, cost: str) -> Any:
    """Bars for a narrow place."""
    return figure.update_layout(
        title=None, margin={"l": 8, "r": 8, "t": 8, "b": 40}, xaxis={"title": {"text": column(cost).short}, "nticks": 5}
    )
