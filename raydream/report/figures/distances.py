"""How far each agent is from the mean, over time: a heat map."""

from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from raydream.report import theme
from raydream.types import Array

TIMES = 400  # most columns of cells


def distances(
    matrix: npt.ArrayLike, iterations: npt.ArrayLike | None = None, *, dark: bool = False, most_times: int = TIMES
) -> Any:
    """||z_t(i) - z_bar_t|| as colours: `matrix` has one row per record and one column per agent.

    Of many records, at most `most_times` are drawn, evenly spread. A distance of 0 has no colour.
    """
    values = np.asarray(matrix, dtype=np.float64)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"`matrix` must have one row per record and one column per agent; got shape {values.shape}.")
    times = np.arange(len(values)) if iterations is None else np.asarray(iterations, dtype=np.float64)
    if times.shape != (len(values),):
        raise ValueError(f"`iterations` must name {len(values)} records; got shape {times.shape}.")
    keep = np.unique(np.linspace(0, len(values) - 1, min(most_times, len(values))).round().astype(int))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs: Array = np.log10(values[keep].T)
    logs[~np.isfinite(logs)] = np.nan
    figure = go.Figure(
        go.Heatmap(
            x=times[keep],
            y=np.arange(values.shape[1]),
            z=logs.astype(np.float32),  # seven digits are plenty for a colour, and half the bytes of a page
            colorscale="Cividis",
            colorbar={"title": {"text": "log₁₀ distance", "font": {"size": 12}}, "thickness": 12},
            hovertemplate="iteration %{x}<br>agent %{y}<br>log₁₀ distance %{z:.3f}<extra></extra>",
        )
    )
    return theme.finished(
        figure,
        dark,
        xaxis={"title": {"text": "iterations"}, **theme.ticks("iteration")},
        yaxis={"title": {"text": "agent"}},
    )
