"""What each defect of the public reference code does to the curves, beside the correct version.

    python experiments/ablation_defects.py [--quick]

Every defect is a small class here, on the same problem, network, steps and seeds as the method that it spoils. The
quadratic games have 8 unlike agents of n samples over a ring with self weight 0.9; DREAM runs with b = 8, K = 3,
p = b q/(b q + n), q = 1 (q = 1/2 for the biased recursion and its counterpart). Dropped duplicates need a problem
in which every sample has its own coordinate of y: robust logistic regression on synthetic data, solved by DM-HSGD with
b = n, where duplicates are common, and by DREAM. The steps are the same for both versions and were not tuned. Where any
run of either version reaches the target, the iterations to it are compared, else the geometric means of |grad P| over
the last quarter of the run.
"""

from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from ablation_coin import OwnCoins
from ablation_projection import ProjectAfter
from intervals import Comparison, compare, tally, typical
from sweeps import grouped, options, run_all, save_figure
from texts import Row, Tables, publish, short, table

import raydream as rd
from raydream.algorithms import Tracked
from raydream.problems.quadratic import QuadraticShard
from raydream.topology.mixing import momentum_weight

NAME, TITLE = "ablation_defects", "Defects of the public reference code"
COLUMNS = ("defect", "version", "seed", "outcome", "start", "level", "moved", "apart", "iterations", "sfo", "spent")
SIZES: dict[str, dict[str, Any]] = {
    "full": dict(seeds=8, iterations=1000, samples=64, target=1e-6),
    "quick": dict(seeds=1, iterations=120, samples=32, target=1e-1),
}
RECORDS, CURVES = 200, 3  # records of a run, and of how many seeds the curves are kept


class WrongShards:
    """Agent r takes the samples 0, r, 2r, ... of the whole data, so that agent 0 owns one sample n times."""

    def __init__(self, game: Any) -> None:
        self._game = game

    def __getattr__(self, name: str) -> Any:
        return getattr(self._game, name)

    def local(self, i: int) -> QuadraticShard:
        components = self._game.components.flattened()[np.arange(self._game.samples) * i]
        return QuadraticShard(components, components.mean(), self._game.penalty)


class DroppedDuplicates:
    """The y-gradient of a batch counts a sample that was drawn twice once, as `grad[batch] += loss` does."""

    def __init__(self, problem: Any) -> None:
        self._problem = problem

    def __getattr__(self, name: str) -> Any:
        return getattr(self._problem, name)

    def local(self, i: int) -> Any:
        shard = self._problem.local(i)

        def gradient(x: Any, y: Any, batch: Any = None) -> Any:
            gx, gy = shard.gradient(x, y, batch)
            if batch is None:
                return gx, gy
            once = np.unique(batch)
            _, rare = shard.gradient(x, y, once)
            deterministic = shard.radius / shard.total - y  # what remains of the y-gradient without the losses
            return gx, deterministic + (rare - deterministic) * (len(once) / len(batch))

        return SimpleNamespace(samples=shard.samples, value=shard.value, gradient=gradient)


@dataclass(frozen=True, kw_only=True)
class ForgetfulMix(rd.DREAM):
    """FastMix whose previous iterate is overwritten by the new one: ((1 + eta_a) W - eta_a I)^K."""

    def mix(self, V, rounds, agents):
        weight = momentum_weight(agents.network.lam, self.momentum)
        for _ in range(rounds or 0):
            heard = yield V
            V = (1 + weight) * heard - weight * V
        return V


@dataclass(frozen=True, kw_only=True)
class BiasedRecursion(rd.DREAM):
    """1/q on the old estimate too: g+ = G(z+) + (g - G(z))/q for those who take part, g+ = g for the others."""

    coins: int = 0

    def step(self, s, agents, t, coin):
        Z = agents.project(agents.descend_ascend(s.Z, s.S, self.eta, self.gamma))
        Z = yield from self.mix(Z, self.K, agents)
        if coin:
            G = agents.gradient(Z)
        else:
            billed = agents.sfo
            fresh, stale = agents.gradient_pair(Z, s.Z, self.b)
            part = np.array([np.random.default_rng((self.coins, i, t)).random() < self.q for i in agents.hosted])
            agents.sfo = billed + 2 * self.b * int(part.sum())  # the others ask for nothing
            G = np.where(part[:, None], fresh + (s.G - stale) / self.q, s.G)
        S = yield from self.mix(s.S + G - s.G, self.K_large if coin else self.K, agents)
        return Tracked(Z, G, S)


