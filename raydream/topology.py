"""Topologies: who talks to whom, with which weights: a mixing matrix W that meets the paper's Assumption 2.5."""

import math
import random
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array, diags_array, eye_array
from scipy.sparse.csgraph import connected_components

from raydream import checks, mixing
from raydream.mixing import Network
from raydream.spectrum import one_thread, second_eigenvalue, smallest_eigenvalue
from raydream.types import Array, Indices

Sparse = Any  # a float64 `csr_array`: scipy ships no types

WEIGHTS = ("metropolis", "max-degree", "best-constant")
DENSE = 1000  # up to this many agents the whole spectrum is computed
DRAWS = 1000  # random graphs drawn before giving up on a connected one
PATIENCE = 10_000_000  # rounds looked ahead by `rounds_to_mix`
TOLERANCE = 1e-10  # allowed error of a row sum and of symmetry in a matrix that is given
ROUNDING = 1e-15  # entries of this size are a computation's rounding, not a link
ACCURACY = 1e-10  # of the eigenvalues beyond `DENSE` agents


@dataclass(frozen=True, eq=False, repr=False)
class Topology:
    """A network of m agents and its mixing matrix W, checked against Assumption 2.5 (a-d) of the paper.

    W is symmetric and doubly stochastic, agents i != j are linked where W_ij > 0, and every agent can reach
    every other. Positive semidefiniteness (2.5e) is not demanded; where it fails, `remarks` says so.
    `W` is kept as a CSR array with sorted columns, so that every row of W @ V comes out with the same bits
    however the rows are divided.
    """

    W: Sparse
    name: str = "matrix"

    def __post_init__(self) -> None:
        object.__setattr__(self, "W", _checked(self.W))

    @property
    def m(self) -> int:
        """The number of agents."""
        return int(self.W.shape[0])

    @cached_property
    def neighbours(self) -> tuple[Indices, ...]:
        """For each agent the sorted numbers of those it is linked to, itself excluded."""
        rows = np.split(self.W.indices.astype(np.int64), self.W.indptr[1:-1])
        return tuple(row[row != i] for i, row in enumerate(rows))

    @cached_property
    def edges(self) -> int:
        """The number of undirected links."""
        return sum(len(row) for row in self.neighbours) // 2

    @cached_property
    def network(self) -> Network:
        """What an agent knows of the network."""
        if self.m == 1:
            return Network(1, second_eigenvalue=0.0, smallest_eigenvalue=1.0)
        if self.m <= DENSE:
            return Network(self.m, float(self._modes[-1]), float(self._modes[0]))
        return Network(self.m, second_eigenvalue(self.W), smallest_eigenvalue(self.W))

    @property
    def second_eigenvalue(self) -> float:
        """lambda_2(W), with its sign; 0 for one agent."""
        return self.network.second_eigenvalue

    @property
    def smallest_eigenvalue(self) -> float:
        """lambda_m(W)."""
        return self.network.smallest_eigenvalue

    @property
    def spectral_gap(self) -> float:
        """delta = 1 - lambda_2(W)."""
        return self.network.spectral_gap

    @property
    def positive_semidefinite(self) -> bool:
        """Whether W meets Assumption 2.5e, up to the accuracy of its eigenvalues."""
        return self.smallest_eigenvalue >= -10 * ACCURACY

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a user should know before mixing on this topology, in sentences."""
        said = []
        if not self.positive_semidefinite:
            said.append(
                f"W is not positive semidefinite (Assumption 2.5e): its smallest eigenvalue is "
                f"{self.smallest_eigenvalue:.6g}; `.lazy()` gives (W + I)/2, which is."
            )
        if not self._mixes:
            said.append(
                "No number of rounds brings the agents to agreement, because an eigenvalue of W besides the first "
                "has size 1; `.lazy()` mends that where it is -1, more links where it is nearly 1."
            )
        return tuple(said)

    def mix(self, V: npt.ArrayLike, rounds: int, method: str = "fastmix", momentum: str = "optimal") -> Array:
        """V, one row (or number) per agent, after `rounds` rounds of mixing; V itself stays as it was."""
        rounds = checks.whole("rounds", rounds)
        rows = np.array(V, dtype=np.float64, order="C")
        if rows.ndim not in (1, 2) or len(rows) != self.m:
            raise ValueError(f"`V` must have one row for each of the {self.m} agents; got shape {rows.shape}.")
        program = mixing.mix(rows.reshape(self.m, -1), rounds, self.network, method, momentum)
        mixed: Array = mixing.perform(program, lambda A: self.W @ A)
        return mixed.reshape(rows.shape)

    def mixing_range(self, K: int, method: str = "fastmix", momentum: str = "optimal") -> tuple[float, float]:
        """The smallest and the largest eigenvalue of the operator of K rounds on vectors of mean zero.

        Exact up to 1000 agents; beyond, an outer estimate: the extremes over all of [lambda_m, lambda_2].
        One agent has no such vectors: (0, 0).
        """
        K = checks.whole("K", K)
        weight = mixing.momentum_weight(self.network.lam, momentum)
        checks.choice("method", method, mixing.METHODS)
        if self.m == 1:
            return 0.0, 0.0
        values = mixing.polynomial(self._modes, K, method, weight)
        return float(values.min()), float(values.max())

    def rounds_to_mix(self, tolerance: float, method: str = "fastmix", momentum: str = "optimal") -> int:
        """The least K for which K rounds shrink every disagreement to at most `tolerance` of its size."""
        tolerance = checks.positive("tolerance", tolerance)
        weight = mixing.momentum_weight(self.network.lam, momentum)
        checks.choice("method", method, mixing.METHODS)
        if self.m == 1 or tolerance >= 1:
            return 0
        if not self._mixes:
            raise ValueError(f"{self!r} does not mix. {self.remarks[-1]}")
        if method == "gossip":
            return _least_power(self.network.lam, tolerance)
        program = mixing.modes(self._modes, PATIENCE + 1, method, weight)  # says A_0, ..., A_PATIENCE
        K, values = 0, next(program)
        while np.abs(values).max() > tolerance:
            if K == PATIENCE:
                raise ValueError(f"`tolerance` {tolerance:g} takes more than {PATIENCE} rounds on {self!r}.")
            K, values = K + 1, program.send(self._modes * values)
        return K

    def lazy(self) -> "Topology":
        """The same links with (W + I)/2, which is positive semidefinite."""
        return Topology((self.W + eye_array(self.m, format="csr")) / 2, f"lazy {self.name}")

    def __repr__(self) -> str:
        facts = f"{self.name}, m={self.m}, edges={self.edges}"
        if self.m <= DENSE or "network" in self.__dict__:  # a repr should not take seconds
            facts += f", second_eigenvalue={self.second_eigenvalue:.6g}"
            facts += f", smallest_eigenvalue={self.smallest_eigenvalue:.6g}"
        return f"Topology({facts})"

    @property
    def _mixes(self) -> bool:
        """Whether rounds without end bring agreement."""
        return self.network.lam < 1 - 1e-14

    @cached_property
    def _modes(self) -> Array:
        """The eigenvalues of W except lambda_1 = 1, ascending; beyond `DENSE` a fine grid over their interval."""
        if self.m <= DENSE:
            with one_thread():
                modes: Array = np.linalg.eigvalsh(self.W.toarray())[:-1]
            return modes
        low, high = self.smallest_eigenvalue, self.second_eigenvalue
        # denser towards the ends, where the polynomials turn fastest
        grid: Array = (low + high) / 2 - (high - low) / 2 * np.cos(np.linspace(0, np.pi, 4001))
        grid[0], grid[-1] = low, high
        return grid


# ---------------------------------------------------------------- builders


def ring(m: int, self_weight: float | None = None, weights: str = "metropolis") -> Topology:
    """Agents in a circle, each linked to the next."""
    return _weighed("ring", _torus(_matrix_of_agents(m, rows=1)), self_weight, weights)


def path(m: int, self_weight: float | None = None, weights: str = "metropolis") -> Topology:
    """Agents in a line, each linked to the next."""
    return _weighed("path", _grid(_matrix_of_agents(m, rows=1)), self_weight, weights)


def grid(m: int, rows: int | None = None, self_weight: float | None = None, weights: str = "metropolis") -> Topology:
    """A rectangle of `rows` rows (the most square one if not given), each agent linked to those beside it."""
    return _weighed("grid", _grid(_matrix_of_agents(m, rows)), self_weight, weights)


def torus(m: int, rows: int | None = None, self_weight: float | None = None, weights: str = "metropolis") -> Topology:
    """A grid whose opposite sides are joined."""
    return _weighed("torus", _torus(_matrix_of_agents(m, rows)), self_weight, weights)


def star(m: int, self_weight: float | None = None, weights: str = "metropolis") -> Topology:
    """Agent 0 linked to all others."""
    m = checks.whole("m", m, at_least=1)
    return _weighed("star", _graph(m, [(np.zeros(m, dtype=np.int64), np.arange(m))]), self_weight, weights)


def complete(m: int, self_weight: float | None = None, weights: str = "metropolis") -> Topology:
    """Every agent linked to every other; metropolis weights make one gossip round the exact mean."""
    m = checks.whole("m", m, at_least=1)
    return _weighed("complete", _graph(m, [np.triu_indices(m, 1)]), self_weight, weights)


def hypercube(m: int, self_weight: float | None = None, weights: str = "metropolis") -> Topology:
    """Agents linked when their numbers differ in one binary digit; m is a power of two."""
    m = checks.whole("m", m, at_least=1)
    if m & (m - 1):
        near = 1 << (m.bit_length() - 1)
        raise ValueError(f"`m` must be a power of two for a hypercube; got {m}. Use {near} or {2 * near}.")
    i = np.arange(m)
    links = [(i, i ^ (1 << k)) for k in range(m.bit_length() - 1)]
    return _weighed("hypercube", _graph(m, links), self_weight, weights)


def exponential(m: int, self_weight: float | None = None, weights: str = "metropolis") -> Topology:
    """Agent i linked to i + 2^k and i - 2^k modulo m for every 2^k < m."""
    m = checks.whole("m", m, at_least=1)
    i = np.arange(m)
    links = [(i, (i + (1 << k)) % m) for k in range((m - 1).bit_length())]
    return _weighed("exponential", _graph(m, links), self_weight, weights)


def erdos_renyi(
    m: int,
    probability: float,
    seed: int = 0,
    self_weight: float | None = None,
    weights: str = "metropolis",
) -> Topology:
    """Every pair linked with `probability`, independently; drawn again until the graph is connected."""
    import networkx

    m = checks.whole("m", m, at_least=1)
    probability = checks.probability("probability", probability)
    stream = random.Random(checks.whole("seed", seed))

    def draw() -> Sparse:
        return _from_networkx(networkx.fast_gnp_random_graph(m, probability, seed=stream))

    remedy = f"`probability` {probability:g} is too small, try more than log(m)/m = {math.log(m) / m:.3g}"
    return _weighed("erdos_renyi", _first_connected(draw, remedy), self_weight, weights)


def random_regular(
    m: int, degree: int, seed: int = 0, self_weight: float | None = None, weights: str = "metropolis"
) -> Topology:
    """A random graph in which every agent has `degree` neighbours; drawn again until it is connected."""
    import networkx

    m = checks.whole("m", m, at_least=1)
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
            return _from_networkx(networkx.random_regular_graph(degree, m, seed=stream))
        # Pairing up nearly all agents at random hardly ever succeeds: draw the links that are missing instead.
        missing = networkx.random_regular_graph(m - 1 - degree, m, seed=stream)
        return _from_networkx(networkx.complement(missing))

    remedy = f"`degree` {degree} is too small for {m} agents, try 3 or more"
    return _weighed("random_regular", _first_connected(draw, remedy), self_weight, weights)


def from_graph(graph: Any, self_weight: float | None = None, weights: str = "metropolis") -> Topology:
    """The links of an undirected networkx graph; its loops, parallel edges and attributes count for nothing.

    Agents are numbered by the order of the node labels, or of their insertion where labels have no order.
    """
    return _weighed(getattr(graph, "name", "") or "graph", _from_networkx(graph), self_weight, weights)


def from_entries(entries: Any, m: Any, name: str = "matrix") -> Topology:
    """The topology whose matrix is written down in CSR form, as run.json does it."""
    try:
        data, indices, indptr = (np.asarray(entries[part]) for part in ("data", "indices", "indptr"))
        W = csr_array((data.astype(np.float64), indices, indptr), shape=(m, m))
        W.check_format(full_check=True)  # what stands in a file may point anywhere
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise ValueError(f"`entries` must be the data, indices and indptr of an m by m matrix ({error}).") from None
    return Topology(W, str(name))


def from_matrix(W: Any, graph: Any = None) -> Topology:
    """A mixing matrix of the user's own, dense or sparse, checked to live on `graph` if one is given."""
    topology = Topology(W)
    if graph is None:
        return topology
    links = _from_networkx(graph)
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


