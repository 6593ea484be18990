"""One question to several actors: their answers, or what their failures mean."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NoReturn

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError

from raydream.backends.ray.agent import Failure
from raydream.backends.ray.hang import Hang
from raydream.backends.ray.routing import Router
from raydream.errors import ActorsBroken, AgentsHang, LinkCut, LinkError, LinkLost, LinkTimeout
from raydream.feedback import tell
from raydream.interrupt import heed

GRACE_SECONDS = 10.0  # how long actors may take to answer once they have been told to stop
TELL_SECONDS = 0.5  # between two words about how many have answered
LOOK_SECONDS = 0.25  # between two looks at whether somebody wants the run to stop
STOP_SECONDS = 10.0  # how long a block may go on when somebody does
FETCH_SECONDS = 60.0  # how long an answer that is there may take to arrive


def heed_soon() -> None:
    """A block ends within a second, and the run then stops with a checkpoint; one that does not is not waited for."""
    heed(STOP_SECONDS, "in the middle of a block that did not end")


class Question:
    """Calls of several actors at the same time; the first failure stops everybody.

    calls     what Ray returned for each call, and the number of its actor
    stop      tells all actors to stop waiting for each other
    diagnose  finds out who waits for whom, given the failures so far
    told      what to say of those that have answered, while others are waited for
    watch     is called meanwhile, and may raise
    mute      which of those that are waited for do not answer anything any more
    """

    def __init__(
        self,
        calls: Mapping[Any, int],
        router: Router,
        stop: Callable[[], None],
        diagnose: Callable[[Mapping[int, Failure]], Hang],
        told: str = "",
        watch: Callable[[], None] = heed_soon,
        mute: Callable[[Collection[int]], set[int]] | None = None,
    ) -> None:
        self._told, self._all, self._last = told, len(calls), time.monotonic()
        self._calls, self._router, self._stop, self._diagnose = dict(calls), router, stop, diagnose
        self._watch, self._mute = watch, mute
        self._answers: dict[int, Any] = {}
        self._failures: dict[int, Failure] = {}
        self._lost: set[int] = set()
        self._gone: set[int] = set()  # those that are mute
        self._hang: Hang | None = None
        self._deadline: float | None = None  # once everybody has been told to stop, and
        self._noticed: float | None = None  # by the clock, when that was

    def answers(self) -> dict[int, Any]:
        """The answer of each actor."""
        while self._calls and not self._only_silent_ones_are_left():
            done, _ = ray.wait(list(self._calls), num_returns=1, timeout=self._while())
            self._watch()
            if not done and self._deadline is not None and time.monotonic() >= self._deadline:
                self._lost |= set(self._calls.values())  # told to stop, and still silent
                break
            for reference in done:
                self._take(reference)
            if done:
                self._tell()
            elif self._mute is not None and self._deadline is None:
                self._gone = self._mute(set(self._calls.values()))
            if (self._lost or self._failures or self._gone) and self._deadline is None:
                self._call_off()
        self._judge()
        return self._answers

    def _while(self) -> float:
        """How long to wait before looking about."""
        return (
            LOOK_SECONDS if self._deadline is None else min(LOOK_SECONDS, max(0.0, self._deadline - time.monotonic()))
        )

    def _tell(self) -> None:
        """Say how many have answered, twice a second at most."""
        if self._told and self._calls and time.monotonic() - self._last > TELL_SECONDS:
            self._last = time.monotonic()
            tell(f"{self._all - len(self._calls)} of {self._all} {self._told}")

    def _take(self, reference: Any) -> None:
        """Sort an answer."""
        number = self._calls.pop(reference)
        try:
            answer = ray.get(reference, timeout=FETCH_SECONDS)
        except (RayActorError, GetTimeoutError):
            self._lost.add(number)
            return
        except RayError as error:  # its arguments could not be unpacked there
            text = f"{self._router.named(number)} could not be reached: {_cause(error)}"
            answer = Failure(RuntimeError(text), str(error))
        if isinstance(answer, Failure):
            self._failures[number] = answer
        else:
            self._answers[number] = answer

    def _call_off(self) -> None:
        """Tell everybody to stop, and give them a while to answer."""
        if any(isinstance(failure.error, LinkTimeout) for failure in self._failures.values()):
            self._hang = self._diagnose(self._failures)
        self._stop()
        self._deadline, self._noticed = time.monotonic() + GRACE_SECONDS, time.time()

    def _only_silent_ones_are_left(self) -> bool:
        silent = self._gone | (self._hang.silent if self._hang is not None else set())
        return bool(silent) and set(self._calls.values()) <= silent

    def _judge(self) -> None:
        """Raise what the failures mean: an error of an agent, a hang, or something that can be mended."""
        for _, failure in sorted(self._failures.items()):
            if not isinstance(failure.error, LinkError):
                failure.error.add_note("on the actor:\n" + failure.trace)
                raise failure.error
        if self._hang is not None and not self._lost - self._hang.silent and not self._hang.mute:
            raise AgentsHang(self._hang.sentence)
        gone = self._gone | (self._hang.mute if self._hang is not None else set())
        errors = [failure.error for failure in self._failures.values()]
        cuts = [error for error in errors if isinstance(error, LinkCut)]
        if gone:  # stopped, or cut off: whoever only thinks for long would answer
            self._broken(gone | self._lost, f"{self._named(gone)} did not answer any more")
        if self._lost:
            self._broken(self._lost, "; ".join([f"lost {self._named(self._lost)}", *map(str, cuts[:1])]))
        if errors:
            first = min(errors, key=lambda error: isinstance(error, LinkLost))  # whoever was only left can tell less
            self._broken(set(), str(cuts[0] if cuts else first), cuts)

    def _broken(self, lost: set[int], why: str, cuts: Iterable[LinkCut] = ()) -> NoReturn:
        raise ActorsBroken(lost, why.rstrip("."), [(min(cut.pair), max(cut.pair)) for cut in cuts], self._noticed)

    def _named(self, numbers: Iterable[int]) -> str:
        """The agents of some actors."""
        agents = [str(agent) for number in sorted(numbers) for agent in self._router.hosted(number)]
        return f"agent{'s' if len(agents) > 1 else ''} {', '.join(agents)}"


def _cause(error: RayError) -> str:
    """The last line of an error that Ray reports at length."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    cause = lines[-1] if lines else type(error).__name__
    return f"{cause}; send it along with `ship` (--ship PATH)." if cause.startswith("ModuleNotFoundError") else cause
