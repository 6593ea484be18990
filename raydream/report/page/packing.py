"""The recorded columns of all runs in few bytes: differences, bytes sorted by significance, deflate, base64."""

import base64
import zlib
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from raydream.columns import AXES, column
from raydream.report.collect import Run
from raydream.report.figures.bands import thinned
from raydream.types import Array

MOST_ROWS = 250_000  # of all runs together, before anything is tried


class PackedRun(TypedDict):
    """How to unpack a run: its rows, how many were recorded, and for each column its place and its kind."""

    rows: int
    recorded: int
    columns: dict[str, tuple[int, str]]


@dataclass(frozen=True)
class Packed:
    """What the page unpacks: text, and for each run how.

    kinds: "step" differences as float64, "micro" differences in millionths, "f8" and "f4" floats as they are.
    """

    text: str
    runs: list[PackedRun]
    exact: bool  # all records, in double precision
    rows: int


def pack(runs: list[Run], budget: int) -> Packed:
    """The columns in at most `budget` characters: every record if it can be, else in single precision, else thinned."""
    total = sum(len(run.columns["iteration"]) for run in runs)
    share = 1.0
    floats = ("f8", "f4")
    if total > MOST_ROWS:
        share, floats = MOST_ROWS / total, ("f4", "f4")
    for kind in floats:
        packed = _packed(runs, kind, share)
        if len(packed.text) <= budget:
            return packed
    while len(packed.text) > budget and share > 1e-6:
        share *= 0.9 * budget / len(packed.text)
        packed = _packed(runs, "f4", share)
    return packed


def _packed(runs: list[Run], kind: str, share: float) -> Packed:
    body, at, rows = [], 0, 0
    index: list[PackedRun] = []
    for run in runs:
        length = len(run.columns["iteration"])
        metrics = [run.columns[name] for name in run.metrics] or [run.columns["iteration"]]
        keep = thinned(metrics, max(50, int(length * share))) if share < 1 else np.arange(length)
        rows += len(keep)
        places: dict[str, tuple[int, str]] = {}
        for name, values in run.columns.items():
            if not np.isfinite(values).any():
                continue
            own = _kind(name, values) or kind
            raw = _bytes(values[keep], own)
            places[name] = (at, own)
            body.append(raw)
            at += len(raw)
        index.append({"rows": len(keep), "recorded": length, "columns": places})
    text = base64.b64encode(zlib.compress(b"".join(body), 6)).decode()
    return Packed(text, index, kind == "f8" and share >= 1, rows)


def _kind(name: str, values: Array) -> str | None:
    """Costs only grow: their differences are small. None for what may do anything."""
    if name not in AXES or not np.isfinite(values).all():
        return None
    if column(name).conditional and not column(name).integer:
        return None  # simulated time may be a matter of microseconds altogether
    return "step" if column(name).integer else "micro"


def _bytes(column: Array, kind: str) -> bytes:
    """Little-endian numbers, all first bytes, then all second bytes, and so on: alike bytes compress well."""
    if kind == "f4":
        with np.errstate(over="ignore"):
            column = column.astype("<f4")
    elif kind != "f8":
        whole = np.round(column * 1e6) if kind == "micro" else column
        column = np.diff(whole, prepend=0.0)
    size = column.itemsize
    return np.ascontiguousarray(column.astype(f"<f{size}").view(np.uint8).reshape(-1, size).T).tobytes()
