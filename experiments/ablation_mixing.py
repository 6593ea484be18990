"""FastMix with either momentum against plain gossip, K rounds at a time, on several networks.

    python experiments/ablation_mixing.py [--quick]

DREAM on valley games (valley.py, heterogeneity 1/2) with b = sqrt(n/m), p = b/(b + n) and gamma = 1. For every mixing
and K alike eta is the step of the grid 1, 1/2, ..., 1/16 that reaches the target with the fewest rounds on other games
than those that are reported; so is the best K of a mixing. The target counts as reached when |grad P| is as low in the
mean over 20 iterations, within eight times the iterations of exact descent. `range` holds the extreme eigenvalues of
the operator of K rounds off consensus: outside (-1, 1) it amplifies disagreement.
"""

from math import ceil, sqrt
from typing import Any

import valley
from intervals import Comparison, compare, tally, typical
from sweeps import chosen, grouped, options, save_figure, score, tuned
from texts import Row, Tables, publish, table

import raydream as rd

NAME, TITLE = "ablation_mixing", "Mixing: FastMix against gossip"
STEPS = [2.0**-k for k in range(5)]
PATIENCE = 8  # times the iterations of exact descent
COLUMNS = ("topology", "mixing", "K", "eta", "seed", "iterations", "sfo", "rounds", "bytes")
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
PAPER = "FastMix, paper's momentum"
MIXINGS = {
    "FastMix": ("fastmix", "optimal"),
    PAPER: ("fastmix", "paper"),
    "gossip": ("gossip", "optimal"),
}
SIZES: dict[str, dict[str, Any]] = {
    "full": dict(
        topologies=list(TOPOLOGIES), K=[1, 2, 3, 5, 10], seeds=8, rehearsals=4, samples=64, epsilon=0.1, steps=STEPS
    ),
    "quick": dict(
        topologies=list(TOPOLOGIES)[2:4], K=[1, 2], seeds=2, rehearsals=1, samples=32, epsilon=0.24, steps=STEPS[1:3]
    ),
}


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """One run of DREAM with this mixing."""
    problem = valley.offline(8, job["samples"], 8, 0.5, 1.0, job["seed"])
    mixing, momentum = MIXINGS[job["mixing"]]
    method = rd.DREAM(
        eta=job["eta"], gamma=1, b=ceil(sqrt(job["samples"] / 8)), K=job["K"], mixing=mixing, momentum=momentum
    )
    return valley.settle(problem, TOPOLOGIES[job["topology"]](), method, job["epsilon"], job["seed"], PATIENCE)


def operator(topology: str, mixing: str, K: int) -> Row:
    """What K rounds do to disagreement."""
    network = TOPOLOGIES[topology]()
    low, high = network.mixing_range(K, *MIXINGS[mixing])
    return {"topology": topology, "gap": network.spectral_gap, "mixing": mixing, "K": K, "low": low, "high": high}


def main() -> None:
    given = options(NAME, __doc__)
    size = SIZES[given.size]
    places = [(t, mixing, K) for t in size["topologies"] for mixing in MIXINGS for K in size["K"]]
    groups = [
        dict(topology=t, mixing=mixing, K=K, samples=size["samples"], epsilon=size["epsilon"])
        for t, mixing, K in places
    ]  # fmt: skip
    counts = {name: size[name] for name in ("rehearsals", "seeds")}
    found = tuned(measure, groups, size["steps"], given, cost="rounds", **counts)
    tables = {"setting": [{"epsilon": size["epsilon"], "n": size["samples"], **counts}]}
    tables["operators"] = [operator(*place) for place in places]
    tables |= {
        name: [{c: row[c] for c in COLUMNS} for row in rows]
        for name, rows in zip(("tuning", "runs"), found, strict=True)
    }
    save_figure(given, figure_of(publish(given, TITLE, text_of, tables)))


def best(tables: Tables) -> dict[str, dict[str, list[Row]]]:
    """{network: {mixing: runs with the K that needed the fewest rounds in the rehearsals}}."""
    scores: dict[tuple[str, str], dict[int, Any]] = {}
    for (t, mixing, K), mine in grouped(tables["tuning"], "topology", "mixing", "K").items():
        eta = chosen(mine, "rounds")
        scores.setdefault((t, mixing), {})[K] = score([row for row in mine if row["eta"] == eta], "rounds")
    runs = grouped(tables["runs"], "topology", "mixing", "K")
    answer: dict[str, dict[str, list[Row]]] = {}
    for (t, mixing), those in scores.items():
        answer.setdefault(t, {})[mixing] = runs[t, mixing, min(those, key=lambda K: those[K])]
    return answer


