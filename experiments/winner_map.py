"""Who wins where on the paper's problem: which method is first to a given P, over what gradients and messages cost.

Simulated time is a function of what a run has spent, so that one set of runs answers for every network of agents that
are alike. A map over prices is fair only if each method may bring to each price a configuration that was looked for to
be first to this target there: of every method the winners of figures 1 and 2 and as many draws from the ranges of
figure 1 are tried with one seed, and as many more around the best of them; the best three for SFO calls, for rounds and
for bytes run with two more seeds, those with the least medians with ten others, and the method counts at each price
with the one that has the least median there. The target on each data set is the least P, rounded up to three digits,
that every method came to by the median of ten seeds in one of these figures. It counts as reached where P stays that
low for ten iterations and a tenth of those that it took, with y so near to its best response that the gap is less than
what P has gained: at a swing it is not. A run ends then, or when it has spent twice the budgets of both figures: what
it would have taken is not known in this case, only that it is more. First is who has the least
median of time over seeds. Its lead is called decided where it got there on all seeds and the 95 % interval of the
paired ratios excludes 1 for every other method; a run that did not get there counts with what it had taken when it
ended.
"""

import json
import math
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from contest.search import AGAIN, FEW, REHEARSAL, TURNS, draws, near
from contest.settled import Settled
from plotly.subplots import make_subplots
from sweeps import grouped, options, run_all
from texts import FINDINGS, publish, read_tables, table

import raydream as rd
from raydream.algorithms.facts import Range
from raydream.report.figures.regions import Grid
from raydream.report.figures.winner_map import layer, scale
from raydream.report.theme import colour
from raydream.specs import build_method
from raydream.studies.places import PLACES, SPANS, duration, pace
from raydream.studies.winners import FOREVER, Reach, Reaching, Spent, Times, table_of, winners

Row = dict[str, Any]
TITLE = "Who wins where on the paper's problem"
HERE = Path(__file__).resolve().parent
FIGURES = {"sfo": ("figure_1_sfo", "figure_1_balanced"), "rounds": ("figure_2_rounds", "figure_2_balanced")}
TWICE = 2  # the budget of its figure
SIZES: dict[str, Row] = {"full": dict(draws=16, further=8, seeds=10), "quick": dict(draws=1, further=0, seeds=3)}
AGENTS = 8
AXES = {"sfo": "SFO calls", "rounds": "rounds", "bytes": "bytes sent"}
COUNTS = {"sfo": "SFO calls", "rounds": "rounds", "bytes": "bytes sent", "iteration": "iterations"}
LINKS = (1e10, 1e7, 1e6)  # bytes per second, of the columns of the picture
POINTS = 101


def problem_of(data: str) -> Any:
    """The paper's problem with the balanced scaling, as in the figures; the synthetic one is small."""
    about = tomllib.loads((HERE / "studies" / "figure_1_balanced.toml").read_text())["problem"][0]
    small = {"samples": 320, "features": 12} if data == "synthetic" else {}
    features, labels = rd.data.load(data, **small)
    return rd.problems.RobustLogisticRegression(
        features, labels, agents=about["agents"], scaling=about["scaling"], theta=about["theta"]
    )


_problem = cache(problem_of)


def pairs_of(quick: bool) -> list[Row]:
    """Every method on every data set, with its target and its limits; the quick ones on small synthetic data."""
    tuned = _figures()
    pairs = []
    for data, target in _targets(tuned).items():
        most = {f"max_{by}": int(TWICE * _budget(tuned[by], study, data)) for by, (_, study) in FIGURES.items()}
        pairs += [{"data": data, "target": target, "method": method, **most} for method in spaces()]
    if not quick:
        return pairs
    small = {"data": "synthetic", "target": 0.62, "max_sfo": 6000, "max_rounds": 40}
    return [{**pair, **small} for pair in pairs if pair["data"] == "a9a"]


def spaces() -> dict[str, dict[str, Any]]:
    """What is searched of each method: the ranges and lists of figure 1."""
    given = tomllib.loads((HERE / "studies" / "figure_1_balanced.toml").read_text())["method"]
    return {one["name"]: {name: _values(of) for name, of in one.items() if name != "name"} for one in given}


def _values(of: Any) -> Any:
    return Range(**of) if isinstance(of, dict) else tuple(None if value == "none" else value for value in of)


def known(pair: Row) -> list[Row]:
    """The configurations that won in the figures; on other data those of a9a."""
    data = "a9a" if pair["data"] == "synthetic" else pair["data"]
    tuned = _figures()
    rows = [row for by, (_, study) in FIGURES.items() for row in tuned[by]["tuned"] if row["study"] == study]
    return [json.loads(row["parameters"]) for row in rows if (row["cell"], row["method"]) == (data, pair["method"])]


