"""When to take a large batch: one coin for the network, a coin per agent, a fixed period, or always.

    python experiments/ablation_coin.py [--quick]

DREAM on valley games (valley.py) over a ring of 8 with self weight 1/2, b = sqrt(n/m), K = 3, gamma = 1. For every rule
alike eta is the step of the grid 2^0, 2^-1/2, ..., 2^-4 that reaches the target with the fewest SFO on other games than
those that are reported. The target counts as reached when |grad P| is as low in the mean over 20 iterations, within
eight times the iterations of exact descent.

    shared coin     zeta_t ~ Bernoulli(p), p = b/(b + n), the same for all agents (the paper)
    coin per agent  each agent flips its own, with the same p
    fixed period    a large batch in every 1/p-th iteration (SPIDER)
    always          p = 1: full gradients
    never           only at the start: corrections of corrections without end
"""

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np
import valley
from intervals import Comparison, compare, typical
from sweeps import add_ratios, grouped, options, save_figure, tuned
from texts import Row, Tables, publish, table

import raydream as rd
from raydream.algorithms import Tracked

NAME, TITLE = "ablation_coin", "When to take a large batch"
STEPS = [2 ** (-k / 2) for k in range(9)]
RULES = ("shared coin", "coin per agent", "fixed period", "always", "never")
PATIENCE = 8  # times the iterations of exact descent
COLUMNS = ("spread", "n", "rule", "eta", "seed", "iterations", "sfo", "rounds", "bytes")
SIZES: dict[str, dict[str, Any]] = {
    "full": dict(seeds=16, rehearsals=8, n=[128, 512], spread=[1.0, 2.0], epsilon=0.06, steps=STEPS),
    "quick": dict(seeds=2, rehearsals=1, n=[64], spread=[1.0], epsilon=0.24, steps=STEPS[3:5]),
}


@dataclass(frozen=True, kw_only=True)
class OwnCoins(rd.DREAM):
    """DREAM in which every agent flips a coin of its own (K = K', else agents would wait for each other for ever)."""

    coins: int = 0  # the seed of the coins

    def step(self, s, agents, t, coin):
        Z = agents.project(agents.descend_ascend(s.Z, s.S, self.eta, self.gamma))
        Z = yield from self.mix(Z, self.K, agents)
        G = self.estimate(Z, s, agents, t)
        S = yield from self.mix(s.S + G - s.G, self.K, agents)
        return Tracked(Z, G, S)

    def estimate(self, Z, s, agents, t):
        """Large batches in the rows whose coin shows 1, corrections in the others; each row pays for its own."""
        large = np.array([np.random.default_rng((self.coins, i, t)).random() < self.p for i in agents.hosted])
        billed = agents.sfo
        corrected, fresh = s.G + agents.correction(Z, s.Z, self.b), agents.gradient(Z)
        n = agents.shards[0].samples
        agents.sfo = billed + int(np.where(large, n, 2 * self.b).sum())
        return np.where(large[:, None], fresh, corrected)


@dataclass(frozen=True, kw_only=True)
class FixedPeriod(rd.DREAM):
    """DREAM with a large batch in every Q-th iteration."""

    Q: int = 1

    def step(self, s, agents, t, coin):
        return super().step(s, agents, t, (t + 1) % self.Q == 0)


def method_of(rule: str, eta: float, n: int, m: int, seed: int) -> Any:
    b = ceil(sqrt(n / m))
    plain = dict(eta=eta, gamma=1, b=b, K=3)
    if rule == "coin per agent":
        return OwnCoins(**plain, coins=seed)
    if rule == "fixed period":
        return FixedPeriod(**plain, Q=round((b + n) / b))
    if rule == "never":
        return FixedPeriod(**plain, Q=10**9)
    return rd.DREAM(**plain, p=1.0 if rule == "always" else None)


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """One run of DREAM with this rule."""
    problem = valley.offline(8, job["n"], 8, 0.25, job["spread"], job["seed"])
    method = method_of(job["rule"], job["eta"], job["n"], 8, job["seed"])
    return valley.settle(problem, rd.topology.ring(8, self_weight=0.5), method, job["epsilon"], job["seed"], PATIENCE)


