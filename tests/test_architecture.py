"""Imports point down, names are lazy, and the tools are content."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import raydream

ROOT = Path(raydream.__file__).resolve().parent.parent
PACKAGE = ROOT / "raydream"

# Where a lower floor opens a door to a higher one, inside a function: `result.report(...)`, `shards.plot()`.
DOORS = {("storage", "report"), ("studies", "report"), ("data", "report")}


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names if node.module == "raydream")


def floors():
    """The top-level modules and packages, each with those that it imports, as the tree has them."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if own.startswith("__"):
            continue
        for name in imports_of(path):
            parts = name.split(".")
            if (
                parts[0] == "raydream"
                and len(parts) > 1
                and parts[1] != own
                and (PACKAGE / parts[1]).exists() | (PACKAGE / f"{parts[1]}.py").exists()
            ):
                found.setdefault(own, set()).add(parts[1])
    return {own: {other for other in others if (own, other) not in DOORS} for own, others in found.items()}


def test_imports_point_down():
    """No two floors import each other, not even by way of others: there is an order in which all point down."""
    waiting = floors()
    below = set()
    while ready := [own for own, others in waiting.items() if others <= below | (others - waiting.keys())]:
        below |= {*ready}
        for own in ready:
            del waiting[own]
    assert not waiting, f"these import each other in a circle: {waiting}"


def test_only_the_ray_backend_imports_ray():
    """Everything else runs without it."""
    for path in PACKAGE.rglob("*.py"):
        uses = any(name.split(".")[0] == "ray" for name in imports_of(path))
        assert not uses or "backends/ray" in path.as_posix(), path


def loaded_by(code):
    program = f"import sys; {code}; print(*sorted(sys.modules))"
    return set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    )


def test_import_raydream_is_light():
    """The package alone loads itself; --help neither numpy nor ray; a method and a topology no pandas or plotly."""
    heavy = {"numpy", "ray", "pandas", "plotly", "networkx", "scipy"}
    alone = loaded_by("import raydream")
    assert not alone & heavy and {name for name in alone if name.startswith("raydream")} == {"raydream"}
    assert not loaded_by("import raydream.cli.app") & heavy  # which is all that --help needs
    used = loaded_by("import raydream as rd; rd.DREAM(eta=1, gamma=1); rd.problems; rd.constraints; rd.data; rd.theory")
    assert not used & {"ray", "pandas", "plotly", "networkx", "pooch", "tqdm", "typer", "rich", "torch", "jax"}


def test_public_names_are_sorted_and_exist():
    """Everything in __all__ can be had, and nothing else is claimed."""
    assert raydream.__all__ == sorted(raydream.__all__)
    assert all(getattr(raydream, name) is not None for name in raydream.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        raydream.nonsense  # noqa: B018


def test_type_checkers_see_the_same_names():
    """What is looked up when first used stands also where types are read; methods come from their package."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.asname for node in block.body for alias in node.names if alias.name != "*"}
    assert seen == {*raydream._NAMES, *raydream._MODULES}


USER = """
import raydream as rd

problem = rd.problems.QuadraticGame.random(4)
topology = rd.topology.ring(4)
method = rd.DREAM(eta=0.1, gamma=1.0)
result = rd.run(problem, topology, method, iterations=1, backend=rd.LocalBackend())
comparison = rd.compare(problem, topology, [method, rd.GTGDA(eta=0.1, gamma=1.0)], iterations=1)
tuning = rd.tune(problem, topology, ["dream"], budget=1)
for thing in (problem, topology, method, rd.run, result, result.ledger, result.outcome, comparison, tuning):
    pass
reveal_type(problem)
reveal_type(topology)
reveal_type(method)
reveal_type(rd.run)
reveal_type(result)
reveal_type(result.ledger)
reveal_type(rd.load("runs/first"))
reveal_type(comparison)
reveal_type(tuning)
reveal_type(rd.RayBackend(links="ray"))
reveal_type(rd.errors.GradientError)
rd.DREAM(eta=0.1)
rd.run(problem, topology, method)
"""


def test_a_user_s_script_has_types(tmp_path):
    """mypy knows what run, compare, load and the methods are, and complains of what is missing."""
    script = tmp_path / "script.py"
    script.write_text(USER)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", f"--config-file={ROOT / 'pyproject.toml'}"]
    done = subprocess.run([*command, str(script)], cwd=ROOT, capture_output=True, text=True)
    revealed = [line.split('"')[1] for line in done.stdout.splitlines() if "Revealed type" in line]
    wanted = ["QuadraticGame", "Topology", "DREAM", "def (", "Result", "Ledger", "Result", "Comparison", "Tuning"]
    assert len(revealed) == 11 and not any(kind == "Any" for kind in revealed), done.stdout
    assert all(part in kind for part, kind in zip([*wanted, "RayBackend", "GradientError"], revealed, strict=True))
    assert 'Missing named argument "gamma"' in done.stdout and 'Missing named argument "iterations"' in done.stdout


def tool(*arguments):
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff_has_no_complaint():
    """Lint."""
    tool("ruff", "check", "--no-cache", ".")


def test_ruff_would_not_reformat():
    """Format."""
    tool("ruff", "format", "--check", "--no-cache", ".")


def test_mypy_has_no_complaint():
    """Types, strictly."""
    tool("mypy", "--no-error-summary")