def searched(pairs: list[Row], size: Row, given: Any) -> list[Row]:
    """Every trial: what is known, draws, and in turns more around the best."""
    every = spaces()
    rows = _tried([(pair, known(pair) + draws(pair, every[pair["method"]], size["draws"])) for pair in pairs], given)
    for turn in range(TURNS if size["further"] else 0):
        found = grouped(rows, "data", "method")
        count = size["further"] // TURNS
        more = [
            (pair, near(pair, every[pair["method"]], found[pair["data"], pair["method"]], count, turn))
            for pair in pairs
        ]
        rows += _tried(more, given)
    return rows


def _tried(chosen: list[tuple[Row, list[Row]]], given: Any, seed: int = REHEARSAL) -> list[Row]:
    """One run of each configuration; what did not get there has no price."""
    jobs = [
        {**pair, "tuned_for": "", "parameters": json.dumps(parameters), "seed": seed}
        for pair, several in chosen
        for parameters in several
    ]
    rows = run_all(measured, jobs, given)
    nothing = dict.fromkeys(COUNTS)
    return [
        {
            **row,
            **({} if row["reached"] else nothing),
            "parameters": json.loads(row["parameters"]),
            "least": row["primal"],
        }
        for row in rows
    ]


def looked_at_again(trials: list[Row], pairs: list[Row], given: Any) -> list[Row]:
    """The trials, and the best few of each pair with two more seeds: what was lucky once need not be so again."""
    few = [(pair, _promising(mine)) for pair, mine in zip(pairs, _of_pairs(trials, pairs), strict=True)]
    return trials + [row for seed in AGAIN for row in _tried(few, given, seed)]


def chosen(trials: list[Row], pairs: list[Row]) -> list[Row]:
    """For each pair the configurations with the fewest calls, rounds and bytes by the median, of those most often run.

    Each comes with what it is the best for.
    """
    jobs = []
    for pair, mine in zip(pairs, _of_pairs(trials, pairs), strict=True):
        runs: dict[str, list[Row]] = {}
        for row in mine:
            runs.setdefault(json.dumps(row["parameters"]), []).append(row)
        most = max(map(len, runs.values()))
        known = {words: rows for words, rows in runs.items() if len(rows) == most}
        best: dict[str, list[str]] = {}
        for axis, name in AXES.items():
            words = min(known, key=lambda words: _median(known[words], axis))
            best.setdefault(words, []).append(name)
        jobs += [{**pair, "tuned_for": ", ".join(of), "parameters": words} for words, of in best.items()]
    return jobs


def _of_pairs(rows: list[Row], pairs: list[Row]) -> list[list[Row]]:
    found = grouped(rows, "data", "method")
    return [found[pair["data"], pair["method"]] for pair in pairs]


def _promising(mine: list[Row]) -> list[Row]:
    """The best few for each axis; where none got there, the nearest."""
    there = [row for row in mine if row["reached"]]
    few = [row for axis in AXES for row in sorted(there, key=lambda row: row[axis])[:FEW]]
    found = few or [min(mine, key=lambda row: row["least"])]
    return list({json.dumps(row["parameters"]): row["parameters"] for row in found}.values())


def _median(rows: list[Row], axis: str) -> float:
    return float(np.median([np.inf if row[axis] is None else row[axis] for row in rows]))


@cache
def _figures() -> dict[str, Any]:
    return {by: read_tables(FINDINGS, script) for by, (script, _) in FIGURES.items()}


def _budget(tables: Any, study: str, data: str) -> float:
    return float(next(row["budget"] for row in tables["runs"] if (row["study"], row["cell"]) == (study, data)))


def _targets(tuned: dict[str, Any]) -> dict[str, float]:
    """By data set the least P that every method came to by its median, in the figure in which it came further."""
    reached: dict[str, dict[str, list[float]]] = {}
    for by, (_, study) in FIGURES.items():
        mine = [row for row in tuned[by]["runs"] if row["study"] == study]
        for (cell, method), rows in grouped(mine, "cell", "method").items():
            median = float(np.median([row["primal"] for row in rows]))
            reached.setdefault(cell, {}).setdefault(method, []).append(median)
    return {cell: math.ceil(1000 * max(map(min, of.values()))) / 1000 for cell, of in reached.items()}


