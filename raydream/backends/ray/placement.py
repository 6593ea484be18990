"""Where actors go: spread over the nodes, or one on each."""

from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from raydream.backends.ray.links.protocol import DELIVERY

CONTROL = "control"  # the group of an actor's threads that hear orders
# A block occupies the actor's main thread; it must hear orders and, by Ray links, neighbours meanwhile.
GROUPS = {CONTROL: 2, DELIVERY: 4}


class Placement:
    """Starts actors on the cluster that Ray is connected to."""

    def __init__(self, actors: int, placement: str, cpus: float) -> None:
        self._kind = placement
        self._cpus = cpus
        self._check(actors)

    def start(self, number: int, kind: type, *arguments: Any) -> Any:
        """A new actor of this plain class, in the place for this number."""
        groups: Any = {"concurrency_groups": GROUPS}
        remote: Any = ray.remote(num_cpus=self._cpus, max_restarts=0, max_task_retries=0, **groups)(kind)
        return remote.options(scheduling_strategy=self._strategy(number)).remote(*arguments)

    def _strategy(self, number: int) -> Any:
        if self._kind == "spread":
            return "SPREAD"
        nodes = sorted(node["NodeID"] for node in alive_nodes())
        return NodeAffinitySchedulingStrategy(nodes[number % len(nodes)], soft=False)

    def _check(self, actors: int) -> None:
        """Refuse a run that the cluster cannot hold."""
        nodes = alive_nodes()
        cpus = cluster_cpus()
        if self._kind == "one-per-node" and actors > len(nodes):
            raise ValueError(
                f'`placement` "one-per-node" needs a node for each of {actors} actors; the cluster has {len(nodes)}. '
                "Add nodes, or host several agents in one actor with `agents_per_actor`."
            )
        if self._cpus * actors > cpus:
            raise ValueError(
                f"the run needs {actors} actors of {self._cpus:g} CPU each, but the cluster has {cpus:g} CPUs; "
                'use `agents_per_actor="auto"` or fewer `cpus_per_actor`.'
            )


def alive_nodes() -> list[dict[str, Any]]:
    """The nodes that can take actors."""
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return [node for node in nodes if node["Alive"]]


def cluster_cpus() -> float:
    """The logical CPUs of all nodes together."""
    return float(sum(node["Resources"].get("CPU", 0.0) for node in alive_nodes()))
