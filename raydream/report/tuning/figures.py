"""The figures of a tuning: scores against parameters, parallel coordinates, what mattered, and what it cost."""

import math
from typing import Any

import plotly.graph_objects as go

from raydream.algorithms.facts import Range
from raydream.columns import column
from raydream.report import theme
from raydream.report.figures.convergence import plain, shortened
from raydream.report.figures.reach import WIDEST, si
from raydream.report.tuning.scales import Scale, Scores, scale_of, scores_of
from raydream.report.tuning.tried import Mark, Tried

# Rungs by their marks, and by the same signs in words; of the last rung the mark is filled.
SYMBOLS = ("circle-open", "diamond-open", "square-open", "triangle-down-open", "pentagon-open")
SIGNS = ("○", "◇", "□", "▽", "⬠")
FILLED = "●"
EDGES = {"worse": ("triangle-up", "▲"), "lost": ("x", "✕")}
STAR = theme.ORANGE
GOOD, BAD = theme.BLUE, theme.NEUTRAL
BESIDE, BUNDLE = 0.5, 0.16  # how far marks, and lines, of the same value stand apart
CLASSES = 9  # colours of lines


def panel(tried: Tried, name: str, dark: bool = False) -> Any:
    """Score against one parameter: a mark for each configuration and rung, the best a star, the edges as lines."""
    scale, scores = scale_of(tried, name), scores_of(tried)
    figure = go.Figure()
    for rung in range(tried.rungs):
        own = [mark for mark in tried.drawn if mark.rung == rung and scores.kind(mark) == "there"]
        _marks(figure, tried, own, scale, scores, _look(tried, rung))
    for kind, (symbol, _) in EDGES.items():
        own = [mark for mark in tried.drawn if scores.kind(mark) == kind]
        colour = theme.VERMILION if kind == "lost" else theme.NEUTRAL
        _marks(figure, tried, own, scale, scores, {"symbol": symbol, "size": 7, "color": colour, "opacity": 0.7})
    if tried.best is not None:
        look = {"symbol": "star", "size": 15, "color": STAR, "line": {"width": 1.2, "color": "#1B2430"}}
        _marks(figure, tried, [tried.best], scale, scores, look)
    if math.isfinite(tried.started):
        figure.add_hline(scores.place(tried.started), line={"color": theme.NEUTRAL, "width": 1, "dash": "dash"})
    side = tried.sides.get(name, 0)
    for place, here in ((0.0, side < 0), (1.0, side > 0)):
        if scale.kind != "steps" and (here or isinstance(tried.grid[name], Range)):
            looks = {"color": theme.VERMILION, "width": 2} if here else {"width": 1, "dash": "dot"}
            figure.add_vline(place, line={"color": theme.NEUTRAL, **looks})
    title = plain(shortened(name, 24)) + ("" if not side else f", best at the {'lower' if side < 0 else 'upper'} edge")
    ticks = scale.ticks()
    shown = {"size": 13, "color": theme.VERMILION} if side else {"size": 13}
    return theme.finished(
        figure, dark, height=250, margin={"l": 50, "r": 10, "t": 14, "b": 44}, showlegend=False, hovermode="closest",
        xaxis={
            "title": {"text": title, "font": shown}, "range": [-0.04, 1.04], "zeroline": False,
            "tickvals": list(ticks), "ticktext": list(ticks.values()),
        },
        yaxis={
            "title": {"text": column(tried.metric).short}, "type": "log" if scores.log else "linear",
            "range": scores.range, "nticks": 6, "zeroline": False, **theme.ticks(tried.metric),
        },
    )  # fmt: skip


