"""Comparisons that were made before: those of the same problem, found below a directory."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from raydream.studies.comparison import Comparison, read_index
from raydream.studies.setting import Setting

CLOCKS = {"gradient_seconds", "latency", "bandwidth", "uplink"}  # conditions that change nothing but the clock


class Stored(NamedTuple):
    """A comparison of the same problem, and how it differs from what was asked."""

    comparison: Comparison
    directory: Path
    differs: str


def stored_for(runs: Path, setting: Setting, methods: Sequence[str] | None, any_network: bool) -> Stored | None:
    """The comparison to answer from: on the same network if there is one, and of these the one with most runs.

    methods      that it must have, where some were named
    any_network  whether one on another network of as many agents will do, where none was named
    """
    identity = setting.identity()
    found = []
    for file in sorted(runs.rglob("comparison.json")):
        try:
            index = read_index(file.parent)
        except (OSError, ValueError):
            continue  # whoever opens it is told
        theirs = index.get("identity") or {}
        known = [*(index.get("methods") or {})]
        same = theirs.get("topology") == identity["topology"]
        if theirs.get("problem") != identity["problem"] or theirs.get("start") != identity["start"]:
            continue
        if not {*json.loads(theirs.get("conditions", "{}"))} <= CLOCKS:
            continue
        if not (same or any_network) or len(known) < 2 or not {*(methods or ())} <= {*known}:
            continue
        found.append((same, file.parent))
    loaded = [(same, folder, comparison) for same, folder in found if (comparison := _usable(folder, methods))]
    if not loaded:
        return None
    same, folder, comparison = max(loaded, key=lambda one: (one[0], bool(one[2].tuned), len(one[2].results)))
    return Stored(comparison, folder, "" if same else _other_network(comparison, setting))


def _usable(folder: Path, methods: Sequence[str] | None) -> Comparison | None:
    """The comparison in a folder, of the methods that are asked for; None where fewer than two have a run."""
    try:
        comparison = Comparison.load(folder)
    except (OSError, ValueError):
        return None
    if methods:
        comparison.results = {key: one for key, one in comparison.results.items() if key[0] in methods}
        comparison.failures = {key: one for key, one in comparison.failures.items() if key[0] in methods}
    return comparison if len({name for name, _ in comparison.results}) > 1 else None


def _other_network(comparison: Comparison, setting: Setting) -> str:
    records = [result.record.topology for result in comparison.results.values()]
    theirs, ours = max(records, key=lambda one: one.m), setting.topology
    gap = 1.0 - theirs.second_eigenvalue
    return (
        f"its network is {theirs.name} with a spectral gap of {gap:.3g}; no network was asked for, and the usual one, "
        f"{ours.name}, has {ours.spectral_gap:.3g}"
    )
