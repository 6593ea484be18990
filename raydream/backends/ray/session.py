"""A run on actors: starts them, links them, asks them for blocks, and brings back those that are lost."""

import contextlib
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError

from raydream.agents.ledger import Ledger
from raydream.backends.protocol import Keep, Names, Place, Plan, Recovery, Snapshot
from raydream.backends.ray.agent import Agent, Failure, Report
from raydream.backends.ray.placement import Placement
from raydream.backends.ray.routing import Router
from raydream.errors import AgentsHang, AgentsLost, LinkError, LinkLost, LinkTimeout

T = TypeVar("T")

GRACE_SECONDS = 10.0  # how long actors may take to answer once they have been told to stop
SNAPSHOT_SECONDS = 3.0  # the least time between two snapshots of the driver's own
ATTEMPTS = 5  # failures in a row, without a finished block between them, before the run is given up


class _Broken(Exception):
    """Some actors are gone, or links between them are."""

    def __init__(self, lost: set[int], why: str) -> None:
        super().__init__(why)
        self.lost = lost


class RaySession:
    """The actors of one run. Where one is lost, everybody rolls back to the last snapshot and goes on from there."""

    def __init__(
        self, plan: Plan, router: Router, placement: Placement, links: str, patience: float, release: Callable[[], None]
    ) -> None:
        self.recoveries: list[Recovery] = []
        self._plan, self._router, self._placement = plan, router, placement
        self._links, self._patience, self._release = links, patience, release
        self._run, self._secret, self._epoch = secrets.token_bytes(16), secrets.token_bytes(32), 0
        self._actors: dict[int, Any] = {}
        self._built: set[int] = set()
        self._places: dict[int, Any] = {}
        self._world = ray.put({
            "network": plan.topology.network,
            "constraint": plan.problem.constraint,
            "start": plan.start,
        })  # fmt: skip
        self._last: Snapshot | None = None  # where to roll back to; None is before `init`
        self._base = Ledger()  # paid before the actors began to count
        self._taken = time.monotonic()
        self._coins: list[bool] = []  # flipped since then
        self._at = -1  # iterations that the agents have done; -1 is before `init`
        self._failures = 0
        self._silent: set[int] = set()  # actors that a hang was traced to
        try:
            self._persist(lambda: None)
        except BaseException:
            self.close()
            raise

    @property
    def places(self) -> list[Place]:
        """Where each actor lives, and its agents."""
        return [
            {"actor": number, "agents": list(self._router.hosted(number)), **self._places[number]}
            for number in sorted(self._places)
        ]

    def init(self, collect: Names) -> Snapshot:
        """Run the method's `init`."""
        return self._persist(lambda: self._begin(collect))

    def advance(self, first: int, coins: Sequence[bool], keep: Keep | None, collect: Names) -> Snapshot:
        """Run steps first, first + 1, ..."""

        def block() -> Snapshot:
            self._catch_up()
            return self._step(first, coins, keep, collect)

        report = self._persist(block)
        self._coins.extend(coins)
        self._failures = 0
        if time.monotonic() - self._taken > SNAPSHOT_SECONDS:
            self.snapshot()
        return report

    def snapshot(self) -> Snapshot:
        """The whole state, which is also where a lost actor will make everybody go on from."""

        def whole() -> Snapshot:
            self._catch_up()
            return self._gathered(self._ask("report", lambda _: (None,)))

        self._last, self._coins = self._persist(whole), []
        self._taken = time.monotonic()
        return self._last

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from this state."""
        self._last, self._coins = snapshot, []
        self._persist(self._roll_back)

    def close(self) -> None:
        """End the actors, and Ray if it was started for them."""
        for actor in self._actors.values():
            with contextlib.suppress(Exception):
                ray.kill(actor)
        self._actors = {}
        self._release()

    # Going on, whatever happens

    def _persist(self, action: Callable[[], T]) -> T:
        """Do it; when actors or links are lost, bring them back, roll back, and do it again."""
        broken: _Broken | None = None
        while True:
            try:
                if len(self._actors) < len(self._router.routes) or broken:
                    self._establish(broken)
                    broken = None
                return action()
            except _Broken as error:
                broken = error
                self._failures += 1
                self._note(error)
                if self._failures >= ATTEMPTS:
                    raise AgentsLost(f"actors were lost {ATTEMPTS} times in a row; the last time: {error}") from None

    def _establish(self, broken: _Broken | None) -> None:
        """Start the actors that are missing, link all of them, and put everybody at the last snapshot."""
        for number in broken.lost if broken else ():
            self._drop(number)
        for number in range(len(self._router.routes)):
            if number not in self._actors:
                self._actors[number] = self._placement.start(
                    Agent, number, self._links, self._run, self._secret, self._patience
                )
        fresh = [number for number in self._actors if number not in self._built]
        self._places |= self._ask("where", lambda _: (), fresh)
        self._build(fresh)
        self._built |= set(fresh)
        self._link()
        self._roll_back()

    def _note(self, broken: _Broken) -> None:
        """What the result will say of this."""
        lost = sorted(broken.lost)
        self.recoveries.append(
            {
                "iteration": max(self._at, 0),
                "rolled_back_to": 0 if self._last is None else self._last.iteration,
                "actors": lost,
                "agents": [agent for number in lost for agent in self._router.hosted(number)],
                "reason": str(broken),
            }
        )

    def _build(self, numbers: Sequence[int]) -> None:
        """Send each new actor what its agents own. One shard at a time is in this process's hands."""
        plan, router = self._plan, self._router

        def parts(number: int) -> tuple[Any, ...]:
            shards = [plan.problem.local(i) for i in router.hosted(number)]
            return router.routes[number], shards, plan.method, plan.seed, self._world

        self._ask("build", parts, numbers)

    def _link(self) -> None:
        """Every actor listens, then every actor links with its neighbours."""
        self._epoch += 1
        nodes = {place["node"] for place in self._places.values()}
        host = (lambda number: "127.0.0.1") if len(nodes) == 1 else (lambda number: self._places[number]["address"])
        heard = self._ask("listen", lambda number: (host(number), self._epoch))
        peers = heard if self._links == "direct" else self._actors
        self._ask(
            "connect",
            lambda number: ({peer: peers[peer] for peer in self._router.routes[number].says},),
        )

    def _roll_back(self) -> None:
        """Everybody at the last snapshot; before the first one, everybody before `init`."""
        last = self._last
        self._base = Ledger() if last is None else last.ledger
        if last is None:
            self._at = -1
            return

        def rows(number: int) -> tuple[int, dict[str, Any]]:
            hosted = self._router.hosted(number)
            return last.iteration, {name: array[hosted.start : hosted.stop] for name, array in last.arrays.items()}

        self._ask("restore", rows)
        self._at = last.iteration

    def _catch_up(self) -> None:
        """After a roll-back: do again what had been done since the snapshot."""
        if self._at < 0:
            self._begin(())
        base = 0 if self._last is None else self._last.iteration
        done = self._at - base
        if done < len(self._coins):
            self._step(self._at, self._coins[done:], None, ())

    def _begin(self, collect: Names) -> Snapshot:
        report = self._gathered(self._ask("init", lambda _: (collect,)))
        self._at = 0
        return report

    def _step(self, first: int, coins: Sequence[bool], keep: Keep | None, collect: Names) -> Snapshot:
        report = self._gathered(self._ask("advance", lambda _: (first, list(coins), keep, collect)))
        self._at = report.iteration
        return report

    # Asking all actors

    def _ask(
        self, method: str, arguments: Callable[[int], tuple[Any, ...]], numbers: Sequence[int] | None = None
    ) -> dict[int, Any]:
        """Call a method on all these actors and return their answers; the first failure stops everybody."""
        calls = {}
        for number in self._actors if numbers is None else numbers:
            calls[getattr(self._actors[number], method).remote(*arguments(number))] = number
        answers: dict[int, Any] = {}
        failures: dict[int, Failure] = {}
        lost: set[int] = set()
        stop_at: float | None = None
        hang = ""
        while calls and not (hang and set(calls.values()) <= self._silent):
            rest = None if stop_at is None else max(0.0, stop_at - time.monotonic())
            done, _ = ray.wait(list(calls), num_returns=1, timeout=rest)
            if not done:
                lost |= set(calls.values())  # told to stop, and still silent
                break
            for reference in done:
                number = calls.pop(reference)
                try:
                    answer = ray.get(reference, timeout=60)
                except (RayActorError, GetTimeoutError):
                    lost.add(number)
                    continue
                except RayError as error:  # its arguments could not be unpacked there
                    text = f"{self._agents(number)} could not be reached: {_cause(error)}"
                    answer = Failure(RuntimeError(text), str(error))
                if isinstance(answer, Failure):
                    failures[number] = answer
                else:
                    answers[number] = answer
            if (lost or failures) and stop_at is None:
                if any(isinstance(failure.error, LinkTimeout) for failure in failures.values()):
                    hang = self._who_waits(failures)
                self._tell_to_stop()
                stop_at = time.monotonic() + GRACE_SECONDS
        self._judge(lost, failures, hang)
        return answers

    def _judge(self, lost: set[int], failures: dict[int, Failure], hang: str) -> None:
        """Raise what the failures mean: an error of an agent, a hang, or something that can be mended."""
        for _, failure in sorted(failures.items()):
            if not isinstance(failure.error, LinkLost | LinkTimeout | LinkError):
                failure.error.add_note("on the actor:\n" + failure.trace)
                raise failure.error
        if hang and not lost - self._silent:
            raise AgentsHang(hang)
        if lost:
            agents = [str(agent) for number in sorted(lost) for agent in self._router.hosted(number)]
            raise _Broken(lost, f"lost agent{'s' if len(agents) > 1 else ''} {', '.join(agents)}")
        if failures:
            raise _Broken(set(), str(next(iter(failures.values())).error))

    def _who_waits(self, failures: dict[int, Failure]) -> str:
        """A sentence about who waits for whom, asked of everybody while they still wait."""
        waits: dict[int, tuple[int, tuple[int, ...]]] = {}
        for number, failure in failures.items():
            if isinstance(failure.error, LinkTimeout):
                waits[number] = failure.error.round, failure.error.waits_for
        for number, actor in self._actors.items():
            if number not in waits:
                with contextlib.suppress(Exception):
                    reference = actor.waits.options(concurrency_group="control").remote()
                    waits[number] = ray.get(reference, timeout=GRACE_SECONDS)
        waiting = {number: those for number, (_, those) in waits.items() if those}
        silent = sorted({peer for those in waiting.values() for peer in those} - waiting.keys())
        self._silent = set(silent)
        lines = "; ".join(
            f"{self._agents(number)} wait{'s' if len(self._router.hosted(number)) == 1 else ''} for "
            f"{' and '.join(self._agents(peer) for peer in those)}"
            for number, those in sorted(waiting.items())
        )
        slow = " and ".join(self._agents(number) for number in silent) or "nobody in particular"
        return f"no progress for {self._patience:g} s: {lines}. Silent: {slow}."

    def _agents(self, number: int) -> str:
        hosted = self._router.hosted(number)
        return f"agent {hosted.start}" if len(hosted) == 1 else f"agents {hosted.start}-{hosted.stop - 1}"

    def _tell_to_stop(self) -> None:
        for actor in self._actors.values():
            with contextlib.suppress(Exception):
                actor.abort.options(concurrency_group="control").remote(self._epoch)

    def _drop(self, number: int) -> None:
        self._built.discard(number)
        actor = self._actors.pop(number, None)
        if actor is not None:
            with contextlib.suppress(Exception):
                ray.kill(actor)

    def _gathered(self, reports: dict[int, Report]) -> Snapshot:
        """All actors' answers as one: rows in agent order, and the sum of their bills."""
        ordered = [reports[number] for number in sorted(reports)]
        names = ordered[0].arrays
        base = self._base
        return Snapshot(
            iteration=ordered[0].iteration,
            ledger=Ledger(
                sfo=base.sfo + sum(report.ledger.sfo for report in ordered),
                rounds=base.rounds + ordered[0].ledger.rounds,
                messages=base.messages + sum(report.ledger.messages for report in ordered),
                bytes=base.bytes + sum(report.ledger.bytes for report in ordered),
            ),
            arrays={name: np.concatenate([report.arrays[name] for report in ordered]) for name in names},
            kept=next((np.array(report.kept) for report in ordered if report.kept is not None), None),
        )


def _cause(error: RayError) -> str:
    """The last line of an error that Ray reports at length."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
