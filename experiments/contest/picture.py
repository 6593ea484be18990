"""The matrix: a column for each problem and network, a row for each entrant, a panel for each axis."""

import math
from typing import Any

import plotly.graph_objects as go
from contest.search import AXES
from plotly.subplots import make_subplots
from sweeps import grouped

TITLES = {"sfo": "SFO calls", "rounds": "rounds", "bytes": "bytes"}
MOST = 30.0  # times the best one's price, where the colours end
BEST, NOISE = "#08519c", "#6baed6"
SCALE = [[0.0, "#fff5eb"], [0.5, "#fd8d3c"], [1.0, "#7f2704"]]


def matrix(standings: list[dict[str, Any]], entrants: list[str]) -> go.Figure:
    """Blue: best; light blue: within its noise; from light to dark: lost by that factor; empty: never there."""
    places = [f"{p}, {n}" for p, n in grouped(standings, "problem", "network")]
    columns = 2
    titles = [TITLES.get(axis, f"time, {axis}") for axis in AXES]
    page = make_subplots(
        rows=len(AXES) // columns, cols=columns, subplot_titles=titles, shared_xaxes=True, shared_yaxes=True,
        horizontal_spacing=0.02, vertical_spacing=0.04,
    )  # fmt: skip
    for place, axis in enumerate(AXES):
        at = {"row": place // columns + 1, "col": place % columns + 1}
        mine = {
            (row["entrant"], f"{row['problem']}, {row['network']}"): row for row in standings if row["axis"] == axis
        }
        lost = [[_lost(mine.get((name, where))) for where in places] for name in entrants]
        page.add_heatmap(
            z=lost, x=places, y=entrants, colorscale=SCALE, zmin=0.0, zmax=math.log10(MOST), xgap=1, ygap=1,
            showscale=place == 0, hoverinfo="skip",
            colorbar={"title": "times the best", "tickvals": [0, math.log10(3), 1, math.log10(30)],
                      "ticktext": ["1", "3", "10", "30"], "len": 0.25, "y": 0.88},
            **at,
        )  # fmt: skip
        for verdict, colour in (("within noise", NOISE), ("best", BEST)):
            flat = [
                [1.0 if (mine.get((n, w)) or {}).get("verdict") == verdict else None for w in places] for n in entrants
            ]
            page.add_heatmap(z=flat, x=places, y=entrants, colorscale=[[0, colour], [1, colour]], showscale=False,
                             xgap=1, ygap=1, hoverinfo="skip", **at)  # fmt: skip
    for verdict, colour in (("best", BEST), ("within the noise of the best", NOISE)):
        page.add_scatter(
            x=[None], y=[None], mode="markers", name=verdict, marker={"symbol": "square", "size": 12, "color": colour}
        )
    page.update_yaxes(autorange="reversed", showgrid=False).update_xaxes(tickangle=60, showgrid=False)
    height = len(AXES) // columns * (22 * len(entrants) + 60) + 260
    legend = {"orientation": "h", "y": 1.0, "yanchor": "bottom", "yref": "container", "x": 0.1}
    return page.update_layout(width=1250, height=height, legend=legend, margin={"l": 130, "r": 20, "t": 70, "b": 190},
                              plot_bgcolor="#f0f0f0")  # fmt: skip


def _lost(row: dict[str, Any] | None) -> float | None:
    """The logarithm of the ratio where an entrant has lost; the end of the colours where it reached too seldom."""
    if row is None or row["verdict"] != "lost":
        return None
    return math.log10(min(MOST, row["ratio"])) if row["ratio"] else math.log10(MOST)
