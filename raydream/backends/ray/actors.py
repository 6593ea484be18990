"""The actors of one run: started, given what their agents own, linked, asked, and ended."""

import contextlib
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import ray

from raydream.backends.protocol import Place, Plan
from raydream.backends.ray.agent import Agent, Failure, Whereabouts
from raydream.backends.ray.calls import Question, heed_soon
from raydream.backends.ray.cluster.beats import Beats
from raydream.backends.ray.cluster.pulse import pulse
from raydream.backends.ray.hang import Hang, diagnosed
from raydream.backends.ray.links import LINKS, Terms
from raydream.backends.ray.placement import CONTROL, Placement
from raydream.backends.ray.routing import Router, block_sizes
from raydream.backends.ray.runtime import own_ray
from raydream.errors import ActorsBroken
from raydream.feedback import tell
from raydream.interrupt import heed

LOOPBACK = "127.0.0.1"
ROOM_SECONDS = 2.0  # actors that take longer than this to start may have lost their room


def heed_now() -> None:
    """While actors start there is nothing to keep: whoever wants the run to stop does not wait."""
    heed(doing="while its actors were starting")


class Actors:
    """Handles of the actors by number, and what happens to all of them at once."""

    def __init__(
        self,
        plan: Plan,
        router: Router,
        placement: Placement,
        links: str,
        patience: float,
        repack: bool = False,
        secure: bool = False,
    ) -> None:
        self.router = router
        self._repack = repack
        self.handles: dict[int, Any] = {}
        self._plan, self._placement = plan, placement
        self._links = LINKS.find(links)
        self._terms = Terms(secrets.token_bytes(16), secrets.token_bytes(32), patience, secure)
        self._epoch = 0
        self._built: set[int] = set()
        self._where: dict[int, Whereabouts] = {}
        self._beats = Beats(patience)
        self._world = self._sent_once()

    @property
    def complete(self) -> bool:
        """Whether every actor has been started."""
        return len(self.handles) == len(self.router.routes)

    @property
    def places(self) -> list[Place]:
        """Where each actor lives, and its agents."""
        return [
            {
                "actor": number,
                "agents": list(self.router.hosted(number)),
                "node": where.node,
                "address": where.address,
                "pid": where.pid,
            }
            for number, where in sorted(self._where.items())
        ]

    def ask(
        self,
        call: Callable[[Any, int], Any],
        numbers: Iterable[int] | None = None,
        told: str = "",
        watch: Callable[[], None] = heed_soon,
        beating: bool = True,
    ) -> dict[int, Any]:
        """What call(handle, number) brings from each of these actors; `ActorsBroken` where some are lost.

        told   what to say of how many have answered
        watch  is called while they are waited for
        beating  whether they can be expected to answer at any time, as those that start cannot
        """
        asked = self.handles if numbers is None else numbers
        pulse().feel(self.handles)
        calls = {call(self.handles[number], number): number for number in asked}
        self._beats.begin()

        def look() -> None:
            pulse().feel(self.handles)
            watch()

        mute = (lambda numbers: self._beats.mute(self.handles, numbers)) if beating else None
        return Question(calls, self.router, self._tell_to_stop, self._diagnosed, told, look, mute).answers()

    def restart(self, lost: Iterable[int], parted: Collection[tuple[int, int]] = (), why: str = "") -> str:
        """End these, start and build all that are missing, and link everybody anew; what is other than before.

        parted  pairs between which there is no network: one of them goes elsewhere, if there is room
        why     what has happened, for whoever waits
        """
        remark = self._ray_again()
        for number in lost:
            self._end(number)
        if parted and not remark:
            remark = self._avoid(parted)
        if not self._placement.hold(settle=self._repack and bool(self._where)):
            remark = self._make_do()
        for number in range(len(self.router.routes)):
            if number not in self.handles:
                self.handles[number] = self._start(number)
        fresh = [number for number in self.handles if number not in self._built]
        because = f"{why.rstrip('.')}: " if why else ""
        tell(f"{because}starting {len(fresh)} actors")
        watch = self._watch_for_room()
        self._where |= self.ask(lambda actor, number: actor.where.remote(), fresh, "actors have started", watch, False)
        self.ask(self._build, fresh, "actors have what their agents own", heed_now, False)
        self._built |= set(fresh)
        tell(f"{because}linking neighbours")
        self._connect(self._listen())
        tell("")
        return remark

    def close(self) -> None:
        """End all of them, and give their room back."""
        if not pulse().lost:
            self._end_all()
            self._placement.release()

    def _start(self, number: int) -> Any:
        hosted = self.router.hosted(number)
        return self._placement.start(number, hosted, Agent, number, self._links, self._terms, self.router.named(number))

    def _sent_once(self) -> Any:
        """What all actors need, in Ray's hands."""
        plan = self._plan
        world = {"network": plan.network, "constraint": plan.problem.constraint, "start": plan.start}
        return ray.put(world)

    def _watch_for_room(self) -> Callable[[], None]:
        """While actors start: where their room is lost meanwhile, begin again, and wait for it or do without."""
        waiting = self._placement.waiting()

        def watch() -> None:
            heed_now()
            if self._placement.lent:
                waiting.look()
            elif waiting.seconds > ROOM_SECONDS and not self._placement.held:
                raise ActorsBroken(set(), "the room of some actors was lost while they started")

        return watch

    def _avoid(self, parted: Collection[tuple[int, int]]) -> str:
        """All actors on other machines than one of those between which there is no network, if these have the room."""
        where = {number: place for number, place in self._where.items() if number in self.handles}
        here, here_too = ray.get_runtime_context().get_node_id(), Counter(place.node for place in where.values())
        cut = Counter(where[one].node for pair in parted for one in pair if one in where)
        for node, _ in sorted(cut.items(), key=lambda item: (item[0] == here, -item[1], here_too[item[0]])):
            if self._placement.avoid(node, here_too):
                self._end_all()
                [address] = {place.address for place in where.values() if place.node == node}
                return f"no agent lives at {address} any more"
        return ""

    def _make_do(self) -> str:
        """All agents on as many actors as there is room for now."""
        self._end_all()
        self._placement = self._placement.smaller()
        while not self._placement.hold(settle=True):  # somebody else was quicker
            self._placement = self._placement.smaller()
        sizes = block_sizes("auto", self._plan.topology.m, self._placement.actors)
        self.router = Router(self._plan.topology, sizes, self._plan.conditions is not None)
        self._where.clear()
        return f"all agents now live on {len(sizes)} actor{'s' if len(sizes) > 1 else ''}"

    def _ray_again(self) -> str:
        """A new Ray where the one of this process's own is gone."""
        own = own_ray()
        if own is None or not pulse().lost:
            return ""
        self.handles.clear()
        self._built.clear()
        self._where.clear()
        self._placement.forget()
        own.again()
        self._world = self._sent_once()
        return "a new Ray was started"

    def _end_all(self) -> None:
        for number in list(self.handles):
            self._end(number)

    def _build(self, actor: Any, number: int) -> Any:
        """Send a new actor what its agents own. One shard at a time is in this process's hands."""
        plan = self._plan
        shards = [plan.problem.local(i) for i in self.router.hosted(number)]
        route = self.router.routes[number]
        return actor.build.remote(route, shards, plan.method, plan.seed, self._world, plan.conditions)

    def _listen(self) -> dict[int, Any]:
        """Every actor is ready for its neighbours; on one node nobody else can reach it."""
        self._epoch += 1
        alone = len({where.node for where in self._where.values()}) == 1
        return self.ask(
            lambda actor, number: actor.listen.remote(LOOPBACK if alone else self._where[number].address, self._epoch),
            watch=heed_now,
        )

    def _connect(self, heard: Mapping[int, Any]) -> None:
        """Every actor links with its neighbours."""
        contacts = {number: self._links.contact(self.handles[number], heard[number]) for number in heard}

        def connect(actor: Any, number: int) -> Any:
            return actor.connect.remote({peer: contacts[peer] for peer in self.router.routes[number].peers})

        self.ask(connect, watch=heed_now)

    def _tell_to_stop(self) -> None:
        for handle in self.handles.values():
            with contextlib.suppress(Exception):
                handle.abort.options(concurrency_group=CONTROL).remote(self._epoch)

    def _diagnosed(self, failures: Mapping[int, Failure]) -> Hang:
        return diagnosed(self.handles, failures, self.router, self._terms.patience)

    def _end(self, number: int) -> None:
        self._built.discard(number)
        handle = self.handles.pop(number, None)
        if handle is not None:
            with contextlib.suppress(Exception):
                ray.kill(handle)
