"""Builders of topologies: well-known graphs, random ones, and the user's own."""

import math
import random
from typing import Any

import numpy as np
from scipy.sparse import coo_array, diags_array, eye_array

from raydream import checks
from raydream.topology.adjacency import (
    agents_in_rows,
    first_connected,
    from_networkx,
    graph_of,
    grid_of,
    links_of,
    numbered,
    torus_of,
)
from raydream.topology.builders import (
    Agents,
    Degree,
    LinkProbability,
    Rows,
    Seed,
    SelfWeight,
    Weights,
    builder,
)
from raydream.topology.network import Topology
from raydream.topology.weights import weighed, weighed_directed
from raydream.types import Sparse

HOPELESS = 30  # agents without a link: then a graph is connected once in 10^13 draws


@builder
def ring(m: Agents, self_weight: SelfWeight = None, weights: Weights = "metropolis") -> Topology:
    """Agents in a circle, each linked to the next."""
    return weighed("ring", torus_of(agents_in_rows(m, rows=1)), self_weight, weights)


@builder
def path(m: Agents, self_weight: SelfWeight = None, weights: Weights = "metropolis") -> Topology:
    """Agents in a line, each linked to the next."""
    return weighed("path", grid_of(agents_in_rows(m, rows=1)), self_weight, weights)


@builder
def grid(m: Agents, rows: Rows = None, self_weight: SelfWeight = None, weights: Weights = "metropolis") -> Topology:
    """A rectangle of `rows` rows (the most square one if not given), each agent linked to those beside it."""
    return weighed("grid", grid_of(agents_in_rows(m, rows)), self_weight, weights)


@builder
def torus(m: Agents, rows: Rows = None, self_weight: SelfWeight = None, weights: Weights = "metropolis") -> Topology:
    """A grid whose opposite sides are joined."""
    return weighed("torus", torus_of(agents_in_rows(m, rows)), self_weight, weights)


@builder
def star(m: Agents, self_weight: SelfWeight = None, weights: Weights = "metropolis") -> Topology:
    """Agent 0 linked to all others."""
    m = checks.agents("m", m)
    return weighed("star", graph_of(m, [(np.zeros(m, dtype=np.int64), np.arange(m))]), self_weight, weights)


@builder
def complete(m: Agents, self_weight: SelfWeight = None, weights: Weights = "metropolis") -> Topology:
    """Every agent linked to every other; metropolis weights make one gossip round the exact mean."""
    m = checks.agents("m", m)
    return weighed("complete", graph_of(m, [np.triu_indices(m, 1)]), self_weight, weights)


@builder
def hypercube(m: Agents, self_weight: SelfWeight = None, weights: Weights = "metropolis") -> Topology:
    """Agents linked when their numbers differ in one binary digit; m is a power of two."""
    m = checks.agents("m", m)
    if m & (m - 1):
        near = 1 << (m.bit_length() - 1)
        raise ValueError(f"`m` must be a power of two for a hypercube; got {m}. Use {near} or {2 * near}.")
    i = np.arange(m)
    links = [(i, i ^ (1 << k)) for k in range(m.bit_length() - 1)]
    return weighed("hypercube", graph_of(m, links), self_weight, weights)


@builder
def exponential(m: Agents, self_weight: SelfWeight = None, weights: Weights = "metropolis") -> Topology:
    """Agent i linked to i + 2^k and i - 2^k modulo m for every 2^k < m."""
    m = checks.agents("m", m)
    i = np.arange(m)
    links = [(i, (i + (1 << k)) % m) for k in range((m - 1).bit_length())]
    return weighed("exponential", graph_of(m, links), self_weight, weights)


def without_a_link(m: int, probability: float) -> float:
    """How many of m agents have no neighbour, on average, where every pair is linked with `probability`."""
    return m * (1 - probability) ** (m - 1) if m > 1 else 0.0


@builder
def erdos_renyi(
    m: Agents,
    probability: LinkProbability,
    seed: Seed = 0,
    self_weight: SelfWeight = None,
    weights: Weights = "metropolis",
) -> Topology:
    """Every pair linked with `probability`, independently; drawn again until the graph is connected."""
    import networkx

    m = checks.agents("m", m)
    probability = checks.probability("probability", probability)
    stream = random.Random(checks.whole("seed", seed))

    lonely = without_a_link(m, probability)
    if lonely > HOPELESS:
        raise ValueError(
            f"`probability` {probability:g} is too small: about {lonely:.0f} of {m} agents would have no link at all; "
            f"try more than log(m)/m = {math.log(m) / m:.3g}."
        )

    def draw() -> Sparse:
        return from_networkx(networkx.fast_gnp_random_graph(m, probability, seed=stream))

    remedy = f"`probability` {probability:g} is too small, try more than log(m)/m = {math.log(m) / m:.3g}"
    return weighed("erdos_renyi", first_connected(draw, remedy), self_weight, weights)


