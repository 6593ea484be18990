"""The problem under scrutiny: its agents, the points at which it is probed, and how exactly it computes."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from raydream.checking.differences import DISTINCT, EPS, STEPS, roughness
from raydream.checking.owned import Owned, asked
from raydream.checking.verdict import Finding
from raydream.constraints import Everything
from raydream.errors import ProblemRaised
from raydream.problems.protocol import Problem
from raydream.types import Array

Point = tuple[Array, Array]
SIZES = (0.1, 1.0, 0.01)  # of the moves away from the start to the points that are probed


def rms(v: Array) -> float:
    """The size of a coordinate, as root mean square."""
    return float(np.sqrt(np.mean(np.square(v)))) if v.size else 0.0


def coarseness(values: list[float]) -> float:
    """The relative spacing of the coarsest numbers among which all these are; that of float64 where they are one."""
    for kind in (np.float16, np.float32):
        if len(set(values)) > 1 and all(float(kind(value)) == value for value in values):
            return float(np.finfo(kind).eps)
    return EPS


@dataclass
class Subject:
    """A problem while it is checked.

    given   the problem as it came, and `whole` with the parts that it lacks
    agents  those that are probed, of which `m` there are in all
    start   (x0, y0)
    """

    given: Any
    whole: Problem
    agents: list[Owned]
    start: Point
    seed: int
    thorough: bool
    spoilt: set[int] = field(default_factory=set)  # agents whose answers are of no use to other checks

    @property
    def m(self) -> int:
        """All agents."""
        return int(self.whole.agents)

    @property
    def dim_x(self) -> int:
        return int(self.whole.dim_x)

    @property
    def free(self) -> bool:
        """Whether Y is everything."""
        return isinstance(self.whole.constraint, Everything)

    @property
    def able(self) -> list[Owned]:
        """The agents that give proper answers."""
        return [one for one in self.agents if one.agent not in self.spoilt]

    def defines(self, name: str) -> bool:
        """Whether the problem says this of itself; what it does not say is derived, and right if the rest is."""
        return hasattr(self.given, name)

    def random(self, *purpose: Any) -> np.random.Generator:
        """Draws of their own for every purpose."""
        return np.random.default_rng([self.seed, zlib.crc32(repr(purpose).encode())])

    def direction(self, size: int, *purpose: Any) -> Array:
        """A direction in which every coordinate counts, and errors of two of them do not cancel: +-(1/2 to 3/2)."""
        generator = self.random(*purpose)
        return generator.choice([-1.0, 1.0], size=size) * generator.uniform(0.5, 1.5, size=size)

    def project(self, y: Array) -> Array:
        """The nearest point of Y."""
        found: Array = asked("constraint.project", lambda: np.asarray(self.whole.constraint.project(y.copy()), float))
        return found

    def place(self, joint: int) -> tuple[str, int]:
        """The part, and the coordinate in it, of a coordinate of (x, y)."""
        return ("x", joint) if joint < self.dim_x else ("y", joint - self.dim_x)

    def somewhere(self, size: float, *purpose: Any) -> Point:
        """A random point with y in Y, off its boundary where a mean of several points of Y is."""
        generator, (x0, y0) = self.random("somewhere", *purpose), self.start
        x = x0 + size * (rms(x0) or 1.0) * generator.normal(size=x0.size)
        noise = size * (rms(y0) or 1.0) * generator.normal(size=(1 if self.free else 4, y0.size))
        return x, np.mean([self.project(y0 + one) for one in noise], axis=0)

    @cached_property
    def points(self) -> list[Point]:
        """Where gradients are compared: random points, nearer to the start where f is not finite so far out."""
        found = []
        for size in SIZES if self.thorough else SIZES[:1]:
            x, y = self.somewhere(size, size)
            for _ in range(12):
                if self.finite(x, y):
                    found.append((x, y))
                    break
                x, y = (self.start[0] + x) / 2, (self.start[1] + y) / 2
        return found or [self.start]

    def finite(self, x: Array, y: Array) -> bool:
        """Whether the first agents' functions are finite here; they may be undefined away from the start."""
        try:
            return all(np.isfinite(one.value(x, y)) and np.isfinite(one.gradient(x, y)).all() for one in self.able[:3])
        except ProblemRaised:
            return False

    @cached_property
    def rounding(self) -> float:
        """How roughly values and gradients are computed, relative to their size: 1e-16, or 1e-7 in float32."""
        ends = {one.agent: one for one in (self.able[0], self.able[-1])}.values()
        return max(*(coarseness([one.value(*point) for point in (self.start, *self.points)]) for one in ends),
                   *(self._rounding_of(one) for one in ends), EPS)  # fmt: skip

    def _rounding_of(self, one: Owned) -> float:
        x, y = self.points[0]
        d = self.direction(x.size + y.size, "rounding") * np.repeat([rms(x) or 1.0, rms(y) or 1.0], [x.size, y.size])
        values = slopes = np.zeros((STEPS.size, 1))
        for share in (1e-6, 1e-5, 1e-4, 1e-3):  # where numbers are coarse, nothing changes along a shorter line
            moved = [np.concatenate([x, y]) + share * step * d for step in STEPS]
            points = [(z[: x.size], z[x.size :]) for z in moved]
            values = np.array([[one.value(*point)] for point in points])
            slopes = np.stack([one.gradient(*point) for point in points])
            if np.unique(values).size >= DISTINCT:
                break
        sizes = [float(np.linalg.norm(table)) / np.sqrt(STEPS.size) for table in (values, slopes)]
        return max(
            roughness(table) / size if np.isfinite(size) and size > 0 else 0.0
            for table, size in zip((values, slopes), sizes, strict=True)
        )

    def mean(self, function: Callable[[Owned], Any]) -> Any:
        """The mean over all agents, probed or not."""
        return np.mean([function(self.everyone(i)) for i in range(self.m)], axis=0)

    def everyone(self, i: int) -> Owned:
        """What agent i owns, fetched once."""
        if i not in self._fetched:
            self._fetched[i] = Owned(i, asked("local", self.given.local, i, agent=i))
        return self._fetched[i]

    @cached_property
    def _fetched(self) -> dict[int, Owned]:
        return {one.agent: one for one in self.agents}

    def apart(self, found: Array, wanted: Array, scale: float) -> "Gap | None":
        """The coordinate in which two gradients differ most, if by more than rounding of numbers of this size."""
        difference = np.abs(found - wanted)
        difference[~np.isfinite(difference)] = np.inf
        worst = int(np.argmax(difference))
        most = max(1e-9, 1e3 * self.rounding) * scale
        if not difference[worst] > most:
            return None
        return Gap(*self.place(worst), float(found[worst]), float(wanted[worst]), float(difference[worst] / scale))


