"""What every script of this folder does alike: many independent runs over the cores, remembered; slopes; texts.

A job is a dict of plain values that says everything about one run. `run_all` gives each to the script's own function
in a pool of processes and writes its answer as one line of `runs.jsonl` as soon as it is there, so that a script
that was stopped loses nothing and a second start skips what is done.
"""

import argparse
import csv
import json
import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import texts
from intervals import Comparison
from scipy import stats
from texts import FINDINGS, Tables, short, table

__all__ = [
    "best_of_grid",
    "grouped",
    "median",
    "options",
    "publish",
    "run_all",
    "save_figure",
    "score",
    "short",
    "slope",
    "table",
]

HERE = Path(__file__).resolve().parent
Job = dict[str, Any]


def options(name: str, description: str) -> argparse.Namespace:
    """The command line that all scripts share; `size` is "tiny", "quick" or "full"."""
    parser = argparse.ArgumentParser(prog=f"{name}.py", description=description)
    parser.add_argument("--quick", action="store_true", help="a few runs, which decide nothing: some seconds")
    parser.add_argument("--tiny", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=HERE / "results" / name, help="where results go")
    parser.add_argument("--findings", action="store_true", help="write findings/ also when not run in full")
    parser.add_argument("--workers", type=int, help="processes (default: the cores; 1 with --quick)")
    given = parser.parse_args()
    given.workers = given.workers or (1 if given.quick or given.tiny else os.cpu_count() or 1)
    given.size = "tiny" if given.tiny else "quick" if given.quick else "full"
    given.name, given.seconds = name, {}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    given.out.mkdir(parents=True, exist_ok=True)
    return given


def run_all(function: Callable[[Job], dict[str, Any]], jobs: Iterable[Job], given: Any) -> list[dict[str, Any]]:
    """The rows {**job, **function(job)} in the order of the jobs; those of an earlier start are read, not run."""
    path = given.out / "runs.jsonl"
    done = _read(path)
    jobs = list(jobs)
    todo = list({_key(job): job for job in jobs if _key(job) not in done}.values())
    with path.open("a") as file:

        def keep(job: Job, answer: dict[str, Any]) -> None:
            done[_key(job)] = answer
            file.write(json.dumps({"job": job, "answer": answer}) + "\n")
            file.flush()

        if given.workers == 1 or len(todo) < 2:
            for job in todo:
                keep(job, _timed(function, job))
        else:
            pool = _pool(given.workers)
            waiting = {pool.submit(_timed, function, job): job for job in todo}
            try:
                for future in as_completed(waiting):
                    keep(waiting[future], future.result())
            except BaseException:  # also Ctrl-C and SIGTERM: leave no process behind
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    given.seconds |= {_key(job): done[_key(job)]["seconds"] for job in jobs}
    return [{**job, **_plain(done[_key(job)])} for job in jobs]


