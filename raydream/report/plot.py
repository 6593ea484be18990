"""`Plot(result).convergence(x="sfo")`: the figures of some runs, one call each."""

from typing import Any

from raydream.algorithms import METHODS
from raydream.algorithms.method import Mixing
from raydream.checks import choice
from raydream.report import figures
from raydream.report.collect import Run, collect, grouped
from raydream.report.deciding import decided
from raydream.report.figures.intervals import intervals
from raydream.report.figures.network import topology_of
from raydream.report.figures.reach import failures_of
from raydream.topology import Topology

CHARTS = (
    "convergence", "standing", "to_reach", "ledger", "network", "spectrum", "mixing_speed", "lyapunov", "distances",
)  # fmt: skip


class Plot:
    """The figures of a result, several results, or a comparison, as plotly figures.

    In a notebook they show themselves; elsewhere `.show()` opens a browser, `.write_html` saves, and `.write_image`
    makes PNG or SVG where the exporter kaleido is installed.
    """

    def __init__(self, runs: Any, configs: dict[str, dict[str, Any]] | None = None) -> None:
        self.runs, self._failed = collect(runs, configs), failures_of(runs)
        if not self.runs:
            raise ValueError("`runs` must hold at least one run; got none.")

    def __repr__(self) -> str:
        return f"<Plot of {len(self.runs)} runs: {', '.join(dict.fromkeys(run.label for run in self.runs))}>"

    def __call__(self, chart: str = "convergence", **options: Any) -> Any:
        """A figure by its name, such as `plot("ledger")`."""
        return getattr(self, choice("chart", chart, CHARTS))(**options)

    def standing(self, metric: str = "grad_norm", **options: Any) -> Any:
        """Medians over seeds with their intervals, where seeds decide something."""
        judged = decided(self.runs)
        known = {one.metric: one for one in judged.decisions}
        if not known:
            raise ValueError(
                f"`runs` must be of several methods over shared seeds; {judged.why_not or 'they are not'}."
            )
        return intervals(known[choice("metric", metric, known)], grouped(self.runs), **options)

    def convergence(self, x: str = "sfo", y: str = "grad_norm", **options: Any) -> Any:
        """What was achieved against what was spent; see `raydream.report.convergence`."""
        return figures.convergence(self.runs, x, y, **options)

    def to_reach(self, target: float | None = None, metric: str = "grad_norm", **options: Any) -> Any:
        """What it cost to reach a target."""
        return figures.to_reach(self.runs, target, metric, **({"failed": self._failed} | options))

    def ledger(self, **options: Any) -> Any:
        """The final bills."""
        return figures.ledger(self.runs, **options)

    def network(self, **options: Any) -> Any:
        """The agents and their links."""
        return figures.network(self._topology(), **options)

    def spectrum(self, **options: Any) -> Any:
        """The eigenvalues of W and of the mixing that the first run used."""
        return figures.spectrum(self._topology(), **(mixing_of(self._networked()) | options))

    def mixing_speed(self, **options: Any) -> Any:
        """Disagreement left after k rounds."""
        return figures.mixing_speed(self._topology(), **options)

    def lyapunov(self, **options: Any) -> Any:
        """The terms of the Lyapunov function of the first run that recorded them."""
        recorded = next((run for run in self.runs if "Psi" in run.columns), self.runs[0])
        return figures.lyapunov(recorded, **options)

    def distances(self, **options: Any) -> Any:
        """How far each agent was from the mean, in the first run that recorded it."""
        for run in self.runs:
            if run.distances is not None:
                return figures.distances(run.distances, run.columns["iteration"], **options)
        raise ValueError("`runs` have no record of the agents' distances to the mean.")

    def _networked(self) -> Run:
        """The first run with more than one agent, if there is one."""
        return next((run for run in self.runs if run.config.get("topology", {}).get("m", 1) > 1), self.runs[0])

    def _topology(self) -> Topology:
        topology = topology_of(self._networked().config.get("topology", {}))
        if topology is None:
            raise ValueError("`runs` hold no mixing matrix: their network was too large to be written down.")
        return topology


def mixing_of(run: Run) -> dict[str, Any]:
    """How a run mixes, as its method says: K rounds by FastMix for DREAM; one round of gossip if it cannot be asked."""
    try:
        mixings = METHODS[run.method](**run.parameters).mixings()
    except (KeyError, TypeError, ValueError):  # not of this package, or not as it was recorded
        mixings = []
    rounds, mixing, momentum = next(iter(mixings), Mixing(1))
    return {"K": rounds, "mixing": mixing, "momentum": momentum}
