"""The pages by their addresses, in the order of the menu. A page is a module with TITLE, layout and register."""

from types import ModuleType

from raydream.dashboard.compare import page as compare
from raydream.dashboard.lab import page as lab
from raydream.dashboard.live import page as live
from raydream.dashboard.new import page as order
from raydream.dashboard.overview import page as overview
from raydream.dashboard.theory import page as theory

PAGES: dict[str, ModuleType] = {
    "/": overview,
    "/run": live,
    "/compare": compare,
    "/new": order,
    "/lab": lab,
    "/theory": theory,
}
