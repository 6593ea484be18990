"""Partial participation: agents that take part in a correction only with probability q.

    python experiments/ablation_participation.py [--quick]

With D = grad F(z+) - grad F(z) for one random sample, the correction omega/(b q) sum of b such D has variance

    E|D|^2/(b q) + ((b - 1)/(b q) - 1) |E D|^2

while the paper's proof bounds it by E|D|^2/(b q), which holds only if b (1 - q) <= 1. A whole correction (q = 1) of b q
samples asks for as many gradients on average and has (1/q - 1) |E D|^2 less variance. Part 1 draws the correction many
times on one agent of a random quadratic game and compares. Part 2 counts the SFO that DREAM needs on valley games
(valley.py) over a ring of 8 with self weight 1/2, K = 3, gamma = 1, p = b q/(b q + n). For each (b, q) eta is the step
of the grid 2^0, 2^-1/2, ..., 2^-5 that needs the fewest SFO on other games than those that are reported. The target
counts as reached when |grad P| is as low in the mean over 20 iterations, within eight times the iterations of exact
descent.
"""

from math import ceil, sqrt
from typing import Any

import numpy as np
import valley
from intervals import compare, tally, typical
from sweeps import add_ratios, grouped, options, run_all, save_figure, tuned
from texts import Row, Tables, publish, short, table

import raydream as rd
from raydream.agents import Agents
from raydream.agents.streams import Streams

NAME, TITLE = "ablation_participation", "Partial participation"
STEPS = [2 ** (-k / 2) for k in range(11)]
PATIENCE = 8  # times the iterations of exact descent
COLUMNS = ("spread", "b", "q", "eta", "seed", "iterations", "sfo", "rounds", "bytes")
SIZES: dict[str, dict[str, Any]] = {
    "full": dict(
        draws=20000, b=[1, 4, 16, 64], q=[0.2, 0.5, 0.9, 1.0], n=1024, samples=[3, 6, 12], chances=[1.0, 0.5, 0.2],
        spread=[1.0, 2.0], seeds=16, rehearsals=4, epsilon=0.06, steps=STEPS,
    ),
    "quick": dict(
        draws=2000, b=[1, 16], q=[0.5, 1.0], n=64, samples=[2, 4], chances=[1.0, 0.5], spread=[1.0], seeds=2,
        rehearsals=1, epsilon=0.24, steps=STEPS[3:5],
    ),
}  # fmt: skip


def variance(job: dict[str, Any]) -> dict[str, Any]:
    """The variance of one agent's correction: by the formula, by the paper's bound, and by drawing."""
    b, q = job["b"], job["q"]
    game = rd.problems.QuadraticGame.random(agents=1, samples=200, seed=0)
    shard = game.local(0)
    generator = np.random.default_rng(1)
    Z_old = generator.normal(size=(1, 9))
    Z = Z_old + 0.1 * generator.normal(size=(1, 9))
    D = np.array([_gradient(shard, Z[0], j) - _gradient(shard, Z_old[0], j) for j in range(200)])
    square, mean = float((D**2).sum(axis=1).mean()), D.mean(axis=0)
    agents = Agents(
        [0], [shard], network=rd.topology.ring(1).network, constraint=game.constraint, start=game.start(),
        streams=Streams(0),
    )  # fmt: skip
    errors = np.empty(job["draws"])
    for draw in range(job["draws"]):
        agents.begin(draw)
        errors[draw] = ((agents.correction(Z, Z_old, b, q)[0] - mean) ** 2).sum()
    bound = square / (b * q)
    predicted = bound + ((b - 1) / (b * q) - 1) * float(mean @ mean)
    return {
        "predicted": predicted, "measured": float(errors.mean()),
        "error": float(errors.std() / np.sqrt(len(errors))), "bound": bound,
        "excess": predicted / bound,
    }  # fmt: skip


def _gradient(shard: Any, z: Any, sample: int) -> Any:
    return np.concatenate(shard.gradient(z[:4], z[4:], np.array([sample])))


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """One run of DREAM with this batch and participation."""
    n, b, q = job["n"], job["b"], job["q"]
    problem = valley.offline(8, n, 8, 0.25, job["spread"], job["seed"])
    method = rd.DREAM(eta=job["eta"], gamma=1, b=b, q=q, p=b * q / (b * q + n), K=3)
    return valley.settle(problem, rd.topology.ring(8, self_weight=0.5), method, job["epsilon"], job["seed"], PATIENCE)


def main() -> None:
    given = options(NAME, __doc__)
    size = SIZES[given.size]
    jobs = [dict(part="variance", b=b, q=q, draws=size["draws"]) for b in size["b"] for q in size["q"]]
    variances = run_all(variance, jobs, given)
    root = sqrt(size["n"] / 8)
    pairs = [(round(samples / q), q) for samples in size["samples"] for q in size["chances"]]
    pairs.append((ceil(root), root / ceil(root)))  # the theorem's
    groups = [
        dict(spread=spread, b=b, q=q, n=size["n"], epsilon=size["epsilon"])
        for spread in size["spread"] for b, q in dict.fromkeys(pairs)
    ]  # fmt: skip
    counts = {name: size[name] for name in ("rehearsals", "seeds")}
    tuning, runs = tuned(measure, groups, size["steps"], given, cost="sfo", **counts)
    tables = {"setting": [{**{name: size[name] for name in ("draws", "n", "epsilon")}, **counts}]}
    tables["variance"] = [{name: value for name, value in row.items() if name != "part"} for row in variances]
    tables |= {
        name: [{c: row[c] for c in COLUMNS} for row in rows] for name, rows in (("tuning", tuning), ("runs", runs))
    }
    save_figure(given, figure_of(publish(given, TITLE, text_of, tables)))


