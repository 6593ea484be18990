"""How the paper's five methods degrade on networks as they are: lost, compressed and late messages.

    python experiments/degradation.py [--quick]

Each method is tuned once, for the ideal network: eta is the step of the grid 1/2, 1/4, ..., 1/128 that reaches the
target in the fewest rounds on other seeds than those that are reported, with gamma = 1/2. That step is kept under all
conditions, because the question is what a bad network does to a method that was set up for a good one, not who would
win after being tuned for the bad one. A ratio is the cost to the target under a condition over that on the ideal
network with the same seed; the target is reached where |grad P| stays below it for ten records and a tenth of the
way with y near its best response, for what is cut off makes gradients noisy, and the first record below would be one
of luck. On every network a gradient takes 1 ms and a message 10 ms on average, and a link carries
1 MB/s; late messages and stragglers have the same means and leave rounds as they are. `game` is a quadratic game of
eight unequal agents, `paper` the paper's robust logistic regression on sorted synthetic data, both on a ring.
"""

from typing import Any

import numpy as np
import pandas as pd
from contest.settled import Settled
from intervals import Comparison, compare, tally, typical
from sweeps import add_ratios, chosen, grouped, options, run_all, save_figure, tuned
from texts import Row, Tables, publish, table

import raydream as rd

NAME, TITLE = "degradation", "Methods on networks as they are"
IDEAL = "ideal"
PRICES: dict[str, Any] = dict(gradient_seconds=1e-3, latency=1e-2, bandwidth=1e6)
KINDS = ("top-0.3", "random-0.3", "qsgd-4", "sign", "float16")
SPREAD = 1.5  # of the stragglers; the median keeps their mean at that of the others
CONDITIONS: dict[str, dict[str, Any]] = {
    IDEAL: {},
    **{f"drop {chance}": {"drop": chance} for chance in (0.1, 0.2, 0.35, 0.5)},
    **{kind: {"compression": kind} for kind in KINDS},
    **{f"{kind}, memory": {"compression": kind, "memory": True} for kind in KINDS},
    "gradients exponential": {"gradient_seconds": "exponential-0.001"},
    "gradients lognormal": {"gradient_seconds": f"lognormal-{1e-3 * np.exp(-(SPREAD**2) / 2):.6g}-{SPREAD}"},
    "latency exponential": {"latency": "exponential-0.01"},
}
METHODS = {
    "DREAM": lambda eta: rd.DREAM(eta=eta, gamma=0.5, b=5),
    "GT-DA": lambda eta: rd.GTDA(eta=eta, gamma=0.5),
    "GT-GDA": lambda eta: rd.GTGDA(eta=eta, gamma=0.5),
    "GT-SRVR": lambda eta: rd.GTSRVR(eta=eta, gamma=0.5, b=5),
    "DM-HSGD": lambda eta: rd.DMHSGD(eta=eta, gamma=0.5, b=5),
}
TARGETS = {"game": 0.02, "paper": 0.05}
COSTS = ("rounds", "bytes", "sim_seconds")
COLUMNS = ("problem", "method", "condition", "eta", "seed", *COSTS, "least")
STEPS = [2.0**-k for k in range(1, 8)]
SIZES: dict[str, dict[str, Any]] = {
    "full": dict(
        problems=list(TARGETS), methods=list(METHODS), conditions=list(CONDITIONS), seeds=10, rehearsals=2,
        iterations=1000, steps=STEPS,
    ),
    "quick": dict(
        problems=["game"], methods=["DREAM", "GT-GDA"], seeds=2, rehearsals=1, iterations=300, steps=STEPS[2:4],
        conditions=[IDEAL, "drop 0.2", "top-0.3", "top-0.3, memory", "gradients lognormal"],
    ),
}  # fmt: skip


def problem_of(name: str, seed: int) -> Any:
    """A problem of its own for each seed."""
    if name == "game":
        return rd.problems.QuadraticGame.random(agents=8, samples=25, dim_x=6, dim_y=4, seed=seed)
    features, labels = rd.data.synthetic(samples=200, features=8, seed=seed)
    order = np.argsort(labels, kind="stable")
    return rd.problems.RobustLogisticRegression(features[order], labels[order], agents=8)


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """One run under a condition."""
    given = rd.Conditions(**(PRICES | CONDITIONS[job["condition"]]))
    settled = Settled("grad_norm", TARGETS[job["problem"]])
    result = rd.run(
        problem_of(job["problem"], job["seed"]), rd.topology.ring(8), METHODS[job["method"]](job["eta"]),
        iterations=job["iterations_at_most"], seed=job["seed"], record_every=2, backend="local",
        on_record=settled, conditions=given, progress=False,
    )  # fmt: skip
    reached = result.outcome == "callback"
    last = pd.Series(settled.first) if reached else result.history.iloc[-1]
    kinds = {"rounds": int, "bytes": int, "sim_seconds": float}
    return {
        **{cost: kind(last[cost]) if reached else None for cost, kind in kinds.items()},
        "least": float(result.history.grad_norm.min()),
    }


