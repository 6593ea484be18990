"""The landscape: every method on six problems and three networks at equal tuning, and where each is best.

    python experiments/landscape.py [--quick]

Counted in SFO calls, rounds, bytes, and simulated time at three price lists. The rule of the search is in
contest/search.py, that of the verdicts in contest/standing.py. Methods of one machine hold all samples and pay no
rounds: they stand beside the others on SFO calls alone. There are 2048 samples in all: what variance reduction saves
grows with their number, as table_1_scaling.py measures, and is small here.
"""

from contest.meeting import cells, counted, meet, setting_words, standings_of
from contest.picture import matrix
from contest.search import AXES
from contest.standing import tally
from sweeps import options, save_figure
from texts import FINDINGS, Row, Tables, publish

from raydream.algorithms import METHODS

NAME, TITLE = "landscape", "The landscape: who is best where"


def main() -> None:
    given = options(NAME, __doc__)
    entrants = list(METHODS) if given.size == "full" else ["dream", "gt-gda", "ed-gda", "gda"]
    tables = publish(given, TITLE, text_of, meet(entrants, given))
    figure = matrix(standings_of(tables), [row["entrant"] for row in tables["entrants"]])
    save_figure(given, figure)
    if given.size == "full":
        figure.write_image(FINDINGS / f"{NAME}.png")


def text_of(tables: Tables) -> tuple[str, str]:
    """How often each method is best or within noise, and all ratios."""
    found = standings_of(tables)
    places = len({(row["problem"], row["network"]) for row in found})
    summary = f"Of {places} cells (problem and network), best or within the noise of the best: " + "; ".join(
        f"{axis}: {_leaders(tables, found, axis)}" for axis in AXES
    )
    body = [
        __doc__.split("\n\n")[2].strip(),
        setting_words(tables),
        "Cells in which a method is best + those in which it is within the noise of the best:",
        counted(tables, found),
        *_absent(tables),
    ]
    for axis in AXES:
        body += [
            f"## {axis}",
            "Price over the best one's, with its 95 % interval; in italics within noise.",
            cells(found, axis),
        ]
    return f"{summary}.", "\n\n".join(body)


def _leaders(tables: Tables, found: list[Row], axis: str) -> str:
    """The methods that are most often best or within noise, as far as three."""
    counts = {row["entrant"]: tally(found, row["entrant"], axis) for row in tables["entrants"]}
    order = sorted((name for name in counts if counts[name][0]), key=lambda name: -sum(counts[name][:2]))
    return ", ".join(f"{name} {sum(counts[name][:2])} (best in {counts[name][0]})" for name in order[:3]) or "nobody"


def _absent(tables: Tables) -> list[str]:
    lines = [f"* {row['entrant']} on {row['problem']}: {row['why']}" for row in tables["absent"] if row["entrant"]]
    return ["Refused, as their form does not allow it:", "\n".join(lines)] if lines else []


if __name__ == "__main__":
    main()
