"""Write the texts of findings/ anew from their CSV files, and README.md of this folder from the texts.

    python experiments/make_readme.py

docs/howto/cluster.md has the table of what runs survive, between two marks too.

README.md has one line per script; the text around the table stays as it is, only what stands between the two marks is
made anew. What a script found is the list in its text, or, where there is none, the first paragraph; a script without
findings is listed as not yet run.
"""

import ast
import re
from pathlib import Path

import texts

HERE = Path(__file__).resolve().parent
MARKS = ("<!-- table -->", "<!-- /table -->")
SURVIVED = ("<!-- survived -->", "<!-- /survived -->")
ORDER = (
    "figure_1_sfo",
    "figure_2_rounds",
    "theorem",
    "table_1_scaling",
)  # the paper's own; ablations follow
PARTS = {"figures", "make_readme"}  # can be started, but are no experiments


def line(script: Path, findings: Path) -> str:
    """script | artefact | time | finding."""
    opening = (ast.get_docstring(ast.parse(script.read_text())) or "").splitlines()[0]
    artefact = opening.split(". ")[0].rstrip(".").replace("|", "\\|")
    text = findings / f"{script.stem}.md"
    if not text.exists():
        return f"| `{script.name}` | {artefact} | – | not yet run in full |"
    written = text.read_text()
    listed = [entry[2:] for entry in written.splitlines() if entry.startswith("- ")]
    found = " ".join(listed) if listed else written.strip().split("\n\n")[1].replace("\n", " ")
    found = found.replace("|", "\\|")
    took = re.findall(r"[\d.]+ minutes(?: of one core)?", written)[-1]
    return f"| `{script.name}` | {artefact} | {took} | {found} [More](findings/{script.stem}.md) |"


def scripts() -> list[Path]:
    """What can be started: the paper's own first, then by name."""
    those = [path for path in HERE.glob("*.py") if path.stem not in PARTS and "__main__" in path.read_text()]
    return sorted(those, key=lambda path: (ORDER.index(path.stem) if path.stem in ORDER else len(ORDER), path.stem))


def renewed(text: str, findings: Path = HERE / "findings") -> str:
    """The text of README.md with its table made anew."""
    made = ["| script | artefact | full run | found |", "| --- | --- | --- | --- |"]
    return between(MARKS, text, made + [line(script, findings) for script in scripts()])


def survived(text: str, findings: Path = HERE / "findings") -> str:
    """The text of the page on clusters with the table of what runs survive made anew."""
    found = (findings / "chaos.md").read_text().splitlines()
    return between(SURVIVED, text, [entry for entry in found if entry.startswith("|")])


def between(marks: tuple[str, str], text: str, lines: list[str]) -> str:
    """The text with these lines between two marks, and no other."""
    before, rest = text.split(marks[0], 1)
    return f"{before}{marks[0]}\n" + "\n".join(lines) + f"\n{marks[1]}" + rest.split(marks[1], 1)[1]


def main() -> None:
    for text in (HERE / "findings").glob("*.md"):
        made = texts.rendered(text.parent, text.stem)
        if made is not None:
            text.write_text(made)
    readme, page = HERE / "README.md", HERE.parent / "docs" / "howto" / "cluster.md"
    readme.write_text(renewed(readme.read_text()))
    page.write_text(survived(page.read_text()))
    print(f"{len(scripts())} scripts: {readme}")


if __name__ == "__main__":
    main()