def text_of(tables: Tables) -> tuple[str, str]:
    """The sentence for the README, and the rest."""
    (setting,) = tables["setting"]
    runs = grouped(tables["runs"], "topology", "mixing", "K")
    fewest, operators = best(tables), {(o["topology"], o["mixing"], o["K"]): o for o in tables["operators"]}

    def against(mixing: str, other: str, cost: str) -> dict[str, Comparison]:
        return {t: compare(mine[mixing], mine[other], cost) for t, mine in fewest.items()}

    most = max(row["K"] for row in tables["runs"])
    few = {t: mine["FastMix"] for t, mine in fewest.items() if mine["FastMix"][0]["K"] < most}
    by_K = {
        cost: {t: compare(mine, runs[t, "FastMix", most], cost) for t, mine in few.items()}
        for cost in ("rounds", "sfo")
    }
    least = min(row["eta"] for row in tables["tuning"])
    edge = [f"{mixing} on {t}" for t, mine in fewest.items() for mixing in mine if mine[mixing][0]["eta"] == least]
    wild = [key for key, o in operators.items() if not (o["low"] > -1 and o["high"] < 1)]
    reached = [row["rounds"] is not None for key in wild for row in runs[key]]
    summary = (
        "Rounds of FastMix over those of gossip, each with its best K and step, by network: "
        f"{tally(against('FastMix', 'gossip', 'rounds'), ratios=False)}. Of the paper's momentum over those of the "
        f"classical: {tally(against(PAPER, 'FastMix', 'rounds'), ratios=False)}. Where K rounds amplify disagreement "
        f"({len(wild)} of {len(operators)} settings), {sum(reached)} of {len(reached)} runs reached the target."
    )
    lines = [
        {"topology": t, "gap": operators[t, mixing, those[0]["K"]]["gap"], "mixing": mixing, "K": those[0]["K"],
         "eta": those[0]["eta"], **typical(those, "rounds", "bytes", "sfo", "iterations"),
         **_ratios(those, mine["gossip"], mixing)}
        for t, mine in fewest.items() for mixing, those in mine.items()
    ]  # fmt: skip
    everything = [
        {"topology": t, "mixing": mixing, "K": K, "eta": mine[0]["eta"],
         "range": " to ".join(f"{round(operators[t, mixing, K][end], 2) + 0.0:.2f}" for end in ("low", "high")),
         **typical(mine, "rounds", "bytes", "sfo")}
        for (t, mixing, K), mine in runs.items()
    ]  # fmt: skip
    body = [
        __doc__.split("\n\n", 2)[2],
        f"Target |grad P| <= {setting['epsilon']}, n = {setting['n']}; medians over {setting['seeds']} seeds, K and "
        f"step from {setting['rehearsals']} others; ratios with 95 % intervals, each of which holds on its own, given "
        "K and step (bytes go with the rounds). Each mixing with its best K and step:\n",
        table(lines, {"topology": "network", "gap": "gap", "mixing": "mixing", "K": "best K", "eta": "eta",
                      "rounds": "rounds", "bytes": "bytes", "rounds ratio": "rounds / gossip", "sfo": "SFO",
                      "sfo ratio": "SFO / gossip", "iterations": "iterations"}),
        "\nThe best step was the smallest of the grid, so that a smaller one may do better, for: "
        f"{'; '.join(edge) or 'none'}.\n\n"
        f"FastMix with its best K over FastMix with K = {most}, rounds: {tally(by_K['rounds'])}; SFO: "
        f"{tally(by_K['sfo'])}.\n",
        "All settings:\n",
        table(everything, {"topology": "network", "mixing": "mixing", "K": "K", "range": "range", "eta": "eta",
                           "rounds": "rounds", "bytes": "bytes", "sfo": "SFO"}),
    ]  # fmt: skip
    return summary, "\n".join(body)


def _ratios(mine: list[Row], gossip: list[Row], mixing: str) -> Row:
    if mixing == "gossip":
        return {"rounds ratio": "1", "sfo ratio": "1"}
    return {f"{cost} ratio": compare(mine, gossip, cost).told() for cost in ("rounds", "sfo")}


def figure_of(tables: Tables) -> Any:
    """Rounds to the target against K, one panel per network."""
    from plotly.subplots import make_subplots

    names = list(dict.fromkeys(row["topology"] for row in tables["runs"]))
    figure = make_subplots(-(-len(names) // 4), min(4, len(names)), subplot_titles=names)
    colours = dict(zip(MIXINGS, ("#d62728", "#ff9896", "#1f77b4"), strict=True))
    for (t, mixing), mine in grouped(tables["runs"], "topology", "mixing").items():
        place = names.index(t)
        reached = [row for row in mine if row["rounds"] is not None]
        middle = {K: typical(those, "rounds")["rounds"] for (K,), those in grouped(mine, "K").items()}
        where = dict(row=place // 4 + 1, col=place % 4 + 1)
        figure.add_scatter(
            x=list(middle), y=[None if isinstance(value, str) else value for value in middle.values()], name=mixing,
            legendgroup=mixing, showlegend=place == 0, line_color=colours[mixing], mode="lines", **where,
        )  # fmt: skip
        figure.add_scatter(
            x=[row["K"] for row in reached], y=[row["rounds"] for row in reached], mode="markers", legendgroup=mixing,
            showlegend=False, marker=dict(color=colours[mixing], size=4), **where,
        )  # fmt: skip
    figure.update_xaxes(type="log", tickvals=[1, 2, 3, 5, 10]).update_yaxes(type="log", dtick="D2")
    return figure.update_layout(
        title="rounds to the target against K: every run, and medians where all reached", height=700
    )


if __name__ == "__main__":
    main()
