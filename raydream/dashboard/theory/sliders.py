"""Numbers to type, each beside a logarithmic slider."""

from dataclasses import dataclass
from math import log10
from typing import Any

from dash import Dash, Input, Output, State, dcc, html

from raydream.dashboard import parts


@dataclass(frozen=True)
class Dial:
    """A number to type beside a logarithmic slider from `low` to `high`; whole if its first value is."""

    label: str
    value: float
    low: float
    high: float


DIALS = {
    "L": Dial("L, average smoothness", 10.0, 1e-2, 1e4),
    "mu": Dial("μ, strong concavity", 1.0, 1e-4, 1e2),
    "epsilon": Dial("ε, wanted ‖∇P‖", 0.1, 1e-4, 1.0),
    "psi0": Dial("Ψ₀, gap at the start", 1.0, 1e-3, 1e3),
    "m": Dial("m, agents", 8, 1, 1e3),
    "n": Dial("n, samples per agent", 1000, 1, 1e6),
    "sigma": Dial("σ, deviation of a gradient", 1.0, 1e-2, 1e3),
    "delta": Dial("δ, spectral gap", 0.1, 1e-5, 1.0),
}
SLIDER = "theory-slider-"
PLACE = "theory-dial-"


def dial(name: str, value: Any, hidden: bool) -> html.Div:
    """The box with its slider, which stands at its end where the number lies beyond."""
    of = DIALS[name]
    low, high = log10(of.low), log10(of.high)
    slider = dcc.Slider(
        min=low, max=high, step=0.05, value=min(max(log10(value), low), high) if value > 0 else low,
        id=SLIDER + name, marks=None, included=False, updatemode="drag", allow_direct_input=False,
    )  # fmt: skip
    box = parts.number(name, of.label, value, step="any")
    whole: Any = {"data-whole": isinstance(of.value, int)}
    return html.Div([box, slider], id=PLACE + name, className="theory-dial", hidden=hidden, **whole)


def keep_together(app: Dash) -> None:
    """Whichever the reader moves, box or slider, takes the other along."""
    for name in DIALS:
        slider = SLIDER + name
        parts.in_the_browser(
            app, "turn", Output(slider, "value"), Input(slider, "value"), Input(parts.state(name), "value"),
            State(slider, "min"), State(slider, "max"), State(PLACE + name, "data-whole"),
        )  # fmt: skip
