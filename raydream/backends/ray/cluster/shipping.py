"""Code of one's own for a cluster's nodes: it travels with the run, so that actors import what the driver imports."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from raydream import checks

_SHIPPED: list[str] = []  # what went along when this process attached to Ray, while it is attached


def check_shippable(paths: Sequence[str]) -> None:
    """Refuse what actors could not import."""
    if isinstance(paths, str) or not isinstance(paths, Sequence):
        raise TypeError(f"`ship` must be a list of paths; got {paths!r}.")
    for path in (checks.path("ship", one) for one in paths):
        if not (path.is_dir() or (path.is_file() and path.suffix in (".py", ".whl"))):
            raise ValueError(
                f"`ship` must name folders of packages, .py files or wheels; {str(path)!r} is none that exists."
            )


@contextmanager
def shipping(paths: Sequence[str]) -> Iterator[dict[str, Any]]:
    """What ray.init must be told, while this process is attached."""
    _SHIPPED.extend(paths)
    try:
        yield {"runtime_env": {"py_modules": [str(Path(path).resolve()) for path in paths]}} if paths else {}
    finally:
        _SHIPPED.clear()


def refuse_unshipped(paths: Sequence[str]) -> None:
    """Ray takes code along when a program attaches to it, and not later."""
    if late := [path for path in paths if path not in _SHIPPED]:
        raise ValueError(
            f"`ship` must be heeded when Ray is joined, and this program has joined it already, without {late[0]!r}; "
            "name it in ray.init(runtime_env={'py_modules': [...]}), or leave the joining to the run."
        )
