"""The table of methods, generated from what each class says of itself."""

from dataclasses import asdict, dataclass

from raydream.algorithms import METHODS
from raydream.algorithms.facts import Facts

COLUMNS = {
    "name": "method",
    "python": "in Python",
    "setting": "setting",
    "constraint": "constraint on y",
    "covered": "in theory",
    "arrays": "arrays per round",
    "sfo": "SFO per agent and iteration",
    "rounds": "rounds per iteration",
    "total_sfo": "SFO to ε",
    "total_rounds": "rounds to ε",
    "reference": "reference",
    "source": "specification from",
}


@dataclass(frozen=True)
class Row(Facts):
    """A method's facts under its two names: on the command line, and in Python."""

    name: str
    python: str


def table() -> list[Row]:
    """One row per method, in the order of `METHODS`."""
    return [Row(name=name, python=kind.__name__, **asdict(kind.facts)) for name, kind in METHODS.items()]


def markdown() -> str:
    """The table as GitHub renders it."""
    lines = [COLUMNS.values(), ["---"] * len(COLUMNS)]
    for row in table():
        cells = asdict(row)
        lines.append([cells[column].replace("|", "\\|") for column in COLUMNS])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
