"""Topologies: who talks to whom, with which weights, and how fast that mixes."""

from raydream.topology.builders import TOPOLOGIES
from raydream.topology.graphs import (
    complete,
    directed_exponential,
    directed_ring,
    erdos_renyi,
    exponential,
    from_graph,
    from_matrix,
    grid,
    hypercube,
    path,
    random_regular,
    ring,
    star,
    torus,
)
from raydream.topology.mixing import Network
from raydream.topology.network import Topology, from_entries
from raydream.topology.weights import WEIGHTS

__all__ = [
    "TOPOLOGIES",
    "WEIGHTS",
    "Network",
    "Topology",
    "complete",
    "directed_exponential",
    "directed_ring",
    "erdos_renyi",
    "exponential",
    "from_entries",
    "from_graph",
    "from_matrix",
    "grid",
    "hypercube",
    "path",
    "random_regular",
    "ring",
    "star",
    "torus",
]
