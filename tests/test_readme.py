"""Examples of the README and of the pages run as they stand, and the README's commands are the ones that are tested."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
DOCS = sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "tutorials")
PAGES = [README, *(page.read_text() for page in DOCS)]
BLOCKS = [block for page in PAGES for block in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)]


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if "class DGDA" not in block], ids=lambda block: block[:30].split()[1]
)
def test_a_python_block_runs(block, tmp_path, monkeypatch, capsys, shared_ray):
    """Each block is a whole program."""
    if "import torch" in block:
        pytest.importorskip("torch", reason="the extra `torch` is not installed: pip install 'raydream[torch]'")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "readme"}
    exec(compile(block, "README.md", "exec"), names)
    assert capsys.readouterr().out
    if "result" in names:
        primal = names["result"].history.primal
        assert primal.iloc[-1] < primal.iloc[0]


def test_the_own_problem_is_solved(shared_ray):
    """In the section on your own problem and method, DREAM gets much further than the method without tracking."""
    [block] = [block for block in BLOCKS if "class DGDA" in block]
    names = {"__name__": "readme"}
    exec(compile(block, "README.md", "exec"), names)
    assert names["verdict"].ok, str(names["verdict"])
    assert names["mine"].outcome == names["dream"].outcome == "completed"
    assert names["dream"].history.grad_norm.iloc[-1] < 1e-3 < names["mine"].history.grad_norm.iloc[-1]


def test_ci_runs_the_second_command_as_the_readme_has_it():
    """`.ci/run` and the README agree."""
    command = "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/pytest"
    assert f"    {command}\n" in README
    assert (ROOT / ".ci" / "run").read_text().rstrip().endswith(command)


def test_the_own_problem_is_short():
    """From the first function to the problem it takes less than 15 lines."""
    [block] = [block for block in BLOCKS if "class DGDA" in block]
    assert len(block[block.index("def value") : block.index("@dataclass")].strip().splitlines()) < 15


def test_large_extras_are_asked_for_by_name():
    """`test` does without torch and JAX; `.ci/run` installs their builds for the CPU before anything else."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert not re.search("torch|jax", " ".join(extras["test"]))
    assert [re.match("[a-z]+", package)[0] for name in ("torch", "jax") for package in extras[name]] == ["torch", "jax"]
    steps = (ROOT / ".ci" / "run").read_text()
    assert steps.index("torch==2.13.0+cpu") < steps.index("jax==") < steps.index("pip install -e")


def test_every_dependency_has_its_reason():
    """The dependency table names exactly the dependencies."""
    declared = re.search(r"^dependencies = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.DOTALL | re.MULTILINE)
    names = set(re.findall(r'"([a-z]+)', declared.group(1)))
    table = README[README.index("## Dependencies") :]
    listed = {name for row in re.findall(r"^\| ([a-z, ]+) \|", table, re.MULTILINE) for name in row.split(", ")}
    assert listed - {"package"} == names


def test_the_methods_table_is_the_generated_one():
    """What stands between the markers is what the method files say."""
    from raydream.algorithms.table import markdown

    shown = README.split("<!-- methods -->")[1].split("<!-- /methods -->")[0]
    assert shown.strip() == markdown().strip()


def test_the_problems_table_is_the_generated_one():
    """What stands between the markers is what the problems' files say."""
    from raydream.problems.registry import markdown

    shown = README.split("<!-- problems -->")[1].split("<!-- /problems -->")[0]
    assert shown.strip() == markdown().strip()