def parallel(tried: Tried, dark: bool = False) -> Any:
    """Parallel coordinates: an axis for each parameter, for the rung and for the score; a line for each configuration.

    plotly's own are drawn by programs that are compiled on the way, which the pages' policy forbids.
    """
    scores, scales = scores_of(tried), [scale_of(tried, name) for name in tried.varied]
    names = [plain(shortened(name, 16)) for name in tried.varied]
    if tried.rungs > 1:
        scales.append(Scale("rung", "steps", tuple(range(1, tried.rungs + 1))))
        names.append("rung")
    places = list(range(len(scales) + 1))
    figure = go.Figure()
    for colour, own, width in _classes(tried, scores):
        xs, ys, told = list[float | None](), list[float | None](), list[str]()
        for mark in own:
            values = [*(mark.parameters.get(name) for name in tried.varied), mark.rung + 1]
            xs += [*places, None]
            ys += [*(one.share(value, mark.number, BUNDLE) for one, value in zip(scales, values, strict=False)),
                   1 - min(1.0, scores.share(mark.score)), None]  # fmt: skip
            told += [_hover(tried, mark)] * (len(places) + 1)
        figure.add_scatter(
            x=xs, y=[None if one is None or math.isnan(one) else one for one in ys], mode="lines",
            line={"color": colour, "width": width}, text=told, hovertemplate="%{text}<extra></extra>",
            opacity=0.9 if width > 2 else 0.6,
        )  # fmt: skip
    for place in places:
        figure.add_shape(type="line", x0=place, x1=place, y0=0, y1=1, line={"color": theme.NEUTRAL, "width": 1})
    ends = _ends(tried, scores)
    for place, ticks in enumerate([*(one.ticks() for one in scales), ends]):
        figure.add_scatter(
            x=[place] * len(ticks), y=list(ticks), text=[f" {one} " for one in ticks.values()], mode="text",
            textposition="middle right" if place else "middle left", textfont={"size": 11, "shadow": "auto"},
            hoverinfo="skip", cliponaxis=False,
        )  # fmt: skip
    return theme.finished(
        figure, dark, height=340, margin={"l": 50, "r": 60, "t": 40, "b": 14}, showlegend=False, hovermode="closest",
        xaxis={
            "tickvals": places, "ticktext": [*names, column(tried.metric).short], "side": "top", "showgrid": False,
            "zeroline": False, "range": [-0.05, len(places) - 0.95], "showline": False, "tickfont": {"size": 13},
        },
        yaxis={"visible": False, "range": [-0.03, 1.03]},
    )  # fmt: skip


def mattered(tried: Tried, dark: bool = False) -> Any:
    """Bars of what each parameter explains alone, the greatest first; a tick where chance ends."""
    told, _ = tried.mattered()
    known = sorted(told.items(), key=lambda one: -one[1].share if one[1].share >= 0 else 1.0)
    places = list(range(len(known)))
    shares = [0.0 if math.isnan(one.share) else one.share for _, one in known]
    beyond = [one.share > one.chance for _, one in known]
    said = [
        "cannot be told" if math.isnan(one.share) else f"{one.share:.2f}" + ("" if clear else ", within chance")
        for (_, one), clear in zip(known, beyond, strict=True)
    ]
    figure = go.Figure()
    figure.add_bar(
        y=places, x=shares, orientation="h", width=0.62, hoverinfo="skip",
        marker={"color": [theme.colour(tried.name) if clear else theme.NEUTRAL for clear in beyond],
                "opacity": [1.0 if clear else 0.45 for clear in beyond]},
    )  # fmt: skip
    figure.add_scatter(
        y=places, x=[None if math.isnan(one.chance) else one.chance for _, one in known], mode="markers",
        marker={"symbol": "line-ns", "size": 20, "line": {"width": 2, "color": theme.VERMILION}},
        hovertemplate="chance ends at %{x:.2f}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        y=places, x=[1.32] * len(places), text=said, mode="text", textposition="middle left", hoverinfo="skip",
        cliponaxis=False, textfont={"size": 12},
    )  # fmt: skip
    return theme.finished(
        figure, dark, height=70 + 28 * len(known), margin={"l": 8, "r": 8, "t": 6, "b": 42}, showlegend=False,
        xaxis={"range": [0, 1.34], "tickvals": [0, 0.25, 0.5, 0.75, 1], "title": {"text": "share explained alone"}},
        yaxis={
            "tickvals": places, "ticktext": [plain(shortened(name, 16)) for name, _ in known], "showgrid": False,
            "zeroline": False, "range": [len(known) - 0.5, -0.5], "ticks": "outside", "ticklen": 5,
            "tickcolor": "rgba(0,0,0,0)",
        },
    )  # fmt: skip


