"""Table 1 of the paper, measured: how SFO and rounds to reach |grad P| <= epsilon grow with epsilon, N, m and 1/gap.

    python experiments/table_1_scaling.py [--quick]

All on valley games (valley.py), where f is the same function at every point of a sweep. One rule for all methods:
gamma = 1, and eta is the step of the grid 2^0, 2^-1/2, 2^-1, ... that reaches epsilon with the fewest SFO on that
instance; a run has failed when it needs more than twice the iterations of exact descent with its step. The other
parameters have the form that theory prescribes: DREAM b = sqrt(b'/m), p = b/(b + b'), q = 1, K = K' = 1/sqrt(gap), all
rounded up; GT-SRVR Q = b = sqrt(n); GT-DA R = 4; online, DREAM b' = 4 sigma^2/(m epsilon^2), and DM-HSGD
b = 4, b0 = sigma^2/epsilon, beta = 4 epsilon^2.
"""

from math import ceil, cos, pi, sqrt
from typing import Any

import numpy as np
import valley
from sweeps import best_of_grid, grouped, options, publish, save_figure, short, slope, table

import raydream as rd

NAME = "table_1_scaling"
STEPS = [2 ** (-k / 2) for k in range(17)]
SIGMA, HETEROGENEITY, SPREAD = 8.0, 0.25, 1.5
OFFLINE = ("DREAM", "GT-DA", "GT-GDA", "GT-SRVR")
ONLINE = ("DREAM", "DM-HSGD")
ROUND_GAP = 1 - cos(2 * pi / 8)  # the gap of a ring of 8 is this times (1 - self weight)

# sweep: (variable, {(method, cost): exponent that theory predicts})
P = valley.POWER
PREDICTED: dict[str, dict[tuple[str, str], float]] = {
    "epsilon": {(name, cost): -P for name in OFFLINE for cost in ("sfo", "rounds")},
    "N": {("DREAM", "sfo"): 0.5, ("GT-SRVR", "sfo"): 0.5, ("GT-DA", "sfo"): 1.0, ("GT-GDA", "sfo"): 1.0}
    | {(name, "rounds"): 0.0 for name in OFFLINE},
    "m": {("DREAM", "sfo"): 0.0, ("GT-SRVR", "sfo"): 0.5, ("GT-DA", "sfo"): 0.0, ("GT-GDA", "sfo"): 0.0},
    "gap": {("DREAM", "rounds"): -0.5} | {(name, "rounds"): -1.0 for name in OFFLINE[1:]} | {("DREAM", "sfo"): 0.0},
    "epsilon online": {
        ("DREAM", "sfo"): -P - 1, ("DREAM", "rounds"): -P, ("DM-HSGD", "sfo"): -P - 1, ("DM-HSGD", "rounds"): -P - 1,
    },
}  # fmt: skip

SIZES: dict[str, dict[str, Any]] = {
    "full": dict(
        seeds=2, epsilons=[0.12, 0.085, 0.06, 0.042, 0.03], target=0.03, n=[32, 128, 512, 2048], total=8192,
        m=[2, 4, 8, 16, 32], gaps=[0.1, 0.05, 0.025, 0.0125], gap_target=0.06,
        online=[0.12, 0.085, 0.06, 0.042, 0.03],
    ),
    "quick": dict(
        seeds=2, epsilons=[0.12, 0.085, 0.06], target=0.06, n=[32, 128, 512], total=2048, m=[2, 4, 8, 16],
        gaps=[0.1, 0.03, 0.01], gap_target=0.09, online=[0.17, 0.12, 0.085],
    ),
    "tiny": dict(
        seeds=1, epsilons=[0.3, 0.27, 0.24], target=0.27, n=[16, 32, 64], total=128, m=[2, 4, 8],
        gaps=[0.2, 0.1, 0.07], gap_target=0.27, online=[0.3, 0.27, 0.24], steps=STEPS[1:11:2],
    ),
}  # fmt: skip


