"""FastMix with either momentum against plain gossip, K rounds at a time, on several networks.

    python experiments/ablation_mixing.py [--quick]

DREAM on valley games (valley.py, heterogeneity 1/2) with b = sqrt(n/m), p = b/(b + n) and gamma = 1; eta is the step of
the grid 1, 1/2, ..., 1/16 that reaches the target with the fewest rounds, for every mixing alike. `range` holds the
extreme eigenvalues of the operator of K rounds off consensus: outside (-1, 1) it amplifies disagreement.
"""

from math import ceil, sqrt
from typing import Any

import valley
from sweeps import best_of_grid, grouped, median, options, publish, save_figure, short, table

import raydream as rd

NAME = "ablation_mixing"
STEPS = [2.0**-k for k in range(5)]
TOPOLOGIES: dict[str, Any] = {
    "ring, self weight 0.99": lambda: rd.topology.ring(8, self_weight=0.99),
    "ring, self weight 0.9": lambda: rd.topology.ring(8, self_weight=0.9),
    "ring, self weight 1/2": lambda: rd.topology.ring(8, self_weight=0.5),
    "ring, self weight 1/3": lambda: rd.topology.ring(8),
    "path": lambda: rd.topology.path(8),
    "star": lambda: rd.topology.star(8),
    "hypercube": lambda: rd.topology.hypercube(8),
    "complete": lambda: rd.topology.complete(8),
}
MIXINGS = {
    "FastMix": ("fastmix", "optimal"),
    "FastMix, paper's momentum": ("fastmix", "paper"),
    "gossip": ("gossip", "optimal"),
}
SIZES: dict[str, dict[str, Any]] = {
    "full": dict(topologies=list(TOPOLOGIES), K=[1, 2, 3, 5, 10], seeds=2, samples=64, epsilon=0.1),
    "quick": dict(topologies=list(TOPOLOGIES), K=[1, 2, 5], seeds=1, samples=64, epsilon=0.12),
    "tiny": dict(topologies=list(TOPOLOGIES)[2:4], K=[1, 2], seeds=1, samples=32, epsilon=0.2),
}


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """One run of DREAM with this mixing."""
    problem = valley.offline(8, job["samples"], 8, 0.5, 1.0, job["seed"])
    mixing, momentum = MIXINGS[job["mixing"]]
    method = rd.DREAM(
        eta=job["eta"], gamma=1, b=ceil(sqrt(job["samples"] / 8)), K=job["K"], mixing=mixing, momentum=momentum
    )
    costs = valley.reach(problem, TOPOLOGIES[job["topology"]](), method, job["epsilon"], job["seed"])
    return {"cost": costs["rounds"], **costs}


def main() -> None:
    given = options(NAME, __doc__)
    size = SIZES[given.size]
    groups = [
        dict(topology=t, mixing=mixing, K=K, seed=seed, samples=size["samples"], epsilon=size["epsilon"])
        for t in size["topologies"] for mixing in MIXINGS for K in size["K"] for seed in range(size["seeds"])
    ]  # fmt: skip
    rows = []
    for (t, mixing, K), mine in grouped(best_of_grid(measure, groups, STEPS, given), "topology", "mixing", "K").items():
        low, high = TOPOLOGIES[t]().mixing_range(K, *MIXINGS[mixing])
        rows.append(
            {
                "topology": t, "gap": TOPOLOGIES[t]().spectral_gap, "mixing": mixing, "K": K, "low": low, "high": high,
                "range": f"{low:.2f} to {high:.2f}", "amplifies": not (low > -1 and high < 1),
                **{name: median(mine, name) for name in ("eta", "iterations", "sfo", "rounds")},
            }
        )  # fmt: skip
    summary, body = text_of(rows, size)
    save_figure(given, figure_of(rows))
    publish(given, "Mixing: FastMix against gossip", summary, body, {"runs": rows})


def text_of(rows: list[dict[str, Any]], size: dict[str, Any]) -> tuple[str, str]:
    """The sentence for the README, and the rest."""
    best = []
    for (t, mixing), mine in grouped(rows, "topology", "mixing").items():
        best.append(min(mine, key=lambda row: row["rounds"]) | {"topology": t, "mixing": mixing})
    per_topology = {t: mine for (t,), mine in grouped(best, "topology").items()}
    won = dict.fromkeys(MIXINGS, 0)
    for mine in per_topology.values():
        for row in mine:
            won[row["mixing"]] += row["rounds"] == min(other["rounds"] for other in mine)
    wild = [row for row in rows if row["amplifies"]]
    wildly = [row for row in wild if row["rounds"] < float("inf")]
    calm = [row for row in rows if row["mixing"] == "FastMix" and row["rounds"] == float("inf")]
    summary = (
        "Each with its best K and step, fewest rounds (ties count for both) on "
        + ", ".join(f"{count} of {len(per_topology)} networks: {mixing}" for mixing, count in won.items())
        + f"; K rounds amplify disagreement in {len(wild)} of {len(rows)} settings, "
        f"of which {len(wildly)} still reach the target with a step of the grid."
    )
    body = [
        __doc__.split("\n\n", 2)[2],
        f"Target |grad P| <= {size['epsilon']}. Best K and step for each mixing, medians over {size['seeds']} seeds:\n",
        table(best, {"topology": "network", "gap": "gap", "mixing": "mixing", "K": "best K", "eta": "eta",
                     "rounds": "rounds", "sfo": "SFO", "iterations": "iterations"}),
        f"\nFewer rounds is not the same as fewer SFO: a small K saves rounds and asks for smaller steps. The "
        f"classical momentum failed in {len(calm)} settings. Where the operator of K rounds leaves (-1, 1):\n",
        table(wild, {"topology": "network", "mixing": "mixing", "K": "K", "range": "range", "eta": "best eta",
                     "rounds": "rounds"}) if wild else "nowhere.",
        "\nAll settings:\n",
        table(rows, {"topology": "network", "mixing": "mixing", "K": "K", "range": "range", "eta": "eta",
                     "rounds": "rounds", "sfo": "SFO"}),
    ]  # fmt: skip
    return summary, "\n".join(body)


def figure_of(rows: list[dict[str, Any]]) -> Any:
    """Rounds to the target against K, one panel per network."""
    from plotly.subplots import make_subplots

    names = list(dict.fromkeys(row["topology"] for row in rows))
    figure = make_subplots(-(-len(names) // 4), min(4, len(names)), subplot_titles=names)
    colours = dict(zip(MIXINGS, ("#d62728", "#ff9896", "#1f77b4"), strict=True))
    for (t, mixing), mine in grouped(rows, "topology", "mixing").items():
        place = names.index(t)
        figure.add_scatter(
            x=[row["K"] for row in mine], y=[row["rounds"] if row["rounds"] < float("inf") else None for row in mine],
            name=mixing, legendgroup=mixing, showlegend=place == 0, line_color=colours[mixing],
            hovertext=[f"eta {short(row['eta'])}, range {row['range']}" for row in mine],
            row=place // 4 + 1, col=place % 4 + 1,
        )  # fmt: skip
    return figure.update_yaxes(type="log").update_layout(title="rounds to the target against K", height=700)


if __name__ == "__main__":
    main()
