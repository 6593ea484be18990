"""Figures as files: SVG and PDF, drawn by kaleido in one browser."""

import contextlib
import re
import tempfile
import warnings
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from raydream.report.tables.tex import printable


def images(figures: Mapping[str, Any], kind: str, note: str) -> dict[str, bytes]:
    """Every figure by its name, as files of that kind; SVG says inside how it was made."""
    try:
        import kaleido  # noqa: F401
    except ImportError:
        raise ImportError(
            f"`formats` has {kind}, which needs kaleido, which is not installed: pip install 'raydream[export]'."
        ) from None
    import plotly.io as io

    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{number}.{kind}" for number in range(len(figures))]
        try:
            with warnings.catch_warnings(), contextlib.redirect_stderr(None):
                warnings.simplefilter("ignore")  # its own, about its own parts
                sizes = {side: [one.layout[side] for one in figures.values()] for side in ("width", "height")}
                io.write_images(list(figures.values()), files, **sizes)
        except (RuntimeError, OSError, ValueError) as error:
            raise RuntimeError(
                f"`formats` has {kind}, which is drawn by a Chrome or Chromium, and that failed ({_short(error)}); "
                "`plotly_get_chrome` fetches one."
            ) from None
        made = {name: file.read_bytes() for name, file in zip(figures, files, strict=True)}
    return {name: _described(content, note) for name, content in made.items()} if kind == "svg" else made


def _described(svg: bytes, note: str) -> bytes:
    """With a description, which no viewer draws."""
    words = f"<desc>{escape(printable(note))}</desc>"
    return re.sub(rb"(<svg\b[^>]*>)", lambda found: found.group(1) + words.encode(), svg, count=1)


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:120]
