"""Costs against what was varied: one column per sweep, one row per cost."""

from math import exp, log
from typing import Any

from sweeps import grouped
from table_1.verdicts import EVERY, Row, rows_for

COLOURS = {"DREAM": "#0072B2", "GT-DA": "#E69F00", "GT-GDA": "#009E73", "GT-SRVR": "#CC79A7", "DM-HSGD": "#D55E00"}


def figure_of(runs: list[Row]) -> Any:
    """Every run as a faint mark, and the geometric means of those that arrived as a line."""
    from plotly.subplots import make_subplots

    sweeps = list(dict.fromkeys(row["sweep"] for row in runs))
    figure = make_subplots(
        len(EVERY), len(sweeps), column_titles=sweeps, row_titles=["SFO", "rounds", "bytes"], shared_xaxes="columns",
        vertical_spacing=0.03, horizontal_spacing=0.03,
    )  # fmt: skip
    shown = set()
    for column, sweep in enumerate(sweeps, 1):
        for method in dict.fromkeys(row["method"] for row in runs if row["sweep"] == sweep):
            for line, cost in enumerate(EVERY, 1):
                arrived = [row for row in rows_for(runs, sweep, method, cost) if row[cost] is not None]
                means = {
                    x: exp(sum(log(row[cost]) for row in those) / len(those))
                    for (x,), those in grouped(arrived, "x").items()
                }
                place = {"row": line, "col": column, "legendgroup": method, "name": method}
                figure.add_scatter(
                    x=[row["x"] for row in arrived], y=[row[cost] for row in arrived], mode="markers", opacity=0.25,
                    marker={"color": COLOURS[method], "size": 4}, showlegend=False, **place,
                )  # fmt: skip
                figure.add_scatter(
                    x=list(means), y=list(means.values()), mode="lines", line={"color": COLOURS[method]},
                    showlegend=method not in shown, **place,
                )  # fmt: skip
                shown.add(method)
    figure.update_xaxes(type="log", dtick=1).update_yaxes(type="log", dtick=1)
    return figure.update_layout(
        title="Costs of arriving at epsilon, each with the parameters chosen for it", height=900
    )