def tuned(
    function: Callable[[Job], dict[str, Any]],
    groups: list[Job],
    steps: Iterable[float],
    given: Any,
    *,
    cost: str,
    rehearsals: int,
    seeds: int,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(every run of the search for a step, every run with the step that was found, on other seeds).

    Each group tries the steps of the common grid from the largest downwards on the seeds 1000, 1001, ..., until all
    runs with the best one have a cost and two smaller ones are no better; `chosen` says which is best. The second list
    has the seeds 0, 1, ...
    """  # fmt: skip
    tried: list[list[dict[str, Any]]] = [[] for _ in groups]
    searching = list(range(len(groups)))
    for step in sorted(steps, reverse=True):
        jobs = [{**groups[g], "eta": step, "seed": 1000 + r} for g in searching for r in range(rehearsals)]
        rows = run_all(function, jobs, given)
        for place, g in enumerate(searching):
            tried[g] += rows[place * rehearsals : (place + 1) * rehearsals]
        searching = [g for g in searching if not _settled(tried[g], cost, step)]
    best = [chosen(mine, cost) for mine in tried]
    jobs = [{**group, "eta": eta, "seed": s} for group, eta in zip(groups, best, strict=True) for s in range(seeds)]
    return [row for mine in tried for row in mine], run_all(function, jobs, given)


def chosen(rows: list[dict[str, Any]], cost: str) -> float:
    """The step with which most runs have a cost, and these the least geometric mean; the smallest if none has any."""
    scores = {eta: (*score(mine, cost), eta) for (eta,), mine in grouped(rows, "eta").items()}
    return min(scores, key=lambda eta: scores[eta])


def score(rows: list[dict[str, Any]], cost: str) -> tuple[int, float]:
    """(minus the number of runs that have a cost, the mean logarithm of it): less is better."""
    costs = [row[cost] for row in rows if row[cost] is not None]
    return -len(costs), float(np.mean(np.log(costs))) if costs else 0.0


def _settled(rows: list[dict[str, Any]], cost: str, step: float) -> bool:
    """Whether every run with the best step has a cost, and two smaller ones have been tried."""
    best = chosen(rows, cost)
    reached = all(row[cost] is not None for row in rows if row["eta"] == best)
    return reached and len({row["eta"] for row in rows if step <= row["eta"] < best}) >= 2


def publish(given: Any, title: str, text_of: Any, tables: Any, *old: Any) -> Tables:
    """`texts.publish`, or the old way for a script that gives (summary, body) instead of a function."""
    if callable(text_of):
        return texts.publish(given, title, text_of, tables)
    return _publish_text(given, title, text_of, tables, *old)


def save_figure(given: Any, figure: Any) -> None:
    """An interactive page that opens without a network: plotly.js is inside, so it stays among the results."""
    figure.update_layout(template="plotly_white")
    figure.write_html(given.out / "figure.html", include_plotlyjs=True)


def add_ratios(figure: Any, name: str, found: dict[str, Comparison], **more: Any) -> None:
    """Ratios with their intervals, one mark per place; a comparison that has no ratio has no mark."""
    shown = {place: c for place, c in found.items() if c.complete and np.isfinite(c.high)}
    above = [c.high - c.ratio for c in shown.values()]
    below = [c.ratio - c.low for c in shown.values()]
    figure.add_scatter(
        x=list(shown), y=[c.ratio for c in shown.values()], name=name, mode="markers",
        error_y={"array": above, "arrayminus": below}, **more,
    )  # fmt: skip


def grouped(rows: list[dict[str, Any]], *names: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Rows by the values of some columns, in order of appearance."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


@cache
def _pool(workers: int) -> ProcessPoolExecutor:
    """One pool for the whole script: every fresh process pays for its imports."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


def _timed(function: Callable[[Job], dict[str, Any]], job: Job) -> dict[str, Any]:
    began = time.process_time()  # of this process alone: others may share the cores
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # mixing that amplifies is what some of these runs are about
        answer = function(job)
    return {**answer, "seconds": round(time.process_time() - began, 3)}


def _plain(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != "seconds"}


def _key(job: Job) -> str:
    return json.dumps(job, sort_keys=True)


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """The finished runs; a last line that was cut off is dropped."""
    done = {}
    if path.exists():
        lines = path.read_text().splitlines()
        for line in lines:
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                continue
            done[_key(entry["job"])] = entry["answer"]
        path.write_text("".join(json.dumps({"job": json.loads(key), "answer": a}) + "\n" for key, a in done.items()))
    return done


# For scripts that still render their text from rows in memory; to go with the last of them.


def best_of_grid(
    function: Callable[[Job], dict[str, Any]], groups: list[Job], steps: Iterable[float], given: Any
) -> list[dict[str, Any]]:
    """For each group the row of the step of the common grid with the least cost, tried from the largest downwards.

    `function` answers a job {**group, "eta": step} with a "cost", None where the target was not reached. A group
    is settled once a smaller step costs more than the best so far; one that never reached keeps its last row.
    """
    best: list[dict[str, Any]] = [{**group, "eta": None, "cost": None} for group in groups]
    searching = list(range(len(groups)))
    for step in sorted(steps, reverse=True):
        rows = run_all(function, [{**groups[g], "eta": step} for g in searching], given)
        still = []
        for g, row in zip(searching, rows, strict=True):
            known, cost = best[g]["cost"], row["cost"]
            better = cost is not None and (known is None or cost < known)
            if better or known is None:
                best[g] = row
                still.append(g)
        searching = still
    return best


def minutes(given: Any) -> float:
    """Processor time of all runs that this start has used, also those of an earlier start."""
    return sum(given.seconds.values()) / 60


def slope(x: Any, y: Any) -> dict[str, float]:
    """The least-squares slope of log y on log x with its 95 % interval."""
    x, y = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float))
    if len(x) < 3 or np.ptp(x) == 0:
        return {"slope": float("nan"), "low": float("nan"), "high": float("nan"), "points": len(x)}
    if np.ptp(y) == 0:  # a flat line, without error
        return {"slope": 0.0, "low": 0.0, "high": 0.0, "points": len(x)}
    fit = stats.linregress(x, y)
    reach = float(stats.t.ppf(0.975, len(x) - 2)) * fit.stderr
    return {
        "slope": float(fit.slope),
        "low": float(fit.slope - reach),
        "high": float(fit.slope + reach),
        "points": len(x),
    }


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    """Rows as a CSV file; numbers with six digits (the old way)."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, restval="", lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({name: f"{v:.6g}" if isinstance(v, float) else v for name, v in row.items()})


def _publish_text(given: Any, title: str, summary: str, body: str, tables: Tables) -> Tables:
    """The old way, for scripts whose text is not yet a function of the files."""
    for stem, rows in tables.items():
        write_csv(given.out / f"{stem}.csv", rows)
    took = f"All runs of the {given.size} size together: {minutes(given):.1f} minutes of one core."
    text = f"# {title}\n\n{summary}\n\n{body.strip()}\n\n{took}\n"
    (given.out / "findings.md").write_text(text)
    print(text)
    if given.size == "full" or given.findings:
        FINDINGS.mkdir(exist_ok=True)
        (FINDINGS / f"{given.name}.md").write_text(text)
        for stem, rows in tables.items():
            write_csv(FINDINGS / f"{given.name}_{stem}.csv", rows)
    print(f"results: {given.out}")
    return tables


def median(rows: list[dict[str, Any]], name: str) -> float:
    """The median of a column over rows; infinite where fewer than half of them have it."""
    values = [float("inf") if row[name] is None else float(row[name]) for row in rows]
    return float(np.median(values)) if values else float("nan")