@dataclass(frozen=True, kw_only=True)
class Untracked(rd.DMHSGD):
    """DM-HSGD whose tracker starts at 0 and is never updated."""

    def init(self, agents):
        Z = agents.start()
        return Tracked(Z, agents.gradient(Z, self.b0), np.zeros_like(Z))

    def step(self, s, agents, t, coin):
        program = super().step(s, agents, t, coin)
        state = yield from program
        return Tracked(state.Z, state.G, s.S)


@cache
def game(samples: int, seed: int, ball: bool = False) -> Any:
    constraint = rd.constraints.Ball(0.5) if ball else None
    return rd.problems.QuadraticGame.random(
        agents=8, samples=samples, heterogeneity=0.5, spread=0.5, constraint=constraint, seed=seed
    )


@cache
def logistic(seed: int) -> Any:
    features, labels = rd.data.load("synthetic", samples=512, features=20, seed=seed)
    return rd.problems.RobustLogisticRegression(features, labels, agents=8)


def pair(defect: str, samples: int, seed: int) -> dict[str, tuple[Any, Any]]:
    """{"correct": (problem, method), "defect": (problem, method)}."""
    plain = dict(eta=0.1, gamma=0.5, b=8, K=3)
    thin = dict(**plain, q=0.5, p=4 / (4 + samples))
    storm = dict(eta=0.1, gamma=0.5, b=8, b0=64, beta=0.1)
    free, bounded = game(samples, seed), game(samples, seed, True)
    dream = rd.DREAM(**plain)
    seldom = rd.DREAM(eta=0.2, gamma=2.0, b=8, K=3)
    often = rd.DMHSGD(eta=0.2, gamma=2.0, b=64, b0=None, beta=0.1)
    pairs = {
        "wrong shards": ((free, dream), (WrongShards(free), dream)),
        "FastMix forgets": ((free, dream), (free, ForgetfulMix(**plain))),
        "FastMix forgets, gossip as reference": (
            (free, rd.DREAM(**plain, mixing="gossip")), (free, ForgetfulMix(**plain)),
        ),
        "biased 1/q recursion": ((free, rd.DREAM(**thin)), (free, BiasedRecursion(**thin, coins=seed))),
        "coins per agent": ((free, dream), (free, OwnCoins(**plain, coins=seed))),
        "DM-HSGD without tracking": ((free, rd.DMHSGD(**storm)), (free, Untracked(**storm))),
        "projection after mixing": ((bounded, dream), (bounded, ProjectAfter(**plain))),
        "dropped duplicates, DM-HSGD": ((logistic(seed), often), (DroppedDuplicates(logistic(seed)), often)),
        "dropped duplicates, DREAM": ((logistic(seed), seldom), (DroppedDuplicates(logistic(seed)), seldom)),
    }  # fmt: skip
    return dict(zip(("correct", "defect"), pairs[defect], strict=True))


