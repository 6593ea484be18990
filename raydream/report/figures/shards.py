"""Who owns which rows: a bar for each agent, its classes in colours, and below it where its rows lie."""

from typing import TYPE_CHECKING, Any

import numpy as np
from plotly.subplots import make_subplots

from raydream.report import theme
from raydream.report.figures.convergence import plain, shortened
from raydream.types import Array

if TYPE_CHECKING:
    from raydream.data import Shards

COLOURS = (theme.BLUE, theme.ORANGE, theme.GREEN, theme.PINK, theme.VERMILION, *theme.OTHERS)
LARGEST = 26  # pixels, the diameter of a dot of all rows of a class that any agent owns most of
WIDEST = 18  # characters of a name


def shards(found: "Shards", *, dark: bool = False) -> Any:
    """The rows of each agent: bars in the colours of their classes, or where these are many, dots for each class.

    Of a split by features, or of labels that are no classes, a second row of boxes tells where agents' rows lie.
    """
    agents = [_short(name) for name in found.names]
    below, what = _spread(found)
    many = found.classes is not None and found.classes.size > len(COLOURS)
    rows = 1 + (below is not None or many)
    figure = make_subplots(
        rows=rows, cols=1, shared_xaxes=True, vertical_spacing=0.06, row_heights=[0.5, 0.5] if rows == 2 else None
    )
    places = np.arange(len(agents))
    if found.classes is None or many:
        figure.add_bar(
            x=places, y=found.sizes, showlegend=False, marker={"color": theme.BLUE, "line": {"width": 0}},
            customdata=agents, hovertemplate="<b>%{customdata}</b>: %{y} rows<extra></extra>", row=1, col=1,
        )  # fmt: skip
    else:
        _bars(figure, found, agents, places)
    if below is not None:
        _boxes(figure, below, places)
    elif many:
        _dots(figure, found, agents, places)
    theme.finished(
        figure, dark, barmode="stack", bargap=0.15 if len(agents) <= 60 else 0.0, hovermode="closest",
        title={"text": plain(repr(found)[1:-1].removeprefix("Shards: ")), "font": {"size": 13}, "x": 0.01},
        height=330 if rows == 1 else 520, margin={"t": 44},
        legend={"orientation": "v", "x": 1.01, "y": 1, "yanchor": "top", "traceorder": "reversed"},
    )  # fmt: skip
    figure.update_yaxes(title_text="rows", rangemode="tozero", row=1, col=1, **theme.ticks("sfo"))
    if rows == 2:
        figure.update_yaxes(title_text=what or "class", row=2, col=1)
    named = {"tickvals": places, "ticktext": agents} if len(agents) <= 40 else {}
    figure.update_xaxes(showgrid=False, zeroline=False, range=[-0.6, len(agents) - 0.4], **named)
    figure.update_xaxes(title_text="agent", row=rows, col=1)
    return figure


def _bars(figure: Any, found: "Shards", agents: list[str], places: Any) -> None:
    """One colour for each class."""
    assert found.classes is not None
    counts, shares = found.counts.T, (100 * found.counts / found.sizes[:, None]).T
    for name, n_k, s_k, colour in zip(found.classes.tolist(), counts, shares, COLOURS, strict=False):
        told = [f"{agent}: {n} rows ({share:.3g} %)" for agent, n, share in zip(agents, n_k, s_k, strict=True)]
        figure.add_bar(
            x=places, y=n_k, name=_short(name), marker={"color": colour, "line": {"width": 0}},
            customdata=told, hovertemplate="<b>%{fullData.name}</b>, %{customdata}<extra></extra>", row=1, col=1,
        )  # fmt: skip


def _dots(figure: Any, found: "Shards", agents: list[str], places: Any) -> None:
    """A dot for each agent and class, its area as the number of rows."""
    assert found.classes is not None
    agent, kind = np.nonzero(found.counts)
    counts = found.counts[agent, kind]
    named = [_short(name) for name in found.classes.tolist()]
    told = [f"{agents[i]}: {n} rows of {named[k]}" for i, k, n in zip(agent, kind, counts, strict=True)]
    figure.add_scatter(
        x=places[agent], y=kind, mode="markers", showlegend=False, customdata=told,
        hovertemplate="%{customdata}<extra></extra>", row=2, col=1,
        marker={"size": LARGEST * np.sqrt(counts / counts.max()), "color": theme.BLUE, "opacity": 0.75,
                "line": {"width": 0}},
    )  # fmt: skip
    step = -(-len(named) // 25)  # all names where they are few
    figure.update_yaxes(tickvals=np.arange(len(named))[::step], ticktext=named[::step], row=2, col=1)


def _short(name: Any) -> str:
    """The name of a class or an agent, without markup and not too long."""
    return plain(shortened(f"{name:g}" if isinstance(name, float) else str(name), WIDEST))


def _spread(found: "Shards") -> tuple[list[Array] | None, str]:
    """For each agent where its rows lie along the direction of the split, or the targets of its rows; and its name."""
    if found.score is not None:
        return [found.score[part] for part in found.rows], "along the split"
    if found.labels is not None and found.classes is None:
        return [np.asarray(found.labels[part], dtype=np.float64) for part in found.rows], "label"
    return None, ""


def _boxes(figure: Any, below: list[Array], places: Any) -> None:
    """A box for each agent, from its quartiles, with whiskers to the outermost rows."""
    low, first, middle, third, high = np.array([np.quantile(part, [0, 0.25, 0.5, 0.75, 1]) for part in below]).T
    figure.add_box(
        x=places, lowerfence=low, q1=first, median=middle, q3=third, upperfence=high, showlegend=False,
        fillcolor=theme.translucent(theme.ORANGE, 0.35), line={"color": theme.ORANGE, "width": 1.5}, row=2, col=1,
    )  # fmt: skip
