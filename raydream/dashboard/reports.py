"""The report of chosen runs, made when it is asked for: the same page that `raydream report` writes."""

import traceback

from flask import Flask, Response, request

from raydream.dashboard.curves import runs_of
from raydream.dashboard.watching.jobs import Jobs
from raydream.dashboard.watching.watched import Watched
from raydream.report.collect import Run, collect
from raydream.report.page.page import page
from raydream.storage.result import Result, load

MOST = 200  # runs in one report


def add_reports(server: Flask, jobs: Jobs) -> None:
    """/report?runs=...&runs=..."""

    @server.get("/report")
    def report() -> Response:
        names = request.args.getlist("runs")[:MOST]
        try:
            runs = reported(jobs, names)
            if not any(run.metrics for run in runs):
                return _refused("There is nothing to report yet.")
            answer = Response(page(runs), mimetype="text/html")
        except ValueError as error:
            return _refused(str(error))
        except Exception as error:  # files may say anything
            traceback.print_exception(error)
            return _refused(f"These runs cannot be reported ({type(error).__name__}).")
        answer.headers["Content-Security-Policy"] = "frame-ancestors 'none'"  # the page brings the rest itself
        return answer


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
    return load(watched.folder)
