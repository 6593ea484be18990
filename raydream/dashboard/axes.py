"""The controls that every convergence figure has, and the range that is in sight."""

import math
from typing import Any

from dash import Dash, Input, Output, State, dcc

from raydream.columns import AXES, METRICS, USUAL_X, USUAL_Y
from raydream.dashboard.curves import SCALES, Zoom
from raydream.dashboard.parts import Query, choice, in_the_browser, state
from raydream.report.theme import axis_name

NAMES = ("x", "y", "scale_x", "scale_y")


def controls(query: Query) -> list[Any]:
    """What against what, and on which scales."""
    return [
        choice("y", "y", _named(METRICS), query.among("y", METRICS, USUAL_Y)),
        choice("scale_y", "y scale", SCALES, query.among("scale_y", SCALES, "auto")),
        choice("x", "x", _named(AXES), query.among("x", AXES, USUAL_X)),
        choice("scale_x", "x scale", SCALES, query.among("scale_x", SCALES, "auto")),
    ]


def inputs() -> list[Input]:
    """The values of these controls."""
    return [Input(state(name), "value") for name in NAMES]


def zoom(page: str) -> dcc.Store:
    """Holds the ranges that the reader of a page's figure has zoomed to."""
    return dcc.Store(id=f"{page}-zoom")


def keep_zoom(app: Dash, page: str) -> None:
    """Hear of zooming in the browser, where other changes of the figure are passed over."""
    chosen = [State(state(name), "value") for name in NAMES]
    zoomed = f"{page}-zoom"
    in_the_browser(
        app, "zoomed", Output(zoomed, "data"), Input(f"{page}-curve", "relayoutData"), State(zoomed, "data"), *chosen
    )


def in_sight(zoomed: dict[str, Any] | None, *chosen: str) -> Zoom:
    """The ranges in sight, if the reader has zoomed since the axes were chosen."""
    if not zoomed or zoomed.get("chosen") != list(chosen):
        return Zoom()
    return Zoom(_range(zoomed.get("xaxis")), _range(zoomed.get("yaxis")))


def _named(columns: tuple[str, ...]) -> dict[str, str]:
    return {name: axis_name(name) for name in columns}


def _range(given: Any) -> tuple[float, float] | None:
    try:
        low, high = (float(end) for end in given)
        return (low, high) if math.isfinite(low) and math.isfinite(high) and low < high else None
    except (TypeError, ValueError):
        return None
