"""Where actors go: spread over the nodes, or one on each, in room that is reserved for all of them."""

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import ray
from ray.util import get_current_placement_group

from raydream.backends.ray.cluster.needs import Needs
from raydream.backends.ray.cluster.pulse import answered
from raydream.backends.ray.cluster.reservation import Reservation
from raydream.backends.ray.cluster.waiting import Waiting
from raydream.backends.ray.links.protocol import DELIVERY

CONTROL = "control"  # the group of an actor's threads that hear orders
# A block occupies the actor's main thread; it must hear orders and, by Ray links, neighbours meanwhile.
GROUPS = {CONTROL: 2, DELIVERY: 4}

LOOK_SECONDS = 0.2
SETTLE_SECONDS = 5.0  # how long lost room may take to come back before a run makes do with what is left


class Placement:
    """Starts actors on the cluster that Ray is connected to.

    actors    how many
    kind      "spread" or "one-per-node"
    needs     of each actor
    run       what the actors and their reservation are named after
    patience  seconds to wait for room
    grows     whether the cluster gets more nodes when they are asked for
    """

    def __init__(
        self, actors: int, kind: str, needs: Needs, run: str, patience: float = 300.0, grows: bool = False
    ) -> None:
        self.actors = actors
        self._kind, self._needs, self._run, self._patience, self._grows = kind, needs, run, patience, grows
        self._reservation: Reservation | None = None
        self._born: Counter[str] = Counter()  # how often actors of these agents have been started
        if not grows and get_current_placement_group() is None:
            self._check()

    def hold(self, settle: bool = False) -> bool:
        """Have room for every actor. Where it does not come back soon and the run is to `settle` for less: False."""
        if self._reservation is None:
            self._reservation = Reservation(self.actors, self._kind, self._needs, f"raydream-{self._run}")
        waiting, pause = self.waiting(), 0.005  # most room is there at once
        while not self._reservation.whole:
            if settle and waiting.seconds > SETTLE_SECONDS:
                return False
            waiting.look()
            time.sleep(pause)
            pause = min(LOOK_SECONDS, 2 * pause)
        return True

    @property
    def held(self) -> bool:
        """Whether there is room for every actor at this moment."""
        return self._reservation is not None and self._reservation.whole

    @property
    def lent(self) -> bool:
        """Whether the room is that of a placement group in which others may live too."""
        return get_current_placement_group() is not None

    def waiting(self) -> Waiting:
        """A wait for the room that the actors need."""
        return Waiting(lambda: f"{self.actors} x {self._needs.words} ({self._needs.told()})", self._patience)

    def start(self, number: int, agents: range, kind: type, *arguments: Any) -> Any:
        """A new actor of this plain class, in the place for this number, named after its agents."""
        assert self._reservation is not None
        groups: Any = {"concurrency_groups": GROUPS}
        remote: Any = ray.remote(max_restarts=0, max_task_retries=0, **self._needs.options(), **groups)(kind)
        strategy = self._reservation.strategy(number)
        chosen = remote.options(scheduling_strategy=strategy, name=self._name(agents))
        return answered(lambda: chosen.remote(*arguments))

    def release(self) -> None:
        """Give all room back."""
        if self._reservation is not None:
            self._reservation.release()
        self._reservation = None

    def forget(self) -> None:
        """All room is gone, with the Ray that had it."""
        self._reservation = None

    def avoid(self, node: str, own: Mapping[str, int]) -> bool:
        """Give all room back, to have it without this node; False where the others have not enough.

        own  how many of this run's actors live on each node
        """
        if self._reservation is None or not self._reservation.movable:
            return False
        needs = self._needs.avoiding(node)
        room = [count + own.get(other, 0) for other, count in needs.free().items()]
        if self.actors > (sum(count > 0 for count in room) if self._kind == "one-per-node" else sum(room)):
            return False
        self.release()
        self._needs = needs
        return True

    def smaller(self) -> "Placement":
        """The same for as many actors as there is room for now; all that is held is given back."""
        self.release()
        waiting, before = Waiting(lambda: f"{self._needs.words} ({self._needs.told()})", self._patience), -1
        while True:
            time.sleep(5 * LOOK_SECONDS)  # what was given back takes a moment to arrive
            free = self._needs.free().values()
            room = min(self.actors, sum(count > 0 for count in free) if self._kind == "one-per-node" else sum(free))
            if room == before and room > 0:
                less = Placement(room, self._kind, self._needs, self._run, self._patience, grows=True)
                less._born = self._born
                return less
            before = room
            if room == 0:
                waiting.look()

    def _name(self, agents: range) -> str:
        """raydream-RUN-AGENTS; a later one's name says that it is not the first."""
        hosted = str(agents.start) if len(agents) == 1 else f"{agents.start}-{agents.stop - 1}"
        before, self._born[hosted] = self._born[hosted], self._born[hosted] + 1
        return f"raydream-{self._run}-{hosted}" + (f"-again{before}" if before else "")

    def _check(self) -> None:
        """Refuse a run that the cluster cannot hold, even empty."""
        most = self._needs.most()
        if self._kind == "one-per-node" and self.actors > len(most):
            raise ValueError(
                f'`placement` "one-per-node" needs a node for each of {self.actors} actors; the cluster has '
                f"{len(most)}. Add nodes, or host several agents in one actor with `agents_per_actor`."
            )
        if self.actors > sum(most.values()):
            raise ValueError(
                f"the run needs {self.actors} actors of {self._needs.words} each, but the cluster has room for "
                f'{sum(most.values())} ({self._needs.told()}); use `agents_per_actor="auto"` or fewer '
                "`cpus_per_actor`, or `autoscale=True` where nodes come when they are asked for."
            )
