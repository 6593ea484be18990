"""Every figure by its name."""

from raydream.report.convergence import convergence
from raydream.report.distances import distances
from raydream.report.lyapunov import lyapunov
from raydream.report.network import mixing_speed, network, spectrum
from raydream.report.reach import ledger, to_reach

__all__ = ["convergence", "distances", "ledger", "lyapunov", "mixing_speed", "network", "spectrum", "to_reach"]
