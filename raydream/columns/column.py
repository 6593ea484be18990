"""A column of the history: one entry says all that recorder, checkpoint, studies, report and dashboard need of it."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["count", "cost", "metric", "diagnostic", "derived"]


@dataclass(frozen=True)
class Column:
    """One column.

    kind      "count" (iterations), "cost" (what was spent), "metric" (what it bought), "diagnostic" (metrics of runs
              with diagnostics), or "derived" (costs counted in another way, made from the others when they are shown)
    label     along an axis, with its unit
    short     where there is little room
    integer   whether its numbers are whole
    log       whether it falls by orders of magnitude, so that a logarithmic axis shows it best
    better    "less" or "more"
    diverges  whether it is always measured, so that NaN means divergence and counts as infinitely bad
    limit     the argument of `run` that stops a run by it, if there is one: "max_sfo", "target_primal"
    """

    name: str
    kind: Kind
    label: str
    short: str
    integer: bool = False
    log: bool = False
    better: Literal["less", "more"] = "less"
    diverges: bool = False
    limit: str | None = None
