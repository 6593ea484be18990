"""The search for parameters that every method gets alike: a compass search on powers of two.

A point is a structure (a choice without order, such as a form of the method) and whole coordinates k, which stand for
parameters 2^(k/4). From the starting points of every structure, ask for the neighbours at distance 4 (a factor 2) of
the structure's best point, for each cost by itself, until the best point has no neighbour left to ask for; then at
distance 2; then at distance 1. A winner is thus cheaper than both of its neighbours in every coordinate: it lies on no
edge. A structure that costs more than BEHIND times the best one, in every cost, is not refined.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

BEHIND = 2.0
LONGEST = 64  # |k| at most: a factor 2^16

Point = tuple[Hashable, tuple[int, ...]]
Answer = dict[str, float] | None  # the costs, or None where the target was not reached


@dataclass(frozen=True)
class Space:
    """Where to search.

    names            of the coordinates; the first `steps` of them are step sizes
    starts           coordinates from which every structure starts
    lowest, highest  bounds of the coordinates
    """

    structures: tuple[Hashable, ...]
    names: tuple[str, ...]
    starts: tuple[tuple[int, ...], ...]
    steps: int
    lowest: tuple[int, ...]
    highest: tuple[int, ...]

    def bounds_met(self, k: tuple[int, ...]) -> set[str]:
        """The coordinates at a bound that could lie elsewhere: at the highest, or at the lowest possible step."""
        every = zip(self.names, k, self.lowest, self.highest, strict=True)
        return {
            name for i, (name, one, low, high) in enumerate(every) if one == high or (i < self.steps and one == low)
        }

    def holds(self, k: tuple[int, ...]) -> bool:
        return all(low <= one <= high for low, one, high in zip(self.lowest, k, self.highest, strict=True))


def search(
    space: Space, ask: Callable[[list[Point]], list[Answer]], distances: Sequence[int], costs: Sequence[str]
) -> dict[Point, Answer]:
    """Everything that was asked for, with its answer; `ask` answers a list of points."""
    known: dict[Point, Answer] = {}

    def learn(points: list[Point]) -> bool:
        new = [p for p in dict.fromkeys(points) if p not in known and space.holds(p[1])]
        known.update(zip(new, ask(new), strict=True) if new else ())
        return bool(new)

    learn([(structure, start) for structure in space.structures for start in space.starts])
    for distance in distances:
        alive = space.structures if distance == distances[0] else _near(known, space.structures, costs)
        while learn([point for one in alive for point in _wanted(known, one, distance, costs, space.steps)]):
            pass
    return known


def best(known: dict[Point, Answer], cost: str, structure: Hashable | None = None) -> Point | None:
    """The cheapest point that reached, of one structure or of all; the earliest among equals."""
    reached = {p: answer[cost] for p, answer in known.items() if answer is not None and structure in (None, p[0])}
    return min(reached, key=lambda p: reached[p], default=None)


def _wanted(
    known: dict[Point, Answer], structure: Hashable, distance: int, costs: Sequence[str], steps: int
) -> list[Point]:
    """The neighbours of the structure's best points; where none has reached, all steps shorter than ever."""
    winners = [winner for cost in costs if (winner := best(known, cost, structure)) is not None]
    if not winners:
        ks = [p[1] for p in known if p[0] == structure]
        low = min(min(k[:steps]) for k in ks) - distance
        return [(structure, (*(low for _ in k[:steps]), *k[steps:])) for k in ks]
    found = []
    for _, k in dict.fromkeys(winners):
        for i in range(len(k)):
            found += [(structure, (*k[:i], k[i] + d, *k[i + 1 :])) for d in (distance, -distance)]
    return found


def _near(known: dict[Point, Answer], structures: Sequence[Hashable], costs: Sequence[str]) -> list[Hashable]:
    """The structures that are near the best one in one of the costs."""

    def least(cost: str, structure: Hashable | None) -> float:
        winner = best(known, cost, structure)
        answer = None if winner is None else known[winner]
        return float("inf") if answer is None else answer[cost]

    return [one for one in structures if any(least(cost, one) <= BEHIND * least(cost, None) < 1e300 for cost in costs)]