# ---------------------------------------------------------------- graphs, as symmetric 0/1 CSR arrays


def _graph(m: int, links: Iterable[tuple[Any, Any]]) -> Sparse:
    """The graph with the given links, without loops and repetitions."""
    pairs = [np.stack([np.ravel(i), np.ravel(j)]) for i, j in links]
    i, j = np.concatenate([np.zeros((2, 0), dtype=np.int64), *pairs], axis=1)
    i, j = i[i != j], j[i != j]
    both = coo_array((np.ones(2 * len(i)), (np.append(i, j), np.append(j, i))), shape=(m, m)).tocsr()
    both.data[:] = 1.0
    return both


def _grid(agents: Indices) -> Sparse:
    return _graph(agents.size, [(agents[:, :-1], agents[:, 1:]), (agents[:-1], agents[1:])])


def _torus(agents: Indices) -> Sparse:
    return _graph(agents.size, [(agents, np.roll(agents, -1, axis)) for axis in (0, 1)])


def _matrix_of_agents(m: int, rows: int | None) -> Indices:
    """The numbers 0, ..., m-1 in `rows` rows; as square as possible when not given."""
    m = checks.whole("m", m, at_least=1)
    if rows is None:
        rows = max(r for r in range(1, math.isqrt(m) + 1) if m % r == 0)
    rows = checks.whole("rows", rows, at_least=1)
    if m % rows:
        raise ValueError(f"`rows` must divide the number of agents, {m}; got {rows}.")
    return np.arange(m).reshape(rows, m // rows)


def _from_networkx(graph: Any) -> Sparse:
    """The graph with agents numbered by label."""
    if not (hasattr(graph, "nodes") and hasattr(graph, "edges") and hasattr(graph, "is_directed")):
        raise TypeError(f"`graph` must be a networkx graph; got {type(graph).__name__}.")
    if graph.is_directed():
        raise ValueError("`graph` must be undirected; got a directed one. Use its `.to_undirected()`.")
    labels = list(graph.nodes)
    if not labels:
        raise ValueError("`graph` must have at least one agent; got an empty graph.")
    with suppress(TypeError):  # labels of several kinds have no order
        labels = sorted(labels)
    number = {label: i for i, label in enumerate(labels)}
    links = np.array([(number[a], number[b]) for a, b in graph.edges()], dtype=np.int64).reshape(-1, 2)
    return _graph(len(labels), [(links[:, 0], links[:, 1])])


def _first_connected(draw: Callable[[], Sparse], remedy: str) -> Sparse:
    for _ in range(DRAWS):
        graph = draw()
        parts, _ = connected_components(graph, directed=False)
        if parts == 1:
            return graph
    raise ValueError(f"None of {DRAWS} random graphs was connected: {remedy}.")


# ---------------------------------------------------------------- weights


def _weighed(name: str, graph: Sparse, self_weight: float | None, weights: str) -> Topology:
    """The topology of a graph under a lazy random walk (`self_weight`) or one of the `WEIGHTS`."""
    checks.choice("weights", weights, WEIGHTS)
    _require_connected(graph, "graph")
    degrees = graph.sum(axis=1)
    if self_weight is not None:
        if weights != "metropolis":
            raise ValueError(f"Give `self_weight` or `weights`, not both; got {self_weight!r} and {weights!r}.")
        return Topology(_lazy_walk(name, graph, degrees, self_weight), name)
    if weights == "metropolis":
        i, j = graph.tocoo().coords
        return Topology(_completed(_like(graph, 1 / (1 + np.maximum(degrees[i], degrees[j])))), name)
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


# ---------------------------------------------------------------- Assumption 2.5


def _checked(W: Any) -> Sparse:
    """W as a read-only CSR array with sorted columns, if it meets Assumption 2.5 (a-d); its support is the graph."""
    try:
        if np.iscomplexobj(W):
            raise TypeError
        W = csr_array(W, dtype=np.float64, copy=True)
    except (TypeError, ValueError):
        raise TypeError(f"`W` must be a matrix of real numbers; got {type(W).__name__}.") from None
    if W.ndim != 2 or W.shape[0] != W.shape[1] or W.shape[0] == 0:
        raise ValueError(f"`W` must be a square matrix with a row for each agent; got shape {W.shape}.")
    W.sum_duplicates()
    if not np.isfinite(W.data).all():
        raise ValueError(f"`W` must be finite; {_first(W, ~np.isfinite(W.data))}.")
    W.data[np.abs(W.data) <= ROUNDING] = 0.0
    W.eliminate_zeros()
    _require_symmetric(W)
    _require_stochastic(W)
    _require_connected(W, "W")
    W = ((W + W.T) / 2).tocsr()
    W.sort_indices()
    for part in (W.data, W.indices, W.indptr):
        part.setflags(write=False)
    return W


def _require_symmetric(W: Sparse) -> None:
    difference = abs(W - W.T).tocoo()
    if difference.nnz and difference.data.max() > TOLERANCE:
        i, j = (int(index[difference.data.argmax()]) for index in difference.coords)
        raise ValueError(
            f"`W` must be symmetric (Assumption 2.5c); W[{i}, {j}] is {W[i, j]:.6g} but W[{j}, {i}] is {W[j, i]:.6g}."
        )


def _require_stochastic(W: Sparse) -> None:
    if (W.data < 0).any():
        raise ValueError(
            f"`W` must be doubly stochastic, hence nonnegative (Assumption 2.5d); {_first(W, W.data < 0)}."
        )
    sums = W.sum(axis=1)
    worst = int(np.abs(sums - 1).argmax())
    if abs(sums[worst] - 1) > TOLERANCE:
        raise ValueError(f"`W` must be doubly stochastic (Assumption 2.5d); row {worst} sums to {sums[worst]:.10g}.")


def _require_connected(links: Sparse, argument: str) -> None:
    count, part = connected_components(links, directed=False)
    if count > 1:
        sizes = sorted(np.bincount(part).tolist(), reverse=True)
        listed = ", ".join(map(str, sizes[:5])) + (", ..." if count > 5 else "")
        raise ValueError(
            f"`{argument}` must connect all agents (Assumption 2.5b, irreducible); it has {count} parts "
            f"of {listed} agents, and agents 0 and {int(part.argmax())} cannot reach each other."
        )


def _first(W: Sparse, wrong: npt.NDArray[np.bool_]) -> str:
    """The first stored entry that is wrong, in words."""
    place = int(wrong.argmax())
    i = int(np.searchsorted(W.indptr, place, side="right")) - 1
    return f"W[{i}, {W.indices[place]}] is {W.data[place]:.6g}"


def _least_power(lam: float, tolerance: float) -> int:
    """The least K with lam^K <= tolerance, for tolerance < 1."""
    if lam == 0:
        return 1
    K = max(1, math.ceil(math.log(tolerance) / math.log(lam)) - 1)  # one early, for the quotient's rounding
    while lam**K > tolerance:
        K += 1
    return K
