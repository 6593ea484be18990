"""What a run survives: a saboteur kills, stops, cuts and fills, and every run ends with the bits of an undisturbed one.

    python experiments/chaos.py [--quick] [--seed N] [--faults 200]

A run is `raydream run` in a process of its own, over methods, topologies, packings and links in turn; it is struck
again and again, by faults and at moments that the seed draws, and each time watched from outside until it goes on.
Then it is stopped, gone on with in one process, and compared with a run that was never disturbed: history, bill and
final arrays must be the same bits. Where a driver is killed, or ends with a sentence (a disk that is full), `raydream
resume` goes on. To notice takes from the deed until the run itself notes it, to recover until the first iterations
after it. A run that neither goes on nor says a word for 240 s is a hang. Hosts are namespaces of this machine, each
with its own network, processes and disk; where they are not permitted, their faults are left out.
"""

import contextlib
import json
import time
from collections import Counter
from itertools import cycle, islice
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from sweeps import grouped, options, run_all, save_figure
from texts import Row, Tables, publish, table

NAME, TITLE = "chaos", "What a run survives"
# How many of a hundred faults are of each kind.
ON_ONE = {
    "raylet killed": 4, "control service killed": 4, "driver killed": 4, "disk full": 4, "file size limit reached": 3,
    "one actor killed": 8, "two actors killed at once": 8, "all actors killed at once": 6,
    "an actor killed during a recovery": 7, "one actor stopped": 6, "two actors stopped at once": 4,
    "an actor stopped for 2 s": 6, "link between two actors cut": 9, "driver cut off from an actor": 7,
}  # fmt: skip
ON_HOSTS = {
    "two hosts parted from each other": 3, "link of a host down": 4, "link of a host down for 1 s": 4,
    "all processes of a host killed": 3, "an actor on another host killed": 3, "an actor on another host stopped": 3,
}  # fmt: skip
# What Ray leaves of a part that was killed takes a minute to end; only actors that are spread over hosts can be parted.
FIRST = ("raylet killed", "control service killed", "driver killed", "two hosts parted from each other")
METHODS = ("dream", "gt-gda", "dm-hsgd", "gt-srvr", "d-adast", "gt-da", "dgda-vr")
TOPOLOGIES = ("ring", "complete", "star", "path", "exponential")
PACKINGS = ((4, "1"), (6, "2"), (6, "1,2,3"), (5, "auto"))  # agents, and how they are packed into actors
LINKS = ("direct", "tcp", "ray")
A_RUN = {"one machine": 9, "hosts": 7}  # faults that strike one run
QUICK = ("disk full", "two actors killed at once", "an actor stopped for 2 s", "link between two actors cut")


