"""What it cost to reach a target: bars by method."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from raydream.checks import choice, number
from raydream.columns import BILLED, Column, Directions, column, compared
from raydream.report import theme
from raydream.report.collect import Run, collect, directions, grouped, variants
from raydream.report.figures.convergence import plain, shortened
from raydream.studies.curves import cost_to_reach, quantiles_of, reachable

WIDEST = 26  # characters of a method's name beside its bar


def suggested_target(groups: dict[str, list[Run]], metric: str) -> float:
    """The value that a run was asked for, else the best that every method reaches which gets anywhere."""
    every = [run for runs in groups.values() for run in runs]
    about = column(metric, directions(every))
    asked = {_asked(run, about) for run in every}
    if len(asked) == 1 and (one := asked.pop()) is not None:
        return float(one)
    return reachable(
        [[run.columns[metric] for run in runs if metric in run.columns] for runs in groups.values()], about
    )


def to_reach(
    runs: Any,
    target: float | None = None,
    metric: str = "grad_norm",
    *,
    costs: tuple[str, ...] | None = None,
    band: tuple[float, float] = (0.25, 0.75),
    failed: Mapping[str, int] | None = None,
    dark: bool = False,
) -> Any:
    """Bars of the median cost to first reach a target, with quantiles over seeds.

    A seed that did not reach it counts as dearer than all others; where the median falls on such a seed there is no
    bar, but how many got there.

    target  by default the best value that all methods reach
    costs   by default SFO, rounds, bytes, seconds, and simulated seconds where runs have them
    failed  how many runs of a label ended with an error, and reached nothing (default: those of a comparison)
    """
    lost = failures_of(runs) if failed is None else failed
    every = collect(runs)
    groups, own = grouped(every), directions(every)
    costs = compared({name for run in every for name in run.columns}) if costs is None else costs
    choice("metric", metric, dict.fromkeys(name for group in groups.values() for run in group for name in run.metrics))
    goal = suggested_target(groups, metric) if target is None else number("target", target)
    spent = {}
    for label, group in groups.items():
        reached = [cost_to_reach(run.columns, goal, metric, costs, own) for run in group]
        spent[label] = {cost: [one[cost] for one in reached] + [math.inf] * lost.get(label, 0) for cost in costs}
    return bars(groups, spent, band, dark, to_the_target(metric, goal, own))


def failures_of(runs: Any) -> dict[str, int]:
    """How many runs of each label ended with an error, where a comparison tells."""
    return Counter(str(label) for label, _ in getattr(runs, "failures", {}))


def to_the_target(metric: str, target: float, own: Directions | None = None) -> str:
    """What is reached, in words."""
    sign = "≤" if column(metric, own or {}).better == "less" else "≥"
    return f"to reach {theme.axis_name(metric)} {sign} {target:.4g}"


def ledger(
    runs: Any,
    *,
    costs: tuple[str, ...] = BILLED,
    band: tuple[float, float] = (0.25, 0.75),
    dark: bool = False,
) -> Any:
    """The final bills as bars: SFO calls, rounds, messages and bytes, the median over seeds."""
    groups = grouped(collect(runs))
    spent = {label: {cost: [run.last(cost) for run in group] for cost in costs} for label, group in groups.items()}
    return bars(groups, spent, band, dark, "spent in all")


def bars(
    groups: dict[str, list[Run]],
    spent: dict[str, dict[str, list[float]]],
    band: tuple[float, float],
    dark: bool,
    title: str,
) -> Any:
    """One panel of horizontal bars per cost."""
    costs = list(next(iter(spent.values())))
    number_of = variants(groups)
    colours = [theme.line(group[0].method, number_of[label])["color"] for label, group in groups.items()]
    names, places = [plain(label) for label in groups], list(range(len(groups)))
    figure = make_subplots(1, len(costs), shared_yaxes=True, horizontal_spacing=0.03)
    for place, cost in enumerate(costs, 1):
        rows = [quantiles_of(np.array([spent[label][cost]]).T, (0.5, *band)) for label in groups]
        middle, low, high = np.array(rows, dtype=np.float64).reshape(len(groups), 3).T
        known = np.isfinite(middle)
        said = [_said(float(one), spent[label][cost]) for one, label in zip(middle, groups, strict=True)]
        with np.errstate(invalid="ignore"):
            above, below = np.where(known & np.isfinite(high), high - middle, 0), np.where(known, middle - low, 0)
        figure.add_trace(
            go.Bar(
                y=places,
                customdata=names,
                x=np.where(known, middle, 0.0),
                orientation="h",
                showlegend=False,
                marker={"color": colours},
                text=said,
                textposition="none",
                error_x={
                    "array": above,
                    "arrayminus": below,
                    "color": theme.NEUTRAL,
                    "visible": any(len(group) > 1 for group in groups.values()),
                },
                hovertemplate="<b>%{customdata}</b>: %{text}<extra></extra>",
            ),
            row=1,
            col=place,
        )
        # The numbers stand in a column of their own at the right, where no bar and no whisker reaches.
        edge = float(np.max(np.where(known, middle + above, 0.0), initial=0.0)) / 0.72 or 1.0
        figure.add_trace(
            go.Scatter(
                x=[edge] * len(said),
                y=places,
                text=said,
                mode="text",
                textposition="middle left",
                textfont={"size": 12},
                hoverinfo="skip",
                showlegend=False,
                cliponaxis=False,
            ),
            row=1,
            col=place,
        )
        figure.update_xaxes(
            title_text=theme.axis_name(cost), range=[0, edge], nticks=5, row=1, col=place, **theme.ticks(cost)
        )
    shown = [plain(shortened(label, WIDEST)) for label in groups]
    figure.update_yaxes(tickvals=places, ticktext=shown, showgrid=False, zeroline=False)
    figure.update_yaxes(range=[len(names) - 0.5, -0.5], ticks="outside", ticklen=5, tickcolor="rgba(0,0,0,0)")
    height = 100 + (30 if len(groups) <= 12 else 20) * len(groups)
    return theme.finished(figure, dark, title={"text": title, "x": 0, "xref": "paper"}, margin={"t": 44}, height=height)


def _said(middle: float, spent: list[float]) -> str:
    """The median, and of how many seeds it can be told; never infinity."""
    if all(map(math.isnan, spent)):
        return "not recorded"
    reached = sum(map(math.isfinite, spent))
    if not math.isfinite(middle):
        return f"{reached} of {len(spent)} reached" if reached else "not reached"
    return si(middle) + (f" ({reached} of {len(spent)})" if reached < len(spent) else "")


def si(value: float, between: str = "") -> str:
    """A number with three digits and a prefix: 12.3k, or with a space between the two."""
    if abs(value) < 1 or not math.isfinite(value):
        return f"{value:.3g}"
    power = min(4, max(0, math.floor(math.log10(abs(value)) / 3)))
    return f"{value / 1000**power:.3g}{between}{' kMGT'[power].strip()}"


def _asked(run: Run, about: Column) -> float | None:
    """The target that a run had for a column."""
    limits, targets = run.config.get("limits") or {}, run.config.get("targets") or {}
    found: float | None = targets.get(about.name, limits.get(about.limit))
    return found
