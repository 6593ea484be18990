"""The pages by their addresses, in the order of the menu. A page is a module with TITLE, layout and register."""

from types import ModuleType

from raydream.dashboard.pages import compare, lab, live, order, overview, theory

PAGES: dict[str, ModuleType] = {
    "/": overview,
    "/run": live,
    "/compare": compare,
    "/new": order,
    "/lab": lab,
    "/theory": theory,
}
