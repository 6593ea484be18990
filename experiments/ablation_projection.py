"""Project y before mixing, as the paper has it, or after, as its public code does.

    python experiments/ablation_projection.py [--quick]

DREAM with full gradients (p = 1, so that only the order differs) on random quadratic games of 16 agents whose y lives
in a box so small that the constraint is active, gamma = 1/2; eta is the step of the grid 1/4, 1/8, ... that reaches
|grad P| <= 1e-6 in the fewest iterations, for both orders alike. `outside` is the farthest that any agent asked for a
gradient outside Y: FastMix is not a convex combination, so that a projected y may leave Y again when it is mixed.
The box was chosen after a ball, tried first, had shown no difference at all.
"""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from sweeps import best_of_grid, grouped, median, options, publish, save_figure, short, table

import raydream as rd
from raydream.algorithms import Tracked
from raydream.algorithms.estimators import thinned_page

NAME = "ablation_projection"
STEPS = [2.0**-k for k in range(2, 10)]
TARGET, RADIUS = 1e-6, 0.1
NETWORKS = {  # self weight, K, momentum
    "ring, self weight 1/2": (0.5, 2, "optimal"),
    "ring, self weight 0.9": (0.9, 3, "optimal"),
    "ring, self weight 0.99": (0.99, 3, "optimal"),
    "ring, self weight 0.9, paper's momentum": (0.9, 3, "paper"),
}
ORDERS = ("before", "after")
SIZES: dict[str, dict[str, Any]] = {
    "full": dict(networks=list(NETWORKS), seeds=2, iterations=2000, steps=STEPS),
    "quick": dict(networks=list(NETWORKS)[:3], seeds=2, iterations=1000, steps=STEPS),
    "tiny": dict(networks=list(NETWORKS)[:1], seeds=1, iterations=600, steps=STEPS[2:4]),
}


@dataclass(frozen=True, kw_only=True)
class ProjectAfter(rd.DREAM):
    """DREAM with y+ = Pi(FastMix(y + eta v, K)) instead of FastMix(Pi(y + eta v), K)."""

    def step(self, s, agents, t, coin):
        Z = yield from self.mix(agents.descend_ascend(s.Z, s.S, self.eta, self.gamma), self.K, agents)
        Z = agents.project(Z)
        G = thinned_page(agents, Z, s.Z, s.G, coin=coin, b=self.b, b_large=self.b_large, q=self.q)
        S = yield from self.mix(s.S + G - s.G, self.K_large if coin else self.K, agents)
        return Tracked(Z, G, S)


class Watched:
    """A problem that remembers how far outside the box its gradients were asked for."""

    def __init__(self, problem: Any) -> None:
        self._problem, self.outside = problem, 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._problem, name)

    def local(self, i: int) -> Any:
        shard = self._problem.local(i)

        def gradient(x: Any, y: Any, batch: Any = None) -> Any:
            farther = float(np.abs(y).max()) / RADIUS - 1
            self.outside = max(self.outside, farther if farther > 1e-12 else 0.0)  # less is rounding
            return shard.gradient(x, y, batch)

        return SimpleNamespace(samples=shard.samples, value=shard.value, gradient=gradient)


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """One run in this order."""
    box = rd.constraints.Box(-RADIUS, RADIUS)
    problem = Watched(rd.problems.QuadraticGame.random(agents=16, samples=10, constraint=box, seed=job["seed"]))
    self_weight, K, momentum = NETWORKS[job["network"]]
    order = {"before": rd.DREAM, "after": ProjectAfter}[job["order"]]
    result = rd.run(
        problem, rd.topology.ring(16, self_weight=self_weight),
        order(eta=job["eta"], gamma=0.5, p=1.0, K=K, momentum=momentum),
        iterations=job["iterations"], seed=job["seed"], record_every=10, backend="local", target_grad_norm=TARGET,
        progress=False,
    )  # fmt: skip
    last, reached = result.history.iloc[-1], result.outcome == "target"
    return {
        "cost": int(last["iteration"]) if reached else None,
        "iterations": int(last["iteration"]) if reached else None,
        "rounds": int(last["rounds"]) if reached else None,
        "least": float(result.history.grad_norm.min()),
        "outside": problem.outside,
        "active": bool(np.abs(problem.best_response(result.x_bar)).max() > RADIUS * (1 - 1e-6)),
    }


def main() -> None:
    given = options(NAME, __doc__)
    size = SIZES[given.size]
    groups = [
        dict(network=network, order=order, seed=seed, iterations=size["iterations"], constraint="box")
        for network in size["networks"] for order in ORDERS for seed in range(size["seeds"])
    ]  # fmt: skip
    found = best_of_grid(measure, groups, size["steps"], given)
    rows = []
    for (network, order), mine in grouped(found, "network", "order").items():
        middle = {name: median(mine, name) for name in ("eta", "iterations", "rounds", "least", "outside")}
        active = f"{sum(row['active'] for row in mine)} of {len(mine)}"
        rows.append({"network": network, "order": order, **middle, "active": active})
    summary, body = text_of(rows, size)
    save_figure(given, figure_of(rows))
    publish(given, "Projecting before or after mixing", summary, body, {"runs": rows})


def text_of(rows: list[dict[str, Any]], size: dict[str, Any]) -> tuple[str, str]:
    """The sentence for the README, and the rest."""
    said = []
    for (network,), mine in grouped(rows, "network").items():
        said.append(f"{network} {short(mine[0]['iterations'])} against {short(mine[1]['iterations'])}")
    farthest = {order: max(row["outside"] for row in mine) for (order,), mine in grouped(rows, "order").items()}
    summary = (
        "Iterations to |grad P| <= 1e-6, projecting before against after mixing: " + "; ".join(said) + ". "
        f"Projected first, gradients were asked for at y up to {100 * farthest['before']:.2g} % of its size outside "
        f"the box; projected last, up to {100 * farthest['after']:.2g} %."
    )
    body = [
        __doc__.split("\n\n", 2)[2],
        f"Medians over {size['seeds']} seeds, at most {size['iterations']} iterations:\n",
        table(rows, {"network": "network", "order": "projection", "eta": "eta", "iterations": "iterations",
                     "rounds": "rounds", "least": "least gradient norm", "outside": "outside (share of the box)",
                     "active": "constraint active at the end"}),
    ]  # fmt: skip
    return summary, "\n".join(body)


def figure_of(rows: list[dict[str, Any]]) -> Any:
    """Iterations to the target, by network and order."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for (order,), mine in grouped(rows, "order").items():
        heights = [row["iterations"] if np.isfinite(row["iterations"]) else None for row in mine]
        figure.add_bar(x=[row["network"] for row in mine], y=heights, name=f"project {order} mixing")
    return figure.update_yaxes(type="log").update_layout(title="iterations to the target")


if __name__ == "__main__":
    main()
