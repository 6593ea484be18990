"""Who is first to a target at some prices, and whether the seeds decide it."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from raydream.studies.statistics import student_reach
from raydream.types import Array

if TYPE_CHECKING:
    import pandas as pd

    from raydream.studies.comparison import Key

Mask = npt.NDArray[np.bool_]


class Spent(NamedTuple):
    """The calls of one agent, the rounds, and the bytes on one link, at some record."""

    calls: float
    rounds: float
    sent: float


NEVER = 10.0  # times as dear as the first counts a method that diverged or failed on every seed
FOREVER = Spent(math.inf, math.inf, math.inf)


class Reach(NamedTuple):
    """What a run had spent at its first record as good as a target, if there is one; else at its end, if it may still
    have got there: one that diverged or failed never does."""

    spent: Spent
    reached: bool


class Times(NamedTuple):
    """Seconds to a target: an axis of methods, one of seeds, then those of the prices.

    reached  infinity where a run did not get there, NaN where there was none
    least    the same where it did, else what it had taken when it ended: it would have taken more
    """

    reached: Array
    least: Array


class Reaching:
    """What each run had spent at the target, or at its end, by method and seed.

    The record that reaches it does not depend on prices, so that time to the target is linear in them.
    """

    def __init__(self, runs: "Mapping[Key, Reach]") -> None:
        self.methods = list(dict.fromkeys(name for name, _ in runs))
        self.seeds = list(dict.fromkeys(seed for _, seed in runs))
        self._spent = np.full((len(self.methods), len(self.seeds), 3), np.nan)
        self._reached = np.zeros(self._spent.shape[:2], dtype=bool)
        for (name, seed), found in runs.items():
            place = self.methods.index(name), self.seeds.index(seed)
            self._spent[place], self._reached[place] = found

    @property
    def anybody(self) -> bool:
        """Whether a run got there."""
        return bool(self._reached.any())

    def times(self, gradient_seconds: Array, latency: Array, bandwidth: float) -> Times:
        """Time to the target at each of these prices."""
        shape = (*self._reached.shape, *np.broadcast(gradient_seconds, latency).shape)
        least, reached = np.empty(shape), np.full(shape, math.inf)
        for place in np.ndindex(*self._reached.shape):
            calls, rounds, sent = self._spent[place]
            took = calls * gradient_seconds + rounds * latency + sent / bandwidth if math.isfinite(calls) else calls
            least[place] = took
            if self._reached[place] or math.isnan(calls):
                reached[place] = took
        return Times(reached, least)


class Winners(NamedTuple):
    """Who is first by the median over seeds, at each of the prices: numbers of methods, -1 where there is none.

    winner, second  first and next
    time            of the first, its median
    ratio           of the second's median to it; infinity where there is no other
    agree           the share of seeds on which the first is known to be first
    decided         whether paired seeds decide its lead over every other method
    medians         of all methods, in order
    """

    winner: Array
    second: Array
    time: Array
    ratio: Array
    agree: Array
    decided: Mask
    medians: Array


def winners(times: Times) -> Winners:
    """The judgement at each of the prices.

    A run that did not get there is dearer than all that did. The lead over a method is decided if the first got there
    on all seeds and the 95 % interval of the paired ratios excludes 1. In it, a run that did not get there counts with
    what it had taken when it ended, as it would have taken more; and one that diverged or failed, which never will,
    with the largest ratio that there is.
    """
    medians = np.stack([_median(of_method) for of_method in times.reached])
    order = np.argsort(medians, axis=0, kind="stable")
    winner, second = order[0], order[min(1, len(order) - 1)]
    time = np.take_along_axis(medians, winner[None], axis=0)[0]
    behind = np.take_along_axis(medians, second[None], axis=0)[0] if len(order) > 1 else np.full(time.shape, math.inf)
    own = np.take_along_axis(times.reached, winner[None, None], axis=0)[0]
    first, decided = np.isfinite(own), np.isfinite(time)
    there = ~np.isnan(own)
    for other, (reached, least) in enumerate(zip(*times, strict=True)):
        itself = winner == other
        there &= itself | ~np.isnan(reached)
        first &= itself | (own <= least)
        decided &= itself | _decided(own, least)
    with np.errstate(invalid="ignore", divide="ignore"):
        agree = (first & there).sum(axis=0) / there.sum(axis=0)
        ratio = np.where(np.isfinite(behind), behind / time, math.inf)
    nobody = ~np.isfinite(time)
    return Winners(
        winner=np.where(nobody, -1, winner),
        second=np.where(nobody | ~np.isfinite(behind), -1, second),
        time=time,
        ratio=np.where(nobody, math.nan, ratio),
        agree=np.where(nobody, math.nan, agree),
        decided=decided,
        medians=medians,
    )


def table_of(reaching: Reaching, gradient_seconds: Array, latency: Array, bandwidths: "list[float]") -> "pd.DataFrame":
    """One row for each triple of prices: who is first, after how long, how far ahead, on how many of the seeds."""
    import pandas as pd

    names = np.array([*reaching.methods, ""], dtype=object)  # -1 is the last
    calls, wait = np.meshgrid(gradient_seconds, latency, indexing="ij")
    tables = []
    for bandwidth in bandwidths:
        found = winners(reaching.times(calls, wait, bandwidth))
        columns = {
            "bandwidth": np.full(calls.size, bandwidth),
            "latency": wait.ravel(),
            "gradient_seconds": calls.ravel(),
            "winner": names[found.winner.ravel()],
            "seconds": found.time.ravel(),
            "second": names[found.second.ravel()],
            "ratio": found.ratio.ravel(),
            "agree": found.agree.ravel(),
            "decided": found.decided.ravel(),
        }
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def _decided(own: Array, least: Array) -> Mask:
    """Whether one method leads another, seed by seed along the first axis."""
    pairs = ~np.isnan(own) & ~np.isnan(least)
    count, never = pairs.sum(axis=0), pairs & np.isinf(least)
    sound = pairs & np.isfinite(own) & (own > 0) & (least > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.where(sound & ~never, np.log(least) - np.log(own), -math.inf)
        largest = np.where((sound & ~never).any(axis=0), np.maximum(logs.max(axis=0), 0.0), math.log(NEVER))
        logs = np.where(sound, np.where(never, largest, logs), 0.0)
        middle = logs.sum(axis=0) / count
        spread = np.sqrt((np.where(sound, logs - middle, 0.0) ** 2).sum(axis=0) / (count - 1))
        ahead = middle > np.array([student_reach(n) for n in range(len(own) + 1)])[count] * spread
    found: Mask = (sound.sum(axis=0) == count) & (count > 1) & ahead
    return found


def _median(seconds: Array) -> Array:
    """Over the seeds of one method, those that there are; one that never got there is dearer than all others."""
    run = ~np.isnan(seconds.reshape(len(seconds), -1)).any(axis=1)
    ordered = np.sort(seconds[run], axis=0)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return np.asarray(low + (high - low) / 2 if np.isfinite(high).all() else np.where(low == high, low, math.inf))
