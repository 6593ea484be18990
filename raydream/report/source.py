"""Whatever a directory holds: a run, a comparison, a tuning or a study."""

from pathlib import Path
from typing import Any

from raydream.checks import path
from raydream.storage.result import Result, load
from raydream.studies.comparison import Comparison
from raydream.studies.study.study import Study
from raydream.studies.tuning.tuning import Tuning

Source = Result | Comparison | Tuning | Study


def opened(directory: Any) -> Source:
    """What the directory holds."""
    folder = path("directory", directory)
    if (folder / "study.json").exists():
        return Study.load(folder)
    if (folder / "comparison.json").exists():
        return Comparison.load(folder)
    if any((folder / name).exists() for name in ("tuning.json", "trials.jsonl")):
        return Tuning.load(folder)
    if not (folder / "run.json").exists() and any(folder.glob("*/runs/comparison.json")):
        return Study.load(folder)  # which says what an earlier version has left out
    return load(folder)


def home_of(source: Any) -> Path | None:
    """The directory that something is kept in, where it knows."""
    found = getattr(source, "directory", None)
    return found if isinstance(found, Path) else None
