"""Project y before mixing, as the paper has it, or after, as its public code does.

    python experiments/ablation_projection.py [--quick]

DREAM with full gradients (p = 1, so that only the order differs) on random quadratic games of 16 agents over rings,
whose y lives in a set so small that the constraint is active in most, gamma = 1/2. For both orders alike eta is the
step of the grid 1/4, 1/8, ..., 1/128 that reaches the target in the fewest iterations on other games than those that
are reported.
`outside` is the farthest that any agent asked for a gradient outside Y, over the radius of Y: FastMix is not a convex
combination, so that a projected y may leave Y again when it is mixed.
"""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from intervals import Comparison, compare, tally, typical
from sweeps import add_ratios, grouped, options, save_figure, tuned
from texts import Row, Tables, publish, short, table

import raydream as rd
from raydream.algorithms import Tracked
from raydream.algorithms.estimators import thinned_page

NAME, TITLE = "ablation_projection", "Projecting before or after mixing"
STEPS = [2.0**-k for k in range(2, 8)]
RADIUS = 0.1
SETS = {"box": rd.constraints.Box(-RADIUS, RADIUS), "ball": rd.constraints.Ball(RADIUS)}
NETWORKS = {  # self weight, K, momentum
    "self weight 1/2, K = 2": (0.5, 2, "optimal"),
    "self weight 0.9, K = 3": (0.9, 3, "optimal"),
    "self weight 0.99, K = 10": (0.99, 10, "optimal"),
    "self weight 0.9, K = 3, paper's momentum": (0.9, 3, "paper"),
}
ORDERS = ("before", "after")
COLUMNS = ("set", "network", "order", "eta", "seed", "iterations", "rounds", "bytes", "least", "outside", "active")
SIZES: dict[str, dict[str, Any]] = {
    "full": dict(
        sets=list(SETS), networks=list(NETWORKS), seeds=16, rehearsals=4, target=1e-6, iterations=3000, steps=STEPS
    ),
    "quick": dict(
        sets=["box"], networks=list(NETWORKS)[:1], seeds=2, rehearsals=1, target=1e-3, iterations=600, steps=STEPS[1:3]
    ),
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
    """A problem that remembers how far outside Y its gradients were asked for, over the radius of Y."""

    def __init__(self, problem: Any) -> None:
        self._problem, self.outside = problem, 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._problem, name)

    def local(self, i: int) -> Any:
        shard = self._problem.local(i)

        def gradient(x: Any, y: Any, batch: Any = None) -> Any:
            away = y - self._problem.constraint.project(y[None])[0]
            farther = float(np.linalg.norm(away)) / RADIUS
            self.outside = max(self.outside, farther if farther > 1e-12 else 0.0)  # less is rounding
            return shard.gradient(x, y, batch)

        return SimpleNamespace(samples=shard.samples, value=shard.value, gradient=gradient)


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """One run in this order."""
    constraint = SETS[job["set"]]
    problem = Watched(rd.problems.QuadraticGame.random(agents=16, samples=10, constraint=constraint, seed=job["seed"]))
    self_weight, K, momentum = NETWORKS[job["network"]]
    order = {"before": rd.DREAM, "after": ProjectAfter}[job["order"]]
    result = rd.run(
        problem, rd.topology.ring(16, self_weight=self_weight),
        order(eta=job["eta"], gamma=0.5, p=1.0, K=K, momentum=momentum), iterations=job["iterations_at_most"],
        seed=job["seed"], record_every=1, backend="local", target_grad_norm=job["target"], progress=False,
    )  # fmt: skip
    last, reached = result.history.iloc[-1], result.outcome == "target"
    names = {"iterations": "iteration", "rounds": "rounds", "bytes": "bytes"}
    return {
        **{name: int(last[column]) if reached else None for name, column in names.items()},
        "least": float(result.history.grad_norm.min()),
        "outside": problem.outside,
        "active": bool(_size(job["set"], problem.best_response(result.x_bar)) > RADIUS * (1 - 1e-6)),
    }


