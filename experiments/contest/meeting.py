"""A whole contest: search, choice, other seeds, files; and how its text is made of them."""

import json
from typing import Any

from contest.arenas import NETWORKS, PROBLEMS, TARGETS, problem_of
from contest.entrants import alone, grid_of, refused
from contest.search import AXES, FEW, ROUNDS, chosen, evaluated, looked_at_again, searched
from contest.settled import RECORDS
from contest.standing import said, standings, tally
from sweeps import grouped
from texts import Row, Tables, table

SIZES: dict[str, dict[str, Any]] = {
    "full": dict(seeds=10, draws=12, further=6, samples=256, steps=1000, problems=PROBLEMS, networks=NETWORKS),
    "quick": dict(seeds=2, draws=6, further=4, samples=16, steps=300, problems=PROBLEMS[:2], networks=NETWORKS[:1]),
}


def meet(entrants: list[str], given: Any) -> Tables:
    """The tables of a contest."""
    size = SIZES[given.size]
    pairs, absent = [], []
    for problem in size["problems"]:
        for name in entrants:
            where = ("alone",) if alone(name) else size["networks"]
            why = refused(name, problem_of(problem, size["samples"], 1 if alone(name) else 8))
            absent += [] if why is None else [{"problem": problem, "entrant": name, "why": why}]
            pairs += [] if why else [{"problem": problem, "network": one, "entrant": name} for one in where]
    trials = searched(pairs, {name: grid_of(name) for name in entrants}, given, size)
    winners = chosen(trials, looked_at_again(trials, given, size))
    runs = evaluated(winners, given, size)
    return {
        "setting": [{name: size[name] for name in ("seeds", "draws", "further", "samples", "steps")}],
        "entrants": [{"entrant": name, "alone": alone(name)} for name in entrants],
        "absent": absent or [{"problem": None, "entrant": None, "why": None}],
        **_files(winners, runs),
    }


def _files(winners: list[Row], runs: list[Row]) -> Tables:
    """What was chosen, a row for each configuration with its axes; and its runs, by its number."""
    names = ("problem", "network", "entrant", "parameters")
    numbers: dict[str, Row] = {}
    for one in winners:
        key = json.dumps([one[name] for name in names])
        row = numbers.setdefault(key, {"number": len(numbers), **one, "axes": []})
        row["axes"].append(one["axis"])
    found = [
        {**{n: row[n] for n in ("number", "problem", "network", "entrant")}, "axes": ", ".join(row["axes"]),
         "edges": row["edges"], "parameters": json.dumps(row["parameters"])}
        for row in numbers.values()
    ]  # fmt: skip
    spent = ("seed", "sfo", "rounds", "bytes")
    kept = [
        {"number": numbers[json.dumps([row[name] for name in names])]["number"], **{name: row[name] for name in spent}}
        for row in runs
    ]
    return {"chosen": found, "runs": kept}


def standings_of(tables: Tables) -> list[Row]:
    """The verdicts that the files hold."""
    configurations = {row["number"]: row for row in tables["chosen"]}
    names = ("problem", "network", "entrant", "parameters")
    chosen = [{**row, "axis": axis} for row in tables["chosen"] for axis in row["axes"].split(", ")]
    runs = [{**row, **{name: configurations[row["number"]][name] for name in names}} for row in tables["runs"]]
    entrants = [row["entrant"] for row in tables["entrants"]]
    return standings(chosen, runs, entrants, {row["entrant"] for row in tables["entrants"] if row["alone"]})


def counted(tables: Tables, found: list[Row]) -> str:
    """In how many cells each entrant is best, or within the noise of the best, on each axis, as a table."""
    names = {"entrant": "", **{axis: axis for axis in AXES}}
    rows = []
    for one in tables["entrants"]:
        counts = {axis: tally(found, one["entrant"], axis) for axis in AXES}
        shown = {axis: "–" if one["alone"] and axis != "sfo" else "{} + {}".format(*counts[axis][:2]) for axis in AXES}
        rows.append({"entrant": one["entrant"], **shown})
    return table(rows, names)


def cells(found: list[Row], axis: str) -> str:
    """The price over the best one's in every cell of an axis, with its interval."""
    mine = [row for row in found if row["axis"] == axis]
    places = list(grouped(mine, "problem", "network"))
    names = {"entrant": ""} | {f"{p}/{n}": f"{p}, {n}" for p, n in places}
    rows = []
    for (entrant,), of in grouped(mine, "entrant").items():
        rows.append({"entrant": entrant} | {f"{row['problem']}/{row['network']}": _short(row) for row in of})
    return table(rows, names)


def _short(row: Row) -> str:
    if row["verdict"] == "best":
        return "**best**"
    return f"*{said(row)}*" if row["verdict"] == "within noise" else said(row)


def setting_words(tables: Tables) -> str:
    """The rule, for a text."""
    (size,) = tables["setting"]
    targets = ", ".join(f"{name} {share:g}" for name, share in TARGETS.items())
    edges = sum(row["edges"] != "no" for row in tables["chosen"])
    missed = sum(row["sfo"] is None for row in tables["runs"])
    return (
        f"Of every entrant {size['draws']} configurations were drawn in each cell, and {size['further']} more around "
        f"its best; each ran with one seed until |grad P(x_bar)| was, and stayed for {RECORDS} records and a tenth of "
        f"the iterations, at most a share of its start ({targets}), with y so near to its best response that the gap "
        f"was less than what P had gained; or {size['steps']} iterations or {ROUNDS} times as many rounds were over. "
        f"The best {FEW} for each axis ran with two more seeds, and what had the least median with {size['seeds']} "
        f"others, which count. Eight agents hold {size['samples']} samples each. {edges} of {len(tables['chosen'])} "
        f"chosen configurations have a step at an end of what was tried; in {missed} of {len(tables['runs'])} runs "
        "the target was not reached."
    )
