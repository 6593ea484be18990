"""Mixing weights on a graph: a lazy random walk, Metropolis, maximum degree, best constant."""

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array

from raydream import checks
from raydream.topology.assumptions import require_connected
from raydream.topology.network import Topology
from raydream.types import Array, Sparse

WEIGHTS = ("metropolis", "max-degree", "best-constant")
WEIGHTS_OF_DIRECTED = ("max-degree", "out-degree")


def weighed(name: str, graph: Sparse, self_weight: float | None, weights: str) -> Topology:
    """The topology of a graph under a lazy random walk (`self_weight`) or one of the `WEIGHTS`."""
    checks.choice("weights", weights, WEIGHTS)
    require_connected(graph, "graph")
    degrees = graph.sum(axis=1)
    if self_weight is not None:
        if weights != "metropolis":
            raise ValueError(f"Give `self_weight` or `weights`, not both; got {self_weight!r} and {weights!r}.")
        return Topology(_lazy_walk(name, graph, degrees, self_weight), name)
    if weights == "metropolis":
        return Topology(metropolis(graph), name)
    uniform = Topology(_completed(graph / (1 + degrees.max())), name)
    if weights == "max-degree" or uniform.m == 1:
        return uniform
    # W = I - c Laplacian has eigenvalues 1 - c l; the best c puts lambda_2 and lambda_m equally far from 0
    both = (1 + degrees.max()) * (2 - uniform.second_eigenvalue - uniform.smallest_eigenvalue)
    W = _completed(graph * (2 / both))
    lowest = int(W.diagonal().argmin())
    if W.diagonal()[lowest] < 0:
        raise ValueError(
            f'`weights="best-constant"` gives agent {lowest} of this {name} the self weight '
            f"{W.diagonal()[lowest]:.6g}, but W must be doubly stochastic, hence nonnegative "
            '(Assumption 2.5d); use `weights="metropolis"`.'
        )
    return Topology(W, name)


def metropolis(graph: Sparse) -> Sparse:
    """1 / (1 + the larger degree) on every link, and the rest at home; the graph need not be connected."""
    degrees, (i, j) = graph.sum(axis=1), graph.tocoo().coords
    return _completed(_like(graph, 1 / (1 + np.maximum(degrees[i], degrees[j]))))


def weighed_directed(name: str, links: Sparse, weights: str | None) -> Topology:
    """The topology of a directed graph, whose links[i, j] is 1 where i hears j.

    max-degree  W = I - c (D - links), c = 1 / (1 + the most links of an agent): doubly stochastic where every agent
                hears as many as hear it
    out-degree  agent j divides what it has equally among itself and those that hear it: columns sum to 1, for push-sum
    """
    weights = checks.choice("weights", "max-degree" if weights is None else weights, WEIGHTS_OF_DIRECTED)
    hears, heard = links.sum(axis=1), links.sum(axis=0)
    if weights == "out-degree":
        share = diags_array(1 / (1 + heard))
        return Topology((links + eye_array(links.shape[0])) @ share, name, directed=True)
    if (hears != heard).any():
        agent = int((hears != heard).argmax())
        raise ValueError(
            f"`graph` must balance for doubly stochastic weights; agent {agent} hears {hears[agent]:.0f} and is heard "
            f'by {heard[agent]:.0f}. Use `weights="out-degree"` and `mixing="push-sum"`, or a W of your own.'
        )
    c = 1 / (1 + hears.max())
    return Topology(c * links + diags_array(1 - c * hears), name, directed=True)


def _lazy_walk(name: str, graph: Sparse, degrees: Array, self_weight: float) -> Sparse:
    """`self_weight` on the diagonal and the rest divided among the neighbours."""
    self_weight = checks.number("self_weight", self_weight)
    if not 0 <= self_weight < 1:
        raise ValueError(f"`self_weight` must be in [0, 1); got {self_weight!r}.")
    if degrees.min() < degrees.max():
        raise ValueError(
            f"`self_weight` needs a graph whose agents all have equally many neighbours; in this {name} they "
            f"have {degrees.min():.0f} to {degrees.max():.0f}. Use `weights` instead."
        )
    if len(degrees) == 1:
        return eye_array(1, format="csr")
    return graph * ((1 - self_weight) / degrees[0]) + self_weight * eye_array(len(degrees), format="csr")


def _completed(links: Sparse) -> Sparse:
    """Weights on the links, completed by the self weights that make every row sum to 1."""
    rest = 1 - links.sum(axis=1)
    rest[np.abs(rest) < 1e-12] = 0.0  # a self weight that is 0 but for rounding
    return (links + diags_array(rest)).tocsr()


def _like(graph: Sparse, values: Array) -> Sparse:
    return csr_array((values, graph.indices, graph.indptr), shape=graph.shape)
