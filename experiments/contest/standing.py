"""What came of it: in each cell and on each axis who is best, who is within its noise, who has lost, and by how much.

The best is the entrant that reaches the target with the most seeds and, of those that do with all, has the least mean
logarithm of the price. Another has lost where the 95 % interval of its price over the best one's, paired by seeds,
excludes 1 from below, or where it misses the target with more seeds than the best one; else it is within noise.
"""

from typing import Any

from contest.search import AXES, price
from intervals import Comparison, compare
from sweeps import grouped, score

Row = dict[str, Any]


def standings(chosen: list[Row], runs: list[Row], entrants: list[str], alone: set[str]) -> list[Row]:
    """A row for each problem, network, axis and entrant: verdict, ratio to the best with its interval, and reach."""
    by = grouped(runs, "problem", "network", "entrant", "parameters")
    cells = dict.fromkeys((row["problem"], row["network"]) for row in chosen if row["network"] != "alone")
    found = []
    for problem, network in cells:
        for axis in AXES:
            priced = {}
            for name in entrants:
                where = "alone" if name in alone else network
                won = [
                    r
                    for r in chosen
                    if (r["problem"], r["network"], r["entrant"], r["axis"]) == (problem, where, name, axis)
                ]
                if won:
                    rows = by[problem, where, name, won[0]["parameters"]]
                    priced[name] = [{"seed": row["seed"], "price": price(row, axis)} for row in rows]
            found += _cell(problem, network, axis, priced, entrants)
    return found


def _cell(problem: str, network: str, axis: str, priced: dict[str, list[Row]], entrants: list[str]) -> list[Row]:
    about = {"problem": problem, "network": network, "axis": axis}
    if not priced:
        return [{**about, "entrant": name, "verdict": "never"} for name in entrants]
    first = min(priced, key=lambda name: score(priced[name], "price"))
    return [{**about, "entrant": name, **_against(priced.get(name), priced[first], name == first)} for name in entrants]


def _against(rows: list[Row] | None, best: list[Row], is_best: bool) -> Row:
    if rows is None:
        return {"verdict": "never", "ratio": None, "low": None, "high": None, "reached": 0}
    reached = sum(row["price"] is not None for row in rows)
    if is_best:
        return {"verdict": "best", "ratio": 1.0, "low": 1.0, "high": 1.0, "reached": reached}
    found = compare(rows, best, "price")
    numbers = {"ratio": found.ratio, "low": found.low, "high": found.high} if found.complete else {}
    missed = reached < sum(row["price"] is not None for row in best)
    verdict = "lost" if missed or found.verdict == "more" else "within noise"
    return {"verdict": verdict, "ratio": None, "low": None, "high": None, **numbers, "reached": reached}


def tally(rows: list[Row], entrant: str, axis: str) -> tuple[int, int, int, int]:
    """In how many cells of an axis an entrant is best, within noise, lost, or never there."""
    mine = [row["verdict"] for row in rows if row["entrant"] == entrant and row["axis"] == axis]
    return tuple(mine.count(one) for one in ("best", "within noise", "lost", "never"))  # type: ignore[return-value]


def said(row: Row) -> str:
    """A verdict for a table."""
    if row["ratio"] is None:
        return f"{row['reached']} of the seeds" if row["reached"] else row["verdict"]
    return str(Comparison(row["ratio"], row["low"], row["high"], 1, 1, 1, 1.0))