def measured(job: dict[str, Any]) -> dict[str, Any]:
    """One run to the target, or until it has spent both limits: what it had spent there."""
    result, settled = _run(job, "rounds")
    if result.outcome == "budget" and result.history.sfo.iloc[-1] < job["max_sfo"]:
        result, settled = _run(job, "sfo")  # the same run, and further
    reached = result.outcome == "callback"
    last = pd.Series(settled.first) if reached else result.history.iloc[-1]
    return {
        "reached": reached, "diverged": result.outcome == "diverged",
        **{name: int(last[name]) for name in ("iteration", "sfo", "rounds", "messages", "bytes")},
        "started": float(result.history.primal.iloc[0]), "primal": float(last.primal), "dual_gap": float(last.dual_gap),
    }  # fmt: skip


def _run(job: dict[str, Any], limit: str) -> tuple[Any, Settled]:
    problem = _problem(job["data"])
    method = build_method(job["method"], json.loads(job["parameters"]))
    settled = Settled("primal", job["target"])
    result = rd.run(
        problem, rd.topology.ring(problem.agents, self_weight=0.999), method, iterations=10**9, seed=job["seed"],
        record_every=1, backend="local", on_record=settled, progress=False,
        **{f"max_{limit}": job[f"max_{limit}"]},
    )  # fmt: skip
    return result, settled


class Best:
    """Every method with that of its configurations which has the least median at each price."""

    def __init__(self, rows: list[Row]) -> None:
        self.methods = list(dict.fromkeys(row["method"] for row in rows))
        self.seeds = sorted({row["seed"] for row in rows})
        self._each = {
            (method, by): Reaching({(method, row["seed"]): _reach(row) for row in mine})
            for (method, by), mine in grouped(rows, "method", "tuned_for").items()
        }

    def times(self, gradient_seconds: Any, latency: Any, bandwidth: float) -> Times:
        """Seconds to the target: methods, seeds, prices."""
        found = []
        for method in self.methods:
            several = [
                one.times(gradient_seconds, latency, bandwidth) for (m, _), one in self._each.items() if m == method
            ]
            medians = np.stack([winners(one).medians[0] for one in several])
            chosen = np.argmin(medians, axis=0)
            found.append([np.choose(chosen, [part[0] for part in parts]) for parts in zip(*several, strict=True)])
        reached, least = (np.stack(parts) for parts in zip(*found, strict=True))
        return Times(reached, least)


def _reach(row: Row) -> Reach:
    """What a run had spent, of one agent and on one link."""
    links = row["messages"] / row["rounds"] if row["rounds"] else 1.0
    spent = Spent(row["sfo"] / AGENTS, float(row["rounds"]), row["bytes"] / links)
    return Reach(FOREVER if row["diverged"] else spent, row["reached"])


def text_of(tables: dict[str, list[Row]]) -> tuple[str, str]:
    """Who is first at the usual places, as far as the seeds decide it, and the numbers behind it."""
    sentences, parts = [], []
    for (data, target), rows in grouped(tables["runs"], "data", "target").items():
        entrants = Best(rows)
        places = [_at(entrants, name) for name in PLACES]
        said = "; ".join(f"{name}: {_said(found)}" for name, found in zip(PLACES, places, strict=True))
        sentences.append(f"{data}, first to P <= {target:g}: {said}.")
        parts.append(f"\n## {data}: P <= {target:g}\n\n{_places(places)}\n\n{_shares(entrants)}\n\n{_spent(rows)}")
    prices = "; ".join(
        f"{name}: {duration(one.gradient_seconds)} for a gradient, {duration(one.latency)} for a message, "
        f"{pace(one.bandwidth)} on a link" for name, one in PLACES.items()
    )  # fmt: skip
    body = [__doc__.split("\n\n", 1)[1], f"The places: {prices}.\n", "\n".join(f"- {one}" for one in sentences), *parts]
    return " ".join(sentences), "\n".join(body)


def _at(entrants: Best, name: str) -> Row:
    place = PLACES[name]
    found = table_of(entrants, np.array([place.gradient_seconds]), np.array([place.latency]), [place.bandwidth]).iloc[0]  # type: ignore[arg-type]
    row: Row = {"place": name, **found.to_dict()}
    return row


def _said(row: Row) -> str:
    if not row["winner"]:
        return "nobody"
    lead = f"{row['ratio']:.2f} times as fast as {row['second']}" if row["second"] else "no other gets there"
    who = row["winner"] if row["decided"] else f"not decided, {row['winner']} has the least median"
    return f"{who} ({duration(row['seconds'])}, {lead}, first on {100 * row['agree']:.0f} % of seeds)"


