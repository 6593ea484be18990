"""The Ray backend's settings, and how a run begins on it."""

import contextlib
import secrets
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from raydream.backends.allocator import give_back_freed_memory
from raydream.backends.protocol import Plan
from raydream.backends.ray.cluster.shipping import check_shippable
from raydream.backends.ray.links import LINKS
from raydream.backends.ray.links.cipher import refuse_without_library
from raydream.backends.ray.routing import Packing, Router, block_sizes
from raydream.backends.workers import cpus
from raydream.checks import choice, not_negative, positive, whole

if TYPE_CHECKING:
    from raydream.backends.ray.cluster.needs import Needs
    from raydream.backends.ray.session import RaySession

PLACEMENTS = ("spread", "one-per-node")
LOSSES = ("wait", "repack")
# What means nothing where all agents live in one process.
OF_AGENTS = ("agents_per_actor", "links", "placement", "on_loss", "secure")


@dataclass(frozen=True)
class RayBackend:
    """Agents as Ray actors.

    agents_per_actor  agents hosted by one actor: a number, "auto" (spread evenly over the CPUs), or a list of sizes
    links             how frames travel: a name in `raydream.backends.ray.links.LINKS`, such as "direct" or "ray"
    address           a running Ray ("auto", "host:port"); by default $RAY_ADDRESS, else a Ray of the run's own
    placement         "spread" over the nodes, or "one-per-node"
    cpus_per_actor    CPUs that Ray reserves for each actor on a cluster
    patience          seconds without progress before a run gives up: an actor waits so long for a neighbour before
                      the run is reported as hanging, and the run so long for room on its cluster
    on_loss           where room for actors is lost: "wait" for it, or "repack" all agents onto what is left
    autoscale         whether the cluster grows when it is asked to: what it lacks is then waited for, not refused
    num_gpus          GPUs for each actor
    resources         further resources of the cluster's nodes for each actor, by name
    labels            labels that a node must have to host an actor
    log               a file for what actors print, on whatever node; by default it is not kept
    ship              modules of your own that only this machine has: folders of packages, .py files or wheels
    secure            whether rows that cross a network are encrypted (extra `secure`, on every node)
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
    on_loss: str = "wait"
    autoscale: bool = False
    num_gpus: float = 0.0
    resources: Mapping[str, float] | None = None
    labels: Mapping[str, str] | None = None
    log: str | None = None
    ship: Sequence[str] = ()
    secure: bool = False

    def __post_init__(self) -> None:
        block_sizes(self.agents_per_actor, *_sample(self.agents_per_actor))
        choice("links", self.links, LINKS)
        choice("placement", self.placement, PLACEMENTS)
        choice("on_loss", self.on_loss, LOSSES)
        not_negative("cpus_per_actor", self.cpus_per_actor)
        not_negative("num_gpus", self.num_gpus)
        positive("patience", self.patience)
        check_shippable(self.ship)
        self._check_secure()
        for name, given in (("resources", self.resources), ("labels", self.labels)):
            if given is not None and not isinstance(given, Mapping):
                raise TypeError(f"`{name}` must be a dict, or None; got {given!r}.")
        for name, amount in (self.resources or {}).items():
            positive(f"resources[{name!r}]", amount)

    def _check_secure(self) -> None:
        if not isinstance(self.secure, bool):
            raise TypeError(f"`secure` must be True or False; got {self.secure!r}.")
        if self.secure and not LINKS.find(self.links).encrypts:
            able = " or ".join(f'"{name}"' for name in LINKS if LINKS[name].encrypts)
            raise ValueError(f"`secure` needs links that can encrypt: {able}; got `links` {self.links!r}.")
        if self.secure:
            refuse_without_library()

    def open(self, plan: Plan) -> "RaySession":
        """Attach to Ray and start the actors."""
        from raydream.backends.ray.cluster.logs import logged
        from raydream.backends.ray.cluster.needs import cluster_cpus
        from raydream.backends.ray.placement import Placement
        from raydream.backends.ray.sending import check_sendable
        from raydream.backends.ray.session import RaySession

        give_back_freed_memory()
        check_sendable("problem.local(0)", plan.problem.local(0))
        check_sendable("method", plan.method)
        check_sendable("problem.constraint", plan.problem.constraint)
        check_sendable("conditions.schedule", plan.changing)
        m = plan.topology.m
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.shared(m))
            sizes = block_sizes(self.agents_per_actor, m, int(cluster_cpus()))
            run = secrets.token_hex(3)
            placement = Placement(len(sizes), self.placement, self.needs, run, self.patience, self.autoscale)
            if self.log is not None:
                stack.enter_context(logged(Path(self.log), run))
            release = stack.pop_all().close
        try:
            return RaySession(
                plan,
                Router(plan.wired, sizes, plan.conditions is not None, plan.changing),
                placement,
                self.links,
                self.patience,
                release,
                repack=self.on_loss == "repack",
                run=run,
                secure=self.secure,
            )
        except BaseException:
            release()
            raise

    @property
    def needs(self) -> "Needs":
        """What each actor, or each trial of a tuning, needs of its node."""
        from raydream.backends.ray.cluster.needs import Needs

        return Needs(self.cpus_per_actor, self.num_gpus, self.resources or {}, self.labels or {})

    def for_trials(self) -> "RayBackend":
        """The same for trials, of which each is one process: without the settings of agents as actors."""
        return replace(self, **{name: getattr(RayBackend, name) for name in OF_AGENTS})

    def refuse_settings_of_agents(self) -> None:
        """Trials have no actors."""
        chosen = [name for name in OF_AGENTS if getattr(self, name) != getattr(RayBackend, name)]
        if chosen:
            raise ValueError(
                f"`{chosen[0]}` must be left out of a backend for trials: all agents of one live in one process."
            )

    def describe(self) -> dict[str, Any]:
        """What the run's record says of the backend."""
        packing = self.agents_per_actor if isinstance(self.agents_per_actor, int | str) else list(self.agents_per_actor)
        settings: dict[str, Any] = {"agents_per_actor": packing, "links": self.links, "placement": self.placement}
        settings |= {"cpus_per_actor": self.cpus_per_actor, "patience": self.patience}
        later = ("on_loss", "autoscale", "num_gpus", "resources", "labels", "secure")  # said only where they are chosen
        chosen = {name: getattr(self, name) for name in later}
        settings |= {name: value for name, value in chosen.items() if value != getattr(RayBackend, name)}
        return {"name": self.name, **settings, **({} if self.address is None else {"address": self.address})}

    def shared(self, agents: int) -> AbstractContextManager[None]:
        """One Ray for all runs, with room for the actors of the largest."""
        return self.attached(max(1, len(block_sizes(self.agents_per_actor, agents, cpus()))))

    def attached(self, processes: int) -> AbstractContextManager[None]:
        """Its Ray while this lasts; one of our own has room for so many processes."""
        from raydream.backends.ray.runtime import attached

        more: dict[str, Any] = {} if self.num_gpus == 0 else {"num_gpus": None}  # as many as there are
        more |= {} if self.log is None else {"log_to_driver": True}
        return attached(self.address, processes, self.ship, **more)

    def for_agents(self, agents: int) -> "RayBackend":
        """The same; sizes that are listed for another number of agents give way to one agent each."""
        listed = not isinstance(self.agents_per_actor, int | str)
        return replace(self, agents_per_actor=1) if listed or agents == 1 else self


def _sample(packing: Packing) -> tuple[int, int]:
    """A number of agents for which the packing can be checked before the problem is known."""
    if isinstance(packing, str) or not isinstance(packing, Sequence):
        return 1, 1
    return sum(whole("agents_per_actor", size, 1) for size in packing), 1
