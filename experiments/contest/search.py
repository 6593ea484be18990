"""The same search for every entrant: as many draws, as many more around its best, and the best for each price.

A trial runs until |grad P(x_bar)| stays at most the target (see settled.py), or some number of iterations is over, and
tells what it had spent when that began, on every axis: so one pool of trials serves all prices, and an entrant may
bring another configuration to each. The best few for each axis run with two more seeds before one is chosen. Rounds
are bounded too, at more than what any entrant's defaults spend in that many iterations on these networks. Steps are
drawn from a decade to either side of those with which GT-GDA, on a grid of whole decades and on the complete network,
needs the fewest rounds; the later draws, around the best of the earlier ones, may leave it.
"""

import json
import zlib
from itertools import product
from typing import Any

import numpy as np
from contest.arenas import AGENTS, PRICES, TARGETS, network_of, problem_of
from contest.entrants import KINDS
from contest.settled import Settled
from scipy.stats import qmc
from sweeps import grouped, run_all

import raydream as rd
from raydream.algorithms.facts import Range
from raydream.errors import RaydreamError

Row = dict[str, Any]
AXES = ("sfo", "rounds", "bytes", *PRICES)
RECORD = 2
REHEARSAL = 1000  # the seed of every trial
FEW, AGAIN = 3, (1001, 1002)  # of the best for each axis, and their further seeds
ROUNDS = 8  # of an iteration, at most, on average
SPREAD, TURNS = 10**0.5, 2  # how far from a winner the later draws lie, and in how many turns they are made


def contend(job: Row) -> Row:
    """One run: what was spent when the target was reached, or None."""
    problem = problem_of(job["problem"], job["samples"], 1 if job["network"] == "alone" else AGENTS)
    network, method = network_of(job["network"]), KINDS[job["entrant"]](**job["parameters"])
    start = float(np.linalg.norm(problem.primal_gradient(problem.start()[0])))
    settled, most = Settled("grad_norm", TARGETS[job["problem"]] * start), job["steps"]
    nothing = dict.fromkeys(("sfo", "rounds", "bytes"))
    try:
        result = rd.run(
            problem, network, method, iterations=most, max_rounds=ROUNDS * most, seed=job["seed"], record_every=RECORD,
            backend="local", on_record=settled, progress=False, check=False,
        )  # fmt: skip
    except RaydreamError as error:  # P is not known so far out
        return {**nothing, "outcome": type(error).__name__, "least": None}
    least = float(np.nanmin(result.history.grad_norm)) / start
    if result.outcome != "callback":
        return {**nothing, "outcome": result.outcome, "least": least}
    return {**{name: int(settled.first[name]) for name in nothing}, "outcome": "target", "least": least}


def price(row: Row, axis: str) -> float | None:
    """What a run that reached the target had spent: calls, rounds, bytes, or seconds at one of the price lists."""
    if row["sfo"] is None or axis in row:
        return row.get(axis)
    gradient, message, byte = PRICES[axis]
    links = 1 if row["network"] == "alone" else sum(map(len, network_of(row["network"]).neighbours))
    return row["sfo"] / AGENTS * gradient + row["rounds"] * message + row["bytes"] / links * byte


def centre_of(problem: str, given: Any, **size: Any) -> tuple[float, float]:
    """(eta, gamma) of whole decades with which GT-GDA needs the fewest rounds on the complete network."""
    grid = product((1e-3, 1e-2, 1e-1, 1.0), (1e-1, 1.0, 1e1, 1e2, 1e3))
    base = dict(problem=problem, network="complete", entrant="gt-gda", seed=REHEARSAL, **size)
    rows = run_all(contend, [{**base, "parameters": {"eta": eta, "gamma": gamma}} for eta, gamma in grid], given)
    best = min(rows, key=lambda row: (row["rounds"] is None, row["rounds"] or row["least"] or np.inf))
    return best["parameters"]["eta"], best["parameters"]["gamma"]


