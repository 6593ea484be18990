"""The findings in words, from the rows of the tables alone."""

from typing import Any

import numpy as np
from sweeps import grouped
from table_1.verdicts import EVERY, Row, levels_of, slopes_of, verdict
from texts import short, table

NAMES = {"sfo": "SFO", "rounds": "rounds", "bytes": "bytes", "iterations": "iterations"}
FALLING = ("epsilon", "epsilon constrained", "epsilon online", "gap")  # the smaller, the harder
CARRIED = 0.5  # times the iterations of exact descent
MEANING = {
    "as predicted": "Decided, as predicted (the interval holds the prediction and excludes the rival value)",
    "rival": "Decided against the prediction (the interval holds the rival value and excludes the prediction)",
    "neither": "Decided against both (the interval excludes the prediction and the rival value)",
    "undecided": "Not decided (the interval holds both the prediction and the rival value)",
    "too few points": "Not measured (fewer than three points at which at least half of the runs arrived)",
}


def summary(runs: list[Row], slopes: list[Row], pairs: list[Row]) -> str:
    """The exponents that matter most, how many were decided, and who is cheapest at the hardest points."""
    known = {(row["sweep"], row["cost"], row["method"]): row for row in slopes}

    def said(sweep: str, cost: str, *methods: str) -> str:
        return f"{NAMES[cost]} against {sweep} " + ", ".join(
            f"{method} {measured(known[sweep, cost, method])}" for method in methods
        )

    counts = {kind: sum(verdict(row) == kind for row in slopes) for kind in MEANING}
    return (
        "Measured exponents [95 % intervals]: " + "; ".join([
            said("N", "sfo", "DREAM", "GT-GDA"), said("m", "sfo", "DREAM", "GT-SRVR"), said("kappa", "sfo", "DREAM"),
            said("gap", "rounds", "DREAM", "GT-GDA"), said("epsilon", "sfo", "DREAM"),
            said("epsilon online", "sfo", "DREAM", "DM-HSGD"), said("epsilon online", "rounds", "DREAM", "DM-HSGD"),
        ])
        + f". Of {len(slopes)} exponents {counts['as predicted']} are decided as predicted, "
        f"{counts['rival'] + counts['neither']} against the prediction, "
        f"{counts['undecided'] + counts['too few points']} not. " + leaders(runs, pairs)
    )  # fmt: skip


def exponents(slopes: list[Row]) -> list[str]:
    """The table of exponents and what it decides."""
    rows = [
        {
            **{name: row[name] for name in ("sweep", "method", "points")}, "cost": NAMES[row["cost"]],
            "worst": "open" if row["worst"] is None else number(row["worst"]),
            "here": number(row["here"]), "rival": number(row["rival"]),
            "slope": "–" if row["slope"] is None else f"{row['slope']:.2f}",
            "interval": "–" if row["slope"] is None else f"{row['low']:.2f} to {row['high']:.2f}",
            "arrived": f"{row['runs']} of {row['runs'] + row['failed']}" if row["failed"] else "all",
            "verdict": verdict(row),
        }
        for row in slopes
    ]  # fmt: skip
    lines = [
        "## Exponents\n",
        table(rows, {"sweep": "against", "cost": "cost", "method": "method", "worst": "Table 1",
                     "here": "predicted here", "rival": "rival", "slope": "measured",
                     "interval": "95 % interval", "points": "points",
                     "arrived": "runs arrived", "verdict": "verdict"}),
        "",
    ]  # fmt: skip
    for kind, meaning in MEANING.items():
        those = [row for row in slopes if verdict(row) == kind]
        if those:
            lines.append(f"{meaning}: " + "; ".join(named(row) for row in those) + ".\n")
    left = [f"{named(row)} at {row['left_out']} arrived" for row in slopes if row["left_out"]]
    lines.append("Points left out because fewer than half arrived: " + ("; ".join(left) if left else "none") + ".\n")
    return lines


def named(row: Row) -> str:
    """A slope in a list, with its direction where it is neither value."""
    words = f"{NAMES[row['cost']]} of {row['method']} against {row['sweep']}"
    if verdict(row) != "neither":
        return words
    sign = -1 if row["sweep"] in FALLING else 1
    less = sign * row["slope"] < sign * row["here"]
    return f"{words} ({measured(row)}: {'less' if less else 'more'} growth than {number(row['here'])})"


