"""Every text in experiments/findings is, to the letter, what its script renders from the CSV files beside it."""

import importlib
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "experiments"
# Texts that their scripts cannot render from files yet; each must go from here as soon as it can.
UNRENDERED = {
    "figure_1_sfo", "figure_2_rounds", "speedup", "table_1_scaling",
    "ablation_coin", "ablation_defects", "ablation_mixing", "ablation_participation", "ablation_projection",
}  # fmt: skip


@pytest.fixture(autouse=True)
def scripts_can_be_imported(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


def renders(name):
    """Whether a script has what the texts are made of."""
    if not (FOLDER / f"{name}.py").exists():
        return False
    script = importlib.import_module(name)
    return hasattr(script, "TITLE") and hasattr(script, "text_of")


def disagreements(findings, but=frozenset()):
    """One sentence for each text that is not what its script makes of its files, and for a table without a text."""
    texts, found = importlib.import_module("texts"), []
    for path in sorted(findings.glob("*.md")):
        name = path.stem
        if name in but:
            continue
        if not renders(name):
            found.append(f"{path.name}: experiments/{name}.py does not render it")
            continue
        script = importlib.import_module(name)
        made, written = texts.page(script.TITLE, script.text_of, texts.read_tables(findings, name)), path.read_text()
        if made != written:
            pairs = zip([*made.splitlines(), ""], [*written.splitlines(), ""], strict=False)
            line, (right, wrong) = next((i, pair) for i, pair in enumerate(pairs, 1) if pair[0] != pair[1])
            found.append(f"{path.name}, line {line}: the files say {right!r}, the text {wrong!r}")
    names = [path.stem for path in findings.glob("*.md")]
    for path in sorted(findings.glob("*.csv")):
        if not any(path.stem == name or path.stem.startswith(f"{name}_") for name in names):
            found.append(f"{path.name}: belongs to no text")
    return found


def test_every_text_is_what_its_files_say():
    """To the letter, the line about computing time too. After a change to a script: run it again in full."""
    assert disagreements(FOLDER / "findings", but=UNRENDERED) == []


def test_a_text_that_can_be_rendered_is_checked():
    assert {name for name in UNRENDERED if renders(name)} == set()


def test_the_readme_is_what_make_readme_makes():
    """The table, with a line for every script, comes from the texts; after a change to one: run make_readme.py."""
    text = (FOLDER / "README.md").read_text()
    assert importlib.import_module("make_readme").renewed(text) == text