def _size(name: str, y: Any) -> float:
    return float(np.abs(y).max() if name == "box" else np.linalg.norm(y))


def main() -> None:
    given = options(NAME, __doc__)
    size = SIZES[given.size]
    limits = {"target": size["target"], "iterations_at_most": size["iterations"]}
    groups = [
        {"set": name, "network": network, "order": order, **limits}
        for name in size["sets"] for network in size["networks"] for order in ORDERS
    ]  # fmt: skip
    counts = {name: size[name] for name in ("rehearsals", "seeds")}
    found = tuned(measure, groups, size["steps"], given, cost="iterations", **counts)
    tables = {"setting": [{**limits, **counts}]} | {
        name: [{c: row[c] for c in COLUMNS} for row in rows]
        for name, rows in zip(("tuning", "runs"), found, strict=True)
    }
    save_figure(given, figure_of(publish(given, TITLE, text_of, tables)))


def before_over_after(runs: list[Row]) -> dict[str, Comparison]:
    """Iterations with the projection first over those with the projection last, by set and network."""
    found = {}
    for (name, network), mine in grouped(runs, "set", "network").items():
        parts = grouped(mine, "order")
        found[f"{name}, {network}"] = compare(parts["before",], parts["after",], "iterations")
    return found


def text_of(tables: Tables) -> tuple[str, str]:
    """The sentence for the README, and the rest."""
    runs, (setting,) = tables["runs"], tables["setting"]
    ratios = before_over_after(runs)
    said = []
    for (order,), mine in grouped(runs, "order").items():
        left = [row["outside"] for row in mine if row["outside"] > 0]
        how = f", by up to {100 * max(left):.2g} % of its radius" if left else ""
        said.append(f"Projecting {order} mixing, {len(left)} of {len(mine)} runs asked for gradients outside Y{how}")
    known = [end for one in ratios.values() if one.complete for end in (one.low, one.high)]
    close = ""
    if known and np.isfinite(known).all():
        far = max(abs(end - 1) for end in known)
        close = f"; the intervals of all {len(known) // 2} ratios lie within {short(100 * far)} % of 1"
    summary = (
        f"Iterations to |grad P| <= {setting['target']:g}, projecting before over projecting after mixing, by set and "
        f"network: {tally(ratios, ratios=False)}{close}. "
        + ". ".join(said) + "."
    )  # fmt: skip
    lines = []
    for (name, network, order), mine in grouped(runs, "set", "network", "order").items():
        lines.append(
            {"set": name, "network": network, "order": order, "eta": mine[0]["eta"],
             **typical(mine, "iterations", "rounds", "bytes"), "outside": max(row["outside"] for row in mine),
             "ratio": ratios[f"{name}, {network}"].told() if order == "before" else "",
             "active": f"{sum(row['active'] for row in mine)} of {len(mine)}"}
        )  # fmt: skip
    body = [
        __doc__.split("\n\n", 2)[2],
        f"Medians over {setting['seeds']} seeds, steps from {setting['rehearsals']} others; at most "
        f"{setting['iterations_at_most']} iterations; every interval holds with 95 % on its own, given the steps:\n",
        table(lines, {"set": "Y", "network": "ring", "order": "projection", "eta": "eta", "iterations": "iterations",
                      "ratio": "before / after", "rounds": "rounds", "bytes": "bytes", "outside": "outside at most",
                      "active": "constraint active at the end"}),
    ]  # fmt: skip
    return summary, "\n".join(body)


def figure_of(tables: Tables) -> Any:
    """Iterations of one order over those of the other."""
    import plotly.graph_objects as go

    figure = go.Figure()
    found = before_over_after(tables["runs"])
    add_ratios(figure, "before / after", {name.replace(", ", "<br>"): one for name, one in found.items()})
    figure.add_hline(y=1, line_dash="dot")
    return figure.update_layout(title="Iterations, projecting before / after mixing (95 % intervals)")


if __name__ == "__main__":
    main()
