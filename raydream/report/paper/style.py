"""The look of a paper: one column wide, a serif font, and lines that greyscale and any colour vision tell apart."""

from typing import Any

from raydream.report import theme
from raydream.report.figures.convergence import plain

WIDTH, HEIGHT = 3.4, 2.4  # inches
PIXELS = 96  # of an inch
FONT = "'Times New Roman', Times, 'Liberation Serif', 'Nimbus Roman', serif"
SIZE = 10.5  # pixels, about 8 points
SYMBOLS = (
    "circle", "square", "triangle-up", "diamond", "circle-open", "square-open", "triangle-up-open", "diamond-open",
)  # fmt: skip
PATTERNS = ("", "/", ".", "x", "\\", "-", "+", "|")
MARKS = 8  # on a line, about
INK, GRID = "#000000", "#DDDDDD"


def look(number: int) -> dict[str, Any]:
    """Dash and mark of a line by its number: no two of the first forty are alike without their colours."""
    return {"dash": theme.DASHES[number % len(theme.DASHES)], "symbol": SYMBOLS[number % len(SYMBOLS)]}


def layout() -> dict[str, Any]:
    """What every figure has in this look."""
    axis = {
        "showgrid": True, "gridcolor": GRID, "gridwidth": 0.5, "linecolor": INK, "linewidth": 0.7, "showline": True,
        "ticks": "outside", "ticklen": 3, "tickwidth": 0.7, "tickcolor": INK, "zeroline": False, "automargin": True,
        "tickfont": {"size": SIZE - 1.5, "color": INK}, "title": {"standoff": 4, "font": {"size": SIZE, "color": INK}},
    }  # fmt: skip
    return {
        "template": {"layout": {"xaxis": axis, "yaxis": axis}},
        "width": round(WIDTH * PIXELS), "height": round(HEIGHT * PIXELS),
        "font": {"family": FONT, "size": SIZE, "color": INK},
        "paper_bgcolor": "#FFFFFF", "plot_bgcolor": "#FFFFFF",
        "margin": {"l": 42, "r": 6, "t": 6, "b": 42},
        "legend": {
            "orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": SIZE - 1.5}, "itemwidth": 30,
            "bgcolor": "rgba(0,0,0,0)", "tracegroupgap": 0,
        },
    }  # fmt: skip


def drawn_lines(figure: Any) -> list[Any]:
    """The traces that are lines of data: neither edges of bands nor pieces of a pile nor marks."""
    return [trace for trace in figure.data if is_line(trace.to_plotly_json())]


def is_line(trace: dict[str, Any]) -> bool:
    """Whether a trace, as plotly writes it, is such a line."""
    wide = (trace.get("line") or {}).get("width", 2)
    return (
        trace.get("type", "scatter") == "scatter" and "lines" in trace.get("mode", "lines") and wide != 0
        and "stackgroup" not in trace and bool(trace.get("name")) and trace.get("visible", True) is True
    )  # fmt: skip


def remarks(figure: Any) -> str:
    """What stars in the legend mean."""
    named = {
        plain(str(trace.legendgroup)): str(trace.name) for trace in figure.data if trace.legendgroup and trace.name
    }
    said = [f"* {name}" for label, name in named.items() if name.startswith(f"{label}: ")]
    return "\n".join(said)


def paper(figure: Any) -> Any:
    """The figure in this look; the one that is given stays as it is."""
    import plotly.graph_objects as go

    made = go.Figure(figure)
    own = made.layout
    high = own.height if own.height and own.height < round(HEIGHT * PIXELS) else None
    made.update_layout(title=None, sliders=[], updatemenus=[])
    made.update_layout(layout(), overwrite=False)
    made.layout.template = layout()["template"]
    if high is not None:
        made.update_layout(height=high)
    for axis in [*made.select_xaxes(), *made.select_yaxes()]:
        for name in ("gridcolor", "linecolor", "zerolinecolor"):
            axis[name] = None
        axis.title.font = axis.title.font.color = None
    for number, trace in enumerate(drawn_lines(made)):
        one = look(number)
        label, _, remark = str(trace.name).partition(": ")
        if remark and trace.legendgroup and label == plain(trace.legendgroup):
            trace.name = f"{label}*"  # `remarks` says why
        trace.update(
            mode="lines+markers", showlegend=True, line={"dash": one["dash"], "width": 1.3},
            marker={"symbol": one["symbol"], "size": 5, "maxdisplayed": MARKS, "color": trace.line.color},
        )  # fmt: skip
    for number, trace in enumerate(one for one in made.data if one.type == "scatter" and one.stackgroup):
        trace.update(fillpattern={"shape": PATTERNS[number % len(PATTERNS)], "fgcolor": INK, "size": 5})
    for trace in made.select_traces({"type": "heatmap"}):
        trace.colorbar.update(tickfont={"size": SIZE - 1.5}, thickness=8)
        trace.colorbar.title.font.size = SIZE - 0.5
    for trace in made.select_traces({"type": "scatter"}):
        if trace.mode == "text" and trace.textfont.size:
            trace.textfont.size = SIZE - 1.5
    return made
