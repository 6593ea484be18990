"""The report of a tuning: one self-contained interactive page that opens from disk, without a network."""

import os
from html import escape
from pathlib import Path
from typing import Any

from raydream.report import theme
from raydream.report.page.sections import tabled, tiles
from raydream.report.page.shell import as_json, bare, deflated, framed, joined, room_beside, write_page
from raydream.report.paper.caption import tuning_caption
from raydream.report.paper.embedded import look, saved
from raydream.report.tuning import figures, words
from raydream.report.tuning.tried import MOST, Tried, tried
from raydream.report.tuning.won import won
from raydream.studies.tuning.tuning import Tuning

FRAME = Path(__file__).parent / "page.html"
PROGRAM = ("common", "saving", "tuning", "tables")  # the files of the page's program, one after the other
WIDTH = 110  # points that an axis of the parallel coordinates needs
FEWEST = 50  # marks of a method that are drawn, however large the page


def write_tuning(path: str | os.PathLike[str], tuning: Tuning, title: str | None = None) -> Path:
    """Write the page about a tuning, and return its path."""
    if not tuning.records:
        raise ValueError("`tuning` must hold at least one trial; got none.")
    return write_page(path, page(tuning, title))


def page(tuning: Tuning, title: str | None = None) -> str:
    """The page as text."""
    title = title or words.title_of(tuning)
    best = won(tuning)
    brought = {"paper": look(), "tables": saved([best.captioned(*tuning_caption(tuning))], tuning.directory, [])}
    facts = as_json({"templates": {"light": theme.template(), "dark": theme.template(dark=True)}, **brought})
    parts = {
        "heading": _heading(tuning, title),
        "table": tabled(best, "won"),
        "hint": _hint(tuning),
        "spent": escape(words.SPENT),
    }
    program = joined(*PROGRAM)
    room, most = room_beside(program, facts, *parts.values()), MOST
    while len(data := deflated(as_json(_figures(tuning, most)))) > room and most > FEWEST:
        most //= 2
    return framed(FRAME, program, title, **parts, facts=facts, data=data)


def _figures(tuning: Tuning, most: int) -> dict[str, Any]:
    """All figures, with at most so many marks of each method."""
    every = [one for label in tuning.about["methods"] if (one := tried(tuning, label, most)).marks]
    bills = [bare(figures.spent(every, cost)) for cost in words.costs_of(tuning)]
    return {"spent": bills, "methods": [_method(one) for one in every]}


def _method(one: Tried) -> dict[str, Any]:
    """What is shown of one method."""
    axes = len(one.varied) + (one.rungs > 1) + 1
    return {
        "label": one.label,
        "about": words.about_method(one),
        "key": figures.key_of(one),
        "panels": [bare(figures.panel(one, name)) for name in one.varied],
        "mattered": bare(figures.mattered(one)) if one.varied else None,
        "from": words.about_mattered(one),
        "parallel": bare(figures.parallel(one)) if one.varied else None,
        "lines": words.PARALLEL,
        "width": WIDTH * axes,
    }


def _heading(tuning: Tuning, title: str) -> str:
    return f"<h1>{escape(title)}</h1><p class=lead>{escape(words.lead(tuning))}</p>{tiles(words.tiles(tuning))}"


def _hint(tuning: Tuning) -> str:
    sentence, command = words.hint(tuning)
    if not command:
        return f"<p>{escape(sentence)}</p>"
    return (
        f'<p>{escape(sentence)} <button type="button" class="copy">copy</button></p>'
        f"<pre id=command>{escape(command)}</pre>"
    )
