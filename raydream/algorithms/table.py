"""The methods side by side: the table of what each says of itself, and the rates that their papers state."""

from dataclasses import asdict, dataclass

from raydream.algorithms import METHODS
from raydream.algorithms.facts import Facts
from raydream.algorithms.method import facts_of
from raydream.theory.rates import Rate

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
class Row:
    """A method's facts in words, under its two names: on the command line, and in Python."""

    name: str
    python: str
    setting: str
    constraint: str
    covered: str
    arrays: str
    sfo: str
    rounds: str
    total_sfo: str
    total_rounds: str
    reference: str
    source: str


def table() -> list[Row]:
    """One row per method, in the order of `METHODS`."""
    words = [column for column in COLUMNS if column != "python"]
    return [
        Row(python=kind.__name__, **{column: getattr(kind.facts, column) for column in words})
        for kind in METHODS.values()
    ]


def markdown() -> str:
    """The table as GitHub renders it."""
    lines = [COLUMNS.values(), ["---"] * len(COLUMNS)]
    for row in table():
        cells = asdict(row)
        lines.append([cells[column].replace("|", "\\|") for column in COLUMNS])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def facts_named(method: str) -> Facts | None:
    """What the method of this name says of itself; None for one that is not of this package."""
    return facts_of(METHODS.get(method))


def rates(case: str) -> dict[str, Rate]:
    """The stated rates for the offline or the online case, by method, in the order of `METHODS`."""
    return {name: kind.facts.rates[case] for name, kind in METHODS.items() if case in kind.facts.rates}


def why_none(method: str, case: str) -> str | None:
    """Why a method has no rate for this case, in words; None if it has one."""
    facts = METHODS[method].facts
    if case in facts.rates:
        return None
    stated = " and ".join(facts.rates)
    return f"rate stated for the {stated} case only" if stated else str(facts.no_rate)
