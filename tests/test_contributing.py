"""The recipes of CONTRIBUTING.md work as written: each addition is one file, one line, and is found everywhere."""

import os
import re
import shutil
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pytest
from test_architecture import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text()
STEP = re.compile(r"^`(raydream/[\w/.]+)`(?P<line> gets one \w+)?:\n\n```(?:python)?\n(?P<code>.*?)```$", re.M | re.S)


def alike(line, other):
    """How many words two lines begin with alike."""
    words = (re.findall(r"\w+|[^\w\n]+", one) for one in (line, other))
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*words, strict=False)))


def add(text, code):
    """The text with the code above the last line that begins like the code's first."""
    lines, first = text.splitlines(keepends=True), code.splitlines()[0]
    place = max(range(len(lines)), key=lambda number: (alike(lines[number], first), number))
    return "".join([*lines[:place], code, *lines[place:]])


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """A copy of the package in which every recipe was followed."""
    root = tmp_path_factory.mktemp("followed")
    shutil.copytree(ROOT / "raydream", root / "raydream", ignore=shutil.ignore_patterns("__pycache__"))
    steps = list(STEP.finditer(TEXT))
    assert len(steps) == 12 and sum(step["line"] is not None for step in steps) == 6
    for step in steps:
        file = root / step[1]
        assert file.exists() == (step["line"] is not None), step[1]
        file.parent.mkdir(exist_ok=True)
        file.write_text(add(file.read_text(), step["code"]) if step["line"] else step["code"])
    return root


def told(root, code):
    """What a program prints that uses the copy."""
    paths = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "300"},
        cwd=root,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "tool",
    [
        "ruff check --no-cache --fix --select I raydream --config",
        "ruff check --no-cache raydream --config",
        "mypy --no-error-summary -p raydream --config-file",
    ],
)
def test_what_was_added_has_types_and_style(followed, tool):
    """Imports can be sorted by the tool; then nobody has a complaint of the recipes."""
    command = [sys.executable, "-m", *tool.split(), str(ROOT / "pyproject.toml")]
    done = subprocess.run(command, cwd=followed, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("methods", "mine"),
        ("problems", "tug"),
        ("topology", "wheel"),
        ("backends", "slow"),
        ("problems tug", "strength"),
    ],
)
def test_the_command_line_lists_it(followed, command, name):
    """In the table of its kind."""
    assert name in told(
        followed, f"import sys; sys.argv[1:] = {command.split()}; from raydream.cli.app import main; main()"
    )


def test_python_and_type_checkers_know_it(followed):
    """rd.Mine, rd.problems.Tug, rd.topology.wheel."""
    said = told(followed, "import raydream as rd; print(rd.Mine.__name__, rd.problems.Tug, rd.topology.wheel(5).m)")
    assert said.startswith("Mine <class 'raydream.problems.tug.Tug'> 5")


def test_the_form_offers_it(followed):
    """With its parameters, their meaning, and a network and links to choose."""
    said = told(
        followed,
        "from raydream.dashboard.new import fields\n"
        "from raydream.dashboard.new.fields import method_fields, problem_fields, topology_fields\n"
        "print([(f.name, f.help) for f in problem_fields('tug', 'synthetic')])\n"
        "print([f.name for f in method_fields('mine', 'tug', {})], [f.name for f in topology_fields('wheel')])\n"
        "from raydream.backends.ray.links import LINKS\n"
        "print(dict.fromkeys(LINKS))\n",
    )
    assert "('strength', 'how hard y may pull')" in said and "['eta', 'gamma']" in said and "self_weight" in said
    assert "'slow'" in said


def test_tuning_and_the_readme_s_table_know_it(followed):
    """The method's grid, its row, its rate, its colour."""
    said = told(
        followed,
        "import raydream as rd\n"
        "from raydream.studies.tuning.spaces import grid_of\n"
        "from raydream.algorithms.table import markdown, rates\n"
        "from raydream.report import theme\n"
        "print(sorted(grid_of('wide', 'mine', rd.Mine, ['mine'])))\n"
        "print([row for row in markdown().splitlines() if row.startswith('| mine ')])\n"
        "print(rates('offline')['mine'].sfo.formula, theme.colour('mine'))\n",
    )
    assert "['eta', 'gamma']" in said and "nobody, nowhere" in said and "O(N ε⁻²) #123456" in said


def test_a_run_uses_all_of_it_and_the_report_shows_it(followed, tmp_path):
    """The problem on the network by the method, over the links; the metric in history, files and page."""
    said = told(
        followed,
        "import raydream as rd\n"
        "from raydream import specs\n"
        "problem, network = specs.build_problem('tug', 5, {'strength': 0.5}), specs.build_topology('wheel', 5, {})\n"
        "method = specs.build_method('mine', {'eta': 0.2, 'gamma': 1.0})\n"
        "def run(backend, directory=None):\n"
        "    return rd.run(problem, network, method, iterations=20, record_every=5, checkpoint_every=10 if directory\n"
        "                  else None, backend=backend, directory=directory, progress=False)\n"
        f"local, actors = run('local', {str(tmp_path / 'r')!r}), run(rd.RayBackend(links='slow', agents_per_actor=3))\n"
        "assert local.history['size'].tolist() == actors.history['size'].tolist() and local.history['size'].max() > 0\n"
        f"again = rd.load({str(tmp_path / 'r')!r})\n"
        "print(list(again.history.columns), again.config['problem']['spec'], again.config['method']['name'])\n"
        f"page = again.report({str(tmp_path / 'r.html')!r}).read_text()\n"
        "assert 'the size of x' in page\n"
        "assert '#123456' in page\n",
    )
    assert "'size'" in said and "{'name': 'tug', 'parameters': {'strength': 0.5}} mine" in said


def test_the_dashboard_has_the_page(followed):
    """At its address, in the menu."""
    said = told(
        followed,
        "from raydream.dashboard.pages import PAGES\n"
        "from raydream.dashboard.parts import Query\n"
        "page = PAGES['/hello']\n"
        "print(page.TITLE, page.layout(Query('?name=you'), None).children)\n",
    )
    assert said.strip() == "Hello Hello, you"


def test_recipes_name_files_that_exist():
    """So that a reader can look at the neighbours."""
    named = re.findall(r"`((?:raydream|tests)/[\w/.]*)`", TEXT)
    new = {step[1] for step in STEP.finditer(TEXT) if step["line"] is None}
    assert not [name for name in named if name not in new and not Path(ROOT, name).exists()]
