"""The one look of all figures: colours by method, names of axes with their units, a light and a dark template."""

import colorsys
import functools
import zlib
from typing import Any, TypedDict

from raydream.algorithms import METHODS
from raydream.algorithms.table import facts_named
from raydream.columns import column

# After Okabe and Ito, whose colours readers with any colour vision tell apart: for what is not a method.
BLUE, ORANGE, GREEN, PINK, VERMILION = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00"
OTHERS = ("#44AA99", "#999933", "#CC6677", "#AA4499", "#117733", "#6699CC", "#997700")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
NEUTRAL = "#8793A1"  # readable on white and on near black
ACCENT = BLUE


class Ticks(TypedDict):
    """How plotly writes the numbers along an axis."""

    exponentformat: str
    minexponent: int


def colour(method: str) -> str:
    """The colour of a method: always the same, also for a method of one's own."""
    facts = facts_named(method)
    return (facts.colour if facts else "") or OTHERS[zlib.crc32(method.encode()) % len(OTHERS)]


def line(method: str, variant: int = 0) -> dict[str, Any]:
    """Colour and dash of the `variant`-th configuration of a method in one figure."""
    facts = facts_named(method)
    dash = (DASHES.index(facts.dash) if facts else 0) + variant
    return {"color": _lighter(colour(method), variant // len(DASHES)), "dash": DASHES[dash % len(DASHES)]}


def translucent(hexadecimal: str, opacity: float) -> str:
    """A colour to fill a band with."""
    red, green, blue = (int(hexadecimal[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def axis_name(name: str) -> str:
    """What to write along an axis that shows a column of the history."""
    return column(name).label


def ticks(name: str) -> Ticks:
    """Tick labels: 20k and 3M for what is counted, powers of ten for what is measured."""
    return {"exponentformat": "SI" if column(name).integer else "power", "minexponent": 3}


def template(dark: bool = False) -> dict[str, Any]:
    """The layout that every figure starts from."""
    ink, soft, grid = ("#E6E9EE", "#A9B3C0", "#2C333D") if dark else ("#1B2430", "#55606E", "#E3E7EC")
    axis = {
        "gridcolor": grid,
        "linecolor": grid,
        "zerolinecolor": grid,
        "tickfont": {"color": soft},
        "title": {"standoff": 8, "font": {"size": 13}},
        "automargin": True,
    }
    return {
        "layout": {
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": FONT, "size": 13, "color": ink},
            "colorway": [colour(method) for method in METHODS],
            "margin": {"l": 58, "r": 16, "t": 30, "b": 48},
            "xaxis": axis,
            "yaxis": axis,
            "hoverlabel": {
                "bgcolor": "#232A33" if dark else "#FFFFFF",
                "bordercolor": soft,
                "font": {"family": FONT, "size": 12, "color": ink},
                "align": "left",
            },
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "bgcolor": "rgba(0,0,0,0)"},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": soft, "activecolor": ink},
        }
    }


def finished(figure: Any, dark: bool = False, **layout: Any) -> Any:
    """The figure in this look."""
    background = "#14181E" if dark else "#FFFFFF"
    figure.update_layout(template=_made_template(dark), paper_bgcolor=background, plot_bgcolor=background, **layout)
    return figure


@functools.cache
def _made_template(dark: bool) -> Any:
    """plotly checks a template for 50 ms when it is made: once is enough."""
    from plotly.graph_objects import layout

    return layout.Template(template(dark))


def _lighter(hexadecimal: str, steps: int) -> str:
    """The same hue, lighter with every step, back at the start after three."""
    if steps % 3 == 0:
        return hexadecimal
    red, green, blue = (int(hexadecimal[i : i + 2], 16) / 255 for i in (1, 3, 5))
    hue, light, saturation = colorsys.rgb_to_hls(red, green, blue)
    mixed = colorsys.hls_to_rgb(hue, light + (0.85 - light) * (steps % 3) / 3, saturation)
    return "#" + "".join(f"{round(255 * part):02X}" for part in mixed)
