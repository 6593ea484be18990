"""Every figure by its name."""

from raydream.report.figures.convergence import convergence
from raydream.report.figures.distances import distances
from raydream.report.figures.lyapunov import lyapunov
from raydream.report.figures.network import mixing_speed, network, spectrum
from raydream.report.figures.reach import ledger, to_reach
from raydream.report.figures.winner_map import winner_map

__all__ = [
    "convergence", "distances", "ledger", "lyapunov", "mixing_speed", "network", "spectrum", "to_reach", "winner_map",
]  # fmt: skip
