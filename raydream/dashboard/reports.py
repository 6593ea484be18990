"""The report of chosen runs, made when it is asked for: the same page that `raydream report` writes."""

from typing import Any

from flask import Flask, Response, request

from raydream.dashboard.curves import runs_of
from raydream.dashboard.jobs import Jobs
from raydream.report.page import page
from raydream.report.runs import Run, collect
from raydream.result import load

MOST = 200  # runs in one report


def add_reports(server: Flask, jobs: Jobs) -> None:
    """/report?runs=...&runs=..."""

    @server.get("/report")
    def report() -> Response:
        names = request.args.getlist("runs")[:MOST]
        try:
            runs = reported(jobs, names)
        except ValueError as error:
            return Response(f"{error}\n", status=404, mimetype="text/plain")
        if not any(run.metrics for run in runs):
            return Response("There is nothing to report yet.\n", status=404, mimetype="text/plain")
        answer = Response(page(runs), mimetype="text/html")
        answer.headers["Content-Security-Policy"] = "frame-ancestors 'none'"  # the page brings the rest itself
        return answer


def reported(jobs: Jobs, names: list[str]) -> list[Run]:
    """The runs as they are saved, with all that a result holds; those under way as far as they are."""
    seen = [jobs.look(name) for name in names]
    finished: list[Any] = [load(one.folder) for one in seen if not one.live and (one.folder / "arrays.npz").is_file()]
    if len(finished) == len(seen):
        return collect(finished)
    return runs_of(seen)
