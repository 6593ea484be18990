"""What recorded runs would have taken on another network: simulated time is a function of the ledger.

Where all agents and all links are alike and every agent calls as many gradients as any other between two rounds, nobody
waits for anybody, and the virtual clock is

    sim_seconds = gradient_seconds sfo / m + latency rounds + bytes on one link / bandwidth
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from raydream.algorithms import METHODS
from raydream.checks import not_negative, positive
from raydream.columns import RECORDED, with_conditional
from raydream.conditions import Conditions
from raydream.storage.result import Result
from raydream.types import Array

if TYPE_CHECKING:
    import pandas as pd

    from raydream.studies.comparison import Key


def prices(gradient_seconds: float | None, latency: float | None, bandwidth: float | None) -> Conditions:
    """Conditions that are the same for all agents and links."""
    return Conditions(
        gradient_seconds=None if gradient_seconds is None else not_negative("gradient_seconds", gradient_seconds),
        latency=None if latency is None else not_negative("latency", latency),
        bandwidth=None if bandwidth is None else positive("bandwidth", bandwidth),
    )


def quantities(result: Result) -> tuple[Array, Array, Array]:
    """Of every record: the calls of one agent, the rounds, and the bytes on one link."""
    history = result.history
    sfo, rounds, messages, sent = (
        history[name].to_numpy(dtype=np.float64) for name in ("sfo", "rounds", "messages", "bytes")
    )
    dropped = history["dropped"].to_numpy(dtype=np.float64) if "dropped" in history else np.zeros(len(history))
    links = (messages[-1] + dropped[-1]) / rounds[-1] if rounds[-1] else 1.0
    return sfo / result.record.problem.agents, rounds, sent / links


def seconds_at(calls: Array, rounds: Array, sent: Array, at: Conditions) -> Array:
    """The clock at these prices."""
    found = calls * (at.gradient_seconds or 0.0) + rounds * (at.latency or 0.0)
    return found if at.bandwidth is None else found + sent / at.bandwidth


def repriced(result: Result, at: Conditions) -> Result:
    """The same run with `sim_seconds` at these prices, and a record that says so."""
    history = result.history.assign(sim_seconds=seconds_at(*quantities(result), at))
    if "dropped" not in history:
        history = history.assign(dropped=0)
    ordered = dict.fromkeys([*with_conditional(RECORDED, history.columns), *history.columns])
    return replace(
        result, history=history[[*ordered]], record=replace(result.record, conditions=_with_loss(at, result))
    )


def _with_loss(at: Conditions, result: Result) -> Conditions:
    before = result.record.conditions
    return at if before is None else replace(at, drop=before.drop, asleep=before.asleep)


def why_estimated(result: Result) -> str:
    """Why the clock of a run is not exactly a function of its ledger; nothing where it is."""
    record = result.record
    if record.problem.agents == 1:
        return ""
    if record.conditions is not None and record.conditions.lossy:
        return "its messages were lost now and then"
    if record.problem.sizes is not None:
        return "its agents own shards of different sizes"
    if record.method.name not in METHODS:
        return "it is not known whether its agents call as many gradients as each other"
    if float(record.method.parameters.get("q") or 1.0) < 1.0:
        return "its agents take part by chance"
    return ""


def said_of(results: "Mapping[Key, Result]", at: Conditions) -> str:
    """At which prices simulated time is counted, and of which methods it is an estimate."""
    given = ", ".join(f"{name}={value:g}" for name, value in at.to_json().items()) or "no price"
    why = {name: reason for (name, _), result in results.items() if (reason := why_estimated(result))}
    if not why:
        return f"simulated time at {given}; exact, as all agents are alike"
    named = "; ".join(f"{name}: {reason}" for name, reason in why.items())
    return f"simulated time at {given}; an estimate by the mean over agents where they are not alike ({named})"


class Reaching:
    """What each run had spent at its first record as good as a target: by method and seed, infinity where it is none.

    The record that reaches it does not depend on prices, so that time to the target is linear in them.
    """

    def __init__(self, spent: "Mapping[Key, tuple[float, float, float] | None]") -> None:
        self.methods = list(dict.fromkeys(name for name, _ in spent))
        self.seeds = list(dict.fromkeys(seed for _, seed in spent))
        self._spent = np.full((len(self.methods), len(self.seeds), 3), np.nan)
        for (name, seed), found in spent.items():
            place = self.methods.index(name), self.seeds.index(seed)
            self._spent[place] = math.inf if found is None else found

    def seconds(self, gradient_seconds: Array, latency: Array, bandwidth: float) -> Array:
        """Time to the target at each of these prices: an axis of methods, one of seeds, then those of the prices.

        A seed that a method was not run with is NaN.
        """
        shape = (*self._spent.shape[:2], *np.broadcast(gradient_seconds, latency).shape)
        found = np.empty(shape)
        for place in np.ndindex(*self._spent.shape[:2]):
            calls, rounds, sent = self._spent[place]
            reached = math.isfinite(calls)
            found[place] = calls * gradient_seconds + rounds * latency + sent / bandwidth if reached else calls
        return found


def judged(seconds: Array) -> "dict[str, Array]":
    """Who is first by the median over seeds, at each of the prices: numbers of methods (-1: nobody), and more.

    winner, second   first and next
    time             of the first, its median
    ratio            of the second's median to it; infinity where there is no other
    agree            the share of seeds on which the first is first
    medians          of all methods, in order
    """
    medians = np.stack([_median(of_method) for of_method in seconds])
    order = np.argsort(medians, axis=0, kind="stable")
    winner, second = order[0], order[min(1, len(order) - 1)]
    time = np.take_along_axis(medians, winner[None], axis=0)[0]
    behind = np.take_along_axis(medians, second[None], axis=0)[0] if len(order) > 1 else np.full(time.shape, math.inf)
    there = ~np.isnan(seconds).any(axis=0)  # seeds that every method was run with
    best = np.where(np.isnan(seconds), math.inf, seconds).min(axis=0)
    own = np.take_along_axis(seconds, winner[None, None], axis=0)[0]
    won = there & (own <= best) & np.isfinite(own)
    with np.errstate(invalid="ignore", divide="ignore"):
        agree = won.sum(axis=0) / there.sum(axis=0)
        ratio = np.where(np.isfinite(behind), behind / time, math.inf)
    nobody = ~np.isfinite(time)
    return {
        "winner": np.where(nobody, -1, winner),
        "second": np.where(nobody | ~np.isfinite(behind), -1, second),
        "time": time,
        "ratio": np.where(nobody, math.nan, ratio),
        "agree": np.where(nobody, math.nan, agree),
        "medians": medians,
    }


def table_of(reaching: Reaching, gradient_seconds: Array, latency: Array, bandwidths: "list[float]") -> "pd.DataFrame":
    """One row for each triple of prices: who is first, after how long, how far ahead, on how many of the seeds."""
    import pandas as pd

    names = np.array([*reaching.methods, ""], dtype=object)  # -1 is the last
    calls, wait = np.meshgrid(gradient_seconds, latency, indexing="ij")
    tables = []
    for bandwidth in bandwidths:
        found = judged(reaching.seconds(calls, wait, bandwidth))
        columns = {
            "bandwidth": np.full(calls.size, bandwidth),
            "latency": wait.ravel(),
            "gradient_seconds": calls.ravel(),
            "winner": names[found["winner"].ravel()],
            "seconds": found["time"].ravel(),
            "second": names[found["second"].ravel()],
            "ratio": found["ratio"].ravel(),
            "agree": found["agree"].ravel(),
        }
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def _median(seconds: Array) -> Array:
    """Over the seeds of one method, those that there are; one that never got there is dearer than all others."""
    run = ~np.isnan(seconds.reshape(len(seconds), -1)).any(axis=1)
    ordered = np.sort(seconds[run], axis=0)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return np.asarray(low + (high - low) / 2 if np.isfinite(high).all() else np.where(low == high, low, math.inf))
