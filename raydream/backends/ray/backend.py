"""The Ray backend's settings, and how a run begins on it."""

import contextlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from raydream.backends.allocator import give_back_freed_memory
from raydream.backends.protocol import Plan
from raydream.backends.ray.links import LINKS
from raydream.backends.ray.routing import Packing, Router, block_sizes
from raydream.backends.workers import cpus
from raydream.checks import choice, number, positive, whole

if TYPE_CHECKING:
    from raydream.backends.ray.session import RaySession

PLACEMENTS = ("spread", "one-per-node")


@dataclass(frozen=True)
class RayBackend:
    """Agents as Ray actors.

    agents_per_actor  agents hosted by one actor: a number, "auto" (spread evenly over the CPUs), or a list of sizes
    links             how frames travel: a name in `raydream.backends.ray.links.LINKS`, such as "direct" or "ray"
    address           a running Ray ("auto", "host:port"); by default $RAY_ADDRESS, else a Ray of the run's own
    placement         "spread" over the nodes, or "one-per-node"
    cpus_per_actor    CPUs that Ray reserves for each actor on a cluster
    patience          seconds that an actor waits for a neighbour before the run is reported as hanging
    """

    name: ClassVar[str] = "ray"
    says: ClassVar[str] = "every agent a Ray actor"
    in_process: ClassVar[bool] = False
    agents_per_actor: Packing = 1
    links: str = "direct"
    address: str | None = None
    placement: str = "spread"
    cpus_per_actor: float = 1.0
    patience: float = 300.0

    def __post_init__(self) -> None:
        block_sizes(self.agents_per_actor, *_sample(self.agents_per_actor))
        choice("links", self.links, LINKS)
        choice("placement", self.placement, PLACEMENTS)
        if number("cpus_per_actor", self.cpus_per_actor) < 0:
            raise ValueError(f"`cpus_per_actor` must not be negative; got {self.cpus_per_actor!r}.")
        positive("patience", self.patience)

    def open(self, plan: Plan) -> "RaySession":
        """Attach to Ray and start the actors."""
        from raydream.backends.ray.placement import Placement, cluster_cpus
        from raydream.backends.ray.sending import check_sendable
        from raydream.backends.ray.session import RaySession

        give_back_freed_memory()
        check_sendable("problem.local(0)", plan.problem.local(0))
        check_sendable("method", plan.method)
        check_sendable("problem.constraint", plan.problem.constraint)
        m = plan.topology.m
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.shared(m))
            sizes = block_sizes(self.agents_per_actor, m, int(cluster_cpus()))
            placement = Placement(len(sizes), self.placement, self.cpus_per_actor)
            release = stack.pop_all().close
        try:
            return RaySession(
                plan,
                Router(plan.topology, sizes, plan.conditions is not None),
                placement,
                self.links,
                self.patience,
                release,
            )
        except BaseException:
            release()
            raise

    def describe(self) -> dict[str, Any]:
        """What the run's record says of the backend."""
        packing = self.agents_per_actor if isinstance(self.agents_per_actor, int | str) else list(self.agents_per_actor)
        settings: dict[str, Any] = {"agents_per_actor": packing, "links": self.links, "placement": self.placement}
        settings |= {"cpus_per_actor": self.cpus_per_actor, "patience": self.patience}
        return {"name": self.name, **settings, **({} if self.address is None else {"address": self.address})}

    def shared(self, agents: int) -> AbstractContextManager[None]:
        """One Ray for all runs, with room for the actors of the largest."""
        from raydream.backends.ray.runtime import attached

        return attached(self.address, max(1, len(block_sizes(self.agents_per_actor, agents, cpus()))))

    def for_agents(self, agents: int) -> "RayBackend":
        """The same; sizes that are listed for another number of agents give way to one agent each."""
        listed = not isinstance(self.agents_per_actor, int | str)
        return replace(self, agents_per_actor=1) if listed or agents == 1 else self


def _sample(packing: Packing) -> tuple[int, int]:
    """A number of agents for which the packing can be checked before the problem is known."""
    if isinstance(packing, str) or not isinstance(packing, Sequence):
        return 1, 1
    return sum(whole("agents_per_actor", size, 1) for size in packing), 1
