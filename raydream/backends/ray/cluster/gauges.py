"""What Ray's own metrics say of a run: Prometheus reads them at every node, and Grafana draws them."""

from collections.abc import Mapping

from ray.util.metrics import Gauge

# The columns that are shown, by the gauge that shows them; Ray puts `ray_` before each.
SHOWN = {
    "raydream_iteration": ("iteration", "iterations done"),
    "raydream_primal": ("primal", "P at the mean of the agents' x"),
    "raydream_grad_norm": ("grad_norm", "the norm of P's gradient there"),
    "raydream_sfo": ("sfo", "component gradients so far"),
    "raydream_rounds": ("rounds", "communication rounds so far"),
    "raydream_bytes": ("bytes", "payload bytes so far"),
}
RECOVERIES = "raydream_recoveries", "actors or links that were lost and brought back"


class Gauges:
    """The gauges of one run."""

    def __init__(self, run: str) -> None:
        self._run, self._gauges = {"run": run}, dict[str, Gauge]()

    def show(self, row: Mapping[str, float], recoveries: int) -> None:
        """Show a record."""
        for name, (column, text) in SHOWN.items():
            self._set(name, text, row[column])
        self._set(*RECOVERIES, recoveries)

    def _set(self, name: str, text: str, value: float) -> None:
        if name not in self._gauges:
            self._gauges[name] = Gauge(name, text, tag_keys=("run",))
        self._gauges[name].set(float(value), self._run)