def cheapest(runs: list[Row], pairs: list[Row]) -> list[str]:
    """The costs at the hardest point of each sweep, and DREAM's beside the others' on the same instances."""
    levels, ratios = [], []
    for sweep, x in hardest(runs):
        for cost in EVERY:
            found = levels_of(runs, sweep, x, cost)
            cells = {
                name: "–" if mean is None else short(mean) + (f" ({some} of {all_})" if some < all_ else "")
                for name, (mean, some, all_) in found.items()
            }
            first, ties = leader(runs, pairs, sweep, x, cost)
            best = "–" if first is None else first if not ties else f"{first}, not decided against {', '.join(ties)}"
            levels.append({"point": f"{sweep} = {x:g}", "cost": NAMES[cost], "cheapest": best, **cells})
            cells = {
                row["other"]: f"{row['ratio']:.2g} [{row['low']:.2g}, {row['high']:.2g}]"
                for row in pairs
                if (row["sweep"], row["x"], row["cost"], row["method"]) == (sweep, x, cost, "DREAM") and row["ratio"]
            }
            ratios.append({"point": f"{sweep} = {x:g}", "cost": NAMES[cost], **cells})
    methods = list(dict.fromkeys(row["method"] for row in runs))
    blank = dict.fromkeys(methods, " ")
    columns = {"point": "at", "cost": "cost", **{name: name for name in methods}}
    others = {name: heading for name, heading in columns.items() if name != "DREAM"}
    return [
        "## Who is cheapest at the hardest points\n",
        "Geometric means over the instances; each cost is that of the parameters chosen for it.\n",
        table([{**blank, **row} for row in levels], {**columns, "cheapest": "cheapest"}),
        "\nDREAM's cost divided by the other's on the same instances (geometric mean and 95 % interval; below 1 DREAM "
        "is cheaper, and an interval that holds 1 decides nothing):\n",
        table([{**blank, **row} for row in ratios], others),
        "\n" + leaders(runs, pairs) + " " + crossing(pairs) + "\n",
    ]


def leaders(runs: list[Row], pairs: list[Row]) -> str:
    """Who is cheapest in what, where that is decided against all others."""
    said = []
    for cost in EVERY:
        won: dict[str, list[str]] = {}
        for sweep, x in hardest(runs):
            first, ties = leader(runs, pairs, sweep, x, cost)
            won.setdefault("not decided" if first is None or ties else first, []).append(sweep)
        order = sorted(won, key=lambda name: (name == "not decided", -len(won[name])))
        said.append(f"{NAMES[cost]}: " + ", ".join(f"{name} ({', '.join(won[name])})" for name in order))
    return "Fewest at the hardest point of each sweep: " + "; ".join(said) + "."


def leader(runs: list[Row], pairs: list[Row], sweep: str, x: float, cost: str) -> tuple[str | None, list[str]]:
    """The method with the least mean cost, and those against which this is not decided."""
    levels = levels_of(runs, sweep, x, cost)
    able = {name: mean for name, (mean, some, all_) in levels.items() if mean is not None and 2 * some >= all_}
    if not able:
        return None, []
    first = min(able, key=lambda name: able[name])
    here = [row for row in pairs if (row["sweep"], row["x"], row["cost"]) == (sweep, x, cost)]
    ties = [
        other for other in able if other != first
        and not any({row["method"], row["other"]} == {first, other} and row["cheaper"] == first for row in here)
    ]  # fmt: skip
    return first, ties


def crossing(pairs: list[Row]) -> str:
    """At which gaps DREAM needs fewer rounds than GT-GDA, and at which more."""
    rows = [
        r for r in pairs if (r["sweep"], r["cost"], r["method"], r["other"]) == ("gap", "rounds", "DREAM", "GT-GDA")
    ]
    kinds = {"DREAM": [], "GT-GDA": [], None: []}  # type: dict[str | None, list[str]]
    for row in rows:
        kinds[row["cheaper"]].append(f"{row['x']:g}")
    parts = [f"fewer at gap {', '.join(kinds['DREAM'])}"] if kinds["DREAM"] else []
    parts += [f"more at gap {', '.join(kinds['GT-GDA'])}"] if kinds["GT-GDA"] else []
    parts += [f"not decided at gap {', '.join(kinds[None])}"] if kinds[None] else []
    return "Rounds of DREAM against those of GT-GDA over all gaps: " + "; ".join(parts) + "."