def spent(every: list[Tried], cost: str, dark: bool = False) -> Any:
    """What the trials of each method have spent of a cost, rung by rung."""
    figure, places = go.Figure(), list(range(len(every)))
    totals = [0.0] * len(every)
    for rung in range(max((tried.rungs for tried in every), default=1)):
        bills = [[float(record.get(cost) or 0.0) for mark in tried.marks if mark.rung == rung
                  for record in mark.standing.records] for tried in every]  # fmt: skip
        sums = [sum(bill) for bill in bills]
        totals = [total + more for total, more in zip(totals, sums, strict=True)]
        figure.add_bar(
            y=places, x=sums, orientation="h", width=0.62,
            marker={
                "color": [theme.colour(tried.name) for tried in every],
                "opacity": 1 - 0.55 * rung / max(1, max(tried.rungs for tried in every)),
                "line": {"width": 1, "color": theme.NEUTRAL},
            },
            customdata=[(plain(tried.label), len(bill), "" if tried.rungs == 1 else f", rung {rung + 1}")
                        for tried, bill in zip(every, bills, strict=True)],
            hovertemplate=f"%{{customdata[0]}}%{{customdata[2]}}<br>%{{customdata[1]}} trials, %{{x:.4s}} "
                          f"{column(cost).short}<extra></extra>",
        )  # fmt: skip
    edge = max(totals, default=0.0) / 0.84 or 1.0
    figure.add_scatter(
        y=places, x=[edge] * len(places), text=[si(total) for total in totals], mode="text", hoverinfo="skip",
        textposition="middle left", textfont={"size": 12}, cliponaxis=False,
    )  # fmt: skip
    return theme.finished(
        figure, dark, barmode="stack", height=70 + 30 * len(every), margin={"l": 8, "r": 8, "t": 6, "b": 42},
        showlegend=False,
        xaxis={"range": [0, edge], "title": {"text": theme.axis_name(cost)}, "nticks": 6, **theme.ticks(cost)},
        yaxis={
            "tickvals": places, "ticktext": [plain(shortened(tried.label, WIDEST)) for tried in every],
            "showgrid": False, "zeroline": False, "range": [len(every) - 0.5, -0.5], "ticks": "outside", "ticklen": 5,
            "tickcolor": "rgba(0,0,0,0)",
        },
    )  # fmt: skip


def key_of(tried: Tried) -> str:
    """What the signs of a method's panels mean."""
    scores = scores_of(tried)
    kinds = {scores.kind(mark) for mark in tried.drawn}
    said = [
        f"{_sign(tried, rung)} {'trial' if tried.rungs == 1 else f'rung {rung + 1}'} (up to {tried.budgets(rung)})"
        for rung in range(tried.rungs)
    ]
    said += ["★ the best"] if tried.best is not None else []
    said += [f"{EDGES['worse'][1]} worse than the start"] if "worse" in kinds else []
    said += [f"{EDGES['lost'][1]} diverged or failed"] if "lost" in kinds else []
    said += ["dashed line: the start"] if math.isfinite(tried.started) else []
    return "; ".join(said) + "."


def _look(tried: Tried, rung: int) -> dict[str, Any]:
    """A mark of a rung: open before the last, where it is filled."""
    last = rung == tried.rungs - 1
    return {
        "symbol": "circle" if last else SYMBOLS[rung % len(SYMBOLS)], "size": 8 if last else 7,
        "color": theme.colour(tried.name), "opacity": 0.9 if last else 0.65, "line": {"width": 0 if last else 1.3},
    }  # fmt: skip


def _sign(tried: Tried, rung: int) -> str:
    return FILLED if rung == tried.rungs - 1 else SIGNS[rung % len(SIGNS)]


def _marks(
    figure: Any, tried: Tried, marks: list[Mark], scale: Scale, scores: Scores, look: dict[str, Any]
) -> None:  # fmt: skip
    if marks:
        figure.add_scatter(
            x=[scale.share(mark.parameters.get(scale.name), mark.number, BESIDE) for mark in marks],
            y=[scores.place(mark.score) for mark in marks], mode="markers", marker=look, cliponaxis=False,
            text=[_hover(tried, mark) for mark in marks], hovertemplate="%{text}<extra></extra>",
        )  # fmt: skip


def _hover(tried: Tried, mark: Mark) -> str:
    return "<br>".join(plain(one) for one in mark.text(tried.metric, tried.axis, tried.rungs).split("\n"))


def _classes(tried: Tried, scores: Scores) -> list[tuple[str, list[Mark], float]]:
    """Lines by colour, the worst first: those that are worse than the start, classes of scores, and the best, broad."""
    there = [mark for mark in tried.latest if scores.kind(mark) == "there"]
    found = [(theme.VERMILION, [mark for mark in tried.latest if scores.kind(mark) != "there"], 0.8)]
    for number in reversed(range(CLASSES)):
        own = [mark for mark in there if min(CLASSES - 1, int(CLASSES * scores.share(mark.score))) == number]
        found.append((_between(number / (CLASSES - 1)), own, 1.4))
    if tried.best is not None:
        found.append((STAR, [tried.best], 4.0))
    return [one for one in found if one[1]]


def _between(share: float) -> str:
    """A colour from good to bad."""
    ends = [[int(one[i : i + 2], 16) for i in (1, 3, 5)] for one in (GOOD, BAD)]
    return "#" + "".join(f"{round(a + share * (b - a)):02X}" for a, b in zip(*ends, strict=True))


def _ends(tried: Tried, scores: Scores) -> dict[float, str]:
    """Names along the axis of scores, the best on top."""
    worse = "" if not scores.clipped else "≥ " if tried.sign > 0 else "≤ "
    return {1.0: f"{scores.best:.4g}", 0.0: f"{worse}{scores.worst:.4g}"}
