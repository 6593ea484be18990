"""DREAM's own knobs: which variants gain, on six problems and three networks at equal tuning.

    python experiments/dream_knobs.py [--quick]

Each variant is searched by itself as methods are in landscape.py, and compared with DREAM as it is: the ratio of their
prices is averaged over the cells in which both get there with every seed, paired by seeds. K is by default
1/sqrt(spectral gap) rounded up; in one frame, iterate and tracker are mixed together; with a fixed period the large
batch comes in every 1/p-th iteration.
"""

from contest.entrants import VARIANTS
from contest.meeting import counted, meet, setting_words, standings_of
from contest.search import AXES, price
from intervals import Comparison, compare
from intervals import tally as told
from sweeps import add_ratios, options, save_figure
from texts import Row, Tables, publish, table

NAME, TITLE = "dream_knobs", "DREAM's own knobs"
PLAIN = "as it is"


def main() -> None:
    given = options(NAME, __doc__)
    entrants = list(VARIANTS) if given.size == "full" else [PLAIN, "K = 1", "one frame"]
    tables = publish(given, TITLE, text_of, meet(entrants, given))
    save_figure(given, figure_of(tables))


def against_plain(tables: Tables, variant: str, axis: str) -> tuple[Comparison, int]:
    """The price of a variant over that of DREAM as it is, over the cells in which both get there with every seed."""
    mine, plain = (_priced(tables, name, axis) for name in (variant, PLAIN))
    cells = _complete(mine) & _complete(plain)
    kept = ([row for row in part if row["cell"] in cells] for part in (mine, plain))
    return compare(*kept, "price", over=("cell",)), len(cells)


def _complete(rows: list[Row]) -> set[str]:
    missed = {row["cell"] for row in rows if row["price"] is None}
    return {row["cell"] for row in rows} - missed


def _priced(tables: Tables, name: str, axis: str) -> list[Row]:
    found = []
    for one in tables["chosen"]:
        if one["entrant"] == name and axis in one["axes"].split(", "):
            rows = [row for row in tables["runs"] if row["number"] == one["number"]]
            cell = f"{one['problem']}, {one['network']}"
            found += [{"cell": cell, "seed": row["seed"], "price": price({**row, **one}, axis)} for row in rows]
    return found


def text_of(tables: Tables) -> tuple[str, str]:
    """The ratios on each axis, and what follows for the defaults."""
    variants = [row["entrant"] for row in tables["entrants"] if row["entrant"] != PLAIN]
    both = {axis: {name: against_plain(tables, name, axis) for name in variants} for axis in AXES}
    found = {axis: {name: ratio for name, (ratio, _) in of.items()} for axis, of in both.items()}
    summary = "Price over that of DREAM as it is: " + "; ".join(
        f"{axis}: {told(found[axis])}" for axis in ("sfo", "rounds", "bytes")
    )
    rows = [{"variant": name} | {axis: "{}, {} cells".format(*both[axis][name]) for axis in AXES} for name in variants]
    standing = standings_of(tables)
    body = [
        __doc__.split("\n\n")[2].strip(),
        setting_words(tables),
        "Price over that of DREAM as it is, with 95 % intervals over paired seeds, and in how many of 18 cells:",
        table(rows, {"variant": "", **{axis: axis for axis in AXES}}),
        "Cells in which a variant is the best of all + those in which it is within the noise of the best:",
        counted(tables, standing),
    ]
    return f"{summary}.", "\n\n".join(body)


def figure_of(tables: Tables):
    """Ratios with their intervals, a group for each axis."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for variant in [row["entrant"] for row in tables["entrants"] if row["entrant"] != PLAIN]:
        add_ratios(figure, variant, {axis: against_plain(tables, variant, axis)[0] for axis in AXES})
    figure.add_hline(1.0, line_dash="dot")
    return figure.update_layout(yaxis_title="price over that of DREAM as it is", scattermode="group")


if __name__ == "__main__":
    main()
