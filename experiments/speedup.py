"""Linear speed-up in m at fixed N: what DREAM's batch sqrt(n/m) saves against GT-SRVR's sqrt(n).

    python experiments/speedup.py [--quick]

The same N components of a valley game (valley.py) are dealt to m agents over an exponential graph. DREAM: b =
sqrt(n/m), p = b/(b + n), K = 1/sqrt(gap); GT-SRVR: Q = b = sqrt(n); all rounded up; gamma = 1, and eta is the step of
the grid 2^0, 2^-1/2, ... that reaches the target with the fewest SFO, for both alike. The target counts as reached
when |grad P| is as low in the mean over 20 iterations; `first dip` has the SFO of the first single iterate. Theory:
N + sqrt(N) T SFO in total for DREAM, N + sqrt(m N) T for GT-SRVR, so that SFO per agent fall like 1/m and like
1/sqrt(m).
"""

from math import ceil, sqrt
from typing import Any

import numpy as np
import valley
from sweeps import best_of_grid, grouped, median, options, publish, save_figure, short, slope, table

import raydream as rd

NAME = "speedup"
STEPS = [2 ** (-k / 2) for k in range(14)]
THEORY = {"DREAM": -1.0, "GT-SRVR": -0.5}
SIZES: dict[str, dict[str, Any]] = {
    "full": dict(m=[2, 4, 8, 16, 32], total=16384, seeds=2, epsilon=0.05, steps=STEPS),
    "quick": dict(m=[2, 4, 8, 16], total=4096, seeds=2, epsilon=0.08, steps=STEPS),
    "tiny": dict(m=[2, 4, 8], total=512, seeds=1, epsilon=0.2, steps=STEPS[3:6]),
}


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """One run."""
    m, n = job["m"], job["total"] // job["m"]
    problem = valley.offline(m, n, 32, 0.25, 1.5, job["seed"])
    topology = rd.topology.exponential(m)
    if job["method"] == "DREAM":
        K = ceil(1 / sqrt(topology.spectral_gap))
        method: Any = rd.DREAM(eta=job["eta"], gamma=1, b=ceil(sqrt(n / m)), K=K)
    else:
        method = rd.GTSRVR(eta=job["eta"], gamma=1)
    costs = valley.settle(problem, topology, method, job["epsilon"], job["seed"])
    return {"cost": costs["sfo"], **costs}


def main() -> None:
    given = options(NAME, __doc__)
    size = SIZES[given.size]
    groups = [
        dict(method=method, m=m, total=size["total"], seed=seed, epsilon=size["epsilon"], lasting=True)
        for method in THEORY for m in size["m"] for seed in range(size["seeds"])
    ]  # fmt: skip
    found = best_of_grid(measure, groups, size["steps"], given)
    points = [
        {
            **{name: row[name] for name in ("method", "m", "seed", "eta", "iterations", "rounds", "sfo", "dip")},
            "per_agent": None if row["sfo"] is None else row["sfo"] / row["m"],
        }
        for row in found
    ]  # fmt: skip
    rows = []
    for (method, m), mine in grouped(points, "method", "m").items():
        middle = {name: median(mine, name) for name in ("eta", "iterations", "rounds", "sfo", "dip", "per_agent")}
        rows.append({"method": method, "m": m, **middle})
    for mine in grouped(rows, "method").values():
        for row in mine:
            row["speedup"] = mine[0]["per_agent"] * mine[0]["m"] / row["per_agent"]
    slopes = []
    for method, theory in THEORY.items():
        reached = [p for p in points if p["method"] == method and p["sfo"] is not None]
        fit = slope([p["m"] for p in reached], [p["per_agent"] for p in reached])
        slopes.append({"method": method, "theory": theory, **fit, "interval": f"{fit['low']:.2f} to {fit['high']:.2f}"})
    summary, body = text_of(rows, slopes, size)
    save_figure(given, figure_of(rows))
    publish(given, "Speed-up in m at fixed N", summary, body, {"points": points, "slopes": slopes})


def text_of(rows: list[dict[str, Any]], slopes: list[dict[str, Any]], size: dict[str, Any]) -> tuple[str, str]:
    """The sentence for the README, and the rest."""
    known = {(row["method"], row["m"]): row for row in rows}
    most = max(size["m"])
    summary = (
        "SFO per agent against m, exponent: "
        + ", ".join(f"{s['method']} {s['slope']:.2f} [{s['interval']}] (theory {s['theory']:.2g})" for s in slopes)
        + f"; at m = {most} DREAM needs {short(known['DREAM', most]['per_agent'])} SFO per agent and "
        f"{short(known['DREAM', most]['rounds'])} rounds, GT-SRVR {short(known['GT-SRVR', most]['per_agent'])} and "
        f"{short(known['GT-SRVR', most]['rounds'])}."
    )
    body = [
        __doc__.split("\n\n", 2)[2],
        f"N = {size['total']}, target |grad P| <= {size['epsilon']}, medians over {size['seeds']} seeds. `speed-up` is "
        f"{size['m'][0]} at m = {size['m'][0]} and grows like m if it is linear.\n",
        table(rows, {"method": "method", "m": "m", "eta": "eta", "iterations": "iterations",
                     "sfo": "SFO in total", "dip": "first dip",
                     "per_agent": "SFO per agent", "speedup": "speed-up", "rounds": "rounds"}),
        "\nThe first batch alone is N/m per agent: where it dominates, any method speeds up linearly. Not all of the "
        f"difference is the batch's: from m = {size['m'][0]} to {most} the best step of GT-SRVR goes from "
        f"{short(known['GT-SRVR', size['m'][0]]['eta'])} to {short(known['GT-SRVR', most]['eta'])}, that of DREAM from "
        f"{short(known['DREAM', size['m'][0]]['eta'])} to {short(known['DREAM', most]['eta'])}, and why was not "
        "separated here (more agents differ more, and one gossip round mixes them worse). DREAM pays in rounds.",
    ]  # fmt: skip
    return summary, "\n".join(body)


def figure_of(rows: list[dict[str, Any]]) -> Any:
    """SFO per agent against m."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for (method,), mine in grouped(rows, "method").items():
        heights = [row["per_agent"] if np.isfinite(row["per_agent"]) else None for row in mine]
        figure.add_scatter(x=[row["m"] for row in mine], y=heights, name=method)
    figure.update_xaxes(type="log", title="agents").update_yaxes(type="log", title="SFO per agent")
    return figure.update_layout(title="SFO per agent to the target, N fixed")


if __name__ == "__main__":
    main()
