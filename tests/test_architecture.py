"""Imports point down, names are lazy, and the tools are content."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import raydream

ROOT = Path(raydream.__file__).resolve().parent.parent
PACKAGE = ROOT / "raydream"

# Where a lower floor opens a door to a higher one, inside a function: `result.report(...)`, `comparison.plot`.
DOORS = {("storage", "report"), ("studies", "report")}


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
    """The package alone loads neither numpy nor ray; building a method and a topology loads no pandas or plotly."""
    assert not loaded_by("import raydream") & {"numpy", "ray", "pandas", "plotly", "networkx", "scipy"}
    used = loaded_by("import raydream as rd; rd.DREAM(eta=1, gamma=1); rd.problems; rd.constraints; rd.data; rd.theory")
    assert not used & {"ray", "pandas", "plotly", "networkx", "pooch", "tqdm", "typer", "rich"}


def test_public_names_are_sorted_and_exist():
    """Everything in __all__ can be had, and nothing else is claimed."""
    assert raydream.__all__ == sorted(raydream.__all__)
    assert all(getattr(raydream, name) is not None for name in raydream.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        raydream.nonsense  # noqa: B018


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
