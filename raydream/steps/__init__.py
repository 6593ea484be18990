"""The steps that a method has where nobody gives any: settled for every known problem and data set, else a guess."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("settled.toml")
GUESS = {"eta": 0.1, "gamma": 1.0}  # where nothing is settled
UNSETTLING = {"scaling": "balanced", "unit": False}  # what is settled holds while these are as here


@cache
def table() -> dict[str, dict[str, dict[str, Any]]]:
    """The parameters by method, for every problem on its data."""
    return tomllib.loads(FILE.read_text())


def settled(method: str, problem: str, given: Mapping[str, Any]) -> dict[str, Any] | None:
    """The parameters of a method that were settled for a problem with these parameters; None where none were.

    A data set's test part, such as a9a.t, is like the rest of it.
    """
    if any(given.get(name, usual) != usual for name, usual in UNSETTLING.items()):
        return None
    data = str(given.get("data", "synthetic")).removesuffix(".t")
    known = table().get(f"{problem}/{data}") or (table().get(problem) if data == "synthetic" else None)
    found = (known or {}).get(method)
    return None if found is None else dict(found)