def searched(pairs: list[Row], grids: dict[str, dict[str, Any]], given: Any, size: Row) -> list[Row]:
    """Every trial of the search; a pair is an entrant at a problem and a network."""
    centres = {name: centre_of(name, given, **_of(size)) for name in dict.fromkeys(pair["problem"] for pair in pairs)}
    spaces = [_space(grids[pair["entrant"]], *centres[pair["problem"]]) for pair in pairs]
    jobs = [
        {**pair, **_of(size), "parameters": parameters, "seed": REHEARSAL}
        for pair, space in zip(pairs, spaces, strict=True)
        for parameters in draws(pair, space, size["draws"])
    ]
    rows = run_all(contend, jobs, given)
    for turn in range(TURNS):
        found = grouped(rows, "problem", "network", "entrant")
        jobs = [
            {**pair, **_of(size), "parameters": parameters, "seed": REHEARSAL}
            for pair, space in zip(pairs, spaces, strict=True)
            for parameters in near(pair, space, found[tuple(pair.values())], size["further"] // TURNS, turn)
        ]
        rows = rows + run_all(contend, jobs, given)
    return [{**row, "edges": edges} for row, edges in zip(rows, _edges(rows, pairs, spaces), strict=True)]


def draws(pair: Row, space: dict[str, Any], count: int) -> list[Row]:
    """Configurations that fill the space evenly (a scrambled Halton sequence)."""
    points = qmc.Halton(len(space), rng=np.random.default_rng(_seed(pair))).random(count)
    return [{name: _at(v, s) for (name, v), s in zip(space.items(), point, strict=True)} for point in points]


def near(pair: Row, space: dict[str, Any], rows: list[Row], count: int, turn: int) -> list[Row]:
    """Configurations around the best so far for calls, for rounds and for bytes, in turn."""
    generator = np.random.default_rng([*_seed(pair), 1 + turn])
    found = []
    for place in range(count):
        middle = best(rows, AXES[place % 3])["parameters"]
        reach = SPREAD ** (1 / (1 + turn))
        found.append({
            name: float(f"{middle[name] * reach ** generator.uniform(-1, 1):.3g}") if isinstance(values, Range)
            else middle[name] if generator.random() < 0.7 else values[generator.integers(len(values))]
            for name, values in space.items()
        })  # fmt: skip
    return found


def best(rows: list[Row], axis: str) -> Row:
    """The cheapest that reached the target, else the one that came nearest to it."""
    return min(rows, key=lambda row: (price(row, axis) is None, price(row, axis) or row["least"] or np.inf))


def looked_at_again(trials: list[Row], given: Any, size: Row) -> list[Row]:
    """The best few for each axis, with two more seeds: what was lucky once need not be so again."""
    jobs: dict[str, Row] = {}
    for (problem, network, entrant), mine in grouped(trials, "problem", "network", "entrant").items():
        pair = {"problem": problem, "network": network, "entrant": entrant}
        there = [row for row in mine if row["outcome"] == "target"]
        for axis in axes_of(network):
            for row in sorted(there, key=lambda row: price(row, axis))[:FEW]:
                for seed in AGAIN:
                    job = {**pair, **_of(size), "parameters": row["parameters"], "seed": seed}
                    jobs[json.dumps(job)] = job
    return run_all(contend, jobs.values(), given)


def axes_of(network: str) -> tuple[str, ...]:
    """What counts there: one machine has no rounds."""
    return AXES if network != "alone" else ("sfo",)


def chosen(trials: list[Row], again: list[Row]) -> list[Row]:
    """For each pair and axis the configuration with the least median over seeds, if there is one."""
    edges = {_name(row): row["edges"] for row in trials}
    several = [row for row in trials if row["outcome"] == "target"] + again
    found = []
    for (problem, network, entrant), mine in grouped(several, "problem", "network", "entrant").items():
        by_name: dict[str, list[Row]] = {}
        for row in mine:
            by_name.setdefault(_name(row), []).append(row)
        candidates = {name: rows for name, rows in by_name.items() if len(rows) > len(AGAIN)}
        for axis in axes_of(network):
            name = min(candidates, key=lambda name: _median(candidates[name], axis), default=None)
            if name is not None and _median(candidates[name], axis) < np.inf:
                found.append({
                    "problem": problem, "network": network, "entrant": entrant, "axis": axis,
                    "parameters": candidates[name][0]["parameters"], "edges": edges[name],
                })  # fmt: skip
    return found


def _median(rows: list[Row], axis: str) -> float:
    prices = [price(row, axis) for row in rows]
    return float(np.median([np.inf if one is None else one for one in prices]))


def _name(row: Row) -> str:
    return json.dumps([row[name] for name in ("problem", "network", "entrant", "parameters")])


def evaluated(winners: list[Row], given: Any, size: Row) -> list[Row]:
    """Each configuration that won on some axis, with other seeds."""
    names = ("problem", "network", "entrant", "parameters")
    distinct = {json.dumps([w[n] for n in names]): {n: w[n] for n in names} for w in winners}
    jobs = [{**one, **_of(size), "seed": seed} for one in distinct.values() for seed in range(size["seeds"])]
    return run_all(contend, jobs, given)


def _space(grid: dict[str, Any], eta: float, gamma: float) -> dict[str, Any]:
    return {"eta": Range(eta / 10, eta * 10), "gamma": Range(gamma / 10, gamma * 10), **grid}


def _at(values: Any, share: float) -> Any:
    return values.at(share) if isinstance(values, Range) else values[min(int(share * len(values)), len(values) - 1)]


def _seed(pair: Row) -> list[int]:
    return [zlib.crc32(str(value).encode()) for value in pair.values()]


def _of(size: Row) -> Row:
    return {name: size[name] for name in ("samples", "steps")}


def _edges(rows: list[Row], pairs: list[Row], spaces: list[dict[str, Any]]) -> list[str]:
    """Which of a trial's steps lie at an end of all that was tried of its entrant there."""
    tried = grouped(rows, "problem", "network", "entrant")
    ranges = {
        tuple(p.values()): [n for n, v in s.items() if isinstance(v, Range)] for p, s in zip(pairs, spaces, strict=True)
    }
    ends = {
        key: {n: (min(r["parameters"][n] for r in mine), max(r["parameters"][n] for r in mine)) for n in ranges[key]}
        for key, mine in tried.items()
    }
    keys = [(row["problem"], row["network"], row["entrant"]) for row in rows]
    return [
        ", ".join(name for name, pair in ends[key].items() if row["parameters"][name] in pair) or "no"
        for key, row in zip(keys, rows, strict=True)
    ]