def groups_of(size: dict[str, Any]) -> list[dict[str, Any]]:
    """Every (sweep, point, method, seed)."""
    plain = dict(agents=8, samples=256, groups=8, gap=0.5 * ROUND_GAP, epsilons=[size["target"]])
    groups = []
    for seed in range(size["seeds"]):
        for name in OFFLINE:
            start = dict(method=name, seed=seed, **plain)
            groups.append({**start, "sweep": "epsilon", "epsilons": size["epsilons"]})
            groups += [{**start, "sweep": "N", "samples": n} for n in size["n"]]
            groups += [
                {**start, "sweep": "m", "agents": m, "samples": size["total"] // m, "groups": max(size["m"]), "gap": 1}
                for m in size["m"]
            ]
            groups += [{**start, "sweep": "gap", "gap": g, "epsilons": [size["gap_target"]]} for g in size["gaps"]]
        for name in ONLINE:
            start = dict(method=name, seed=seed, **plain)
            groups += [{**start, "sweep": "epsilon online", "epsilons": [e]} for e in size["online"]]
    return groups


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """One run: the SFO, rounds and iterations at which each epsilon was first reached."""
    online = job["sweep"] == "epsilon online"
    m, n, goal = job["agents"], job["samples"], min(job["epsilons"])
    if online:
        problem = valley.online(m, SIGMA, HETEROGENEITY, job["seed"])
    else:
        problem = valley.offline(m, n, job["groups"], HETEROGENEITY, SPREAD, job["seed"])
    if job["gap"] == 1:  # one gossip round is the exact mean, so that the network plays no part
        topology = rd.topology.complete(m)
    else:
        topology = rd.topology.ring(m, self_weight=1 - job["gap"] / ROUND_GAP)
    result = rd.run(
        problem, topology, method_of(job, online),
        iterations=2 * valley.exact_descent(goal, job["eta"]), seed=job["seed"], record_every=2, backend="local",
        target_grad_norm=None if online else goal, progress=False,
    )  # fmt: skip
    history = result.history
    # Noise makes single iterates dip: online, the mean over the last 20 iterations must be as low.
    norm = history.grad_norm.rolling(10).mean() if online else history.grad_norm
    passages = []
    for epsilon in job["epsilons"]:
        reached = history[norm <= epsilon]
        costs = {} if reached.empty else {c: int(reached[c].iloc[0]) for c in ("iteration", "sfo", "rounds")}
        passages.append({"epsilon": epsilon, **costs})
    return {"cost": passages[-1].get("sfo"), "passages": passages}


def method_of(job: dict[str, Any], online: bool) -> Any:
    """The method with its parameters in the form of the theory."""
    m, n, eta = job["agents"], job["samples"], job["eta"]
    epsilon = min(job["epsilons"])
    if job["method"] == "DREAM":
        large = ceil(4 * SIGMA**2 / (m * epsilon**2)) if online else n
        K = ceil(1 / sqrt(job["gap"]))
        return rd.DREAM(eta=eta, gamma=1, b=ceil(sqrt(large / m)), b_large=large if online else None, K=K)
    if job["method"] == "DM-HSGD":
        return rd.DMHSGD(eta=eta, gamma=1, b=4, b0=ceil(SIGMA**2 / epsilon), beta=min(1.0, 4 * epsilon**2))
    return {"GT-DA": rd.GTDA, "GT-GDA": rd.GTGDA, "GT-SRVR": rd.GTSRVR}[job["method"]](eta=eta, gamma=1)


def points_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line per point: what was varied, and what it cost."""
    points = []
    for row in rows:
        N = row["agents"] * row["samples"]
        value = {"N": N, "m": row["agents"], "gap": row["gap"]}.get(row["sweep"])
        for passage in row["passages"]:
            points.append(
                {
                    "sweep": row["sweep"], "method": row["method"], "seed": row["seed"],
                    "x": passage["epsilon"] if value is None else value, "eta": row["eta"],
                    "iterations": passage.get("iteration"), "sfo": passage.get("sfo"), "rounds": passage.get("rounds"),
                }
            )  # fmt: skip
    return points


def slopes_of(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Measured beside predicted exponents."""
    slopes = []
    for sweep, predictions in PREDICTED.items():
        for (method, cost), predicted in predictions.items():
            mine = [p for p in points if p["sweep"] == sweep and p["method"] == method]
            reached = [p for p in mine if p[cost] is not None]
            fit = slope([p["x"] for p in reached], [p[cost] for p in reached])
            slopes.append(
                {
                    "sweep": sweep, "cost": cost, "method": method, "predicted": predicted, **fit,
                    "failed": len(mine) - len(reached),
                    "interval": f"{fit['low']:.2f} to {fit['high']:.2f}", "measured": f"{fit['slope']:.2f}",
                }
            )  # fmt: skip
    return slopes


def figure_of(points: list[dict[str, Any]]) -> Any:
    """SFO and rounds against what was varied, one column per sweep."""
    from plotly.subplots import make_subplots

    colours = dict(zip(("DREAM", "GT-DA", "GT-GDA", "GT-SRVR", "DM-HSGD"), _COLOURS, strict=True))
    sweeps = list(PREDICTED)
    figure = make_subplots(2, len(sweeps), subplot_titles=sweeps, shared_xaxes="columns", vertical_spacing=0.08)
    for (sweep, method), mine in grouped(points, "sweep", "method").items():
        for row, cost in enumerate(("sfo", "rounds"), 1):
            reached = [p for p in mine if p[cost] is not None]
            figure.add_scatter(
                x=[p["x"] for p in reached], y=[p[cost] for p in reached], mode="markers", name=method,
                legendgroup=method, marker_color=colours[method],
                showlegend=row == 1 and sweep == ("epsilon online" if method == "DM-HSGD" else "epsilon"),
                row=row, col=sweeps.index(sweep) + 1,
            )  # fmt: skip
    figure.update_xaxes(type="log").update_yaxes(type="log")
    return figure.update_layout(title="SFO (above) and rounds (below) to reach epsilon", height=700)


_COLOURS = ("#d62728", "#7f7f7f", "#2ca02c", "#1f77b4", "#9467bd")


def text_of(points: list[dict[str, Any]], slopes: list[dict[str, Any]], size: dict[str, Any]) -> tuple[str, str]:
    """The sentence for the README, and the rest."""
    known = {(s["sweep"], s["cost"], s["method"]): s for s in slopes}

    def said(sweep: str, cost: str, method: str) -> str:
        s = known[sweep, cost, method]
        return f"{method} {s['measured']} [{s['interval']}] (theory {s['predicted']:.2g})"

    inside = [s for s in slopes if s["low"] <= s["predicted"] <= s["high"]]
    vague = [s for s in inside if s["high"] - s["low"] > 0.5]
    summary = (
        "Measured exponents: SFO against N: " + ", ".join(said("N", "sfo", name) for name in ("DREAM", "GT-GDA"))
        + "; SFO against m at fixed N: " + ", ".join(said("m", "sfo", name) for name in ("DREAM", "GT-SRVR"))
        + "; rounds against the gap: " + ", ".join(said("gap", "rounds", name) for name in ("DREAM", "GT-GDA"))
        + "; online, rounds against epsilon: "
        + ", ".join(said("epsilon online", "rounds", name) for name in ONLINE)
        + f". {len(inside)} of {len(slopes)} intervals hold the prediction, {len(vague)} of them wider than 0.5. "
        + losses(cheapest(points))
    )  # fmt: skip
    missed = [f"{s['cost']} of {s['method']} against {s['sweep']}" for s in slopes if s not in inside]
    body = [
        __doc__.split("\n\n", 2)[2],
        "Exponents of log-log lines by least squares over all points and seeds, with 95 % intervals:\n",
        table(slopes, {"sweep": "against", "cost": "cost", "method": "method", "predicted": "predicted",
                       "measured": "measured", "interval": "95 % interval", "failed": "runs that never reached"}),
        "\nOn these games exact descent needs epsilon^-1.8 iterations, where the theory's worst case has epsilon^-2: "
        "the predictions against epsilon are lowered by 0.2 accordingly. Theory bounds the worst case from above, so "
        "that a smaller exponent contradicts nothing.\n",
        ("Not confirmed, the prediction lies outside the interval: " + "; ".join(missed) + ".\n")
        if missed else "Every interval holds its prediction.\n",
        f"How far to trust this: {size['seeds']} instances per point, so that intervals are wide; {len(vague)} that "
        "hold their prediction are wider than 0.5 and decide little. SFO and rounds of one method in one sweep come "
        "from the same runs. Offline a single record below epsilon counts as reached, which favours noisy estimators, "
        "and the step is chosen on the run that is reported, for all methods alike. The deviations of the games, sigma "
        "and the range of gaps were chosen after smaller trials: in the first, unstable iterates were thrown far into "
        "the valley and counted as arrived; in another, noise and gap were too mild to matter. A third instance and a "
        "fifth gap were given up half-way for want of time. The constants in b', b, b0 and beta were not tuned: they "
        "move the levels below, and DREAM's b' decides its SFO online.\n",
        "Who is cheapest, medians over the seeds at the hardest point of each sweep:\n",
        table(cheapest(points), {"sweep": "sweep", "x": "at", "method": "method", "eta": "eta", "sfo": "SFO",
                                 "rounds": "rounds"}),
    ]  # fmt: skip
    return summary, "\n".join(body)


def cheapest(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Medians at the last point of each sweep."""
    rows = []
    for sweep, mine in grouped(points, "sweep").items():
        values = [p["x"] for p in mine]
        last = min(values) if sweep[0] != "N" and sweep[0] != "m" else max(values)
        for method, those in grouped([p for p in mine if p["x"] == last], "method").items():
            middle = {c: float(np.median([np.inf if p[c] is None else p[c] for p in those])) for c in ("sfo", "rounds")}
            steps = [p["eta"] for p in those]
            rows.append({"sweep": sweep[0], "x": last, "method": method[0], "eta": float(np.median(steps)), **middle})
    return rows


def losses(rows: list[dict[str, Any]]) -> str:
    """Where another method is cheaper than DREAM."""
    said = []
    for (sweep,), mine in grouped(rows, "sweep").items():
        for cost in ("sfo", "rounds"):
            best = min(mine, key=lambda row: row[cost])
            if best["method"] != "DREAM":
                dream = next(row[cost] for row in mine if row["method"] == "DREAM")
                name = "SFO" if cost == "sfo" else cost
                said.append(
                    f"{sweep} = {best['x']:g}: {best['method']} {short(best[cost])} {name}, DREAM {short(dream)}"
                )
    return "At the hardest points DREAM is not the cheapest here: " + ("; ".join(said) if said else "nowhere") + "."


def main() -> None:
    given = options(NAME, __doc__)
    size = SIZES[given.size]
    rows = best_of_grid(measure, groups_of(size), size.get("steps", STEPS), given)
    points = points_of(rows)
    slopes = slopes_of(points)
    summary, body = text_of(points, slopes, size)
    save_figure(given, figure_of(points))
    publish(given, "Table 1, measured", summary, body, {"points": points, "slopes": slopes})


if __name__ == "__main__":
    main()
