"""The DREAM paper's own bookkeeping, derived from the ledger: b for a correction instead of 2b, tracker rounds only."""

from typing import Any

import numpy as np

from raydream.algorithms.facts import Counting
from raydream.algorithms.table import facts_named
from raydream.types import Array

Columns = dict[str, Array]


def sfo_paper(columns: Columns, config: dict[str, Any]) -> Array | None:
    """SFO calls if a recursive correction on b samples cost b; None where the ledger does not tell.

    A correction is billed 2b, so half of what was spent on corrections is taken off. With N large batches of b'
    in t iterations of m agents, spent - first = m b' N + corrections, and N follows from the ledger alone (a batch of
    the whole shard costs all agents together as many as they own, which is m b' or m b in its place):

        everybody takes part (q = 1):   N = (spent - first - 2 b m t) / (m (b' - 2b))
        else, where a large batch has rounds of its own:   N = (rounds - rounds_0 - 2 K t) / (K' - K)
    """
    counting, p = _counting(config), config["method"]["parameters"]
    spent: Array = columns["sfo"] - columns["sfo"][0]
    if counting is None:
        return None
    if counting.corrections == "none":
        return columns["sfo"]
    if counting.corrections == "all":
        return np.asarray(columns["sfo"] - spent / 2)
    m, t = config["problem"]["agents"], columns["iteration"]
    every = sum(config["problem"].get("sizes") or [m * (config["problem"]["samples"] or 0)])
    small, whole = (m * p[name] if p.get(name) else every for name in ("b", "b_large"))  # of all agents together
    K, K_large = p.get("K"), p.get("K_large")
    if small and whole and p.get("q", 1.0) == 1 and whole != 2 * small:
        large = (spent - 2 * small * t) / (whole - 2 * small)
    elif whole and m > 1 and K is not None and K_large is not None and K_large != K:
        large = (columns["rounds"] - columns["rounds"][0] - 2 * K * t) / (K_large - K)
    else:
        return None
    corrections: Array = spent - whole * np.round(large)
    return columns["sfo"] - corrections / 2 if (corrections >= 0).all() else None


def rounds_paper(columns: Columns, config: dict[str, Any]) -> Array | None:
    """Rounds that carry the tracker; None for a method without one, or whose trackers take turns."""
    counting, given = _counting(config), config["method"]["parameters"]
    rounds = columns["rounds"]
    if config["problem"]["agents"] == 1:
        return rounds
    untracked = counting.untracked(given) if counting and counting.untracked else None
    return None if untracked is None else rounds - float(untracked) * columns["iteration"]


def paper_columns(columns: Columns, config: dict[str, Any]) -> Columns:
    """The derived columns that can be had."""
    try:
        derived = {"sfo_paper": sfo_paper(columns, config), "rounds_paper": rounds_paper(columns, config)}
    except (KeyError, TypeError, IndexError):  # the configuration does not say enough, or nothing was recorded
        return {}
    return {name: values for name, values in derived.items() if values is not None}


def _counting(config: dict[str, Any]) -> Counting | None:
    """What the method says of the paper's counting; None for one that is not of this package."""
    facts = facts_named(config["method"]["name"])
    return facts.counting if facts else None