def _places(rows: list[Row]) -> str:
    shown = [
        {
            "place": row["place"], "winner": row["winner"] or "nobody", "after": duration(row["seconds"]),
            "second": row["second"] or "nobody", "ratio": f"{row['ratio']:.3g}", "agree": f"{100 * row['agree']:.0f} %",
            "decided": "yes" if row["decided"] else "no",
        } for row in rows
    ]  # fmt: skip
    names = {"place": "place", "winner": "least median", "after": "after", "second": "second",
             "ratio": "times as fast as the second", "agree": "first on", "decided": "decided"}  # fmt: skip
    return table(shown, names)


def _shares(entrants: Best) -> str:
    """Of the map, on its logarithmic axes: where each method has the least median, and where that is decided."""
    shown = []
    calls, wait = (np.geomspace(*SPANS[name], 41) for name in ("gradient_seconds", "latency"))
    for link in LINKS:
        found = table_of(entrants, calls, wait, [link])  # type: ignore[arg-type]
        parts = []
        for method in entrants.methods:
            won = found.winner == method
            if won.any():
                parts.append(f"{method} {100 * won.mean():.0f} % ({100 * (won & found.decided).mean():.0f} % decided)")
        shown.append({"link": pace(link), "shares": ", ".join(parts)})
    return table(shown, {"link": "a link carries", "shares": "share of the map with the least median"})


def _spent(rows: list[Row]) -> str:
    shown = []
    for (method, by, words), mine in grouped(rows, "method", "tuned_for", "parameters").items():
        there = [row for row in mine if row["reached"]]
        medians = {name: float(np.median([row[name] for row in there])) if there else None for name in COUNTS}
        said = " ".join(f"{name}={value}" for name, value in json.loads(words).items())
        reached = f"{len(there)} of {len(mine)}"
        shown.append({"method": method, "by": by, "reached": reached, **medians, "parameters": said})
    names = {
        "method": "method",
        "by": "best of its trials in",
        "reached": "reached",
        **COUNTS,
        "parameters": "parameters",
    }
    return table(shown, names)


def figure(rows: list[Row]) -> Any:
    """A map for each data set and bandwidth."""
    cells = list(grouped(rows, "data", "target").items())
    titles = [f"{data}, P ≤ {target:g}; a link carries {pace(link)}" for (data, target), _ in cells for link in LINKS]
    page = make_subplots(rows=len(cells), cols=len(LINKS), subplot_titles=titles, shared_xaxes=True, shared_yaxes=True,
                         horizontal_spacing=0.025, vertical_spacing=0.16 / (len(cells) + 1))  # fmt: skip
    grid = Grid(np.geomspace(*SPANS["latency"], POINTS), np.geomspace(*SPANS["gradient_seconds"], POINTS))
    for row, (_, mine) in enumerate(cells, 1):
        entrants = Best(mine)
        colours = {method: colour(method) for method in entrants.methods}
        for place, link in enumerate(LINKS, 1):
            found = table_of(entrants, grid.y, grid.x, [link])  # type: ignore[arg-type]
            page.add_traces(layer(found, grid, entrants, colours, link, False), rows=row, cols=place)
    across, up = scale(grid.x, ""), scale(grid.y, "")
    every = {"tickvals": across["tickvals"][::2], "ticktext": across["ticktext"][::2]}
    page.update_xaxes(**{**across, **every, "title": None}).update_yaxes(**{**up, "title": None})
    page.update_xaxes(title_text="a message takes", row=len(cells)).update_yaxes(title_text="a gradient costs", col=1)
    page.update_annotations(font_size=14)
    said = "Which method is first: the deeper the colour the further ahead, hatched where ten seeds do not decide it"
    return page.update_layout(
        template="plotly_white", width=1350, height=370 * len(cells) + 90, showlegend=False,
        title={"text": said, "x": 0.055, "font": {"size": 17}}, margin={"l": 80, "r": 20, "t": 90, "b": 60},
    )  # fmt: skip


def main() -> None:
    """All runs, their text, and the picture."""
    given = options("winner_map", __doc__)
    size, pairs = SIZES[given.size], pairs_of(given.size == "quick")
    ready = chosen(looked_at_again(searched(pairs, size, given), pairs, given), pairs)
    runs = run_all(measured, [{**one, "seed": seed} for one in ready for seed in range(size["seeds"])], given)
    tables = publish(given, TITLE, text_of, {"setting": [{"agents": AGENTS, **size}], "runs": runs})
    drawn = figure(tables["runs"])
    drawn.write_html(given.out / "figure.html")
    if given.size == "full":
        drawn.write_image(FINDINGS / "winner_map.png")


if __name__ == "__main__":
    main()
