"""Gradients are the derivatives of values: both parts, every agent, every coordinate."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from raydream.checking.differences import Slope, kinked, slope
from raydream.checking.owned import Owned
from raydream.checking.subject import Miss, Point, Subject, judged, listed, rms
from raydream.checking.verdict import Finding, unchecked
from raydream.types import Array, Indices

CHECKS = ("gradient in x", "gradient in y")
REACH = 0.1  # the longest step, in units of a coordinate
MARGIN = 10.0  # how many times its own error a difference must be off


@dataclass(frozen=True)
class Sight:
    """One part of an agent's gradient at a point, and the agent's value along lines through the point in that part."""

    one: Owned
    point: Point
    part: str
    rounding: float

    @property
    def here(self) -> Array:
        return self.point["xy".index(self.part)]

    def line(self, d: Array) -> Callable[[float], float]:
        """t -> f_i at the point moved by t d."""
        x, y = self.point
        if self.part == "x":
            return lambda t: self.one.value(x + t * d, y)
        return lambda t: self.one.value(x, y + t * d)

    def slope(self, d: Array) -> Slope:
        """The derivative along d."""
        return slope(self.line(d), self.reach(d), self.rounding)

    def reach(self, d: Array) -> float:
        """The longest step along d."""
        return REACH * (rms(self.here) or 1.0) / float(np.abs(d).max(initial=1e-300))


def gradients(subject: Subject) -> Iterator[Finding]:
    """Along random directions in which every coordinate counts; where one is off, the coordinate is looked for."""
    if not subject.able:
        for part in "xy":
            yield unchecked(f"gradient in {part}", "no agent gives proper answers.")
        return
    looks = [look(subject, one, point) for one in subject.able for point in subject.points]
    for part in "xy":
        mine = [one[part] for one in looks]
        misses = [one for one in mine if isinstance(one, Miss)]
        seen = [one for one in mine if not isinstance(one, str)]
        if not seen:
            yield unchecked(f"gradient in {part}", f"{mine[0]}")
            continue
        fine = f"it is that of differences of `value`, along {len(seen)} random directions."
        each = len(subject.points)
        blind = [one.agent for k, one in enumerate(subject.able) if all(map(_blind, mine[each * k : each * (k + 1)]))]
        if blind:
            fine += f" Of agents {listed(blind)} nothing could be seen: {next(filter(_blind, mine))}"
        yield judged(f"gradient in {part}", misses, fine)


def _blind(found: Miss | str | None) -> bool:
    """Whether a look has seen nothing."""
    return isinstance(found, str)


def look(subject: Subject, one: Owned, point: Point) -> dict[str, Miss | str | None]:
    """Of each part, what is wrong with the gradient at a point; None: nothing; a text: it cannot be seen here."""
    whole = one.gradient(*point)
    g = {"x": whole[: subject.dim_x], "y": whole[subject.dim_x :]}
    found: dict[str, Miss | str | None] = {}
    tests: dict[str, tuple[Array, Slope]] = {}
    for part in "xy":
        sight = Sight(one, point, part, subject.rounding)
        d = subject.direction(g[part].size, "gradient", part, one.agent, point[0].tobytes())
        seen = sight.slope(d)
        if part == "y" and not np.isfinite(seen.error):  # f may be undefined off Y
            d = subject.project(point[1] + rms(point[1]) * d) - point[1]
            seen = sight.slope(d)
        tests[part] = (d, seen)
        size = float(np.linalg.norm(g[part]))
        slack = MARGIN * seen.error + max(1e-6, 1e3 * subject.rounding) * size * float(np.abs(d).max(initial=0.0))
        gap = abs(float(g[part] @ d) - seen.value)
        if not np.isfinite(seen.error) or MARGIN * seen.error > 0.1 * max(size, abs(seen.value)) > 0:
            found[part] = f"differences of `value` are too rough at the points that were tried (+- {seen.error:.1g})."
        elif gap <= slack:
            found[part] = None
        else:
            found[part] = _named(sight, g[part], d, seen, gap / max(size, abs(seen.value)))
    return _remarked(found, g, tests)


def _named(sight: Sight, g: Array, d: Array, seen: Slope, size: float) -> Miss | str:
    """The coordinate at fault, by halving: of two halves the one where gradient and differences are further apart."""
    places: Indices = np.flatnonzero(d)
    while places.size > 1:
        halves = np.array_split(places, 2)
        off = [abs(float(g[half] @ d[half]) - sight.slope(_only(d, half)).value) for half in halves]
        places = halves[int(np.nan_to_num(off[1], nan=-1.0) > np.nan_to_num(off[0], nan=-1.0))]
    k = int(places[0])
    unit = _only(np.ones_like(d), places)
    alone = sight.slope(unit)
    if not abs(g[k] - alone.value) > MARGIN * alone.error:  # many small errors, none of which can be seen alone
        text = (
            f"along a random direction in {sight.part} `gradient` says {float(g @ d):.8g}, differences of `value` "
            f"{seen.value:.8g} (+- {seen.error:.0e})."
        )
        return Miss(sight.one.agent, text, size, sight.part, None, float(g @ d), seen.value)
    if kinked(sight.line(unit), sight.reach(unit)):
        return "the points that were tried lie on a kink of `value`."
    text = (
        f"coordinate {k} of {sight.part}: `gradient` says {g[k]:.8g}, differences of `value` {alone.value:.8g} "
        f"(+- {alone.error:.0e})."
    )
    return Miss(sight.one.agent, text, size, sight.part, k, float(g[k]), alone.value)


def _only(d: Array, places: Indices) -> Array:
    """The direction in these coordinates alone."""
    cut = np.zeros_like(d)
    cut[places] = d[places]
    return cut


def _remarked(
    found: dict[str, Miss | str | None], g: dict[str, Array], tests: dict[str, tuple[Array, Slope]]
) -> dict[str, Miss | str | None]:
    """With what explains a miss: the pair is swapped, or a factor."""
    if not any(isinstance(one, Miss) for one in found.values()):
        return found
    swapped = g["x"].size == g["y"].size and all(
        abs(float(g[other] @ tests[part][0]) - tests[part][1].value) <= 1e-5 * float(np.linalg.norm(g[other]))
        for part, other in (("x", "y"), ("y", "x"))
    )
    for part, miss in found.items():
        if isinstance(miss, Miss) and swapped:
            found[part] = _saying(miss, " The pair (in x, in y) is swapped.")
        elif isinstance(miss, Miss):
            d, seen = tests[part]
            factor = float(g[part] @ d) / seen.value if seen.value else 0.0
            exact = miss.measured is not None and miss.expected and abs(miss.measured / miss.expected - factor) < 1e-4
            if exact and abs(factor) > 1e-6:
                found[part] = _saying(miss, f" It is {factor:.4g} times the derivative.")
    return found


def _saying(miss: Miss, more: str) -> Miss:
    return Miss(miss.agent, miss.text + more, miss.size, miss.part, miss.coordinate, miss.measured, miss.expected)