def parameters(chosen: list[Row]) -> list[str]:
    """What the search chose at the hardest points."""
    last = dict(hardest(chosen))
    names = ("eta", "gamma", "K", "mixing", "form", "R", "b", "b_large", "beta")
    rows = []
    for row in chosen:
        if row["x"] == last[row["sweep"]]:
            told = ", ".join(
                f"{name} {short(row[name]) if isinstance(row[name], float) else row[name]}"
                for name in names if row.get(name) is not None
            )  # fmt: skip
            goal = ", ".join(NAMES[cost] for cost in row["tuned_for"].split())
            rows.append(
                {
                    "point": f"{row['sweep']} = {row['x']:g}", "method": row["method"], "goal": goal,
                    "told": told or "none reached on all instances of the search", "tried": row["tried"],
                }
            )  # fmt: skip
    edges = [f"{row['edge']} of {row['method']} at {row['sweep']} = {row['x']:g}" for row in chosen if row["edge"]]
    return [
        "## Chosen parameters at the hardest points\n",
        table(rows, {"point": "at", "method": "method", "goal": "chosen for", "told": "parameters",
                     "tried": "configurations tried"}),
        "\nChoices on a bound of the search, at all points: " + ("; ".join(edges) if edges else "none") + ".\n",
    ]  # fmt: skip


def trust(runs: list[Row], setting: Row) -> str:
    """What the numbers rest on."""
    spreads = [
        float(np.std(np.log([row["sfo"] for row in those]), ddof=1))
        for mine in grouped(runs, "sweep", "x", "method", "tuned_for").values()
        if len(those := [row for row in mine if row["sfo"] is not None]) > 2
    ]
    failed = sum(row["sfo"] is None for row in runs)
    return (
        "## How far to trust this\n\n"
        f"Parameters were chosen on {setting['tuning']} instances and costs are reported on {setting['instances']} "
        f"others, at every point instances of its own. {failed} of {len(runs)} reported runs never arrived. The "
        "natural logarithm of the SFO has a standard deviation between the instances of a point of "
        f"{np.median(spreads):.2f} in the median and at most {max(spreads):.2f}. Average smoothness L, meant to be "
        f"{setting['L']:g}, is {setting['L_least']:.2f} to {setting['L_most']:.2f} over the instances of the sweep of "
        f"kappa.\n\n{carried(runs)}\n\n"
        "SFO of an iteration follow from the prescribed batches: what is measured against N and m is whether "
        "iterations grow. SFO per agent against m have the exponent of the SFO less 1: -1 is a linear speed-up. Where "
        "the network is a complete graph with gap 1, the form atc with full gradients makes the same iterates on every "
        "instance, and its intervals have no width from instances. Every interval misses its value in one case of "
        "twenty. All games are of one family with six coordinates; other objectives may rank methods otherwise.\n"
    )


def carried(runs: list[Row]) -> str:
    """Runs that were much faster than exact descent with their step, and the exponents without them."""
    fast = [row for row in runs if row["pace"] is not None and row["pace"] < CARRIED]
    said = (
        f"A run may be faster than exact descent with its step where noise throws it down the valley: {len(fast)} of "
        f"{len(runs)} took fewer than half of its iterations"
    )
    if not fast:
        return said + "."
    touched = {(row["sweep"], row["method"], goal) for row in fast for goal in row["tuned_for"].split()}
    calm = slopes_of([row for row in runs if row not in fast])
    without = [
        f"{NAMES[row['cost']]} of {row['method']} against {row['sweep']} {measured(row)}"
        for row in calm if (row["sweep"], row["method"], row["cost"]) in touched
    ]  # fmt: skip
    return f"{said} ({', '.join(sorted({f'{m}, {s}' for s, m, _ in touched}))}). Without these: {'; '.join(without)}."


def hardest(rows: list[Row]) -> list[tuple[str, float]]:
    """The hardest value of each sweep."""
    found = []
    for (sweep,), mine in grouped(rows, "sweep").items():
        values = [row["x"] for row in mine]
        found.append((sweep, min(values) if sweep in FALLING else max(values)))
    return found


def measured(row: Row) -> str:
    return "–" if row["slope"] is None else f"{row['slope']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"


def number(value: Any) -> str:
    return f"{value:.3g}"