def comparisons(runs: list[Row], cost: str) -> list[dict[str, Any]]:
    """Every thinned (b, q) against the whole corrections of as many samples on average, and of the same b."""
    found = []
    parts = grouped(runs, "b", "q")
    for (b, q), mine in parts.items():
        for what, other in (("same b q", round(b * q)), ("same b", b)):
            if q < 1 and (other, 1.0) in parts and (what == "same b" or abs(other - b * q) < 1e-9):
                compared = compare(mine, parts[other, 1.0], cost, over=("spread",))
                found.append({"what": what, "b": b, "q": q, "other": other, "compared": compared})
    return sorted(found, key=lambda row: row["what"], reverse=True)


def text_of(tables: Tables) -> tuple[str, str]:
    """The sentence for the README, and the rest."""
    variances, runs, (setting,) = tables["variance"], tables["runs"], tables["setting"]
    off = max(abs(row["measured"] - row["predicted"]) / row["error"] for row in variances)
    above = [row for row in variances if row["measured"] - 1.96 * row["error"] > row["bound"]]
    worst = max(variances, key=lambda row: row["measured"] / row["bound"])
    sfo, rounds = comparisons(runs, "sfo"), comparisons(runs, "rounds")

    def said(found: list[dict[str, Any]], what: str) -> str:
        return tally(
            {f"b = {row['b']}, q = {short(row['q'])}": row["compared"] for row in found if row["what"] == what}
        )

    summary = (
        "SFO of thinned corrections (q < 1) over those of whole ones of as many samples on average, b q: "
        f"{said(sfo, 'same b q')}. Over those of whole ones of the same b: {said(sfo, 'same b')}; rounds: "
        f"{said(rounds, 'same b')}. "
        f"Drawn corrections have the variance of the formula within {off:.1f} standard errors in "
        f"all {len(variances)} settings, and exceed the paper's bound in {len(above)}, up to "
        f"{short(worst['measured'] / worst['bound'])} times (b = {worst['b']}, q = {worst['q']})."
    )
    lines = [
        {"spread": spread, "b": b, "q": q, "eta": mine[0]["eta"],
         **typical(mine, "sfo", "iterations", "rounds", "bytes")}
        for (spread, b, q), mine in grouped(runs, "spread", "b", "q").items()
    ]  # fmt: skip
    ratios = [
        {**row, "sfo": row["compared"].told(), "rounds": other["compared"].told(), "other": f"b = {row['other']}"}
        for row, other in zip(sfo, rounds, strict=True)
    ]
    body = [
        __doc__.split("\n\n", 2)[2],
        f"Part 1, {setting['draws']} draws each:\n",
        table(variances, {"b": "b", "q": "q", "predicted": "formula", "measured": "measured", "error": "its error",
                          "bound": "paper's bound", "excess": "formula / bound"}),
        f"\nPart 2, n = {setting['n']}, target |grad P| <= {setting['epsilon']}, medians over {setting['seeds']} "
        f"seeds, steps from {setting['rehearsals']} others; `spread` says how far components differ:\n",
        table(lines, {"spread": "spread", "b": "b", "q": "q", "eta": "eta", "iterations": "iterations",
                      "sfo": "SFO", "rounds": "rounds", "bytes": "bytes"}),
        "\nThinned against whole, ratios over all games and seeds with 95 % intervals, each of which holds on its own, "
        "given the steps (bytes go with the rounds):\n",
        table(ratios, {"b": "b", "q": "q", "what": "against q = 1 with the", "other": "that is", "sfo": "SFO",
                       "rounds": "rounds"}),
    ]  # fmt: skip
    return summary, "\n".join(body)


def figure_of(tables: Tables) -> Any:
    """Left the variance, measured and bounded; right the SFO of thinned corrections over those of whole ones."""
    from plotly.subplots import make_subplots

    titles = ("variance of a correction over the paper's bound", "SFO, thinned / whole (95 % intervals)")
    figure = make_subplots(1, 2, subplot_titles=titles)
    for (q,), mine in grouped(tables["variance"], "q").items():
        figure.add_scatter(
            x=[row["b"] for row in mine], y=[row["measured"] / row["bound"] for row in mine], name=f"q = {q:g}",
            row=1, col=1,
        )  # fmt: skip
    found = comparisons(tables["runs"], "sfo")
    for what in dict.fromkeys(row["what"] for row in found):
        mine = [row for row in found if row["what"] == what]
        places = [f"b = {row['b']}<br>q = {row['q']:.2g}<br>over<br>b = {row['other']}" for row in mine]
        add_ratios(figure, what, dict(zip(places, [row["compared"] for row in mine], strict=True)), row=1, col=2)
    for col in (1, 2):
        figure.add_hline(y=1, line_dash="dot", row=1, col=col)
    figure.update_xaxes(type="log", title="b", dtick="D2", row=1, col=1).update_yaxes(type="log")
    return figure.update_yaxes(dtick="D2", row=1, col=1)


if __name__ == "__main__":
    main()
