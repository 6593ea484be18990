"""Write README.md of this folder: one line per script, with what it found taken from findings/.

    python experiments/make_readme.py

The text around the table stays as it is; only what stands between the two marks is made anew. What a script found is
the list in its text, or, where there is none, the first paragraph; a script without findings is listed as not yet run.
"""

import ast
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
MARKS = ("<!-- table -->", "<!-- /table -->")
ORDER = (
    "figure_1_sfo",
    "figure_2_rounds",
    "theorem",
    "table_1_scaling",
    "speedup",
)  # the paper's own; ablations follow
PARTS = {"sweeps", "valley", "vectorised", "make_readme", "figures"}  # what scripts share, and this one


def line(script: Path) -> str:
    """script | artefact | time | finding."""
    opening = (ast.get_docstring(ast.parse(script.read_text())) or "").splitlines()[0]
    artefact = opening.split(". ")[0].rstrip(".").replace("|", "\\|")
    text = HERE / "findings" / f"{script.stem}.md"
    if not text.exists():
        return f"| `{script.name}` | {artefact} | – | not yet run in full |"
    written = text.read_text()
    listed = [entry[2:] for entry in written.splitlines() if entry.startswith("- ")]
    found = " ".join(listed) if listed else written.strip().split("\n\n")[1].replace("\n", " ")
    found = found.replace("|", "\\|")
    took = re.findall(r"[\d.]+ minutes(?: of one core)?", written)[-1]
    return f"| `{script.name}` | {artefact} | {took} | {found} [More](findings/{script.stem}.md) |"


def main() -> None:
    scripts = [path for path in HERE.glob("*.py") if path.stem not in PARTS]
    scripts.sort(key=lambda path: (ORDER.index(path.stem) if path.stem in ORDER else len(ORDER), path.stem))
    made = ["| script | artefact | full run | found |", "| --- | --- | --- | --- |", *map(line, scripts)]
    readme = HERE / "README.md"
    before, rest = readme.read_text().split(MARKS[0], 1)
    after = rest.split(MARKS[1], 1)[1]
    readme.write_text(f"{before}{MARKS[0]}\n" + "\n".join(made) + f"\n{MARKS[1]}{after}")
    print(f"{len(scripts)} scripts: {readme}")


if __name__ == "__main__":
    main()
