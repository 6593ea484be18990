"""Who wins where: which method reaches a target first, over latency and the price of a gradient."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from raydream.checks import positive, whole
from raydream.columns import column
from raydream.report import theme
from raydream.report.collect import collect, grouped, variants
from raydream.report.figures.convergence import plain
from raydream.report.figures.regions import Grid, hatching, heart
from raydream.studies.places import PLACES, SPANS, duration, pace
from raydream.studies.prices import why_estimated
from raydream.studies.winners import table_of, winners
from raydream.types import Array

BANDWIDTHS = (1e10, 1e9, 1e8, 1e7, 1e6, 1e5)  # bytes per second, on the slider
FIRST = 1e7
FAR = 3.0  # of logarithms, at which borders are far away
MOST_AHEAD = 10.0  # times, at the full colour


class WinnerMap(go.Figure):  # type: ignore[misc]
    """The figure; `table` has a row for each triple of prices: winner, seconds, second, ratio, agree, decided."""

    table: Any = None


def winner_map(
    comparison: Any,
    target: float,
    metric: str = "grad_norm",
    *,
    gradient_seconds: tuple[float, float] = SPANS["gradient_seconds"],
    latency: tuple[float, float] = SPANS["latency"],
    bandwidth: float | Sequence[float] = BANDWIDTHS,
    points: int = 81,
    dark: bool = False,
) -> WinnerMap:
    """Which method of a comparison reaches a target first, by its median over seeds.

    The deeper a colour, the further ahead of the second; hatched where paired seeds do not
    decide its lead. No run is made again: time is a function of what was recorded, exact where agents are alike.

    gradient_seconds, latency  from, to: the axes, in seconds
    bandwidth                  of a link, in bytes per second: a number, or several for the slider
    points                     along each axis
    """
    several = [bandwidth] if isinstance(bandwidth, int | float) else list(bandwidth)
    speeds = [positive("bandwidth", one) for one in several]
    grid = Grid(_axis("latency", latency, points), _axis("gradient_seconds", gradient_seconds, points))
    reaching = comparison.reaching(target, metric)
    if not reaching.anybody:
        sign = "below" if column(metric, comparison.own).better == "less" else "above"
        raise ValueError(f"`target` must be one that a run reaches; none came to a {metric} {sign} {target:g}.")
    table = table_of(reaching, grid.y, grid.x, speeds)
    shown = FIRST if FIRST in speeds else speeds[0]
    figure, layers = WinnerMap(), []
    lines = _lines(comparison)
    for speed in speeds:
        traces = layer(table[table.bandwidth == speed], grid, reaching, lines, speed, dark)
        layers.append(len(traces))
        figure.add_traces([trace.update(visible=speed == shown) for trace in traces])
    figure.add_traces(_legend(table, lines, dark))
    _layout(figure, grid, speeds, shown, layers, _words(comparison, target, metric), dark)
    figure.table = table
    return figure


def _axis(name: str, ends: tuple[float, float], points: int) -> Array:
    low, high = (positive(f"{name}[{place}]", one) for place, one in enumerate(ends))
    if high <= low:
        raise ValueError(f"`{name}` must be a range (from, to); got {ends!r}.")
    return np.geomspace(low, high, whole("points", points, 2))


def _lines(comparison: Any) -> dict[str, str]:
    """The colour of each method of the comparison, by its label there."""
    groups = grouped(collect(comparison))
    number = variants(groups)
    known = {label: theme.line(runs[0].method, number[label])["color"] for label, runs in groups.items()}
    return known | {name: theme.colour(name) for name, _ in comparison.failures if name not in known}


def layer(table: Any, grid: Grid, reaching: Any, colours: dict[str, str], speed: float, dark: bool) -> list[Any]:
    """What is shown for one bandwidth."""
    shape = len(grid.y), len(grid.x)
    winner = table.winner.to_numpy().reshape(shape)
    ratio, agree = (table[name].to_numpy(dtype=np.float64).reshape(shape) for name in ("ratio", "agree"))
    decided = table.decided.to_numpy().reshape(shape)
    lead = np.clip(np.log10(np.minimum(ratio, MOST_AHEAD)), 0.0, None) / math.log10(MOST_AHEAD)
    after, second = table.seconds.to_numpy(dtype=np.float64).reshape(shape), table.second.to_numpy().reshape(shape)
    paper, ink = ("#14181E", "#FFFFFF") if dark else ("#FFFFFF", "#000000")
    traces: list[Any] = []
    for name in reaching.methods:
        won = winner == name
        if not won.any():
            continue
        rows, places = (slice(at.min(), at.max() + 1) for at in np.nonzero(won))
        inside = won[rows, places]
        facts = np.stack([np.where(inside, one[rows, places], np.nan) for one in (after, agree)], axis=-1)
        cells = zip(inside.ravel(), second[rows, places].ravel(), ratio[rows, places].ravel(), strict=True)
        ahead = np.array([_ahead(*cell) for cell in cells], dtype=object).reshape(inside.shape)
        traces.append(
            go.Heatmap(
                x=grid.x[places],
                y=grid.y[rows],
                z=np.where(inside, lead[rows, places], np.nan).astype(np.float32),
                zmin=0.0,
                zmax=1.0,
                colorscale=_shades(colours[name], paper),
                showscale=False,
                hoverongaps=False,
                customdata=facts.astype(np.float32),
                text=ahead,
                hovertemplate=_hover(name, len(reaching.seeds)),
            )
        )
    x, y = hatching(grid, ~decided & (winner != ""))
    style = {"color": theme.translucent(ink, 0.45), "width": 1}
    traces.append(go.Scatter(x=x, y=y, mode="lines", line=style, hoverinfo="skip", showlegend=False))
    traces += _borders(grid, reaching, speed, paper)
    hearts = {name: place for name in reaching.methods if (place := heart(grid, winner == name)) is not None}
    traces.append(
        go.Scatter(
            x=[x for x, _ in hearts.values()],
            y=[y for _, y in hearts.values()],
            mode="text",
            hoverinfo="skip",
            text=[f"<b>{plain(name)}</b>" for name in hearts],
            showlegend=False,
            textfont={"size": 15, "color": "#FFFFFF", "shadow": "0px 0px 5px #000000, 0px 0px 2px #000000"},
        )
    )
    near = {name: one.latency for name, one in PLACES.items() if one.bandwidth == speed}
    for name, wait in near.items():
        if not grid.x[0] <= wait <= grid.x[-1]:
            continue
        traces.append(
            go.Scatter(
                x=[wait, wait],
                y=[grid.y[0], grid.y[-1]],
                mode="lines+text",
                hoverinfo="skip",
                showlegend=False,
                line={"color": theme.translucent(ink, 0.75), "width": 1.4, "dash": "dot"},
                text=["", f"\u00a0{name}"],
                textposition="bottom right",
                textfont={"size": 12, "color": ink},
            )
        )
    return traces


def _ahead(wins: bool, second: str, ratio: float) -> str:
    if not wins:
        return ""
    return f"× {ratio:.3g} ahead of {plain(second)}" if second else "no other gets there"


def _borders(grid: Grid, reaching: Any, speed: float, paper: str) -> list[Any]:
    """Where two methods are equally fast: the zeros of log(time of the best other / own time)."""
    calls, wait = np.meshgrid(grid.y, grid.x, indexing="ij")
    logs = np.log(np.maximum(winners(reaching.times(calls, wait, speed)).medians, 1e-300))
    lines = []
    for place in range(len(logs)):
        others = np.delete(logs, place, axis=0).min(axis=0, initial=math.inf)
        with np.errstate(invalid="ignore"):
            margin = np.clip(np.nan_to_num(others - logs[place], nan=-FAR, posinf=FAR, neginf=-FAR), -FAR, FAR)
        if (margin > 0).any() and (margin < 0).any():
            lines.append(
                go.Contour(
                    x=grid.x,
                    y=grid.y,
                    z=margin.astype(np.float32),
                    hoverinfo="skip",
                    showscale=False,
                    showlegend=False,
                    contours={"start": 0, "end": 0, "size": 1, "coloring": "none"},
                    line={"color": paper, "width": 3},
                )
            )
    return lines


def _hover(name: str, seeds: int) -> str:
    share = "" if seeds == 1 else "<br>first on %{customdata[1]:.0%} of seeds"
    return (
        f"<b>{plain(name)}</b> after %{{customdata[0]:.3s}}s<br>%{{text}}{share}"
        "<br>a gradient %{y:.3s}s, a message %{x:.3s}s<extra></extra>"
    )


def _shades(colour: str, paper: str) -> list[list[Any]]:
    """From a tint, for a dead heat, to the full colour."""
    return [[0.0, _mixed(colour, paper, 0.35)], [0.3, _mixed(colour, paper, 0.7)], [1.0, colour]]


def _mixed(colour: str, paper: str, share: float) -> str:
    parts = [
        round(share * int(colour[i : i + 2], 16) + (1 - share) * int(paper[i : i + 2], 16)) for i in (1, 3, 5)
    ]  # fmt: skip
    return f"rgb({parts[0]},{parts[1]},{parts[2]})"


def _legend(table: Any, colours: dict[str, str], dark: bool) -> list[Any]:
    """A square for each method that wins somewhere, and the scale of how far ahead it is."""
    traces: list[Any] = [
        go.Scatter(
            x=[None], y=[None], mode="markers", name=plain(name), hoverinfo="skip",
            marker={"symbol": "square", "size": 13, "color": colours[name]},
        )
        for name in colours if (table.winner == name).any()
    ]  # fmt: skip
    ticks = [1, 1.5, 2, 3, 5, MOST_AHEAD]
    traces.append(
        go.Scatter(
            x=[None], y=[None], mode="markers", showlegend=False, hoverinfo="skip",
            marker={
                "color": [0.0], "cmin": 0.0, "cmax": 1.0, "showscale": True,
                "colorscale": _shades("#6B7480", "#14181E" if dark else "#FFFFFF"),
                "colorbar": {
                    "title": {"text": "times as fast as the second", "font": {"size": 12}, "side": "right"},
                    "thickness": 12, "len": 0.6,
                    "tickvals": [math.log10(one) / math.log10(MOST_AHEAD) for one in ticks],
                    "ticktext": [f"× {one:g}" for one in ticks[:-1]] + [f"≥ {MOST_AHEAD:g}"], "outlinewidth": 0,
                },
            },
        )
    )  # fmt: skip
    return traces


def _words(comparison: Any, target: float, metric: str) -> tuple[str, str]:
    """The title, and what to know below it."""
    sign = "≤" if column(metric, comparison.own).better == "less" else "≥"
    some = next(iter(comparison.results.values())).record
    seeds = len({seed for _, seed in comparison.results})
    said = [
        f"{some.topology.m} agents, {some.topology.name}",
        f"median of {seeds} seeds, hatched where they do not decide it",
    ]
    guessed = {name for (name, _), result in comparison.results.items() if why_estimated(result.record)}
    said += [f"estimated for {plain(', '.join(sorted(guessed)))}"] if guessed else []
    return f"Who is first to {column(metric, comparison.own).label} {sign} {target:.3g}", " · ".join(said)


def _layout(
    figure: Any, grid: Grid, speeds: list[float], shown: float, layers: list[int], words: tuple[str, str], dark: bool
) -> None:
    """Axes in their usual units, and the slider."""
    title, said = words
    rest = len(figure.data) - sum(layers)
    steps = []
    for place, speed in enumerate(speeds):
        seen = [number == place for number, count in enumerate(layers) for _ in range(count)] + [True] * rest
        steps.append({"method": "restyle", "args": [{"visible": seen}], "label": pace(speed)})
    soft, faint = ("#A9B3C0", "#2C333D") if dark else ("#55606E", "#E3E7EC")
    theme.finished(
        figure, dark, height=600, hovermode="closest", margin={"l": 74, "r": 20, "t": 112, "b": 60},
        title={"text": title, "x": 0.0, "xref": "paper", "y": 0.965, "yanchor": "top", "font": {"size": 17},
               "subtitle": {"text": said, "font": {"size": 12, "color": soft}}},
        xaxis=scale(grid.x, "a message takes"), yaxis=scale(grid.y, "a gradient takes"),
        legend={"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "itemclick": False,
                "itemdoubleclick": False},
    )  # fmt: skip
    if len(speeds) > 1:
        figure.update_layout(
            margin={"b": 120},
            sliders=[{
                "active": speeds.index(shown), "steps": steps, "x": 0.0, "len": 1.0, "pad": {"t": 54, "b": 0},
                "currentvalue": {"prefix": "a link carries ", "font": {"size": 13}, "xanchor": "left"},
                "font": {"size": 11, "color": soft}, "ticklen": 4, "borderwidth": 0, "minorticklen": 0,
                "bgcolor": faint, "activebgcolor": theme.ACCENT, "tickcolor": soft,
            }],
        )  # fmt: skip


def scale(values: Array, title: str) -> dict[str, Any]:
    low, high = math.ceil(math.log10(values[0]) - 1e-9), math.floor(math.log10(values[-1]) + 1e-9)
    marks = [10.0**power for power in range(low, high + 1)]
    half = math.log10(values[1] / values[0]) / 2
    return {
        "type": "log", "title": {"text": title}, "tickvals": marks,
        "ticktext": [duration(one) for one in marks],
        "range": [math.log10(values[0]) - half, math.log10(values[-1]) + half], "showgrid": False, "zeroline": False,
        "ticks": "outside", "ticklen": 4,
    }  # fmt: skip
