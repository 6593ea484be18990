"""What every script of this folder does alike: many independent runs over the cores, remembered; slopes; texts.

A job is a dict of plain values that says everything about one run. `run_all` gives each to the script's own function
in a pool of processes and writes its answer as one line of `runs.jsonl` as soon as it is there, so that a script
that was stopped loses nothing and a second start skips what is done.
"""

import argparse
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
from intervals import Comparison

HERE = Path(__file__).resolve().parent
Job = dict[str, Any]


def options(
    name: str, description: str, studies: tuple[str, ...] = (), more: dict[str, dict[str, Any]] | None = None
) -> argparse.Namespace:
    """The command line that all scripts share, and what one has `more`; of `studies` one may be chosen.

    `size` is "quick" or "full".
    """
    parser = argparse.ArgumentParser(prog=f"{name}.py", description=description)
    parser.add_argument("--quick", action="store_true", help="a few runs, which decide nothing: some seconds")
    parser.add_argument("--out", type=Path, default=HERE / "results" / name, help="where results go")
    parser.add_argument("--findings", action="store_true", help="write findings/ also when not run in full")
    parser.add_argument("--workers", type=int, help="processes (default: the cores; 1 with --quick)")
    if studies:
        said = "run this one alone, and keep what findings/ has of the others"
        parser.add_argument("--study", choices=studies, help=said)
    for option, settings in (more or {}).items():
        parser.add_argument(option, **settings)
    given = parser.parse_args()
    given.workers = given.workers or (1 if given.quick else os.cpu_count() or 1)
    given.size = "quick" if given.quick else "full"
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
