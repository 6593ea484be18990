"""Pictures to keep: figures of runs in plotly, and one self-contained interactive page.

report(result, "report.html")                 the page, for a result, several results, a comparison or a tuning
Plot(result).convergence(x="sfo")             one figure
"""

import os
from pathlib import Path
from typing import Any

from raydream.report.figures import (
    convergence,
    distances,
    ledger,
    lyapunov,
    mixing_speed,
    network,
    spectrum,
    to_reach,
    winner_map,
)
from raydream.report.page.page import write_report
from raydream.report.plot import Plot
from raydream.report.study.page import write_study
from raydream.report.tuning.page import write_tuning
from raydream.studies.tuning.tuning import Tuning

__all__ = [
    "Plot", "convergence", "distances", "ledger", "lyapunov", "mixing_speed", "network", "report", "spectrum",
    "to_reach", "winner_map", "write_report", "write_study", "write_tuning",
]  # fmt: skip


def report(runs: Any, path: str | os.PathLike[str], title: str | None = None, **options: Any) -> Path:
    """Write the page for a result, several results, a comparison or a tuning; see `write_report`, `write_tuning`."""
    if isinstance(runs, Tuning):
        return write_tuning(path, runs, title, **options)
    return write_report(path, runs, title, **options)
