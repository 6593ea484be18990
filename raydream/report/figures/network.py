"""The network: who talks to whom and how much, its spectrum, and how fast it mixes."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from raydream.checks import whole
from raydream.report import theme
from raydream.topology import Topology, from_entries, from_matrix
from raydream.topology.mixing import MOMENTA, modes, momentum_weight, polynomial
from raydream.types import Array

MOST_LINKS = 3000  # drawn; of more, the heaviest
WIDTHS = 6  # different widths of lines
SHRUNK = 1e-8  # the mixing figure ends about where FastMix has shrunk disagreement to this


def topology_of(described: dict[str, Any]) -> Topology | None:
    """The topology that a run's record describes, if the record holds its matrix."""
    if described.get("W") is None or described.get("m") is None:
        return None
    return from_entries(described["W"], described["m"], described.get("name", "matrix"))


def network(topology: Any, *, dark: bool = False) -> Any:
    """The agents and their links; a line's width is its weight."""
    topology = _topology(topology)
    places = _layout(topology)
    coo = topology.W.tocoo()
    i, j = coo.coords
    upper = i != j if topology.directed else i < j
    i, j, weight = i[upper], j[upper], coo.data[upper]
    hidden = max(0, len(weight) - MOST_LINKS)
    heaviest = np.argsort(weight, kind="stable")[hidden:]
    i, j, weight = i[heaviest], j[heaviest], weight[heaviest]
    figure = go.Figure()
    _draw_links(figure, places, i, j, weight, topology.directed)
    m = topology.m
    degree = [len(row) for row in topology.neighbours]
    figure.add_scatter(
        x=places[:, 0],
        y=places[:, 1],
        mode="markers+text" if m <= 40 else "markers",
        text=[str(agent) for agent in range(m)] if m <= 40 else None,
        textfont={"color": "#FFFFFF", "size": 11},
        marker={"size": 22 if m <= 40 else max(5, 14 - m // 50), "color": theme.ACCENT},
        customdata=np.stack([np.arange(m), topology.W.diagonal(), degree], axis=1),
        hovertemplate="agent %{customdata[0]}<br>own weight %{customdata[1]:.4g}"
        "<br>%{customdata[2]} neighbours<extra></extra>",
    )
    blank = {"visible": False, "constrain": "domain"}
    said = f"the {MOST_LINKS} heaviest of {MOST_LINKS + hidden} links" if hidden else ""
    return theme.finished(
        figure,
        dark,
        xaxis=blank,
        yaxis={**blank, "scaleanchor": "x"},
        showlegend=False,
        margin={"l": 8, "r": 8, "t": 24 if said else 8, "b": 8},
        title={"text": said, "font": {"size": 12}},
        hovermode="closest",
    )


def spectrum(
    topology: Any, K: int = 1, mixing: str = "fastmix", momentum: str = "optimal", *, dark: bool = False
) -> Any:
    """The eigenvalues of W except the first, and what K rounds of mixing make of each."""
    topology, K = _topology(topology), whole("K", K)
    mixing = "gossip" if topology.directed and mixing == "fastmix" else mixing
    values = eigenvalues(topology)
    weight = momentum_weight(topology.network.lam, momentum)
    fine = np.linspace(float(values.min()), 1.0, 300)
    figure = go.Figure()
    figure.add_scatter(
        x=fine,
        y=polynomial(fine, K, mixing, weight),
        mode="lines",
        line={"color": theme.ACCENT, "width": 1},
        hoverinfo="skip",
        showlegend=False,
    )
    figure.add_scatter(
        x=values,
        y=polynomial(values, K, mixing, weight),
        mode="markers",
        marker={"color": theme.ACCENT, "size": 8},
        name=f"{K} rounds of {mixing}" + (f" ({momentum})" if mixing == "fastmix" else ""),
        hovertemplate="λ = %{x:.6f}<br>becomes %{y:.3e}<extra></extra>",
    )
    figure.add_scatter(
        x=values,
        y=values,
        mode="markers",
        marker={"color": theme.VERMILION, "size": 6, "symbol": "diamond"},
        name="one round of W",
        hovertemplate="λ = %{x:.6f}<extra></extra>",
    )
    figure.add_hline(y=0, line={"color": theme.NEUTRAL, "width": 1})
    return theme.finished(
        figure,
        dark,
        xaxis={"title": {"text": "size |λ| of an eigenvalue of W" if topology.directed else "eigenvalue λ of W"}},
        yaxis={"title": {"text": "what is left of its mode"}},
    )


def mixing_speed(topology: Any, rounds: int | None = None, *, dark: bool = False) -> Any:
    """What is left of disagreement after k rounds, at worst: gossip, and FastMix (both momenta) if it can be."""
    topology = _topology(topology)
    lines = mixing_residuals(topology, _rounds_to_show(topology) if rounds is None else whole("rounds", rounds, 1))
    looks = {
        "gossip": {"color": theme.VERMILION, "dash": "dash"},
        "FastMix": {"color": theme.ACCENT, "dash": "solid"},
        "FastMix, paper's momentum": {"color": theme.PINK, "dash": "dot"},
    }
    figure = go.Figure()
    for name, left in lines.items():
        figure.add_scatter(
            x=np.arange(len(left)),
            y=np.where(left > 1e-16, left, np.nan),
            mode="lines",
            line={**looks[name], "width": 2},
            name=name,
            hovertemplate="%{x} rounds leave %{y:.3e}<extra></extra>",
        )
    return theme.finished(
        figure,
        dark,
        xaxis={"title": {"text": "rounds"}},
        yaxis={"title": {"text": "disagreement left, at worst"}, "type": "log", **theme.ticks("consensus")},
    )


def mixing_residuals(topology: Topology, rounds: int) -> dict[str, Array]:
    """max |eigenvalue| of the operator of k = 0, ..., `rounds` rounds on vectors of mean zero."""
    values = eigenvalues(topology)
    kinds = {"gossip": ("gossip", 0.0)}
    for name, momentum in (
        () if topology.directed else zip(("FastMix", "FastMix, paper's momentum"), MOMENTA, strict=True)
    ):
        kinds[name] = ("fastmix", momentum_weight(topology.network.lam, momentum))
    lines = {}
    for name, (method, weight) in kinds.items():
        program = modes(values, rounds + 1, method, weight)  # says A_0, ..., A_rounds
        said = [next(program)]
        for _ in range(rounds):
            said.append(program.send(values * said[-1]))
        lines[name] = np.array([np.abs(one).max() for one in said])
    return lines


def eigenvalues(topology: Topology) -> Array:
    """All eigenvalues of W but the first, as the topology has them; one agent, which has none, is drawn at 0."""
    return topology.modes if topology.m > 1 else np.zeros(1)


def _rounds_to_show(topology: Topology) -> int:
    """Enough to see FastMix through, or gossip alone, but not so many that the start is lost."""
    lines = mixing_residuals(topology, 300)
    left = lines.get("FastMix", lines["gossip"])
    done = np.flatnonzero(left <= SHRUNK)
    return int(min(300, max(6, (done[0] if done.size else 300) * 1.25)))


def _topology(given: Any) -> Topology:
    return given if isinstance(given, Topology) else from_matrix(given)


def _layout(topology: Topology) -> Array:
    """Places of the agents: a circle for a ring and where there are very many, else springs."""
    import networkx as nx

    m = topology.m
    graph = nx.Graph()
    graph.add_nodes_from(range(m))
    graph.add_edges_from((i, int(j)) for i, row in enumerate(topology.neighbours) for j in row)
    links = graph.number_of_edges()
    circle = all(degree == 2 for _, degree in graph.degree) or links > m * (m - 1) / 4 or m > 500
    if circle or m <= 2:
        found = nx.circular_layout(graph)
    elif m <= 64:
        found = nx.kamada_kawai_layout(graph)
    else:
        found = nx.spring_layout(graph, seed=0, iterations=80)
    return np.array([found[agent] for agent in range(m)], dtype=np.float64)


def _draw_links(figure: Any, places: Array, i: Any, j: Any, weight: Array, directed: bool) -> None:
    """Lines in a few widths, and points on them that tell the weight: arrows from j to i, if directed."""
    if not len(weight):
        return
    thickness = 0.8 + 5.2 * weight / weight.max() if len(weight) < 400 else np.full(len(weight), 0.8)
    classes = np.minimum(WIDTHS - 1, ((thickness - 0.8) / 5.2 * WIDTHS).astype(int))
    for one in np.unique(classes):
        chosen = classes == one
        ends = np.stack([places[i[chosen]], places[j[chosen]], np.full((chosen.sum(), 2), np.nan)], axis=1)
        figure.add_scatter(
            x=ends[..., 0].ravel(),
            y=ends[..., 1].ravel(),
            mode="lines",
            line={"color": theme.NEUTRAL, "width": float(thickness[chosen].mean())},
            hoverinfo="skip",
        )
    middle = places[j] + (0.7 if directed else 0.5) * (places[i] - places[j])
    told = "agent %{customdata[0]} hears %{customdata[1]}"
    told = told if directed else told.replace("agent", "agents").replace("hears", "and")
    figure.add_scatter(
        x=middle[:, 0],
        y=middle[:, 1],
        mode="markers",
        marker=_arrows(places[i] - places[j]) if directed else {"size": 14, "opacity": 0},
        customdata=np.stack([i, j, weight], axis=1),
        hovertemplate=f"{told}<br>weight %{{customdata[2]:.4g}}<extra></extra>",
    )


def _arrows(ways: Array) -> dict[str, Any]:
    """Markers that point along these ways."""
    angles = np.degrees(np.arctan2(ways[:, 0], ways[:, 1]))  # clockwise from straight up
    return {"symbol": "arrow", "size": 13, "angle": angles, "color": theme.ACCENT}