@dataclass(frozen=True)
class Gap:
    """Where two vectors differ most: the numbers, and the difference in units of the size of such vectors."""

    part: str
    coordinate: int
    measured: float
    expected: float
    size: float


@dataclass(frozen=True)
class Miss:
    """An agent that breaks a law, and by how much, to be compared with other agents."""

    agent: int
    text: str
    size: float = 0.0
    part: str | None = None
    coordinate: int | None = None
    measured: float | None = None
    expected: float | None = None


def judged(check: str, misses: list[Miss], fine: str) -> Finding:
    """The finding about the agent that breaks a law worst, with the numbers of the others; or that all keep it."""
    if not misses:
        return Finding(check, True, fine)
    worst = max(misses, key=lambda miss: miss.size)
    others = sorted({miss.agent for miss in misses} - {worst.agent})
    also = f" So {'does agent' if len(others) == 1 else 'do agents'} {listed(others)}." if others else ""
    return Finding(
        check, False, f"agent {worst.agent}: {worst.text}{also}", worst.agent, worst.part, worst.coordinate,
        worst.measured, worst.expected,
    )  # fmt: skip


def listed(numbers: list[int], most: int = 8) -> str:
    """1, 2, 3, and so many more."""
    shown = ", ".join(map(str, numbers[:most]))
    return shown if len(numbers) <= most else f"{shown} and {len(numbers) - most} more"