def jobs_of(seed: int, faults: int, hosts: bool) -> list[dict[str, Any]]:
    """So many faults, in runs that the seed draws."""
    random = Random(seed)
    kinds = {"one machine": ON_ONE, "hosts": ON_HOSTS if hosts else {}}
    total, jobs = sum(sum(shares.values()) for shares in kinds.values()), []
    for place, shares in kinds.items():
        drawn = shared_out(shares, round(faults * sum(shares.values()) / total), random)
        runs = -(-len(drawn) // A_RUN[place])
        for number in range(runs):
            random.shuffle(struck := drawn[number::runs])
            struck.sort(key=lambda name: name not in FIRST)
            jobs.append({**drawn_run(random, place, len(jobs)), "seed": seed * 1000 + len(jobs), "faults": struck})
    random.shuffle(jobs)
    return jobs


def shared_out(shares: dict[str, int], count: int, random: Random) -> list[str]:
    """So many names in these shares, dealt so that each run gets some of each kind."""
    names = [name for name, share in shares.items() for _ in range(round(share * count / sum(shares.values())))]
    random.shuffle(more := list(shares))
    return sorted(islice([*names, *islice(cycle(more), count)], count), key=list(shares).index)


def drawn_run(random: Random, place: str, number: int) -> dict[str, Any]:
    """A run's setting: in turn, so that all are met, and the methods in any order."""
    if place == "hosts":  # all pairs of hosts are linked, and there is room for all agents on half of the hosts
        return {"place": place, "method": random.choice(METHODS), "topology": "complete", "agents": 4, "packing": "1",
                "links": ("direct", "tcp")[number % 2]}  # fmt: skip
    agents, packing = PACKINGS[number % len(PACKINGS)]
    return {"place": place, "method": METHODS[number % len(METHODS)], "topology": TOPOLOGIES[number % len(TOPOLOGIES)],
            "agents": agents, "packing": packing, "links": LINKS[number % len(LINKS)]}  # fmt: skip


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """One run with its faults."""
    from sabotage.storm import storm

    return storm(job)


def measured(jobs: list[dict[str, Any]], given: Any) -> list[dict[str, Any]]:
    """All runs, or those that begin in time; those of an earlier start count, whenever they began."""
    end, done = time.monotonic() + 60 * given.minutes, list[dict[str, Any]]()
    known = _keys(given.out / "runs.jsonl")
    todo = [job for job in jobs if json.dumps(job, sort_keys=True) not in known]
    done += run_all(measure, [job for job in jobs if job not in todo], given)
    while todo and time.monotonic() < end:
        done += run_all(measure, todo[: given.workers], given)
        del todo[: given.workers]
    return done


def _keys(path: Path) -> set[str]:
    """The jobs of an earlier start; a last line that was cut off is none."""
    found = set()
    for line in path.read_text().splitlines() if path.exists() else []:
        with contextlib.suppress(json.JSONDecodeError):
            found.add(json.dumps(json.loads(line)["job"], sort_keys=True))
    return found


def main() -> None:
    more = {"--seed": dict(type=int, default=1, help="draws the runs, the faults and their moments"),
            "--faults": dict(type=int, default=200, help="how many, unless it is quick"),
            "--remark": dict(default="", help="a sentence for the text: what the files do not show"),
            "--minutes": dict(type=float, default=1e9, help="after which no further run begins")}  # fmt: skip
    given = options(NAME, __doc__, more=more)
    from sabotage import rack, sockets

    why = {"hosts": "quick" if given.quick else rack.why_not(), "connections": sockets.why_not()}
    if given.quick:
        jobs = [{**drawn_run(Random(given.seed), "one machine", 1), "seed": given.seed, "faults": list(QUICK)}]
    else:
        jobs = jobs_of(given.seed, given.faults, not why["hosts"])
    done = measured(jobs, given)
    given.seconds = {str(number): run["took"] for number, run in enumerate(done)}
    setting = {"seed": given.seed, "hosts": why["hosts"] or "permitted", "cuts": why["connections"] or "permitted"}
    setting |= {"drawn": sum(len(job["faults"]) for job in jobs), "remark": given.remark or None}
    save_figure(given, figure_of(publish(given, TITLE, text_of, {"setting": [setting], **tables_of(done)})))
    for wrong in (run for run in done if not (run["sound"] and run["same"])):
        print(f"{wrong['method']} on {wrong['topology']} over {wrong['links']}: {wrong['words']}")


def tables_of(done: list[dict[str, Any]]) -> Tables:
    """A row for each fault, and one for each run."""
    names = ("place", "method", "topology", "agents", "packing", "links")
    runs = [{"run": n, **{name: run[name] for name in names}, "packing": f"of {run['packing']}",
             "struck": len(run["rows"]), "iterations": run.get("iterations"), "same_bits": run["same"],
             "left_behind": len(run["left"]), "took": run["took"]} for n, run in enumerate(done)]  # fmt: skip
    kept = ("fault", "outcome", "noticed", "recovered")
    faults = [{"run": n, "place": run["place"], **{name: row[name] for name in kept}, "word": word_of(row["words"])}
              for n, run in enumerate(done) for row in run["rows"]]  # fmt: skip
    return {"runs": runs, "faults": faults}


def word_of(words: str) -> str | None:
    """What a run said, on one line and without its folder."""
    line = " ".join(words.split())
    return (line[:300].replace('"', "'") or None) if "/tmp/" not in line else "there is no room"


def text_of(tables: Tables) -> tuple[str, str]:
    """The sentence for the README, and the table."""
    runs, faults, (setting,) = tables["runs"], tables["faults"], tables["setting"]
    outcomes, wrong = Counter(row["outcome"] for row in faults), sum(not run["same_bits"] for run in runs)
    hangs, left = outcomes["HANG"], sum(run["left_behind"] for run in runs)
    other = sum(count for outcome, count in outcomes.items() if outcome.isupper() and outcome != "HANG")
    summary = (
        f"{len(faults)} faults in {len(runs)} runs of {len({run['method'] for run in runs})} methods: {hangs} hangs, "
        f"{wrong} runs with other bits than an undisturbed one, {other} ends without a sentence, {left} processes or "
        f"folders left behind. {outcomes['recovered']} times the run recovered by itself, {outcomes['resumed']} times "
        f"`raydream resume` went on, {outcomes['passed unnoticed']} faults passed unnoticed."
    )
    lines = [line_of(*key, rows) for key, rows in grouped(faults, "place", "fault").items()]
    body = [
        table(lines, {"fault": "fault", "count": "times", "happens": "what happens",
                      "noticed": "seconds to notice", "recovered": "seconds to recover"}),
        "\nMedians, with the largest in brackets.\n", __doc__.split("\n\n", 2)[2],
        f"Seed {setting['seed']}; hosts: {setting['hosts']}; cutting connections: {setting['cuts']}. Of each run: "
        f"{span(runs, 'iterations')} iterations, {span(runs, 'struck')} faults, {span(runs, 'took')} seconds, "
        f"on a machine that did other work too. Drawn: {setting['drawn']} faults. {setting['remark'] or ''}".rstrip(),
    ]  # fmt: skip
    return summary, "\n".join(body)


def line_of(place: str, fault: str, rows: list[Row]) -> Row:
    """One kind of fault."""
    words = {"recovered": "goes on by itself", "resumed": "goes on with `raydream resume`"}
    happens = Counter(words.get(row["outcome"], row["outcome"]) for row in rows)
    happens = ", ".join(what if len(happens) == 1 else f"{what} ({n})" for what, n in happens.most_common())
    return {"fault": fault, "count": len(rows), "happens": happens} | {
        name: typical([row[name] for row in rows if row[name] is not None]) for name in ("noticed", "recovered")
    }


def typical(seconds: list[float]) -> str:
    """The median and the largest."""
    return f"{median(seconds):.1f} ({max(seconds):.1f})" if seconds else "–"


def span(rows: list[Row], name: str) -> str:
    """From the least to the most."""
    found = [row[name] for row in rows if row[name] is not None]
    return f"{min(found):g} to {max(found):g}" if found else "none"


def figure_of(tables: Tables) -> Any:
    """A mark for each fault: when it was noticed, and when the run went on."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for name in ("noticed", "recovered"):
        rows = [row for row in tables["faults"] if row[name] is not None]
        figure.add_box(x=[row[name] for row in rows], y=[row["fault"] for row in rows], name=name, boxpoints="all")
    return figure.update_layout(xaxis_title="seconds since the fault", boxmode="group").update_traces(orientation="h")


if __name__ == "__main__":
    main()
