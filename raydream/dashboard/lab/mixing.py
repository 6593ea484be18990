"""Mixing, watched: one random number per agent, round after round, under gossip and under FastMix."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from raydream.program import perform
from raydream.report import theme
from raydream.topology import Topology, mixing
from raydream.types import Array

Walks = dict[str, Array]  # for each way of mixing its iterates, a row for each round from 0
LINES = {
    "gossip": {"color": theme.VERMILION, "dash": "dash", "width": 2},
    "FastMix": {"color": theme.ACCENT, "dash": "solid", "width": 2},
}
BELOW, ABOVE = theme.ACCENT, theme.VERMILION  # the mean: blue and vermilion, which all readers tell apart
ROUNDING = 1e-16  # of the initial disagreement: what is less is not drawn


def walks(topology: Topology, seed: int, rounds: int, momentum: str = "optimal") -> Walks:
    """The same random numbers mixed in both ways; by gossip alone where links have a direction."""
    start = np.random.default_rng(seed).standard_normal(topology.m)
    ways = {"gossip": "gossip"} | ({} if topology.directed else {"FastMix": "fastmix"})
    return {name: iterates(topology, start, rounds, way, momentum) for name, way in ways.items()}


def iterates(topology: Topology, start: Array, rounds: int, method: str, momentum: str = "optimal") -> Array:
    """The numbers of all agents after k = 0, ..., `rounds` rounds; row k is `topology.mix(start, k, ...)`."""
    said: list[Array] = []

    def hear(A: Array) -> Array:
        said.append(A)
        heard: Array = topology.W @ A
        return heard

    last = perform(mixing.mix(start[:, None], rounds, topology.network, method, momentum), hear)
    said += [last] * (rounds + 1 - len(said))  # one agent says nothing
    return np.stack(said)[:, :, 0]


def disagreement(rows: Array) -> Array:
    """||v - mean|| of each row v."""
    return np.asarray(np.linalg.norm(rows - rows.mean(axis=1, keepdims=True), axis=1))


def sentences(walks: Walks) -> list[str]:
    """For each round what is left."""
    shares = {}
    for name, rows in walks.items():
        size = disagreement(rows)
        shares[name] = size / size[0] if size[0] else size
    return [
        f"round {k}: " + ", ".join(f"{name} {left[k]:.2g}" for name, left in shares.items())
        + " of the initial disagreement"
        for k in range(len(walks["gossip"]))
    ]  # fmt: skip


def agents(picture: Any, walks: Walks, k: int = 0, *, dark: bool = False) -> Any:
    """The network (`picture`, as `report.figures.network` draws it) for each way of mixing, its agents coloured by
    their numbers at round k; frame "k" recolours them."""
    figure = make_subplots(1, len(walks), subplot_titles=[*walks], horizontal_spacing=0.02)
    coloured = []
    for column, rows in enumerate(walks.values(), start=1):
        for line in picture.select_traces({"mode": "lines"}):
            figure.add_trace(_links(line), row=1, col=column)
        coloured.append(len(figure.data))
        figure.add_trace(_dots(picture.data[-1], rows[k]), row=1, col=column)
    figure.frames = [
        go.Frame(
            name=str(round_),
            data=[{"type": "scatter", "marker": {"color": rows[round_]}} for rows in walks.values()],
            traces=coloured,
        )
        for round_ in range(len(walks["gossip"]))
    ]
    figure.update_annotations(y=0, yanchor="top", font={"size": 14})  # the names, away from plotly's buttons
    figure.update_xaxes(visible=False, constrain="domain")
    for column in range(1, len(walks) + 1):
        figure.update_yaxes(visible=False, constrain="domain", row=1, col=column,
                            scaleanchor=f"x{column if column > 1 else ''}")  # fmt: skip
    return theme.finished(
        figure, dark, showlegend=False, hovermode="closest", coloraxis=_colours(walks, dark),
        margin={"l": 4, "r": 4, "t": 28, "b": 26},
    )  # fmt: skip


def fall(walks: Walks, k: int = 0, *, dark: bool = False) -> Any:
    """The disagreement over rounds, with a mark at round k; frame "k" moves the mark."""
    sizes = {name: _drawable(disagreement(rows)) for name, rows in walks.items()}
    figure = go.Figure()
    for name, size in sizes.items():
        figure.add_scatter(x=np.arange(len(size)), y=size, mode="lines", name=name, line=LINES[name],
                           hovertemplate="after %{x} rounds %{y:.3e}<extra>" + name + "</extra>")  # fmt: skip
    colours = [LINES[name]["color"] for name in sizes]
    figure.add_scatter(mode="markers", marker={"size": 11, "color": colours}, showlegend=False, hoverinfo="skip",
                       **_marks(sizes, k))  # fmt: skip
    rounds = range(len(sizes["gossip"]))
    figure.frames = [
        go.Frame(name=str(one), data=[{"type": "scatter", **_marks(sizes, one)}], traces=[len(sizes)]) for one in rounds
    ]
    return theme.finished(
        figure,
        dark,
        xaxis={"title": {"text": "rounds"}, "range": [-0.02 * rounds[-1], 1.02 * rounds[-1]]},
        yaxis={
            "title": {"text": "disagreement ‖v − v̄‖"},
            "type": "log",
            **_decades(sizes),
            **theme.ticks("consensus"),
        },
    )


def _links(line: Any) -> Any:
    """Thin lines that leave the colours to the agents; half the digits are enough for places."""
    return go.Scatter(
        x=np.float32(line.x),
        y=np.float32(line.y),
        mode="lines",
        line={"color": theme.NEUTRAL, "width": 0.8},
        opacity=float(np.clip(900 / len(line.x), 0.15, 0.6)),
        hoverinfo="skip",
    )


def _dots(places: Any, values: Array) -> Any:
    return go.Scatter(
        x=places.x,
        y=places.y,
        mode="markers",
        marker={
            "color": values,
            "coloraxis": "coloraxis",
            "size": float(np.clip(80 / np.sqrt(len(values)), 5, 18)),
            "line": {"color": theme.NEUTRAL, "width": 1},
        },
        hovertemplate="agent %{pointNumber}<br>%{marker.color:.6g}<extra></extra>",
    )


def _colours(walks: Walks, dark: bool) -> dict[str, Any]:
    """One scale for all rounds, symmetric about the mean."""
    rows = np.concatenate([*walks.values()])
    mean = float(rows[0].mean())
    far = float(np.abs(rows - mean).max()) or 1.0
    middle = "#39424E" if dark else "#F3F4F6"
    return {
        "cmin": mean - far,
        "cmax": mean + far,
        "colorscale": [[0, BELOW], [0.5, middle], [1, ABOVE]],
        "colorbar": {"thickness": 10, "outlinewidth": 0, "len": 0.9, "nticks": 5, "x": 1.0, "xpad": 6},
    }


def _drawable(size: Array) -> Array:
    """Without what is only rounding, which a logarithmic axis would blow up."""
    return np.where(size > ROUNDING * size[0], size, np.nan)


def _decades(sizes: dict[str, Array]) -> dict[str, Any]:
    """Range and ticks of the logarithmic axis, the same for every frame; one agent has none."""
    logs = np.log10(np.concatenate([*sizes.values()]))
    if np.isnan(logs).all():
        return {}
    low, high = float(np.nanmin(logs)), float(np.nanmax(logs))
    room = 0.06 * (high - low) + 0.02
    apart = {"dtick": int(np.ceil((high - low) / 5))} if high - low > 1.5 else {}
    return {"range": [low - room, high + room], **apart}


def _marks(sizes: dict[str, Array], k: int) -> dict[str, Any]:
    return {"x": [k] * len(sizes), "y": [float(size[k]) for size in sizes.values()]}
