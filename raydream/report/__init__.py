"""Pictures to keep: figures of runs in plotly, and one self-contained interactive page.

report(result, "report.html")                 the page, for a result, several results or a comparison
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
)
from raydream.report.page.page import write_report
from raydream.report.plot import Plot

__all__ = [
    "Plot", "convergence", "distances", "ledger", "lyapunov", "mixing_speed", "network", "report", "spectrum",
    "to_reach", "write_report",
]  # fmt: skip


def report(runs: Any, path: str | os.PathLike[str], title: str | None = None, **options: Any) -> Path:
    """Write the page for a result, several results or a comparison; see `write_report`."""
    return write_report(path, runs, title, **options)
