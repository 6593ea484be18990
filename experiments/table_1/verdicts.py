"""Measured exponents beside what theory says, and who is cheaper at every point, from the rows of the runs alone."""

from collections.abc import Iterator
from dataclasses import asdict
from itertools import combinations
from math import ceil, exp, floor, isnan, log
from typing import Any

import bootstrap
from intervals import interval
from table_1.game import POWER
from table_1.plan import OFFLINE

Row = dict[str, Any]
COMMUNICATION = ("rounds", "bytes")
EVERY = ("sfo", *COMMUNICATION)
WIDEST_GAP = 0.1  # gaps above it hardly matter to any method here: the line is fitted from here on

Exponents = tuple[float | None, float, float]


def predictions() -> list[tuple[str, str, str, Exponents]]:
    """Those of `_predictions`, sweep by sweep and cost by cost."""
    found = list(_predictions())
    sweeps, costs = (list(dict.fromkeys(one[i] for one in found)) for i in (0, 1))
    return sorted(found, key=lambda one: (sweeps.index(one[0]), costs.index(one[1])))


def _predictions() -> Iterator[tuple[str, str, str, Exponents]]:
    """(sweep, cost, method, (worst case of Table 1, its form on these games, a rival value)).

    The form on these games has the iterations of exact descent in the place of the worst case's epsilon^-2 and kappa^2;
    the worst case is None where the table leaves the power open. A rival is what another form would give: the worst
    case itself, another method's power, or no growth.
    """
    unproved = ("GT-GDA", "GT-SRVR")
    for method in OFFLINE:
        dream, spider = method == "DREAM", method in ("DREAM", "GT-SRVR")
        for cost in EVERY:
            yield "epsilon", cost, method, (-2.0, -POWER, -2.0)
            yield "epsilon constrained", cost, method, (None if method in unproved else -2.0, -POWER, -2.0)
            yield "kappa", cost, method, (2.0 if dream else None, 1.0, 2.0)
        for cost in COMMUNICATION:
            yield "gap", cost, method, (-0.5, -0.5, -1.0) if dream else (-1.0, -1.0, -0.5)
            yield "N", cost, method, (0.0, 0.0, 0.5)
        yield "gap", "sfo", method, (0.0, 0.0, -1.0) if dream else (None, -1.0, 0.0)
        yield "N", "sfo", method, (0.5, 0.5, 1.0) if spider else (1.0, 1.0, 0.5)
        yield "m", "sfo", method, (0.5, 0.5, 0.0) if method == "GT-SRVR" else (0.0, 0.0, 0.5)
        yield "m", "rounds", method, (0.0, 0.0, 0.5)
        yield "N", "iterations", method, (None, 0.0, 0.5)
        yield "m", "iterations", method, (None, 0.0, 0.5)
    for method in ("DREAM", "DM-HSGD"):
        yield "epsilon online", "sfo", method, (-3.0, -POWER - 1, -POWER)
        for cost in COMMUNICATION:
            few = (-2.0, -POWER, -POWER - 1)
            yield "epsilon online", cost, method, few if method == "DREAM" else (-3.0, -POWER - 1, -POWER)


def slopes_of(runs: list[Row]) -> list[Row]:
    """One row per prediction; a point at which fewer than half of the runs arrived is left out, and named."""
    found = []
    for sweep, cost, method, (worst, here, rival) in predictions():
        mine = rows_for(runs, sweep, method, cost)
        points = {x: [row for row in mine if row["x"] == x] for x in dict.fromkeys(row["x"] for row in mine)}
        used, left_out = [], []
        for x, those in points.items():
            if sweep == "gap" and x > WIDEST_GAP:
                continue
            arrived = [row for row in those if row[cost] is not None]
            if 2 * len(arrived) >= len(those):
                used += arrived
            else:
                left_out.append(f"{x:g}: {len(arrived)} of {len(those)}")
        fit = bootstrap.slope([r["x"] for r in used], [r[cost] for r in used], [r["seed"] for r in used])
        found.append(
            {
                "sweep": sweep, "cost": cost, "method": method, "worst": worst, "here": here, "rival": rival,
                **asdict(fit), **outwards(fit.low, fit.high),
                "points": len({row["x"] for row in used}), "runs": len(used),
                "failed": sum(row["sfo"] is None for row in mine), "left_out": "; ".join(left_out) or None,
            }
        )  # fmt: skip
    return found


def outwards(low: float, high: float) -> dict[str, float | None]:
    """The bounds of an interval rounded outwards to two digits: what is shown is what is judged."""
    if isnan(low):
        return {"slope": None, "low": None, "high": None, "of_instances": None, "of_line": None}
    return {"low": floor(100 * low) / 100, "high": ceil(100 * high) / 100}


def verdict(row: Row) -> str:
    """ "as predicted" (and the rival excluded), "rival", "undecided" (both within), "neither" or "too few points"."""
    if row["low"] is None:
        return "too few points"
    inside, other = (row["low"] <= row[name] <= row["high"] for name in ("here", "rival"))
    return {(1, 0): "as predicted", (0, 1): "rival", (1, 1): "undecided", (0, 0): "neither"}[inside, other]


def pairs_of(runs: list[Row]) -> list[Row]:
    """Every two methods at every point: the mean ratio of costs on the same instances, and its interval."""
    found = []
    for sweep, x in dict.fromkeys((row["sweep"], row["x"]) for row in runs):
        here = [row for row in runs if (row["sweep"], row["x"]) == (sweep, x)]
        methods = list(dict.fromkeys(row["method"] for row in here))
        for cost in EVERY:
            costs = {
                name: {row["seed"]: row[cost] for row in rows_for(here, sweep, name, cost)} for name in methods
            }  # fmt: skip
            for one, other in combinations(methods, 2):
                both = [s for s, c in costs[one].items() if c is not None and costs[other].get(s) is not None]
                logs = [log(costs[one][s] / costs[other][s]) for s in both]
                low, high = map(exp, interval(logs))
                enough = 2 * len(both) >= max(len(costs[one]), len(costs[other]), 1)
                found.append(
                    {
                        "sweep": sweep, "x": x, "cost": cost, "method": one, "other": other, "pairs": len(both),
                        "ratio": exp(sum(logs) / len(logs)) if logs else None, "low": low, "high": high,
                        "cheaper": None if not enough or low <= 1 <= high else one if high < 1 else other,
                    }
                )  # fmt: skip
    return found


def levels_of(runs: list[Row], sweep: str, x: float, cost: str) -> dict[str, tuple[float | None, int, int]]:
    """{method: (geometric mean of those that arrived, how many did, how many ran)} at a point."""
    found = {}
    for method in dict.fromkeys(row["method"] for row in runs if row["sweep"] == sweep):
        mine = [row for row in rows_for(runs, sweep, method, cost) if row["x"] == x]
        costs = [row[cost] for row in mine if row[cost] is not None]
        found[method] = (exp(sum(map(log, costs)) / len(costs)) if costs else None, len(costs), len(mine))
    return found


def rows_for(runs: list[Row], sweep: str, method: str, cost: str) -> list[Row]:
    """The runs whose parameters were chosen for this cost; iterations are those of the choice for SFO."""
    goal = "sfo" if cost == "iterations" else cost
    return [r for r in runs if r["sweep"] == sweep and r["method"] == method and goal in r["tuned_for"].split()]
