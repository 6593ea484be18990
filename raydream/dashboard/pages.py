"""The pages by their addresses, in the order of the menu: each a folder with all its parts, of which page.py is one."""

from importlib import import_module
from typing import Any, Protocol, cast

from dash import Dash

from raydream.dashboard.parts import Query
from raydream.dashboard.watching.jobs import Jobs

FOLDERS = {
    "/": "overview",
    "/run": "live",
    "/compare": "compare",
    "/tuning": "tuning",
    "/new": "new",
    "/lab": "lab",
    "/theory": "theory",
}


class Page(Protocol):
    """What page.py has.

    TITLE     in the menu; "" for a page that is not there
    layout    the page, with its controls as the URL says
    register  its callbacks, once, when the application is made
    """

    TITLE: str

    def layout(self, query: Query, jobs: Jobs) -> Any: ...
    def register(self, app: Dash, jobs: Jobs) -> None: ...


PAGES: dict[str, Page] = {
    address: cast("Page", import_module(f"raydream.dashboard.{folder}.page")) for address, folder in FOLDERS.items()
}
