"""Do actors that are waited for still answer at all? One that is stopped, or whose machine sleeps, does not, and nobody
hangs up for it."""

import contextlib
import time
from collections.abc import Collection, Mapping
from typing import Any

import ray

from raydream.backends.ray.placement import CONTROL

ASK_SECONDS = 2.0  # that an actor is waited for before it is asked, and between its answer and the next question
MUTE_SECONDS = 10.0  # without an answer before it is given up
LONGER = 4.0  # times as long the next time: it may be busy in code that lets no other thread work
STEP = 1.0  # the most that one look counts: this process may have been stopped itself


class Beats:
    """Of all actors of a run.

    patience  seconds after which an actor is given up however often it was before
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._limits: dict[int, float] = {}
        self.begin()

    def begin(self) -> None:
        """Something new is asked of the actors: whatever they did before."""
        self._clock, self._looked = 0.0, time.monotonic()
        self._asked: dict[int, tuple[Any, float]] = {}  # by actor, what it has not answered yet and since when
        self._heard: dict[int, float] = {}

    def mute(self, handles: Mapping[int, Any], numbers: Collection[int]) -> set[int]:
        """Those of these actors that have not answered for too long; called again and again while they are awaited."""
        now = time.monotonic()
        self._clock, self._looked = self._clock + min(STEP, now - self._looked), now
        self._hear()
        for number in numbers:
            if number not in self._asked and self._clock - self._heard.get(number, 0.0) >= ASK_SECONDS:
                with contextlib.suppress(Exception):  # it is lost, and whoever waits for it will hear so
                    answer = handles[number].beat.options(concurrency_group=CONTROL).remote()
                    self._asked[number] = answer, self._clock
        late = {number: self._clock - since for number, (_, since) in self._asked.items() if number in numbers}
        gone = {number for number, seconds in late.items() if seconds >= self._limit(number)}
        for number in gone:
            self._limits[number] = LONGER * self._limit(number)
        return gone

    def _limit(self, number: int) -> float:
        return min(self._patience, self._limits.get(number, MUTE_SECONDS))

    def _hear(self) -> None:
        """Take the answers that have come; that an actor has died is an answer too."""
        waiting = {answer: number for number, (answer, _) in self._asked.items()}
        if waiting:
            done, _ = ray.wait(list(waiting), num_returns=len(waiting), timeout=0.0)
            for answer in done:
                del self._asked[waiting[answer]]
                self._heard[waiting[answer]] = self._clock
