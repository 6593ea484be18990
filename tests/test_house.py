"""The house: few entries, small folders and files, one place for every fact, and a page that shows the tree."""

import ast
import re
from pathlib import Path

import pytest
from test_architecture import PACKAGE, ROOT, floors

FRAME = {"__init__", "__main__"}
SOURCES = sorted(PACKAGE.rglob("*.py"))
ASKING = ("algorithms/method.py", "problems/completed.py")  # where a method, or a problem, is searched for what it has
NOUNS = {"method", "kind", "session", "backend", "where"}


def kept(folder):
    """What counts in a folder: not what Python leaves there."""
    return [path for path in folder.iterdir() if path.name != "__pycache__"]


def test_the_package_shows_its_design_at_a_glance():
    """At most 14 entries beside the sub-packages."""
    assert len([path for path in kept(PACKAGE) if path.is_file()]) <= 14


def test_no_folder_is_a_drawer():
    """At most 16 files in each."""
    folders = [PACKAGE, *(path for path in PACKAGE.rglob("*") if path.is_dir() and path.name != "__pycache__")]
    crowded = {str(one): files for one in folders if (files := sum(path.is_file() for path in kept(one))) > 16}
    assert not crowded


def test_no_file_is_long():
    """At most 350 lines, whatever the language."""
    files = [path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".js", ".css", ".html")]
    long = {str(path): lines for path in files if (lines := len(path.read_text().splitlines())) > 350}
    assert not long


def layout():
    """The entries of the layout of the package, from the bottom up."""
    section = (ROOT / "docs" / "design.md").read_text().partition("## Layout")[2].partition("\n## ")[0]
    return re.findall(r"(?m)^    raydream/(\w+)(?:\.py|/)", section)


def test_the_readme_shows_the_tree():
    """Every module and package, once, and no other."""
    listed = layout()
    there = {path.stem for path in kept(PACKAGE) if path.suffix != ".typed"} - FRAME
    assert sorted(listed) == sorted(there)


def test_the_readme_lists_floors_from_the_bottom_up():
    """What an entry imports stands above it in the list."""
    listed = layout()
    wrong = {own: later for own, others in floors().items() if (later := others - {*listed[: listed.index(own)]})}
    assert not wrong


def probes(path):
    """Where hasattr or getattr is asked of a method, a session or a backend."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
            continue
        asked = node.args[0]
        name = asked.id if isinstance(asked, ast.Name) else asked.attr if isinstance(asked, ast.Attribute) else ""
        if node.func.id in ("hasattr", "getattr") and name.strip("_") in NOUNS:
            yield f"{path.relative_to(PACKAGE)}:{node.lineno}"


def test_nobody_probes_a_method_a_session_or_a_backend():
    """They have types; a user's own method is completed in one place."""
    found = [place for path in SOURCES for place in probes(path) if not place.startswith(ASKING)]
    assert not [place for place in found if not place.startswith("backends/registry.py")]


@pytest.mark.parametrize("pattern", [r"str\(\w+\.type\)", r"__class__\.__name__ (==|in)", r'"one machine" in'])
def test_prose_drives_no_behaviour(pattern):
    """No decision by a type's spelling, a class's name or a substring of a description."""
    assert not [str(path) for path in SOURCES if re.search(pattern, path.read_text())]


def test_every_exception_stands_in_one_file():
    """Besides errors.py nobody defines one, but for what never leaves its own file."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and path.name != "errors.py" and not node.name.startswith("_"):
                bases = {ast.unparse(base) for base in node.bases}
                assert not any(base.endswith(("Error", "Exception", "Warning", "Interrupt")) for base in bases), (
                    node.name
                )


def test_the_hooks_run_what_the_tests_run():
    """The pre-commit configuration and the tests of lint, format and types name the same commands."""
    hooks = re.findall(r"entry: (.+)", (ROOT / ".pre-commit-config.yaml").read_text())
    tests = re.findall(r"tool\((.+?)\)\n", Path(__file__).with_name("test_architecture.py").read_text())
    assert hooks == [" ".join(re.findall(r'"([^"]+)"', words)) for words in tests]
