"""What each actor needs of the machine that hosts it, and how much of that is free."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import ray
from ray._private import state

from raydream.backends.ray.cluster.pulse import answered

NODE_ID = "ray.io/node-id"  # the label by which Ray knows each node


@dataclass(frozen=True)
class Needs:
    """What Ray reserves for each actor.

    cpus, gpus  of those
    resources   of what else a cluster's nodes say that they have, by name
    labels      what a node must be called for an actor to go there
    avoided     nodes to which no actor goes
    """

    cpus: float = 1.0
    gpus: float = 0.0
    resources: Mapping[str, float] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    avoided: tuple[str, ...] = ()

    @property
    def bundle(self) -> dict[str, float]:
        """The same by the names of Ray's resources."""
        wanted = {"CPU": self.cpus, "GPU": self.gpus, **self.resources}
        return {name: float(amount) for name, amount in wanted.items() if amount > 0}

    @property
    def words(self) -> str:
        """1 CPU and 2 GPU."""
        return " and ".join(f"{amount:g} {name}" for name, amount in self.bundle.items()) or "nothing"

    @property
    def selector(self) -> dict[str, str]:
        """The nodes that will do, as a placement group is asked for."""
        others = {NODE_ID: f"!in({', '.join(self.avoided)})"} if self.avoided else {}
        return {**self.labels, **others}

    def avoiding(self, node: str) -> "Needs":
        """The same on other nodes than this one."""
        return replace(self, avoided=(*self.avoided, node))

    def options(self) -> dict[str, Any]:
        """As an actor is asked for."""
        return {"num_cpus": self.cpus, "num_gpus": self.gpus, "resources": dict(self.resources)}

    def fits(self, room: Mapping[str, float]) -> int:
        """How many actors this much room has."""
        return min((int(room.get(name, 0.0) / amount + 1e-9) for name, amount in self.bundle.items()), default=10**6)

    def free(self) -> dict[str, int]:
        """How many actors each node could take now."""
        now = _free_now()
        return {node["NodeID"]: self.fits(now.get(node["NodeID"], {})) for node in self.nodes()}

    def most(self) -> dict[str, int]:
        """How many actors each node could take if it were empty."""
        return {node["NodeID"]: self.fits(node["Resources"]) for node in self.nodes()}

    def nodes(self) -> list[dict[str, Any]]:
        """The nodes that actors may go to."""
        return [
            node
            for node in alive_nodes()
            if node["NodeID"] not in self.avoided
            and all(node.get("Labels", {}).get(name) == value for name, value in self.labels.items())
        ]

    def told(self) -> str:
        """What is free of it, and what there is."""
        now = _free_now()
        nodes = self.nodes()
        parts = []
        for name in self.bundle or ("CPU",):
            free = sum(now.get(node["NodeID"], {}).get(name, 0.0) for node in nodes)
            parts.append(f"{free:g} of {sum(node['Resources'].get(name, 0.0) for node in nodes):g} {name}")
        return f"free now: {', '.join(parts)} on {len(nodes)} node{'' if len(nodes) == 1 else 's'}"


def alive_nodes() -> list[dict[str, Any]]:
    """The nodes that can take actors."""
    nodes: list[dict[str, Any]] = answered(ray.nodes)
    return [node for node in nodes if node["Alive"]]


def cluster_cpus() -> float:
    """The logical CPUs of all nodes together."""
    return float(sum(node["Resources"].get("CPU", 0.0) for node in alive_nodes()))


def _free_now() -> dict[str, dict[str, float]]:
    """What each node has left."""
    free: dict[str, dict[str, float]] = answered(state.available_resources_per_node)
    return free
