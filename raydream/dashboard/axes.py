"""The controls that every convergence figure has, and the range that is in sight."""

from typing import Any

from dash import Dash, Input, Output, State, dcc

from raydream.dashboard.curves import SCALES
from raydream.dashboard.parts import Query, choice, in_the_browser, state
from raydream.report import theme

NAMES = ("x", "y", "scale_x", "scale_y")


def controls(query: Query) -> list[Any]:
    """What against what, and on which scales."""
    return [
        choice("y", "y", theme.METRICS, query.among("y", theme.METRICS, "grad_norm")),
        choice("scale_y", "y scale", SCALES, query.among("scale_y", SCALES, "auto")),
        choice("x", "x", theme.AXES, query.among("x", theme.AXES, "sfo")),
        choice("scale_x", "x scale", SCALES, query.among("scale_x", SCALES, "auto")),
    ]


def inputs() -> list[Input]:
    """The values of these controls."""
    return [Input(state(name), "value") for name in NAMES]


def zoom(page: str) -> dcc.Store:
    """Holds the range of x that the reader of a page's figure has zoomed to."""
    return dcc.Store(id=f"{page}-zoom")


def keep_zoom(app: Dash, page: str) -> None:
    """Hear of zooming in the browser, where other changes of the figure are passed over."""
    in_the_browser(
        app,
        "zoomed",
        Output(f"{page}-zoom", "data"),
        Input(f"{page}-curve", "relayoutData"),
        State(state("x"), "value"),
        State(state("scale_x"), "value"),
    )


def in_sight(zoomed: dict[str, Any] | None, x: str, scale_x: str) -> tuple[float, float] | None:
    """The range of x in sight, if the reader has zoomed since the axes were chosen."""
    try:
        if not zoomed or (zoomed["x"], zoomed["scale_x"]) != (x, scale_x):
            return None
        low, high = (float(end) for end in zoomed["range"])
        return (10**low, 10**high) if scale_x == "log" else (low, high)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