DEFECTS = (
    "wrong shards", "FastMix forgets", "FastMix forgets, gossip as reference", "biased 1/q recursion",
    "coins per agent", "DM-HSGD without tracking", "projection after mixing", "dropped duplicates, DM-HSGD",
    "dropped duplicates, DREAM",
)  # fmt: skip


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """One run of one version: what it cost to reach the target, if it did, where it ended, and its curve."""
    problem, method = pair(job["defect"], job["samples"], job["seed"])[job["version"]]
    result = rd.run(
        problem, rd.topology.ring(8, self_weight=0.9), method, iterations=job["iterations"], seed=job["seed"],
        record_every=max(1, job["iterations"] // RECORDS), backend="local", check=False, progress=False,
    )  # fmt: skip
    history, diverged = result.history, result.outcome == "diverged"
    first, last = history[history.grad_norm <= job["target"]], history.grad_norm[-(len(history) // 4) :]
    shown = history.iloc[:: max(1, len(history) // 20)]
    return {
        "outcome": result.outcome,
        "start": float(history.grad_norm.iloc[0]),
        "level": None if diverged else float(np.exp(np.log(last).mean())),
        "moved": None if diverged else float(np.abs(result.x_bar - problem.start()[0]).max()),
        "apart": None if diverged else float(history.consensus.iloc[-1]),
        "iterations": None if first.empty else int(first.iteration.iloc[0]),
        "sfo": None if first.empty else int(first.sfo.iloc[0]),
        "spent": int(history.sfo.iloc[-1]),
        "curve": [[int(t), float(norm)] for t, norm in zip(shown.iteration, shown.grad_norm, strict=True)],
    }


def main() -> None:
    given = options(NAME, __doc__)
    size = SIZES[given.size]
    limits = {name: size[name] for name in ("iterations", "samples", "target")}
    jobs = [
        dict(defect=defect, version=version, seed=seed, **limits)
        for defect in DEFECTS for version in ("correct", "defect") for seed in range(size["seeds"])
    ]  # fmt: skip
    found = run_all(measure, jobs, given)
    curves = [
        {"defect": row["defect"], "version": row["version"], "seed": row["seed"], "iteration": t, "grad_norm": norm}
        for row in found if row["seed"] < CURVES for t, norm in row["curve"] if np.isfinite(norm)
    ]  # fmt: skip
    tables = {
        "setting": [
            {"n": size["samples"], "seeds": size["seeds"], "length": size["iterations"], "target": size["target"]}
        ],
        "runs": [{name: row[name] for name in COLUMNS} for row in found],
        "curves": curves,
    }
    save_figure(given, figure_of(publish(given, TITLE, text_of, tables)))


def versions(runs: list[Row]) -> dict[str, tuple[list[Row], list[Row]]]:
    """{defect: (correct runs, spoilt runs)}."""
    parts = grouped(runs, "defect", "version")
    return {
        defect: (mine, parts[defect, "defect"]) for (defect, version), mine in parts.items() if version == "correct"
    }


def spoilt_over_correct(runs: list[Row], cost: str) -> dict[str, Comparison]:
    """By defect, of those in which some run reached the target, or for "level", of those in which none did."""
    found = {}
    for defect, (right, wrong) in versions(runs).items():
        reached = any(row["iterations"] is not None for row in right + wrong)
        if reached == (cost != "level"):
            found[defect] = compare(wrong, right, cost)
    return found


def text_of(tables: Tables) -> tuple[str, str]:
    """The sentence for the README, and the rest."""
    runs, (setting,) = tables["runs"], tables["setting"]
    iterations, sfo, level = (spoilt_over_correct(runs, cost) for cost in ("iterations", "sfo", "level"))
    summary = (
        f"Iterations to |grad P| <= {setting['target']:g}, spoilt over correct: {tally(iterations)}. Where no run "
        f"reaches it, |grad P| over the last quarter of {setting['length']} iterations, spoilt over correct: "
        f"{tally(level, 'lower', 'higher')}."
    )
    lines = []
    for defect, (right, wrong) in versions(runs).items():
        said = iterations[defect].told() if defect in iterations else level[defect].told("lower", "higher")
        lines.append(
            {"defect": defect, "start": _middle(right, "start"), "ratio": said,
             "sfo": sfo[defect].told() if defect in sfo else "–", "moved": _middle(wrong, "moved"),
             **{name: f"{_middle(right, name)} → {_middle(wrong, name)}" for name in ("iterations", "level", "apart")}}
        )  # fmt: skip
    columns = {"defect": "defect", "iterations": "iterations", "level": "level", "ratio": "ratio",
               "sfo": "ratio of SFO", "start": "start", "moved": "x moved (spoilt)",
               "apart": "squared disagreement"}  # fmt: skip
    body = [
        __doc__.split("\n\n", 2)[2],
        f"n = {setting['n']}; medians over {setting['seeds']} seeds, correct → spoilt. `iterations` and SFO are those "
        f"to |grad P| <= {setting['target']:g} at the mean iterate, `level` is |grad P| over the last quarter of "
        f"{setting['length']} iterations, `ratio` spoilt over correct, of iterations or else of levels, with 95 % "
        "intervals, each of which holds on its own:\n",
        table(lines, columns),
        "\nA defect that did no harm in this setting may do some in others. Curves of the first seeds are in the CSV "
        "file.",
    ]
    return summary, "\n".join(body)


def _middle(rows: list[Row], name: str) -> str:
    """The median, or how many runs have none."""
    if name == "iterations":
        value = typical(rows, name)[name]
        return value if isinstance(value, str) else short(value)
    lost = sum(row[name] is None for row in rows)
    return f"{lost} of {len(rows)} diverged" if lost else short(float(np.median([row[name] for row in rows])))


def figure_of(tables: Tables) -> Any:
    """|grad P| of both versions, one panel per defect."""
    from plotly.subplots import make_subplots

    figure = make_subplots(3, 3, subplot_titles=DEFECTS)
    colours = {"correct": "#2ca02c", "defect": "#d62728"}
    for (defect, version, seed), mine in grouped(tables["curves"], "defect", "version", "seed").items():
        place = DEFECTS.index(defect)
        figure.add_scatter(
            x=[row["iteration"] for row in mine], y=[row["grad_norm"] for row in mine], name=version,
            legendgroup=version, showlegend=place == seed == 0, line_color=colours[version], opacity=0.6,
            row=place // 3 + 1, col=place % 3 + 1,
        )  # fmt: skip
    figure.update_yaxes(type="log", exponentformat="power")
    return figure.update_layout(title="|grad P|, correct and spoilt", height=900)


if __name__ == "__main__":
    main()
