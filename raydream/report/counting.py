"""The DREAM paper's own bookkeeping, derived from the ledger: b for a correction instead of 2b, tracker rounds only."""

from typing import Any

import numpy as np

from raydream.types import Array

Columns = dict[str, Array]


def sfo_paper(columns: Columns, config: dict[str, Any]) -> Array | None:
    """SFO calls if a recursive correction on b samples cost b; None where the ledger does not tell.

    A correction is billed 2b, so half of what was spent on corrections is taken off. With N large batches of b'
    in t iterations of m agents, spent - first = m b' N + corrections, and N follows from the ledger alone:

        everybody takes part (q = 1):   N = (spent - first - 2 b m t) / (m (b' - 2b))
        else, from the tracker's rounds of DREAM:   N = (rounds - rounds_0 - 2 K t) / (K' - K)
    """
    method, p = config["method"]["name"], config["method"]["parameters"]
    spent: Array = columns["sfo"] - columns["sfo"][0]
    if method in ("gt-da", "gt-gda", "gda", "sgda", "dgda"):
        return columns["sfo"]
    if method == "dm-hsgd":
        return np.asarray(columns["sfo"] - spent / 2)
    if method not in ("dream", "gt-srvr", "dgda-vr"):
        return None
    m, n, t = config["problem"]["agents"], config["problem"]["samples"], columns["iteration"]
    b, b_large = p.get("b") or n, p.get("b_large") or n
    K, K_large = p.get("K"), p.get("K_large")
    if b and b_large and p.get("q", 1.0) == 1 and b_large != 2 * b:
        large = (spent - 2 * b * m * t) / (m * (b_large - 2 * b))
    elif b_large and m > 1 and K is not None and K_large is not None and K_large != K:
        large = (columns["rounds"] - columns["rounds"][0] - 2 * K * t) / (K_large - K)
    else:
        return None
    corrections: Array = spent - m * b_large * np.round(large)
    return columns["sfo"] - corrections / 2 if (corrections >= 0).all() else None


def rounds_paper(columns: Columns, config: dict[str, Any]) -> Array | None:
    """Rounds that carry the tracker; None for a method without one, and for GT-DA, whose trackers take turns."""
    method, p = config["method"]["name"], config["method"]["parameters"]
    rounds, t = columns["rounds"], columns["iteration"]
    if config["problem"]["agents"] == 1:
        return rounds
    if method == "dream" and p.get("K") is not None:
        return rounds - float(p["K"]) * t
    if method == "dm-hsgd" or (method in ("gt-gda", "gt-srvr") and p.get("form") == "atc"):
        return rounds - t
    return rounds if method in ("gt-gda", "gt-srvr", "dgda-vr") else None


def paper_columns(columns: Columns, config: dict[str, Any]) -> Columns:
    """The derived columns that can be had."""
    try:
        derived = {"sfo_paper": sfo_paper(columns, config), "rounds_paper": rounds_paper(columns, config)}
    except (KeyError, TypeError, IndexError):  # the configuration does not say enough, or nothing was recorded
        return {}
    return {name: values for name, values in derived.items() if values is not None}
