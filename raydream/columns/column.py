"""A column of the history: one entry says all that recorder, checkpoint, studies, report and dashboard need of it."""

from dataclasses import dataclass
from math import isfinite
from typing import Literal

import numpy as np
import numpy.typing as npt

from raydream.types import Array

Kind = Literal["count", "cost", "metric", "overhead", "diagnostic", "derived"]


@dataclass(frozen=True)
class Column:
    """One column.

    kind      "count" (iterations), "cost" (what was spent), "metric" (what it bought), "overhead" (what measuring that
              took, billed to nobody, and how well it was done), "diagnostic" (metrics of runs with diagnostics), or
              "derived" (costs counted in another way, made from the others when they are shown)
    label     along an axis, with its unit
    short     where there is little room
    tex       the same in LaTeX, where signs in it have a form of their own there
    integer   whether its numbers are whole
    log       whether it falls by orders of magnitude and stays positive, so that a logarithmic axis shows it best
    better    "less" or "more"
    diverges  whether it is always measured, so that NaN means divergence and counts as infinitely bad
    compared  of a cost: whether methods are compared by what they spent of it to reach a target
    conditional  whether only runs under conditions have it
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
    compared: bool = True
    conditional: bool = False
    limit: str | None = None
    tex: str = ""

    def number(self, value: float) -> float:
        """A number of this column as a history holds it: whole where the column is; what is not known is NaN."""
        return int(value) if self.integer and isfinite(value) else float(value)

    def counted(self, values: npt.ArrayLike) -> Array:
        """Its values, where those of a run that diverged are infinitely bad; an empty column was not measured."""
        found = np.asarray(values, dtype=np.float64)
        worst = np.inf if self.better == "less" else -np.inf
        return np.where(np.isnan(found), worst, found) if self.diverges and not np.isnan(found).all() else found

    def reaches(self, values: npt.ArrayLike, target: float) -> npt.NDArray[np.bool_]:
        """Which of its values are as good as a target; NaN is not."""
        found = np.asarray(values, dtype=np.float64)
        return np.asarray(found <= target if self.better == "less" else found >= target)
