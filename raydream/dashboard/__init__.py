"""The live dashboard: watch runs, compare them, start, stop and resume them; a topology lab and a theory page.

serve("runs")                                  at http://127.0.0.1:8050, for this machine alone
serve("runs", host="0.0.0.0")                  for others too, who must bring the token that is printed
"""

from raydream.dashboard.server import serve

__all__ = ["serve"]
