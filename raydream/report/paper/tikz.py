"""Curves as pgfplots draws them: the lines and bands of a figure, thinned to what the eye can see."""

import re
from html import unescape
from typing import Any

import numpy as np

from raydream.columns import COLUMNS
from raydream.report.paper.style import HEIGHT, MARKS, WIDTH, drawn_lines
from raydream.report.paper.thinning import placed, stretches, visible
from raydream.report.tables.tex import comment, escaped
from raydream.types import Array

NEEDS = "Needs \\usepackage{pgfplots} and \\pgfplotsset{compat=1.16}; put it there with \\input."
DASHES = {
    "solid": "solid", "dash": "dashed", "dot": "dotted", "dashdot": "dash dot", "longdash": "loosely dashed",
}  # fmt: skip
SIGNS = {
    "circle": "*", "square": "square*", "triangle-up": "triangle*", "diamond": "diamond*", "circle-open": "o",
    "square-open": "square", "triangle-up-open": "triangle", "diamond-open": "diamond",
}  # fmt: skip
Ends = dict[str, tuple[float, float]]
Logs = dict[str, bool]
_TEX = {one.label: one.tex for one in COLUMNS.values() if one.tex}


def has_curves(figure: Any) -> bool:
    """Whether there is a line to draw in axes of the usual kind."""
    return bool(drawn_lines(figure)) and not any(trace.type != "scatter" for trace in figure.data)


def tikz(figure: Any, note: str) -> str:
    """A figure in the look of a paper as a tikzpicture, with what was done to make it in a comment at the top."""
    axes = {"x": figure.layout.xaxis, "y": figure.layout.yaxis}
    logs = {name: axis.type == "log" for name, axis in axes.items()}
    ends = {name: _ends(figure, name, logs[name]) for name in axes}
    options = [
        f"width={WIDTH:g}in", f"height={HEIGHT:g}in", "scale only axis=false", "unbounded coords=jump",
        *(f"{name}mode=log" for name in axes if logs[name]),
        *(f"{name}label={{{_label(axis.title.text or '')}}}" for name, axis in axes.items()),
        "label style={font=\\small}", "tick label style={font=\\footnotesize}",
        "legend style={font=\\footnotesize, draw=none, fill=none, at={(0.5,1.02)}, anchor=south}",
        "legend columns=3", "legend cell align=left",
    ]  # fmt: skip
    lines = [r"\begin{tikzpicture}", r"\begin{axis}[", *(f"  {one}," for one in options), "]"]
    below, wanted = None, {id(trace) for trace in drawn_lines(figure)}
    for trace in figure.data:
        x, y = (np.asarray(getattr(trace, name), dtype=np.float64) for name in ("x", "y"))
        if trace.fill == "tonexty" and below is not None:
            lines += _band(trace, x, below, y, ends, logs)
        elif id(trace) in wanted:
            lines += _line(trace, x, y, ends, logs)
        below = y
    return comment(f"{note}\n{NEEDS}") + "\n".join([*lines, r"\end{axis}", r"\end{tikzpicture}"]) + "\n"


def _label(text: str) -> str:
    return _TEX.get(text) or escaped(unescape(re.sub(r"<[^>]*>", " ", text)))


def _ends(figure: Any, name: str, logarithmic: bool) -> tuple[float, float]:
    values = np.concatenate([np.asarray(getattr(trace, name), dtype=np.float64) for trace in figure.data])
    values = values[np.isfinite(values) & ((values > 0) | (not logarithmic))]
    return (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)


def _line(trace: Any, x: Array, y: Array, ends: Ends, logs: Logs) -> list[str]:
    points = _points(x, y, ends, logs)
    signs = SIGNS.get(trace.marker.symbol, "*")
    every = max(1, len(points) // MARKS)
    look = [
        f"color={_colour(trace.line.color)}", DASHES.get(trace.line.dash, "solid"), "line width=0.9pt",
        f"mark={signs}", "mark size=1.4pt", f"mark repeat={every}", "mark options={solid}",
    ]  # fmt: skip
    return [rf"\addplot[{', '.join(look)}] coordinates {{", *_wrapped(points), "};",
            rf"\addlegendentry{{{_label(trace.name or '')}}}"]  # fmt: skip


def _band(trace: Any, x: Array, low: Array, high: Array, ends: Ends, logs: Logs) -> list[str]:
    """A closed line around the band, for each stretch of it."""
    lines = []
    sound = np.isfinite(x) & np.isfinite(low) & np.isfinite(high)
    for name, values in (("x", x), ("y", low), ("y", high)):
        sound &= (values > 0) | (not logs[name])
    for part in stretches(sound):
        above = _points(x[part], high[part], ends, logs)
        back = _points(x[part], low[part], ends, logs)[::-1]
        colour = _colour(trace.fillcolor)
        lines += [rf"\addplot[draw=none, fill={colour}, fill opacity=0.18, forget plot] coordinates {{",
                  *_wrapped([*above, *back]), "} -- cycle;"]  # fmt: skip
    return lines


def _points(x: Array, y: Array, ends: Ends, logs: Logs) -> list[str]:
    """The coordinates that are kept; a gap is a point that is no number."""
    sound = np.isfinite(x) & np.isfinite(y) & ((x > 0) | (not logs["x"])) & ((y > 0) | (not logs["y"]))
    told: list[str] = []
    for part in stretches(sound):
        own_x, own_y = x[part], y[part]
        keep = visible(placed(own_x, ends["x"], logs["x"]), placed(own_y, ends["y"], logs["y"]))
        told += [f"({own_x[-1]:.6g},nan)"] if told else []
        told += [f"({a:.6g},{b:.6g})" for a, b in zip(own_x[keep], own_y[keep], strict=True)]
    return told


def _wrapped(points: list[str], each: int = 6) -> list[str]:
    return ["  " + " ".join(points[place : place + each]) for place in range(0, len(points), each)]


def _colour(text: str) -> str:
    """#RRGGBB, or rgba(...) of a band, as xcolor takes it."""
    if text.startswith("#"):
        parts = [int(text[place : place + 2], 16) for place in (1, 3, 5)]
    else:
        parts = [round(float(one)) for one in re.findall(r"[\d.]+", text)[:3]]
    return "{{rgb,255:red,{};green,{};blue,{}}}".format(*parts)
