"""Medians with their intervals: one row per method."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from raydream.columns import column
from raydream.report import theme
from raydream.report.collect import Run, variants
from raydream.report.deciding import Decision, between
from raydream.report.figures.convergence import plain, scale, shortened
from raydream.report.figures.reach import WIDEST


def intervals(decision: Decision, groups: dict[str, list[Run]], dark: bool = False) -> Any:
    """Each method's median over seeds by one metric, with its 95 % interval."""
    table, number = decision.finals, variants(groups)
    labels = [str(label) for label in table["method"]]
    middle, low, high = (table[name].to_numpy(dtype=np.float64) for name in ("median", "low", "high"))
    told = [f"{a:.6g} ({between(b, c)})" for a, b, c in zip(middle, low, high, strict=True)]
    with np.errstate(invalid="ignore"):
        above, below = np.nan_to_num(high - middle), np.nan_to_num(middle - low)
    figure = go.Figure()
    figure.add_scatter(
        x=middle, y=list(range(len(labels))), mode="markers", showlegend=False, text=told,
        customdata=[plain(label) for label in labels], hovertemplate="<b>%{customdata}</b>: %{text}<extra></extra>",
        marker={"size": 10, "color": [theme.line(groups[label][0].method, number[label])["color"] for label in labels]},
        error_x={"array": above, "arrayminus": below, "color": theme.NEUTRAL, "thickness": 2, "width": 6},
    )  # fmt: skip
    positive = bool((middle - below > 0).all())
    return theme.finished(
        figure, dark, height=70 + 27 * len(labels), margin={"l": 8, "r": 12, "t": 8, "b": 42}, hovermode="closest",
        xaxis={
            "title": {"text": f"{theme.axis_name(decision.metric)}, median and 95 % interval"},
            "tickangle": 0, "nticks": 5, "type": scale(column(decision.metric).log and positive, [middle]),
            **theme.ticks(decision.metric),
        },
        yaxis={
            "tickvals": list(range(len(labels))), "ticktext": [plain(shortened(label, WIDEST)) for label in labels],
            "range": [len(labels) - 0.5, -0.5], "showgrid": False, "zeroline": False, "ticks": "outside",
            "ticklen": 5, "tickcolor": "rgba(0,0,0,0)",
        },
    )  # fmt: skip
