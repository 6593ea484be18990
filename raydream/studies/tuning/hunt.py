"""The search: configurations drawn or asked for, raced, and looked for further out while winners lie at edges."""

from dataclasses import dataclass
from math import ceil
from typing import Any

from raydream.algorithms.facts import Range
from raydream.studies.tuning.race import Race
from raydream.studies.tuning.spaces import Grid, Parameters, all_of, drawn_from, in_steps, size_of
from raydream.studies.tuning.tpe import tpe
from raydream.studies.tuning.widening import outgrown, widened
from raydream.studies.tuning.winners import Ranked

NEAR = 10**0.5  # how far from a winner it is looked for a better one, to begin with
TURNS = 4  # in which that is done
SEARCHES = ("grid", "halving", "random", "tpe")


@dataclass
class Hunt:
    """A search among grids, which may grow, for configurations of each method.

    counts  how many of each method, to begin with
    chosen  those that take part
    """

    race: Race
    search: str
    seed: int
    counts: dict[str, int]
    grids: dict[str, Grid]
    chosen: dict[str, list[Parameters]]

    def begin(self) -> None:
        """Draw what is drawn before anything is tried; or show for each method that there is something to ask for."""
        drawn = {label: self._draw(label, grid, self.counts[label]) for label, grid in self.grids.items()}
        self.chosen = {label: [] for label in drawn} if self.search == "tpe" else drawn

    def run(self, widen: int) -> Ranked:
        """The configurations that had the whole budget, best first; ranges grow at most `widen` times."""
        most = max(self.counts.values())
        order = self._round(most)
        for _ in range(widen):
            further = outgrown(self.grids, self.race.winners(order), self.search == "grid")
            if not further:
                break
            for name, side in further:
                self.grids, self.chosen = widened(self.grids, self.chosen, name, side, self._more, most)
            order = self._round(ceil(most / 3))
        return order

    def refine(self, order: Ranked, count: int) -> Ranked:
        """So many more configurations of each method around its winner, with the whole budget; the best of all first.

        They are tried in turns, each around the winner by then and closer to it.
        """
        for turn in range(TURNS):
            share = count * (turn + 1) // TURNS - count * turn // TURNS
            winners = self.race.winners(order)
            near = {label: self._near(label, winners[label]["parameters"], share, turn) for label in winners}
            found = self.race.whole(near)
            self.chosen = {label: [*some, *near.get(label, [])] for label, some in self.chosen.items()}
            order = {
                label: sorted([*those, *found.get(label, [])], key=lambda one: one.loss(self.race.metric))
                for label, those in order.items()
            }
        return order

    def _near(self, label: str, won: Parameters, count: int, turn: int) -> list[Parameters]:
        """Configurations near one: its numbers from ranges moved, and at most one choice made anew.

        Part of them keep all choices; the others leave one free, each choice in its turn.
        """
        grid, reach = self.grids[label], NEAR ** (1 / (turn + 1))
        choices = {name: values for name, values in grid.items() if not isinstance(values, Range)}
        kept: Grid = {n: (v,) if n in choices else Range(v / reach, v * reach) for n, v in won.items()}
        free = [None, *(name for name, values in choices.items() if len(values) > 1)]
        found = []
        for place, choice in enumerate(free):
            share = count * (place + 1) // len(free) - count * place // len(free)
            around = kept if choice is None else {**kept, choice: choices[choice]}
            if share and (size_of(around) or 2) > 1:  # something is left to vary
                seed = self.seed + 1 + turn * len(free) + place
                found += drawn_from(label, self.race.kinds[label], around, self.race.admission, share, seed)
        return found

    def about(self) -> dict[str, Any]:
        """What was searched in the end, as plain data."""
        finite = {label: in_steps(grid) if self.search == "grid" else grid for label, grid in self.grids.items()}
        return {
            "search": self.search,
            "seed": self.seed,
            "configurations": {label: [len(some), size_of(finite[label])] for label, some in self.chosen.items()},
            "grids": {label: _written(grid) for label, grid in self.grids.items()},
            "starts": self.race.dearest(self.chosen),
            "horizons": self.race.horizons(self.chosen) if self.search == "halving" else [],
        }

    def _round(self, more: int) -> Ranked:
        """Race what is chosen; TPE chooses by itself, so many more."""
        if self.search == "halving":
            return self.race.halving(self.chosen)
        if self.search != "tpe":
            return self.race.whole(self.chosen)
        order = tpe(self.race, self.grids, more, self.seed, self.chosen)
        self.chosen = {label: [one.parameters for one in those] for label, those in order.items()}
        return order

    def _draw(self, label: str, grid: Grid, count: int) -> list[Parameters]:
        """So many configurations of a method; all of a grid's."""
        kind, admission = self.race.kinds[label], self.race.admission
        if self.search == "grid":
            return all_of(label, kind, in_steps(grid), admission, self.counts[label])
        return drawn_from(label, kind, grid, admission, count, self.seed)

    def _more(self, label: str, grid: Grid, count: int) -> list[Parameters]:
        """Configurations from the new part of a range; TPE asks for its own."""
        return [] if self.search == "tpe" else self._draw(label, grid, count)


def _written(grid: Grid) -> dict[str, Any]:
    """A grid as JSON has it: lists of values, and ranges as objects."""
    return {
        name: {"low": values.low, "high": values.high} if isinstance(values, Range) else list(values)
        for name, values in grid.items()
    }
