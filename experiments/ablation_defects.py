"""What each defect of the public reference code does to the curves, beside the correct version.

    python experiments/ablation_defects.py [--quick]

Every defect is a small class here, on the same problem, network, steps and seeds as the method that it spoils. The
quadratic games have 8 unlike agents of 64 samples over a ring with self weight 0.9; DREAM runs with b = 8,
p = b/(b + n), q = 1 (q = 1/2 for the biased recursion and its counterpart), K = 3. Dropped duplicates need a problem
in which every sample has its own coordinate of y: robust logistic regression on synthetic data, solved by DM-HSGD with
b = n, where duplicates are common (with DREAM, tried first, the defect showed nothing). One step for all on each
problem.
"""

from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from ablation_coin import OwnCoins
from ablation_projection import ProjectAfter
from sweeps import grouped, median, options, publish, run_all, save_figure, short, table

import raydream as rd
from raydream.algorithms import Tracked
from raydream.problems.quadratic import QuadraticShard
from raydream.topology.mixing import momentum_weight

NAME = "ablation_defects"
SIZES: dict[str, dict[str, Any]] = {
    "full": dict(seeds=3, iterations=1000, samples=64),
    "quick": dict(seeds=2, iterations=500, samples=64),
    "tiny": dict(seeds=1, iterations=120, samples=32),
}


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
            fresh, stale = agents.gradient_pair(Z, s.Z, self.b)
            part = np.array([np.random.default_rng((self.coins, i, t)).random() < self.q for i in agents.hosted])
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
    storm = dict(eta=0.1, gamma=0.5, b=8, b0=64, beta=0.1)
    free, bounded = game(samples, seed), game(samples, seed, True)
    dream = rd.DREAM(**plain)
    often = rd.DMHSGD(eta=0.2, gamma=2.0, b=64, b0=None, beta=0.1)
    pairs = {
        "wrong shards": ((free, dream), (WrongShards(free), dream)),
        "FastMix forgets": ((free, dream), (free, ForgetfulMix(**plain))),
        "FastMix forgets, gossip as reference": (
            (free, rd.DREAM(**plain, mixing="gossip")), (free, ForgetfulMix(**plain)),
        ),
        "biased 1/q recursion": ((free, rd.DREAM(**plain, q=0.5)), (free, BiasedRecursion(**plain, q=0.5, coins=seed))),
        "coins per agent": ((free, dream), (free, OwnCoins(**plain, coins=seed))),
        "DM-HSGD without tracking": ((free, rd.DMHSGD(**storm)), (free, Untracked(**storm))),
        "projection after mixing": ((bounded, dream), (bounded, ProjectAfter(**plain))),
        "dropped duplicates, DM-HSGD": ((logistic(seed), often), (DroppedDuplicates(logistic(seed)), often)),
    }  # fmt: skip
    return dict(zip(("correct", "defect"), pairs[defect], strict=True))


DEFECTS = (
    "wrong shards", "FastMix forgets", "FastMix forgets, gossip as reference", "biased 1/q recursion",
    "coins per agent", "DM-HSGD without tracking", "projection after mixing", "dropped duplicates, DM-HSGD",
)  # fmt: skip


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """One run of one version; the curve is |grad P| at twenty records."""
    problem, method = pair(job["defect"], job["samples"], job["seed"])[job["version"]]
    result = rd.run(
        problem, rd.topology.ring(8, self_weight=0.9), method, iterations=job["iterations"], seed=job["seed"],
        record_every=job["iterations"] // 20, backend="local", progress=False,
    )  # fmt: skip
    history = result.history
    norms = [float(value) if np.isfinite(value) else None for value in history.grad_norm]
    return {
        "outcome": result.outcome,
        "start": norms[0], "end": norms[-1] if result.outcome != "diverged" else None,
        "moved": float(np.abs(result.x_bar - problem.start()[0]).max()) if result.outcome != "diverged" else None,
        "consensus": float(history.consensus.iloc[-1]) if np.isfinite(history.consensus.iloc[-1]) else None,
        "sfo": int(history.sfo.iloc[-1]), "curve": norms, "at": [int(t) for t in history.iteration],
    }  # fmt: skip


def main() -> None:
    given = options(NAME, __doc__)
    size = SIZES[given.size]
    jobs = [
        dict(defect=defect, version=version, seed=seed, iterations=size["iterations"], samples=size["samples"])
        for defect in DEFECTS for version in ("correct", "defect") for seed in range(size["seeds"])
    ]  # fmt: skip
    found = run_all(measure, jobs, given)
    rows = []
    for (defect, version), mine in grouped(found, "defect", "version").items():
        middle = {name: median(mine, name) for name in ("start", "end", "moved", "consensus", "sfo")}
        rows.append({"defect": defect, "version": version, **middle})
    curves = [
        {"defect": defect, "version": version, "seed": seed, "iteration": t, "grad_norm": norm}
        for (defect, version, seed), (row,) in grouped(found, "defect", "version", "seed").items()
        for t, norm in zip(row["at"], row["curve"], strict=True)
    ]
    summary, body = text_of(rows, size)
    save_figure(given, figure_of(found))
    publish(given, "Defects of the public reference code", summary, body, {"runs": rows, "curves": curves})


def text_of(rows: list[dict[str, Any]], size: dict[str, Any]) -> tuple[str, str]:
    """The sentence for the README, and the rest."""
    said, lines = [], []
    for (defect,), (right, wrong) in grouped(rows, "defect").items():
        said.append(f"{defect} {short(right['end'])} → {_end(wrong)}")
        lines.append({"defect": defect, "start": right["start"], "correct": right["end"], "spoilt": _end(wrong),
                      "moved": wrong["moved"], "apart": f"{short(right['consensus'])} → {short(wrong['consensus'])}",
                      "sfo": f"{short(right['sfo'])} → {short(wrong['sfo'])}"})  # fmt: skip
    summary = f"|grad P| after {size['iterations']} iterations, correct → spoilt: " + "; ".join(said) + "."
    columns = {"defect": "defect", "start": "start", "correct": "correct", "spoilt": "spoilt",
               "moved": "x moved (spoilt)", "apart": "squared disagreement", "sfo": "SFO"}  # fmt: skip
    body = [
        __doc__.split("\n\n", 2)[2],
        f"|grad P| at the mean iterate after {size['iterations']} iterations, medians over {size['seeds']} seeds:\n",
        table(lines, columns),
        "\nA defect whose two ends are alike did no harm in this setting, which need not hold in "
        "others. The curves are in the CSV file.",
    ]
    return summary, "\n".join(body)


def _end(row: dict[str, Any]) -> str:
    return "diverges" if not np.isfinite(row["end"]) else short(row["end"])


def figure_of(found: list[dict[str, Any]]) -> Any:
    """|grad P| of both versions, one panel per defect."""
    from plotly.subplots import make_subplots

    figure = make_subplots(2, 4, subplot_titles=DEFECTS)
    colours = {"correct": "#2ca02c", "defect": "#d62728"}
    for row in found:
        place = DEFECTS.index(row["defect"])
        figure.add_scatter(
            x=row["at"], y=row["curve"], name=row["version"], legendgroup=row["version"],
            showlegend=place == 0 and row["seed"] == 0, line_color=colours[row["version"]], opacity=0.6,
            row=place // 4 + 1, col=place % 4 + 1,
        )  # fmt: skip
    return figure.update_yaxes(type="log").update_layout(title="|grad P|, correct and spoilt", height=800)


if __name__ == "__main__":
    main()
