"""A run on actors: blocks of iterations on request, and the actors' end."""

import time
from collections.abc import Callable, Mapping, Sequence

from raydream.backends.protocol import Keep, Names, Place, Plan, Recovery, Snapshot
from raydream.backends.ray.actors import Actors
from raydream.backends.ray.cluster.gauges import Gauges
from raydream.backends.ray.placement import Placement
from raydream.backends.ray.recovery import Recovering
from raydream.backends.ray.routing import Router

SNAPSHOT_SECONDS = 3.0  # the least time between two snapshots of the driver's own


class RaySession:
    """The actors of one run.

    release  lets go of Ray when the actors have ended
    repack   whether to make do with less room where some is lost
    run      what Ray's metrics call it
    secure   whether rows that cross a network are encrypted
    """

    def __init__(
        self,
        plan: Plan,
        router: Router,
        placement: Placement,
        links: str,
        patience: float,
        release: Callable[[], None],
        repack: bool = False,
        run: str = "",
        secure: bool = False,
    ) -> None:
        self._release = release
        self._taken = time.monotonic()  # when the last snapshot was
        self._gauges = Gauges(run)
        self.actors = Actors(plan, router, placement, links, patience, repack, secure)
        try:
            self._agents = Recovering(self.actors, patience)
        except BaseException:
            self.close()
            raise

    @property
    def places(self) -> list[Place]:
        """Where each actor lives, and its agents."""
        return self.actors.places

    @property
    def recoveries(self) -> list[Recovery]:
        """What happened when actors were lost."""
        return self._agents.recoveries

    def init(self, collect: Names) -> Snapshot:
        """Run the method's `init`."""
        return self._agents.init(collect)

    def advance(self, first: int, coins: Sequence[bool], keep: Keep | None, collect: Names) -> Snapshot:
        """Run steps first, first + 1, ...; now and then keep where everybody is, for when an actor is lost."""
        done = self._agents.advance(first, coins, keep, collect)
        if time.monotonic() - self._taken > SNAPSHOT_SECONDS:
            self.snapshot()
        return done

    def snapshot(self) -> Snapshot:
        """The whole state."""
        taken = self._agents.snapshot()
        self._taken = time.monotonic()
        return taken

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from this state."""
        self._agents.restore(snapshot)

    def note(self, row: Mapping[str, float]) -> None:
        """Show what was recorded to whoever watches Ray."""
        self._gauges.show(row, len(self.recoveries))

    def close(self) -> None:
        """End the actors, and Ray if it was started for them."""
        self.actors.close()
        self._release()
