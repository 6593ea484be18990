"""What every page shares: one file with style, program and plotly inside, and a policy by which nothing is loaded."""

import base64
import functools
import hashlib
import json
import os
import zlib
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from raydream.storage.files import whole_file

LIMIT = 5_900_000  # bytes of a finished page
HERE = Path(__file__).parent


def write_page(path: str | os.PathLike[str], text: str) -> Path:
    """Write a page, whole or not at all; folders are made."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(target) as file:
        file.write(text.encode())
    return target


def framed(frame: Path, program: str, title: str, **parts: str) -> str:
    """The page: a frame with its parts in their places, and what all pages have."""
    engine, compressed, notice = plotly()
    # Whatever a file says, only these two scripts may run, and nothing may be loaded.
    policy = (
        f"default-src 'none'; script-src {_hash(program)} {_hash(engine)}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    common = {"policy": policy, "title": escape(title), "style": style(), "notice": escape(notice)}
    return frame.read_text().format(**common, program=program, engine=compressed, **parts)


def room_beside(program: str, *parts: str) -> int:
    """How many characters are left for data beside these parts of a page."""
    return LIMIT - len(plotly()[1]) - len(style()) - len(program) - sum(map(len, parts)) - 40_000


@functools.cache
def style() -> str:
    """The style sheet of all pages, the dashboard's included."""
    return (HERE / "page.css").read_text()


@functools.cache
def joined(*names: str) -> str:
    """A page's program: one function, of which these files of program/ are the body, one after the other."""
    body = "\n".join((HERE / "program" / f"{name}.js").read_text() for name in names)
    return f'"use strict";\n(async () => {{\n{body}}})();\n'


@functools.cache
def plotly() -> tuple[str, str, str]:
    """plotly.js: its text, the same deflated in base64, and its copyright notice."""
    from plotly.offline import get_plotlyjs

    text = str(get_plotlyjs())
    notice = " ".join(line.strip("/* ") for line in text[:400].split("*/")[0].splitlines()).strip()
    return text, deflated(text), notice


def deflated(text: str) -> str:
    """Text that the page's program inflates."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def as_json(data: Any) -> str:
    """JSON that can stand inside a script element: nothing in it ends the element or starts a comment."""
    text = json.dumps(_without_nan(data), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def bare(figure: Any) -> dict[str, Any]:
    """A figure as a page takes it: without template and background, which follow the reader's light or dark."""
    described: dict[str, Any] = json.loads(figure.to_json())
    for part in ("template", "paper_bgcolor", "plot_bgcolor"):
        described["layout"].pop(part, None)
    return described


def _without_nan(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key): _without_nan(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_without_nan(value) for value in data]
    return None if isinstance(data, float) and not np.isfinite(data) else data


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
