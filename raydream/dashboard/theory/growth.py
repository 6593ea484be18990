"""How costs grow as epsilon falls: what the methods' papers state, drawn beside the theorem's own numbers."""

from collections.abc import Mapping
from math import inf, log10
from typing import Any

import plotly.graph_objects as go

from raydream.algorithms.table import rates
from raydream.dashboard.theory.prescription import Given, shown
from raydream.dashboard.theory.sliders import DIALS
from raydream.report import theme
from raydream.theory import dream_parameters

COSTS = ("sfo", "rounds")
THEOREM = "DREAM, Theorem 3.1 with its constants"
POINTS = 49  # of a line
Lines = dict[str, list[float]]  # for each method, and for the theorem, the cost at each of `epsilons`


def epsilons(epsilon: float) -> list[float]:
    """Evenly spread over the slider's range in logarithms, and the chosen one itself."""
    dial = DIALS["epsilon"]
    low, high = log10(min(dial.low, epsilon)), log10(max(dial.high, epsilon))
    return sorted({epsilon, *(10 ** (low + (high - low) * k / (POINTS - 1)) for k in range(POINTS))})


def lines(case: str, given: Given, power: float) -> dict[str, Lines]:
    """For each cost the orders of growth of those who pay it, and what the theorem predicts.

    power  of kappa, where a paper leaves it open
    """
    grid, scale = epsilons(given["epsilon"]), _scale(given)
    theorem = [dream_parameters(**{**given, "epsilon": epsilon}) for epsilon in grid]
    found: dict[str, Lines] = {}
    for cost in COSTS:
        orders = {name: getattr(rate, cost) for name, rate in rates(case).items()}
        found[cost] = {
            name: [order.at(epsilon=epsilon, open_power=power, **scale) for epsilon in grid]
            for name, order in orders.items()
            if order.terms
        }
        found[cost][THEOREM] = [getattr(parameters, cost) for parameters in theorem]
    if not all(0 < value < inf for drawn in found.values() for line in drawn.values() for value in line):
        raise ArithmeticError("a cost that no logarithmic axis can show")
    return found


def style(name: str) -> dict[str, Any]:
    """Colour and dash of a line."""
    return {**theme.line("dream"), "dash": "dot"} if name == THEOREM else theme.line(name)


def figure(cost: str, lines: Lines, epsilon: float, dark: bool) -> Any:
    """Cost against epsilon on logarithmic axes, with a mark where the reader stands."""
    drawn, grid, widths = go.Figure(), epsilons(epsilon), _widths(lines)
    for name, line in lines.items():
        drawn.add_scatter(
            x=grid, y=line, mode="lines", name=name, line={**style(name), "width": widths[name]},
            hovertemplate=f"{name}: %{{y:.2e}}<extra></extra>",
        )  # fmt: skip
    drawn.add_shape(x0=epsilon, x1=epsilon, y0=0, y1=1, yref="paper", line={"color": theme.NEUTRAL, "width": 1})
    drawn.add_annotation(
        x=log10(epsilon), y=0, yref="paper", yanchor="bottom", xanchor="left" if epsilon < 0.01 else "right",
        text=f"ε = {epsilon:.3g}", showarrow=False, font={"color": theme.NEUTRAL},
    )  # fmt: skip
    powers = {"type": "log", "exponentformat": "power"}
    x_axis = {"title": {"text": DIALS["epsilon"].label}, "dtick": 1, "unifiedhovertitle": {"text": "ε = %{x:.3g}"}}
    y_axis = {"title": {"text": theme.axis_name(cost)}, "dtick": _decades(lines)}
    return theme.finished(
        drawn, dark, showlegend=False, hovermode="x unified", xaxis={**powers, **x_axis}, yaxis={**powers, **y_axis}
    )


def caution(lines: Mapping[str, Lines], given: Given) -> str:
    """How to read the figures, and how large the theorem's constants are."""
    epsilon, scale = given["epsilon"], _scale(given)
    samples = f", m = {scale['m']:,}, N = m n = {scale['N']:,}" if "n" in given else ""
    at = epsilons(epsilon).index(epsilon)
    sfo, rounds = (shown(lines[cost][THEOREM][at] / lines[cost]["dream"][at]) for cost in COSTS)
    return (
        f"Orders of growth at κ = {scale['kappa']:.4g}{samples}, without constants and logarithms, nor L, σ, Ψ₀ and δ: "
        "compare slopes, and how lines move with the sliders, not heights. Lines that coincide are drawn inside one "
        f"another. At ε = {epsilon:.3g} the theorem's own numbers, with all of these, are {sfo} (SFO) and {rounds} "
        "(rounds) times DREAM's orders of growth."
    )


def _scale(given: Given) -> dict[str, Any]:
    """kappa, m and N, which is infinite online."""
    return {"kappa": given["L"] / given["mu"], "m": given["m"], "N": given["m"] * given.get("n", inf)}


def _widths(lines: Lines) -> dict[str, float]:
    """Lines that coincide lie inside one another: the first is the widest."""
    same: dict[tuple[str, ...], list[str]] = {}
    for name, line in lines.items():
        same.setdefault(tuple(f"{value:.9g}" for value in line), []).append(name)
    return {name: 2 + 3 * (len(names) - 1 - k) for names in same.values() for k, name in enumerate(names)}


def _decades(lines: Lines) -> int:
    """Powers of ten between two ticks, for about seven ticks."""
    values = [value for line in lines.values() for value in line]
    return max(1, round((log10(max(values)) - log10(min(values))) / 7))