def main() -> None:
    given = options(NAME, __doc__)
    size = SIZES[given.size]
    limits, counts = {"iterations_at_most": size["iterations"]}, {name: size[name] for name in ("rehearsals", "seeds")}
    groups = [
        {"problem": p, "method": m, "condition": IDEAL, **limits} for p in size["problems"] for m in size["methods"]
    ]
    tuning, ideal = tuned(measure, groups, size["steps"], given, cost="rounds", **counts)
    steps = {key: chosen(rows, "rounds") for key, rows in grouped(tuning, "problem", "method").items()}
    jobs = [
        {**group, "condition": condition, "eta": steps[group["problem"], group["method"]], "seed": seed}
        for group in groups for condition in size["conditions"] if condition != IDEAL for seed in range(size["seeds"])
    ]  # fmt: skip
    runs = ideal + run_all(measure, jobs, given)
    tables = {"setting": [{**limits, **counts, **PRICES}]} | {
        name: [{c: row[c] for c in COLUMNS} for row in rows] for name, rows in (("tuning", tuning), ("runs", runs))
    }
    save_figure(given, figure_of(publish(given, TITLE, text_of, tables)))


def over_ideal(runs: list[Row], cost: str) -> dict[tuple[str, str, str], Comparison]:
    """By problem, condition and method: the cost over that on the ideal network."""
    parts = grouped(runs, "problem", "condition", "method")
    return {key: compare(rows, parts[key[0], IDEAL, key[2]], cost) for key, rows in parts.items() if key[1] != IDEAL}


def cost_of(condition: str) -> str:
    """What a condition is about: time where only time changes, else rounds."""
    return "sim_seconds" if condition.startswith(("gradients", "latency")) else "rounds"


def text_of(tables: Tables) -> tuple[str, str]:
    """The sentences for the README, and the rest."""
    runs, (setting,) = tables["runs"], tables["setting"]
    found = {cost: over_ideal(runs, cost) for cost in COSTS}
    listed, lines = [], []
    for problem in dict.fromkeys(row["problem"] for row in runs):
        for condition in dict.fromkeys(key[1] for key in found["rounds"] if key[0] == problem):
            cost = cost_of(condition)
            mine = {key[2]: one for key, one in found[cost].items() if key[:2] == (problem, condition)}
            what = "simulated time" if cost == "sim_seconds" else cost
            listed.append(f"- {problem}, {condition}, {what} over ideal: {tally(mine)}.")
    for (problem, condition, method), mine in grouped(runs, "problem", "condition", "method").items():
        key = problem, condition, method
        ratios = {f"{cost} ratio": str(found[cost][key]) if condition != IDEAL else "" for cost in COSTS}
        lines.append(
            {"problem": problem, "condition": condition, "method": method, "eta": mine[0]["eta"],
             **typical(mine, *COSTS), **ratios, "least": float(np.median([row["least"] for row in mine]))}
        )  # fmt: skip
    targets = ", ".join(f"{TARGETS[name]:g} ({name})" for name in dict.fromkeys(row["problem"] for row in runs))
    summary = (
        f"Cost to |grad P| <= {targets} under each condition over that on the ideal network, with the step best "
        f"there; {setting['seeds']} paired seeds, 95 % intervals, each on its own."
    )
    body = [
        *listed,
        "",
        __doc__.split("\n\n", 2)[2],
        f"Medians over {setting['seeds']} seeds, steps from {setting['rehearsals']} others; at most "
        f"{setting['iterations_at_most']} iterations:\n",
        table(lines, {"problem": "problem", "condition": "condition", "method": "method", "eta": "eta",
                      "rounds": "rounds", "rounds ratio": "over ideal", "bytes": "bytes", "bytes ratio": "over ideal",
                      "sim_seconds": "simulated seconds", "sim_seconds ratio": "over ideal",
                      "least": "least gradient"}),
    ]  # fmt: skip
    return summary, "\n".join(body)


def figure_of(tables: Tables) -> Any:
    """A group of marks for each condition, a colour for each method, of the first problem."""
    import plotly.graph_objects as go

    runs = tables["runs"]
    first = runs[0]["problem"]
    found = {cost: over_ideal(runs, cost) for cost in COSTS}
    figure = go.Figure()
    for method in dict.fromkeys(row["method"] for row in runs):
        mine = {key[1]: found[cost_of(key[1])][key] for key in found["rounds"] if key[0] == first and key[2] == method}
        add_ratios(figure, method, mine)
    figure.add_hline(1.0, line_dash="dot")
    return figure.update_layout(yaxis_title=f"cost over ideal ({first})", yaxis_type="log", scattermode="group")


if __name__ == "__main__":
    main()
