"""How things show themselves in a notebook: facts and small pictures as HTML that loads and runs nothing."""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

WIDTH, HEIGHT = 320, 110
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6B7480")
MOST_AGENTS = 64  # that are drawn
_CARD = "font:13px system-ui,sans-serif;border:1px solid #8886;border-radius:8px;padding:8px 12px;display:inline-block"

Line = tuple[str, Sequence[float], Sequence[float]]  # a label, and the places of its points


def card(title: str, facts: Mapping[str, Any], *pictures: str) -> str:
    """A title, facts, and pictures made here; every word is escaped."""
    rows = "".join(
        f'<tr><td style="text-align:left;opacity:.7;padding:1px 10px 1px 0">{escape(str(name))}</td>'
        f'<td style="text-align:left;padding:1px 0">{escape(str(value))}</td></tr>'
        for name, value in facts.items()
    )
    return f'<div style="{_CARD}"><b>{escape(title)}</b><table>{rows}</table>{"".join(pictures)}</div>'


def curves(lines: Iterable[Line], about: str = "", logarithmic: bool = False) -> str:
    """Lines against a common axis as a small SVG, with a legend where there are several; "" where nothing is to be
    seen."""
    known = [(label, _finite(x, y, logarithmic)) for label, x, y in lines]
    known = [(label, points) for label, points in known if len(points) > 1]
    if not known:
        return ""
    xs, ys = ([point[side] for _, points in known for point in points] for side in (0, 1))
    ends = (min(xs), max(xs)), (min(ys), max(ys))
    drawn = []
    for number, (_, points) in enumerate(known):
        places = " ".join(f"{_at(x, ends[0], WIDTH):.1f},{HEIGHT - _at(y, ends[1], HEIGHT):.1f}" for x, y in points)
        colour = COLOURS[number % len(COLOURS)]
        drawn.append(f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
    keys = [f'<span style="color:{COLOURS[number % len(COLOURS)]}">{escape(label)}</span>'
            for number, (label, _) in enumerate(known)]  # fmt: skip
    legend = f"<div>{' '.join(keys)}</div>" if len(keys) > 1 else ""
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="-3 -3 {WIDTH + 6} {HEIGHT + 6}" role="img" '
        f'aria-label="{escape(about)}">{"".join(drawn)}</svg><div style="opacity:.7">{escape(about)}</div>{legend}'
    )


def network(neighbours: Sequence[Iterable[int]]) -> str:
    """Agents in a circle and their links; "" where they are too many."""
    m, half = len(neighbours), 60
    if m > MOST_AGENTS:
        return ""
    spots = [(half * math.sin(2 * math.pi * i / m), -half * math.cos(2 * math.pi * i / m)) for i in range(m)]
    links = "".join(
        f'<line x1="{spots[i][0]:.1f}" y1="{spots[i][1]:.1f}" x2="{spots[j][0]:.1f}" y2="{spots[j][1]:.1f}" '
        'stroke="#8793A1"/>'
        for i, others in enumerate(neighbours) for j in map(int, others)
    )  # fmt: skip
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{COLOURS[0]}"/>' for x, y in spots)
    return f'<svg width="140" height="140" viewBox="-70 -70 140 140">{links}{dots}</svg>'


def in_kernel() -> bool:
    """Whether a notebook's kernel is the host of this process."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None


class Display:
    """One place in a notebook's output whose text changes; nothing is there before the first."""

    def __init__(self) -> None:
        self._handle: Any = None

    def __call__(self, text: str) -> None:
        """Show this in the place of what was shown."""
        if self._handle is not None:
            self._handle.update({"text/plain": text}, raw=True)
        elif text:
            from IPython.display import display

            self._handle = display({"text/plain": text}, raw=True, display_id=True)


def _finite(x: Sequence[float], y: Sequence[float], logarithmic: bool) -> list[tuple[float, float]]:
    points = [(float(a), float(b)) for a, b in zip(x, y, strict=True) if math.isfinite(a) and math.isfinite(b)]
    points = [(a, math.log10(b)) for a, b in points if b > 0] if logarithmic else points
    step = max(1, len(points) // 300)
    return [*points[:-1:step], *points[-1:]]


def _at(value: float, ends: tuple[float, float], size: int) -> float:
    return size * (value - ends[0]) / ((ends[1] - ends[0]) or 1.0)
