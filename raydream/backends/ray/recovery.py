"""Going on, whatever happens: where actors are lost, everybody rolls back to the last snapshot and does again what
had been done since."""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from raydream.agents.ledger import Ledger
from raydream.backends.protocol import Keep, Names, Recovery, Snapshot
from raydream.backends.ray.actors import Actors
from raydream.backends.ray.snapshots import gathered, rows_of
from raydream.errors import ActorsBroken, AgentsLost

T = TypeVar("T")

ATTEMPTS = 5  # failures in a row without progress between them, and
STUBBORN = 60.0  # seconds (or the patience, if that is less) since the first of them, before the run is given up


class Recovering:
    """The steps of all agents, of which each is done however many actors are lost on the way.

    recoveries  what happened
    """

    def __init__(self, actors: Actors, patience: float = STUBBORN) -> None:
        self.recoveries: list[Recovery] = []
        self._actors = actors
        self._last: Snapshot | None = None  # where to roll back to; None is before `init`
        self._paid = Ledger()  # before the actors began to count
        self._coins: list[bool] = []  # flipped since the last snapshot
        self._at = -1  # iterations that the agents have done; -1 is before `init`
        self._failures, self._since = 0, 0.0  # without progress, and when the first of them was
        self._parted: frozenset[tuple[int, int]] = frozenset()  # by the last failure without progress
        self._stubborn = min(STUBBORN, patience)
        self._persist(lambda: None)

    def init(self, collect: Names) -> Snapshot:
        """Run the method's `init`."""
        return self._persist(lambda: self._begin(collect))

    def advance(self, first: int, coins: Sequence[bool], keep: Keep | None, collect: Names) -> Snapshot:
        """Run steps first, first + 1, ..."""

        def block() -> Snapshot:
            self._catch_up()
            return self._step(first, coins, keep, collect)

        done = self._persist(block)
        self._coins.extend(coins)
        self._failures, self._parted = 0, frozenset()
        return done

    def snapshot(self) -> Snapshot:
        """The whole state, which is also where a lost actor will make everybody go on from."""

        def whole() -> Snapshot:
            self._catch_up()
            return self._whole()

        self._last, self._coins = self._persist(whole), []
        return self._last

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from this state."""
        self._last, self._coins = snapshot, []
        self._persist(self._roll_back)

    def _persist(self, action: Callable[[], T]) -> T:
        """Do it; when actors or links are lost, bring them back, roll back, and do it again."""
        broken: ActorsBroken | None = None
        while True:
            try:
                if broken or not self._actors.complete:
                    self._remark(self._actors.restart(*self._wanting(broken)))
                    self._roll_back()
                    broken = None
                done = action()
                self._went_on()
                return done
            except ActorsBroken as error:
                broken = error
                self._note(error)
                self._count(error)

    def _wanting(self, broken: ActorsBroken | None) -> tuple[set[int], frozenset[tuple[int, int]], str]:
        """Who is to be replaced, which pairs were parted twice without progress between, and why."""
        if broken is None:
            return set(), frozenset(), ""
        parted, self._parted = broken.parted & self._parted, broken.parted
        return broken.lost, parted, str(broken)

    def _went_on(self) -> None:
        """How long the last recoveries took, once the run is where it was and a step further."""
        for event in reversed(self.recoveries):
            if event["seconds"]:
                break
            event["seconds"] = round(time.time() - event["time"], 3)

    def _count(self, error: ActorsBroken) -> None:
        """Give up where failures come one upon the other for long; those between which the run gets on do not count."""
        now = time.monotonic()
        self._since = now if self._failures == 0 else self._since
        self._failures += 1
        if self._failures >= ATTEMPTS and now - self._since >= self._stubborn:
            times = f"{self._failures} times in a row, without progress for {now - self._since:.0f} s"
            raise AgentsLost(f"actors were lost {times}; the last time: {error}") from None

    def _remark(self, remark: str) -> None:
        """What else is to be said of the last recovery."""
        if remark and self.recoveries:
            self.recoveries[-1]["reason"] += f"; {remark}"

    def _note(self, broken: ActorsBroken) -> None:
        """What the result will say of this."""
        lost = sorted(broken.lost)
        self.recoveries.append(
            {
                "iteration": max(self._at, 0),
                "rolled_back_to": 0 if self._last is None else self._last.iteration,
                "actors": lost,
                "agents": [agent for number in lost for agent in self._actors.router.hosted(number)],
                "reason": str(broken),
                "time": broken.noticed,
                "seconds": 0.0,
            }
        )

    def _roll_back(self) -> None:
        """Everybody at the last snapshot; before the first one, everybody before `init`."""
        last, router = self._last, self._actors.router
        if last is None:
            self._paid, self._at = Ledger(), -1
            return
        self._paid = last.ledger
        self._actors.ask(
            lambda actor, number: actor.restore.remote(last.iteration, rows_of(last, router.routes[number]))
        )
        self._at = last.iteration

    def _catch_up(self) -> None:
        """After a roll-back: do again what had been done since the snapshot, and keep it, lest it be lost once more."""
        if self._at < 0:
            self._begin(())
        base = 0 if self._last is None else self._last.iteration
        done = self._at - base
        if done < len(self._coins):
            self._step(self._at, self._coins[done:], None, ())
            self._last, self._coins, self._failures = self._whole(), [], 0

    def _whole(self) -> Snapshot:
        return gathered(self._actors.ask(lambda actor, _: actor.snapshot.remote()), self._paid)

    def _begin(self, collect: Names) -> Snapshot:
        begun = gathered(self._actors.ask(lambda actor, _: actor.init.remote(collect)), self._paid)
        self._at = 0
        return begun

    def _step(self, first: int, coins: Sequence[bool], keep: Keep | None, collect: Names) -> Snapshot:
        order = first, list(coins), keep, collect
        done = gathered(self._actors.ask(lambda actor, _: actor.advance.remote(*order)), self._paid)
        self._at = done.iteration
        return done