def main() -> None:
    given = options(NAME, __doc__)
    size = SIZES[given.size]
    groups = [
        dict(spread=spread, n=n, rule=rule, epsilon=size["epsilon"])
        for spread in size["spread"] for n in size["n"] for rule in RULES
    ]  # fmt: skip
    counts = {name: size[name] for name in ("rehearsals", "seeds")}
    tuning, runs = tuned(measure, groups, size["steps"], given, cost="sfo", **counts)
    tables = {"setting": [{"epsilon": size["epsilon"], **counts}], "tuning": tuning, "runs": runs}
    tables |= {name: [{c: row[c] for c in COLUMNS} for row in tables[name]] for name in ("tuning", "runs")}
    save_figure(given, figure_of(publish(given, TITLE, text_of, tables)))


def against_the_shared_coin(runs: list[Row], rule: str) -> Comparison:
    """SFO of a rule over those of the shared coin."""
    parts = {name: mine for (name,), mine in grouped(runs, "rule").items()}
    return compare(parts[rule], parts["shared coin"], "sfo", over=("spread", "n"))


def at_equal_steps(tuning: list[Row], rule: str) -> Comparison:
    """As above in the search, over the steps with which all runs of both reached: no luck with a step plays a part."""
    parts = grouped(tuning, "rule", "spread", "n", "eta")
    mine: list[Row] = []
    others: list[Row] = []
    for (name, *place), rows in parts.items():
        base = parts.get(("shared coin", *place), [])
        if name == rule and base and all(row["sfo"] is not None for row in rows + base):
            mine, others = mine + rows, others + base
    return compare(mine, others, "sfo", over=("spread", "n", "eta"))


def text_of(tables: Tables) -> tuple[str, str]:
    """The sentence for the README, and the rest."""
    runs, (setting,) = tables["runs"], tables["setting"]
    said = [f"{rule} {against_the_shared_coin(runs, rule).told()}" for rule in RULES[1:]]
    lines: list[Row] = []
    for (spread, n), mine in grouped(runs, "spread", "n").items():
        for (rule,), those in grouped(mine, "rule").items():
            middle = typical(those, "sfo", "iterations", "rounds", "bytes")
            ratio = "1" if rule == "shared coin" else against_the_shared_coin(mine, rule).told()
            lines.append({"spread": spread, "n": n, "rule": rule, "eta": those[0]["eta"], **middle, "ratio": ratio})
    summary = (
        f"SFO to |grad P| <= {setting['epsilon']} over the shared coin's, in {len(grouped(runs, 'spread', 'n'))} "
        f"kinds of games with {setting['seeds']} seeds each, with 95 % intervals: " + "; ".join(said) + "."
    )
    body = [
        __doc__.split("\n\n", 2)[2],
        f"Medians over {setting['seeds']} seeds; steps from {setting['rehearsals']} others. `spread` says how far "
        "components differ. Ratios below 1 are cheaper than the paper's shared coin; each interval holds with 95 % on "
        "its own, so that one in twenty errs.\n",
        table(lines, {"spread": "spread", "n": "n", "rule": "rule", "eta": "eta", "iterations": "iterations",
                      "sfo": "SFO", "ratio": "SFO / shared coin", "rounds": "rounds", "bytes": "bytes"}),
        "\nThese intervals take the steps as given. With equal steps, over all steps of the search with which every "
        "run of both reached, SFO over the shared coin's: "
        + "; ".join(f"{rule} {at_equal_steps(tables['tuning'], rule).told()}" for rule in RULES[1:4])
        + ".\n\nWhat a shared coin buys besides: all agents agree on the number of rounds (K or K'), which coins per "
        "agent make impossible unless K = K'.",
    ]  # fmt: skip
    return summary, "\n".join(body)


def figure_of(tables: Tables) -> Any:
    """SFO over those of the shared coin, with intervals, by rule."""
    import plotly.graph_objects as go

    figure = go.Figure()
    places = grouped(tables["runs"], "spread", "n")
    for rule in RULES[1:]:
        found = {f"spread {p[0]:g}, n = {p[1]}": against_the_shared_coin(mine, rule) for p, mine in places.items()}
        add_ratios(figure, rule, found)
    figure.add_hline(y=1, line_dash="dot")
    figure.update_yaxes(type="log", dtick="D2", title="SFO / SFO of the shared coin").update_layout(scattermode="group")
    return figure.update_layout(title="SFO to the target, over those of the shared coin (95 % intervals)")


if __name__ == "__main__":
    main()
