"""When to take a large batch: one coin for the network, a coin per agent, a fixed period, or always.

    python experiments/ablation_coin.py [--quick]

DREAM on valley games (valley.py) over a ring of 8 with self weight 1/2, b = sqrt(n/m), K = 3, gamma = 1; eta is the
step of the grid 2^0, 2^-1/2, ... that reaches the target with the fewest SFO, for every rule alike. The target counts
as reached when |grad P| is as low in the mean over 20 iterations; `first dip` has the SFO of the first single iterate.

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
from sweeps import best_of_grid, grouped, median, options, publish, save_figure, short, table

import raydream as rd
from raydream.algorithms import Tracked

NAME = "ablation_coin"
STEPS = [2 ** (-k / 2) for k in range(14)]
RULES = ("shared coin", "coin per agent", "fixed period", "always", "never")
SIZES: dict[str, dict[str, Any]] = {
    "full": dict(seeds=2, n=[128, 512], spread=[1.0, 2.0], epsilon=0.06, steps=STEPS),
    "quick": dict(seeds=2, n=[128, 512], spread=[1.0, 2.0], epsilon=0.1, steps=STEPS),
    "tiny": dict(seeds=1, n=[64], spread=[1.0], epsilon=0.24, steps=STEPS[3:6]),
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
    costs = valley.settle(problem, rd.topology.ring(8, self_weight=0.5), method, job["epsilon"], job["seed"])
    return {"cost": costs["sfo"], **costs}


def main() -> None:
    given = options(NAME, __doc__)
    size = SIZES[given.size]
    groups = [
        dict(rule=rule, n=n, spread=spread, seed=seed, epsilon=size["epsilon"], lasting=True)
        for spread in size["spread"] for n in size["n"] for rule in RULES for seed in range(size["seeds"])
    ]  # fmt: skip
    rows = []
    found = best_of_grid(measure, groups, size["steps"], given)
    for (rule, n, spread), mine in grouped(found, "rule", "n", "spread").items():
        middle = {name: median(mine, name) for name in ("eta", "iterations", "sfo", "dip", "rounds")}
        rows.append({"spread": spread, "n": n, "rule": rule, **middle})
    for mine in grouped(rows, "spread", "n").values():
        for row in mine:
            row["ratio"] = row["sfo"] / mine[0]["sfo"]
    summary, body = text_of(rows, size)
    save_figure(given, figure_of(rows))
    publish(given, "When to take a large batch", summary, body, {"runs": rows})


def text_of(rows: list[dict[str, Any]], size: dict[str, Any]) -> tuple[str, str]:
    """The sentence for the README, and the rest."""
    ratios = {rule: [row["ratio"] for row in mine] for (rule,), mine in grouped(rows, "rule").items()}
    spans = [f"{rule} {short(min(r))} to {short(max(r))}" for rule, r in ratios.items() if rule != "shared coin"]
    summary = "SFO to the target, relative to the shared coin, over all settings: " + ", ".join(spans) + "."
    columns = {"spread": "spread", "n": "n", "rule": "rule", "eta": "eta", "iterations": "iterations",
                     "sfo": "SFO", "dip": "first dip",
               "ratio": "SFO / shared coin", "rounds": "rounds"}  # fmt: skip
    body = [
        __doc__.split("\n\n", 2)[2],
        f"Target |grad P| <= {size['epsilon']}; medians over {size['seeds']} seeds; `spread` says how far "
        "components differ.\n",
        table(rows, columns),
        "\nRatios below 1 are cheaper than the paper's shared coin. What a shared coin buys besides: all agents agree "
        "on the number of rounds (K or K'), which coins per agent make impossible unless K = K'.",
    ]
    return summary, "\n".join(body)


def figure_of(rows: list[dict[str, Any]]) -> Any:
    """SFO to the target, by rule."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for (rule,), mine in grouped(rows, "rule").items():
        places = [f"n={row['n']}, spread {row['spread']}" for row in mine]
        figure.add_bar(x=places, y=[row["sfo"] if np.isfinite(row["sfo"]) else None for row in mine], name=rule)
    return figure.update_yaxes(type="log").update_layout(title="SFO to the target")


if __name__ == "__main__":
    main()
