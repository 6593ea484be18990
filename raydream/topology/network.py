"""A topology: who talks to whom, with which weights: a mixing matrix W that meets the paper's Assumption 2.5.

Where links have a direction it is not symmetric, and meets what is left of that assumption.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, eye_array

from raydream import checks
from raydream.notebook import card, network
from raydream.program import perform
from raydream.topology import mixing
from raydream.topology.assumptions import checked_matrix, is_balanced, is_symmetric
from raydream.topology.mixing import Network
from raydream.topology.spectrum import (
    ACCURACY,
    directed_modes,
    gossip_rounds,
    largest_singular,
    one_thread,
    second_eigenvalue,
    smallest_eigenvalue,
)
from raydream.types import Array, Indices, Sparse

DENSE = 1000  # up to this many agents the whole spectrum is computed
PATIENCE = 10_000_000  # rounds looked ahead by `rounds_to_mix`


@dataclass(frozen=True, eq=False, repr=False)
class Topology:
    """A network of m agents and its mixing matrix W, checked against Assumption 2.5 (a-d) of the paper.

    W is symmetric and doubly stochastic, agents i != j are linked where W_ij > 0, and every agent can reach
    every other. Positive semidefiniteness (2.5e) is not demanded; where it fails, `remarks` says so.
    `W` is kept as a CSR array with sorted columns, so that every row of W @ V comes out with the same bits
    however the rows are divided.

    With `directed=True` W may be other than symmetric: agent i hears j where W_ij > 0, columns sum to 1, and
    everybody reaches everybody. `directed` then says whether it is.
    """

    W: Sparse
    name: str = "matrix"
    directed: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "W", checked_matrix(self.W, self.directed))
        object.__setattr__(self, "directed", self.directed and not is_symmetric(self.W))

    @property
    def m(self) -> int:
        """The number of agents."""
        return int(self.W.shape[0])

    @cached_property
    def neighbours(self) -> tuple[Indices, ...]:
        """For each agent the sorted numbers of those it hears, itself excluded."""
        return _others(self.W)

    @cached_property
    def listeners(self) -> tuple[Indices, ...]:
        """For each agent the sorted numbers of those that hear it: its neighbours, unless links have a direction."""
        return _others(self.W.T.tocsr()) if self.directed else self.neighbours

    @cached_property
    def edges(self) -> int:
        """The number of links; where they have a direction, of directed ones."""
        return sum(len(row) for row in self.neighbours) // (1 if self.directed else 2)

    @property
    def balanced(self) -> bool:
        """Whether W is doubly stochastic, as all are whose links go both ways: where not, only push-sum averages."""
        return not self.directed or is_balanced(self.W)

    @cached_property
    def network(self) -> Network:
        """What an agent knows of the network."""
        if self.m == 1:
            return Network(1, second_eigenvalue=0.0, smallest_eigenvalue=1.0)
        if self.directed:
            return Network(self.m, float(self.modes[-1]), -float(self.modes[-1]))
        if self.m <= DENSE:
            return Network(self.m, float(self.modes[-1]), float(self.modes[0]))
        return Network(self.m, second_eigenvalue(self.W), smallest_eigenvalue(self.W))

    @property
    def second_eigenvalue(self) -> float:
        """lambda_2(W), with its sign; its size where links have a direction; 0 for one agent."""
        return self.network.second_eigenvalue

    @property
    def smallest_eigenvalue(self) -> float:
        """lambda_m(W); where links have a direction, - |lambda_2|, below which no real part lies."""
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
        if not self.balanced:
            said.append(
                "W is not doubly stochastic: gossip ends at an average that favours some agents, and only "
                '`mixing="push-sum"` makes up for that.'
            )
        if not self.positive_semidefinite and not self.directed:
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
        self._require(method)
        rows = np.array(V, dtype=np.float64, order="C")
        if rows.ndim not in (1, 2) or len(rows) != self.m:
            raise ValueError(f"`V` must have one row for each of the {self.m} agents; got shape {rows.shape}.")
        program = mixing.mix(rows.reshape(self.m, -1), rounds, self.network, method, momentum)
        mixed: Array = perform(program, self._heard)
        return mixed.reshape(rows.shape)

    def _heard(self, said: Any) -> Any:
        """One round of it."""
        return tuple(self.W @ A for A in said) if isinstance(said, tuple) else self.W @ said

    def mixing_range(self, K: int, method: str = "fastmix", momentum: str = "optimal") -> tuple[float, float]:
        """The smallest and the largest eigenvalue of the operator of K rounds on vectors of mean zero.

        Exact up to 1000 agents; beyond, an outer estimate: the extremes over all of [lambda_m, lambda_2].
        One agent has no such vectors: (0, 0). Where links have a direction: the largest size, with both signs.
        """
        K = checks.whole("K", K)
        weight = mixing.momentum_weight(self.network.lam, momentum)
        self._require(method)
        if self.m == 1:
            return 0.0, 0.0
        if self.directed:
            return -(self.network.lam**K), self.network.lam**K
        values = mixing.polynomial(self.modes, K, method, weight)
        return float(values.min()), float(values.max())

    def rounds_to_mix(self, tolerance: float, method: str = "fastmix", momentum: str = "optimal") -> int:
        """The least K for which K rounds shrink every disagreement to at most `tolerance` of its size."""
        tolerance = checks.positive("tolerance", tolerance)
        weight = mixing.momentum_weight(self.network.lam, momentum)
        self._require(method)
        if self.m == 1 or tolerance >= 1:
            return 0
        if not self._mixes:
            raise ValueError(f"{self!r} does not mix. {self.remarks[-1]}")
        if self.directed and self.balanced and self.m <= DENSE:
            return gossip_rounds(self.W, tolerance, PATIENCE)
        if method != "fastmix":
            return _least_power(self.network.lam, tolerance)
        program = mixing.modes(self.modes, PATIENCE + 1, method, weight)  # says A_0, ..., A_PATIENCE
        K, values = 0, next(program)
        while np.abs(values).max() > tolerance:
            if K == PATIENCE:
                raise ValueError(f"`tolerance` {tolerance:g} takes more than {PATIENCE} rounds on {self!r}.")
            K, values = K + 1, program.send(self.modes * values)
        return K

    def lazy(self) -> "Topology":
        """The same links with (W + I)/2, which is positive semidefinite."""
        return Topology((self.W + eye_array(self.m, format="csr")) / 2, f"lazy {self.name}", self.directed)

    def __repr__(self) -> str:
        facts = f"{self.name}, m={self.m}, edges={self.edges}"
        if self.m <= DENSE or "network" in self.__dict__:  # a repr should not take seconds
            facts += f", second_eigenvalue={self.second_eigenvalue:.6g}"
            facts += f", smallest_eigenvalue={self.smallest_eigenvalue:.6g}"
        return f"Topology({facts})"

    def _repr_html_(self) -> str:
        facts: dict[str, Any] = {"agents": self.m, "links": self.edges}
        if self.m <= DENSE:
            facts |= {"λ₂": f"{self.second_eigenvalue:.6g}", "spectral gap": f"{self.spectral_gap:.4g}"}
        return card(self.name, facts, network(self.neighbours))

    def _require(self, method: str) -> None:
        """Refuse a way of mixing that this network does not allow."""
        checks.choice("method", method, mixing.METHODS)
        sentence = mixing.refused(method, self.directed, self.balanced)
        if sentence:
            raise ValueError(f"{self.name}: {sentence}")

    @property
    def _mixes(self) -> bool:
        """Whether rounds without end bring agreement."""
        return self.network.lam < 1 - 1e-14

    @cached_property
    def modes(self) -> Array:
        """The eigenvalues of W except lambda_1 = 1, ascending; beyond `DENSE` a fine grid over their interval.

        Where links have a direction, their sizes; beyond `DENSE` one number that bounds them.
        """
        if self.directed:
            return directed_modes(self.W) if self.m <= DENSE else np.array([largest_singular(self.W)])
        if self.m <= DENSE:
            with one_thread():
                modes: Array = np.linalg.eigvalsh(self.W.toarray())[:-1]
            return modes
        low, high = self.smallest_eigenvalue, self.second_eigenvalue
        # denser towards the ends, where the polynomials turn fastest
        grid: Array = (low + high) / 2 - (high - low) / 2 * np.cos(np.linspace(0, np.pi, 4001))
        grid[0], grid[-1] = low, high
        return grid


def from_entries(entries: Any, m: Any, name: str = "matrix") -> Topology:
    """The topology whose matrix is written down in CSR form, as run.json does it."""
    try:
        data, indices, indptr = (np.asarray(entries[part]) for part in ("data", "indices", "indptr"))
        W = csr_array((data.astype(np.float64), indices, indptr), shape=(m, m))
        W.check_format(full_check=True)  # what stands in a file may point anywhere
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise ValueError(f"`entries` must be the data, indices and indptr of an m by m matrix ({error}).") from None
    return Topology(W, str(name), directed=True)  # a symmetric one is none that has directions


def _others(W: Sparse) -> tuple[Indices, ...]:
    """For each row the sorted columns of its entries, without the diagonal."""
    W.sort_indices()
    rows = np.split(W.indices.astype(np.int64), W.indptr[1:-1])
    return tuple(row[row != i] for i, row in enumerate(rows))


def _least_power(lam: float, tolerance: float) -> int:
    """The least K with lam^K <= tolerance, for tolerance < 1."""
    if lam == 0:
        return 1
    K = max(1, math.ceil(math.log(tolerance) / math.log(lam)) - 1)  # one early, for the quotient's rounding
    while lam**K > tolerance:
        K += 1
    return K
