"""What all benchmarks share: variants that take turns, and rows with a goal, a ratio and whether the goal is met."""

import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

HEAD = ("work", "measured (range)", "beside", "ratio", "goal", "met")


@dataclass(frozen=True)
class Row:
    """One line of the table: the figures of several repeats, and what was asked of their median.

    beside, to  the figures of the yardstick in the same run, and its name; the ratio is that of the medians
    most        the goal as an upper bound, of the ratio where there is a yardstick, else of the median
    least       the goal as a lower bound
    """

    work: str
    figures: Sequence[float]
    unit: str = "ms"
    beside: Sequence[float] = ()
    to: str = ""
    most: float | None = None
    least: float | None = None
    on_ratio: bool = True  # whether the goal is of the ratio, where there is one

    @property
    def ratio(self) -> float | None:
        """The median over the yardstick's."""
        return statistics.median(self.figures) / statistics.median(self.beside) if self.beside else None

    @property
    def judged(self) -> float:
        """What the goal is about."""
        ratio = self.ratio
        return statistics.median(self.figures) if ratio is None or not self.on_ratio else ratio

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None where there is none."""
        if self.most is None and self.least is None:
            return None
        return (self.most is None or self.judged <= self.most) and (self.least is None or self.judged >= self.least)

    def cells(self) -> tuple[str, ...]:
        """The line, cut as HEAD is."""
        bound, sign = (self.most, "<=") if self.most is not None else (self.least, ">=")
        unit = "" if self.ratio is not None and self.on_ratio else f" {self.unit}"
        return (
            self.work,
            _in_words(self.figures, self.unit),
            f"{self.to} {_in_words(self.beside, self.unit)}" if self.beside else "-",
            "-" if self.ratio is None else f"{self.ratio:.2f}",
            "-" if bound is None else f"{sign} {bound:g}{unit}",
            {True: "yes", False: "**no**", None: "-"}[self.met],
        )


def in_turns(variants: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, list[float]]:
    """What each variant measures, every one in its turn, so many times."""
    found: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(repeats):
        for name, measure in variants.items():
            found[name].append(measure())
    return found


def milliseconds(call: Callable[[], object], per: int = 1) -> float:
    """How long a call takes, divided by so many."""
    began = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - began) / per


def line(cells: Iterable[str]) -> str:
    """One line of a table in Markdown."""
    return "| " + " | ".join(cells) + " |"


def table(rows: Iterable[Row]) -> str:
    """All rows in Markdown."""
    return "\n".join([line(HEAD), "|" + "---|" * len(HEAD), *(line(row.cells()) for row in rows)])


def _in_words(figures: Sequence[float], unit: str) -> str:
    middle = f"{statistics.median(figures):.3g} {unit}"
    return middle if len(figures) == 1 else f"{middle} ({min(figures):.3g}-{max(figures):.3g})"
