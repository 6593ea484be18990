"""The application: one shell around the pages, which share a look and keep their state in the URL."""

import functools
import traceback
from pathlib import Path
from typing import Any

import dash
from dash import Dash, Input, Output, dcc, html

from raydream.dashboard.gate import guard
from raydream.dashboard.pages import PAGES
from raydream.dashboard.parts import Query, in_the_browser
from raydream.dashboard.reports import add_reports
from raydream.dashboard.watching.jobs import Jobs
from raydream.report.page.shell import style

HERE = Path(__file__).parent
SHELL = """<!doctype html>
<html lang="en">
<head>{%metas%}<meta name="color-scheme" content="light dark"><title>{%title%}</title>{%favicon%}
<style>STYLE</style>{%css%}</head>
<body>{%app_entry%}{%config%}{%scripts%}{%renderer%}</body>
</html>"""


def make_app(jobs: Jobs, token: str | None = None) -> Dash:
    """The application that shows these runs and starts others; with a token, to those who bring it."""
    app = Dash(
        "raydream",
        title="raydream",
        update_title="",
        assets_folder=str(HERE),  # of which the gate lets out style sheets and browser programs alone
        suppress_callback_exceptions=True,  # the controls of other pages are not there
        serve_locally=True,
        enable_mcp=False,
        add_log_handler=False,
        on_error=_sorry,
        index_string=SHELL.replace("STYLE", style()),
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
    )
    guard(app.server, token, functools.cache(lambda: list(app.csp_hashes())))
    add_reports(app.server, jobs)
    app.layout = _shell
    for page in PAGES.values():
        page.register(app, jobs)

    @app.callback(
        Output("page", "children"), Output("menu", "children"), Input("where", "pathname"), Input("where", "search")
    )
    def show(path: str, search: str) -> Any:
        """The page that the address names."""
        page = PAGES.get((path or "/").rstrip("/") or "/")
        body = html.P(f"There is no page {path!r}.") if page is None else page.layout(Query(search), jobs)
        return body, _menu(path)

    in_the_browser(app, "keep", Output("kept", "data"), Input({"type": "state", "name": dash.ALL}, "value"))
    in_the_browser(app, "scheme", Output("dark", "data"), Input("dark", "id"))
    return app


def _shell() -> Any:
    return html.Div(
        [
            dcc.Location(id="where", refresh=False),
            dcc.Store(id="dark"),  # whether the reader's screen is dark
            dcc.Store(id="kept"),  # what the address says of the page's controls
            html.Header([html.Strong("raydream", className="brand"), html.Nav(id="menu")], className="top"),
            html.P(id="wrong", className="message", role="alert"),
            html.Main(id="page"),
        ]
    )


def _sorry(error: Exception) -> None:
    """What nobody foresaw: a sentence in the page, and the details where the server was started."""
    traceback.print_exception(error)
    dash.set_props(
        "wrong", {"children": f"Something could not be shown ({type(error).__name__}); open the page again."}
    )


def _menu(path: str) -> list[Any]:
    here = (path or "/").rstrip("/") or "/"
    return [
        dcc.Link(page.TITLE, href=address, className="here" if address == here else "")
        for address, page in PAGES.items()
        if page.TITLE
    ]
