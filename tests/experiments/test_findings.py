"""Every text in experiments/findings is, to the letter, what its script renders from the CSV files beside it."""

import importlib
import re
import shutil
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "experiments"
FINDINGS = FOLDER / "findings"
# Texts that their scripts cannot render from files yet; each must go from here as soon as it can.
UNRENDERED: set[str] = set()
TUNED = {"ablation_coin": "sfo", "ablation_mixing": "rounds", "ablation_participation": "sfo",
         "ablation_projection": "iterations"}  # the cost for which a step was chosen # fmt: skip
RENDERED = sorted({path.stem for path in FINDINGS.glob("*.md")} - UNRENDERED)


@pytest.fixture(autouse=True)
def texts(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("texts")


def disagreements(findings, but=frozenset()):
    """One sentence for each text that is not what its script makes of its files, and for a file without a text."""
    texts, found = importlib.import_module("texts"), []
    names = sorted(path.stem for path in findings.glob("*.md"))
    for name in set(names) - but:
        made, written = texts.rendered(findings, name), (findings / f"{name}.md").read_text()
        if made is None:
            found.append(f"{name}.md: experiments/{name}.py does not render it")
        elif made != written:
            pairs = zip([*made.split("\n"), None], [*written.split("\n"), None], strict=False)
            line, (right, wrong) = next((i, pair) for i, pair in enumerate(pairs, 1) if pair[0] != pair[1])
            found.append(f"{name}.md, line {line}: the files say {right!r}, the text {wrong!r}")
    for path in sorted(findings.glob("*.csv")):
        if not any(path.stem == name or path.stem.startswith(f"{name}_") for name in names):
            found.append(f"{path.name}: belongs to no text")
    return found


def test_every_text_is_what_its_files_say():
    """To the letter, the line about computing time too. After a change of a text_of: run make_readme.py."""
    assert disagreements(FINDINGS, but=UNRENDERED) == []


def test_a_text_that_can_be_rendered_is_checked(texts):
    """The list of exceptions names no text that a script renders, and none that is not there."""
    for name in UNRENDERED:
        assert (FINDINGS / f"{name}.md").exists() and not hasattr(importlib.import_module(name), "TITLE")


def test_the_readme_is_what_make_readme_makes():
    """The table, with a line for every script, comes from the texts; after a change to one: run make_readme.py."""
    text = (FOLDER / "README.md").read_text()
    make_readme = importlib.import_module("make_readme")
    assert make_readme.renewed(text) == text
    assert {path.stem for path in FINDINGS.glob("*.md")} <= {path.stem for path in make_readme.scripts()}


def test_the_page_on_clusters_has_the_table_of_what_runs_survive():
    """As it was measured."""
    text = (FOLDER.parent / "docs" / "howto" / "cluster.md").read_text()
    assert importlib.import_module("make_readme").survived(text) == text


@pytest.fixture
def copy(tmp_path):
    return Path(shutil.copytree(FINDINGS, tmp_path / "findings"))


@pytest.mark.parametrize("name", RENDERED)
def test_a_changed_digit_in_a_text_is_found(copy, name):
    """The first, one in the middle, and the computing time; a sentence more."""
    path, others = copy / f"{name}.md", {path.stem for path in FINDINGS.glob("*.md")} - {name}
    written = path.read_text()
    places = [match.start() for match in re.finditer(r"\d", written)]
    for place in (places[0], places[len(places) // 2], written.index(" minutes of one core") - 1):
        path.write_text(written[:place] + str((int(written[place]) + 1) % 10) + written[place + 1 :])
        (found,) = disagreements(copy, but=others)
        assert found.startswith(f"{name}.md, line")
    path.write_text(written + "One more sentence.\n")
    assert len(disagreements(copy, but=others)) == 1


@pytest.mark.parametrize("name", RENDERED)
def test_a_changed_number_in_a_file_is_found(copy, name, texts):
    """In every column of every table one number more by 1, or one truth turned round; a row less."""
    others = {path.stem for path in FINDINGS.glob("*.md")} - {name}
    for table, rows in texts.read_tables(copy, name).items():
        path = copy / f"{name}_{table}.csv"
        before = path.read_text()
        for column in rows[0]:
            at = next((i for i, row in enumerate(rows) if isinstance(row[column], int | float)), None)
            if at is not None:
                value = rows[at][column]
                changed = not value if isinstance(value, bool) else value + 1
                texts.write_csv(path, [*rows[:at], {**rows[at], column: changed}, *rows[at + 1 :]])
                assert changed_or_refused(copy, others, name), (table, column)
        texts.write_csv(path, rows[1:])
        assert changed_or_refused(copy, others, name), table
        path.write_text(before)
    assert disagreements(copy, but=others) == []


def changed_or_refused(findings, others, name):
    """Whether the text differs, or the script finds that its tables do not belong together."""
    try:
        (found,) = disagreements(findings, but=others)
    except (ValueError, KeyError, IndexError):
        return True
    return found.startswith(f"{name}.md, line")


def test_a_text_without_a_script_and_a_table_without_a_text_are_found(copy):
    (copy / "wishful.md").write_text("# We win\n\nAlways.\n")
    (copy / "stray_runs.csv").write_text("a\n1\n")
    found = disagreements(copy, but=UNRENDERED)
    assert found == ["wishful.md: experiments/wishful.py does not render it", "stray_runs.csv: belongs to no text"]


def test_a_changed_text_changes_the_readme(copy):
    path = copy / f"{RENDERED[0]}.md"
    path.write_text(path.read_text().replace("\n\n", "\n\nWe win. ", 1))
    text = (FOLDER / "README.md").read_text()
    assert importlib.import_module("make_readme").renewed(text, copy) != text


@pytest.mark.parametrize("name", TUNED)
def test_steps_come_from_other_seeds_than_those_reported(name, texts):
    """No seed serves both; every reported run has the step that the search would choose from its own files."""
    sweeps, tables = importlib.import_module("sweeps"), texts.read_tables(FINDINGS, name)
    tuning, runs = tables["tuning"], tables["runs"]
    assert not {row["seed"] for row in tuning} & {row["seed"] for row in runs}
    columns = list(runs[0])
    group = columns[: columns.index("eta")]
    chosen = {key: sweeps.chosen(mine, TUNED[name]) for key, mine in sweeps.grouped(tuning, *group).items()}
    assert all(row["eta"] == chosen[tuple(row[c] for c in group)] for row in runs)
    assert len({len(mine) for mine in sweeps.grouped(runs, *group).values()}) == 1  # none was left out
