"""The paper's Lyapunov function, its pieces stacked."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from raydream.report import theme
from raydream.report.collect import Run, collect
from raydream.report.figures.bands import thinned
from raydream.types import Array

LOOKS = {
    "Ψ": theme.BLUE,
    "C/(m η)": theme.ORANGE,
    "η V/(m p)": theme.GREEN,
    "η U/p": theme.PINK,
}


def pieces(run: Run) -> dict[str, Array] | None:
    """Phi = Psi + C/(m eta) + eta V/(m p) + eta U/p by its terms, or None where they were not recorded."""
    if any(name not in run.columns for name in ("Psi", "C", "V", "U")):
        return None
    given = run.config.get("lyapunov") or run.parameters  # runs of old do not say
    eta, p, m = given.get("eta", 1.0), given.get("p", 1.0), run.config["problem"]["agents"]
    columns = {name: np.nan_to_num(run.columns[name], nan=0.0) for name in ("C", "V", "U")}
    return {
        "Ψ": run.columns["Psi"],
        "C/(m η)": columns["C"] / (m * eta),
        "η V/(m p)": eta * columns["V"] / (m * p),
        "η U/p": eta * columns["U"] / p,
    }


def lyapunov(run: Any, x: str = "iteration", *, points: int = 1500, dark: bool = False) -> Any:
    """The terms of Phi one upon another, for one run that was made with `diagnostics=True`."""
    one = collect(run)[0]
    found = pieces(one)
    if found is None:
        raise ValueError("`run` has no record of the Lyapunov function; run with `diagnostics=True`.")
    assumed = (one.config.get("lyapunov") or {}).get("assumed")
    remark = f" (the method has no {assumed}: 1 here)" if assumed else ""
    keep = thinned(list(found.values()), points)
    figure = go.Figure()
    for name, values in found.items():
        figure.add_scatter(
            x=one.columns[x][keep],
            y=values[keep],
            name=name,
            mode="lines",
            stackgroup="Phi",
            line={"width": 0.5, "color": LOOKS[name]},
            fillcolor=theme.translucent(LOOKS[name], 0.55),
            hovertemplate=f"{name} = %{{y:.4g}}<extra></extra>",
        )
    return theme.finished(
        figure,
        dark,
        hovermode="x unified",
        xaxis={"title": {"text": theme.axis_name(x)}, **theme.ticks(x)},
        yaxis={"title": {"text": f"Φ and its terms{remark}"}, **theme.ticks("Phi")},
    )
