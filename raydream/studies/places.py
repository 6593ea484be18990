"""What networks are like: prices to begin with, and what they are called."""

import math
from typing import NamedTuple

from raydream.conditions import Conditions


class Place(NamedTuple):
    """Seconds per gradient of a sample, seconds per message, bytes per second on a link."""

    gradient_seconds: float
    latency: float
    bandwidth: float

    @property
    def conditions(self) -> Conditions:
        """The same for all agents and links."""
        gradient, latency, link = self
        return Conditions(gradient_seconds=gradient, latency=latency, bandwidth=link if math.isfinite(link) else None)


PLACES = {
    "one machine": Place(1e-6, 5e-6, 1e10),
    "data centre": Place(1e-6, 2e-4, 1e9),
    "cloud regions": Place(1e-6, 5e-2, 1e7),
    "phones": Place(1e-5, 2e-1, 1e6),
}
WORDS = {"machine": "one machine", "data-centre": "data centre", "cloud": "cloud regions", "phones": "phones"}
# From, to: what sliders and maps go through.
SPANS = {"gradient_seconds": (1e-8, 1e-1), "latency": (1e-6, 1e1), "bandwidth": (1e4, 1e10)}


def duration(seconds: float) -> str:
    """Seconds in their usual unit."""
    for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size * 0.9995:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def pace(bandwidth: float) -> str:
    """Bytes per second in their usual unit."""
    if math.isinf(bandwidth):
        return "any number of bytes at once"
    for unit, size in (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if bandwidth >= size * 0.9995:
            return f"{bandwidth / size:.3g} {unit}"
    return f"{bandwidth:.3g} B/s"
