"""The report of chosen runs, or of a tuning, made when it is asked for: the page that `raydream report` writes."""

import traceback

from flask import Flask, Response, request

from raydream.dashboard.curves import runs_of
from raydream.dashboard.watching.jobs import Jobs
from raydream.dashboard.watching.tunings import metric_among
from raydream.dashboard.watching.watched import Watched
from raydream.report.collect import Run, collect
from raydream.report.page.page import page
from raydream.report.tuning.page import page as tuning_page
from raydream.storage.result import Result, load

MOST = 200  # runs in one report
MOST_BYTES = 500_000_000  # of a run's arrays: the report of longer ones is made where there is room for it


def add_reports(server: Flask, jobs: Jobs) -> None:
    """/report?runs=...&runs=..., and /report?tuning=..."""

    @server.get("/report")
    def report() -> Response:
        try:
            tuning = request.args.get("tuning")
            text = reported_runs(jobs) if tuning is None else reported_tuning(jobs, tuning)
        except ValueError as error:
            return _refused(str(error))
        except Exception as error:  # files may say anything
            traceback.print_exception(error)
            return _refused(f"This cannot be reported ({type(error).__name__}).")
        answer = Response(text, mimetype="text/html")
        answer.headers["Content-Security-Policy"] = "frame-ancestors 'none'"  # the page brings the rest itself
        return answer


def reported_runs(jobs: Jobs) -> str:
    """The page about the runs that the address names."""
    runs = reported(jobs, request.args.getlist("runs")[:MOST])
    if not any(run.metrics for run in runs):
        raise ValueError("There is nothing to report yet.")
    return page(runs)


def reported_tuning(jobs: Jobs, name: str) -> str:
    """The page about a tuning."""
    found = jobs.tunings.look(name).tuning(metric_among(request.args.get("metric")))
    if found is None:
        raise ValueError("There is nothing to report yet.")
    return tuning_page(found)


def _refused(sentence: str) -> Response:
    return Response(sentence + "\n", status=404, mimetype="text/plain")


def reported(jobs: Jobs, names: list[str]) -> list[Run]:
    """The runs as they are saved, with all that a result holds; those under way as far as they are."""
    seen = [jobs.look(name) for name in names]
    saved = [_result(one) for one in seen]
    return runs_of(seen) if None in saved else collect(saved)


def saved_run(watched: Watched) -> Run | None:
    """A finished run with all that its result holds."""
    result = _result(watched)
    return None if result is None else collect(result)[0]


def _result(watched: Watched) -> Result | None:
    """What a run left, if it is finished and its files are its own: links to other places are not followed."""
    files = [watched.folder / name for name in ("run.json", "history.csv", "arrays.npz")]
    if watched.live or not watched.sound or not all(file.is_file() and not file.is_symlink() for file in files):
        return None
    if files[-1].stat().st_size > MOST_BYTES:
        return None
    return load(watched.folder)