@builder
def random_regular(
    m: Agents, degree: Degree, seed: Seed = 0, self_weight: SelfWeight = None, weights: Weights = "metropolis"
) -> Topology:
    """A random graph in which every agent has `degree` neighbours; drawn again until it is connected."""
    import networkx

    m = checks.agents("m", m)
    degree = checks.whole("degree", degree)
    stream = random.Random(checks.whole("seed", seed))
    if degree >= m:
        raise ValueError(f"`degree` must be below the number of agents, {m}; got {degree}.")
    if m * degree % 2:
        raise ValueError(f"`degree` must be even when `m` is odd; got degree {degree} for {m} agents.")
    if degree < min(2, m - 1):
        raise ValueError(f"`degree` must be at least {min(2, m - 1)} to connect {m} agents; got {degree}.")

    def draw() -> Sparse:
        if degree <= m // 2:
            return from_networkx(networkx.random_regular_graph(degree, m, seed=stream))
        # Pairing up nearly all agents at random hardly ever succeeds: draw the links that are missing instead.
        missing = networkx.random_regular_graph(m - 1 - degree, m, seed=stream)
        return from_networkx(networkx.complement(missing))

    remedy = f"`degree` {degree} is too small for {m} agents, try 3 or more"
    return weighed("random_regular", first_connected(draw, remedy), self_weight, weights)


@builder
def directed_ring(m: Agents, self_weight: SelfWeight = None) -> Topology:
    """Agents in a circle, each heard by the next; half of an agent's weight stays its own unless `self_weight` says."""
    return _of_steps("directed_ring", m, [1], self_weight)


@builder
def directed_exponential(m: Agents, self_weight: SelfWeight = None) -> Topology:
    """Agent i is heard by i + 2^k modulo m for every 2^k < m; equal weights unless `self_weight` says."""
    m = checks.agents("m", m)
    return _of_steps("directed_exponential", m, [1 << k for k in range((m - 1).bit_length())], self_weight)


def _of_steps(name: str, m: int, steps: list[int], self_weight: float | None) -> Topology:
    """The circulant network in which agent i is heard by i + step for each of these steps."""
    m = checks.agents("m", m)
    own = 1 / (1 + len(steps)) if self_weight is None else checks.number("self_weight", self_weight)
    if self_weight is not None and not 0 <= own < 1:
        raise ValueError(f"`self_weight` must be in [0, 1); got {self_weight!r}.")
    if m == 1:
        return Topology(eye_array(1, format="csr"), name)
    i = np.arange(m)
    W = own * eye_array(m, format="csr")
    for step in steps:
        W = W + coo_array((np.full(m, (1 - own) / len(steps)), ((i + step) % m, i)), shape=(m, m)).tocsr()
    return Topology(W, name, directed=True)


def from_graph(graph: Any, self_weight: float | None = None, weights: str | None = None) -> Topology:
    """The links of a networkx graph; its loops, parallel edges and attributes count for nothing.

    Agents are numbered by the order of the node labels, or of their insertion where labels have no order. `weights` are
    by default those of Metropolis. In a directed graph (a, b) says that b hears a; its weights are "max-degree" (the
    default: where every agent hears as many as hear it), or "out-degree", for push-sum.
    """
    name, number = getattr(graph, "name", "") or "graph", numbered(graph)
    if not graph.is_directed():
        return weighed(name, from_networkx(graph), self_weight, "metropolis" if weights is None else weights)
    if self_weight is not None:
        raise ValueError(f"`self_weight` must be left out where links have a direction; got {self_weight!r}.")
    return weighed_directed(name, links_of(graph, number), weights)


def from_matrix(W: Any, graph: Any = None, directed: bool = False) -> Topology:
    """A mixing matrix of the user's own, dense or sparse, checked to live on `graph` if one is given.

    directed  whether it may be other than symmetric: W_ij is what agent i takes of what j says, and columns sum to 1
              (for push-sum); rows too, if gossip is to end at the mean
    """
    topology = Topology(W, directed=directed)
    if graph is None:
        return topology
    number = numbered(graph)
    links = links_of(graph, number) if graph.is_directed() else from_networkx(graph)
    if links.shape != topology.W.shape:
        raise ValueError(f"`W` has {topology.m} agents but `graph` has {links.shape[0]}.")
    wrong = ((topology.W - diags_array(topology.W.diagonal())) != 0) != (links != 0)
    if wrong.nnz:
        i, j = (int(index[0]) for index in wrong.nonzero())
        linked = "linked" if links[i, j] else "not linked"
        raise ValueError(
            f"`W` must be supported on the network (Assumption 2.5a); agents {i} and {j} are {linked} "
            f"in `graph` but W[{i}, {j}] is {topology.W[i, j]:.6g}."
        )
    return topology
