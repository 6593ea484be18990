"""Convergence: what was achieved against what was spent, every method one line, its seeds a band."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from raydream.checks import choice
from raydream.columns import AXES, column
from raydream.report import theme
from raydream.report.collect import Run, collect, grouped, remark_of, variants, words
from raydream.report.figures.bands import recorded
from raydream.report.figures.convergence_lines import Curve, curve_of
from raydream.report.figures.guide import guide
from raydream.report.figures.promise import METRIC, promise_over, promised
from raydream.types import Array


def convergence(
    runs: Any,
    x: str = "sfo",
    y: str = "grad_norm",
    *,
    log_x: bool = False,
    log_y: bool | None = None,
    band: tuple[float, float] = (0.25, 0.75),
    constants: dict[str, float] | None = None,
    slopes: bool = False,
    dark: bool = False,
) -> Any:
    """`y` against `x`: one line per method, the median over seeds, with a band between two quantiles.

    x, y       columns of the history; x also "sfo_paper" and "rounds_paper", the paper's own counting
    log_x, log_y  logarithmic axes; an axis without a positive value stays linear. y is logarithmic by itself for
               norms and errors
    constants  L, mu, psi0 and n or sigma of the problem: what the DREAM theorem promises is drawn as well
    slopes     whether the slopes that papers state are laid through the lines, as guides
    """
    every = collect(runs)
    choice("x", x, [name for name in AXES if any(recorded(run.columns, name) for run in every)])
    choice("y", y, dict.fromkeys(name for run in every for name in run.metrics))
    shown = {
        label: having
        for label, group in grouped(every).items()
        if (having := [run for run in group if recorded(run.columns, x) and y in run.columns])
    }
    number = variants(grouped(every))
    figure = go.Figure()
    for label, group in shown.items():
        _draw(figure, label, group, x, y, theme.line(group[0].method, number[label]), band, log_x)
    if slopes and y == METRIC:
        _draw_guides(figure, shown, number, x, promise_over(every, constants))
    if constants is not None and y == METRIC:
        _draw_promise(figure, every[0], x, constants)
    log_y = column(y).log if log_y is None else log_y
    return theme.finished(
        figure,
        dark,
        xaxis={
            "title": {"text": theme.axis_name(x)},
            "type": scale(log_x, [r.columns[x] for g in shown.values() for r in g]),
            **theme.ticks(x),
        },
        yaxis={
            "title": {"text": theme.axis_name(y)},
            "type": scale(log_y, [r.columns[y] for g in shown.values() for r in g]),
            "nticks": 8,
            **theme.ticks(y),
        },
        hovermode="closest",
    )


def scale(logarithmic: bool, values: list[Array]) -> str:
    """ "log" where it was asked for and something is positive, else "linear"."""
    return "log" if logarithmic and any((one > 0).any() for one in values) else "linear"


def curves_of(runs: Any, x: str, y: str) -> dict[str, tuple[list[Run], Curve]]:
    """By label the runs that recorded both columns, and their curve."""
    every = collect(runs)
    choice("x", x, [name for name in AXES if any(recorded(run.columns, name) for run in every)])
    choice("y", y, dict.fromkeys(name for run in every for name in run.metrics))
    having = {
        label: [run for run in group if recorded(run.columns, x) and y in run.columns]
        for label, group in grouped(every).items()
    }
    return {label: (group, curve_of(group, x, y)) for label, group in having.items() if group}


def _draw(
    figure: Any,
    label: str,
    group: list[Run],
    x: str,
    y: str,
    line: dict[str, Any],
    band: tuple[float, float],
    log_x: bool,
) -> None:
    """One method: its band, if there are several seeds, under its line."""
    seeds = "one run" if len(group) == 1 else f"median of {len(group)} runs"
    xs, middle, low, high = curve_of(group, x, y, band, log_x)
    if low is not None and high is not None:
        finite = np.isfinite(low) & np.isfinite(high)
        edge = {"x": xs[finite], "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
        fill = {"fill": "tonexty", "fillcolor": theme.translucent(line["color"], 0.18)}
        figure.add_scatter(y=low[finite], legendgroup=label, **edge)
        figure.add_scatter(y=high[finite], legendgroup=label, **edge, **fill)
    hover = f"<b>{plain(label)}</b> ({seeds})<br>%{{x:.6~g}} {theme.axis_name(x)}<br>{theme.axis_name(y)} = %{{y:.6g}}"
    figure.add_scatter(
        x=xs,
        y=np.where(np.isfinite(middle), middle, np.nan),
        mode="lines",
        line={**line, "width": 2},
        name=plain(": ".join(filter(None, (label, remark_of(group))))),
        legendgroup=label,
        hovertemplate=f"{hover}<br>{wrapped(words(group[0].parameters))}<extra></extra>",
    )


def _draw_guides(figure: Any, shown: dict[str, list[Run]], number: dict[str, int], x: str, promise: Any) -> None:
    """For each method the slope of its paper, thin and in its colour; the hover says what was measured."""
    for label, group in shown.items():
        one = guide(label, group, x, promise)
        if one is not None:
            figure.add_scatter(
                x=one.x, y=one.y, mode="lines", showlegend=False, legendgroup=label,
                line={"color": theme.line(group[0].method, number[label])["color"], "dash": "dot", "width": 1.2},
                hovertemplate=f"{wrapped(one.said)}<extra></extra>",
            )  # fmt: skip


def _draw_promise(figure: Any, run: Run, x: str, constants: dict[str, float]) -> None:
    """The theorem's worst case, where it speaks of this axis."""
    line = promised(run.config, constants, run.columns[METRIC])
    if line is not None and x in line:
        figure.add_scatter(
            x=line[x],
            y=line[METRIC],
            mode="lines",
            line={"color": theme.NEUTRAL, "dash": "dot", "width": 2},
            name="DREAM, promised by the theorem",
            hovertemplate=f"promised: {column(METRIC).short} ≤ %{{y:.4g}} within %{{x:.4s}}<extra></extra>",
        )


def plain(text: str) -> str:
    """Text that a figure shows as it is, though it might look like markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters, the middle left out."""
    return text if len(text) <= most else f"{text[: (most - 1) // 2]}…{text[-(most // 2) :]}"


def wrapped(text: str, width: int = 52) -> str:
    """Plain text in lines of at most about `width` characters, broken after commas."""
    lines = [""]
    for part in text.split(", ") if text else []:
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += (", " if lines[-1] else "") + part
    return "<br>".join(plain(one) for one in lines)
