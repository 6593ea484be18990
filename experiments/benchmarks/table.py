"""Every benchmark that has a goal, in one table: what was measured, its ratio to the yardstick, the goal, and whether
it is met.

    python experiments/benchmarks/table.py [--only actors,starting] [--quick] [--out table.md]

Each group of rows is one file, with a function `rows(quick)` that yields them as they are measured. Variants of a
group take turns, figures are medians, and ratios are of medians of one run.
"""

import argparse
import os
from importlib import import_module
from pathlib import Path

from measuring import HEAD, Row, line, table

from raydream.backends.workers import cpus
from raydream.kernels.library import which

GROUPS = ("actors", "transports", "guarding", "starting", "one_process", "agents", "feedback")  # files of this folder


def main() -> None:
    """Measure, print each row as it is known, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="groups to measure, with commas between them: " + ", ".join(GROUPS))
    parser.add_argument("--quick", action="store_true", help="a few steps only, to see that it works")
    parser.add_argument("--out", type=Path, help="a file for the table")
    given = parser.parse_args()
    asked = given.only.split(",") if given.only else GROUPS
    unknown = sorted({*asked} - {*GROUPS})
    if unknown:
        parser.error(f"`--only` must name groups among {', '.join(GROUPS)}; got {', '.join(unknown)}.")
    print(f"Loops: {which()}. CPUs: {cpus()}; load before: {os.getloadavg()[0]:.1f}.\n", flush=True)
    print(line(HEAD), "|" + "---|" * len(HEAD), sep="\n", flush=True)
    rows: list[Row] = []
    for group in asked:
        for row in import_module(group).rows(given.quick):
            rows.append(row)
            print(line(row.cells()), flush=True)
            if given.out:
                given.out.write_text(table(rows) + "\n")


if __name__ == "__main__":
    main()
