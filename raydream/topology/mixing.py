"""Mixing: gossip, FastMix and push-sum as programs, and what their rounds do to the eigenvalues of a network."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from raydream import checks
from raydream.kernels import accelerate
from raydream.program import Program, perform
from raydream.types import Array

PUSH_SUM = "push-sum"
METHODS = ("fastmix", "gossip", PUSH_SUM)
MOMENTA = ("optimal", "paper")


AtOnce = Callable[[Array, int, float | None], Array]  # of rows, rounds and FastMix's momentum weight


@dataclass(frozen=True)
class Network:
    """What an agent knows of the network: its size, and lambda_2 and lambda_m of 1 > lambda_2 >= ... >= lambda_m.

    at_once  where all agents live in one place and nothing happens between rounds: performs, and bills, several rounds
             of mixing with the bits that they have one by one. Programs need not know of it.
    """

    m: int
    second_eigenvalue: float
    smallest_eigenvalue: float
    at_once: AtOnce | None = field(default=None, compare=False, repr=False)

    @property
    def lam(self) -> float:
        """max(|lambda_2|, |lambda_m|): what a gossip round leaves of disagreement, at worst; 0 for one agent."""
        if self.m == 1:
            return 0.0
        return min(1.0, max(abs(self.second_eigenvalue), abs(self.smallest_eigenvalue)))

    @property
    def spectral_gap(self) -> float:
        """delta = 1 - lambda_2 (Definition 2.3 of the paper)."""
        return 1.0 - self.second_eigenvalue


def gossip(V: Array, rounds: int) -> Program:
    """The rows of W^K V for K = `rounds`."""
    for _ in range(rounds):
        V = yield V
    return V


def fastmix(V: Array, rounds: int, network: Network, momentum: str = "optimal") -> Program:
    """The rows of FastMix(V, K) for K = `rounds` (Algorithm 1):

        A_{k+1} = (1 + eta_a) W A_k - eta_a A_{k-1},   A_{-1} = A_0 = V,   k = 0, ..., K-1,

    where eta_a is `momentum_weight(network.lam, momentum)`. One agent has nothing to mix and says nothing.

    Cost: K rounds.

    Differs from the paper: the printed loop runs to k = K, one update more than its output A_K needs; and
    lambda_2 is replaced by max |lambda_i|, which is the same number when W is positive semidefinite.
    """
    if network.m == 1:
        return V
    eta = momentum_weight(network.lam, momentum)
    if network.at_once is not None:
        return network.at_once(V, rounds, eta)
    return (yield from _accelerated(V, rounds, eta))


def _gossiped(V: Array, rounds: int, network: Network) -> Program:
    """`gossip`, or nothing to say for one agent."""
    if network.m == 1:
        return V
    if network.at_once is not None:
        return network.at_once(V, rounds, None)
    return (yield from gossip(V, rounds))


def push_sum(V: Array, weights: Array, rounds: int) -> Program:
    """The rows of W^K V, and W^K times the weights, for K = `rounds`: their quotient is the de-biased average.

    Columns of W that sum to 1 keep both sums, whoever is favoured by W; started from equal weights, the quotients
    tend to the mean of V. The weights are one more column of the frames.

    Cost: K rounds.
    """
    for _ in range(rounds):
        V, weights = yield V, weights
    return V, weights


def averaged(V: Array, rounds: int) -> Program:
    """Push-sum from equal weights, de-biased."""
    sums, weights = yield from push_sum(V, np.ones((len(V), 1), dtype=V.dtype), rounds)
    return sums / weights


def mix(V: Array, rounds: int, network: Network, method: str = "fastmix", momentum: str = "optimal") -> Program:
    """The program that mixes the rows V for `rounds` rounds by "fastmix", "gossip" or "push-sum"."""
    if checks.choice("method", method, METHODS) == "fastmix":
        return fastmix(V, rounds, network, momentum)
    return _gossiped(V, rounds, network) if method == "gossip" else averaged(V, 0 if network.m == 1 else rounds)


def refused(method: str, directed: bool, balanced: bool) -> str | None:
    """Why links that have a direction, or do not balance, do not allow this way of mixing; None if they do."""
    if method == "fastmix" and directed:
        return (
            'FastMix (`mixing="fastmix"`) needs a symmetric W, whose eigenvalues are real, and the links have a '
            f'direction; use `mixing="{"gossip" if balanced else "push-sum"}"`.'
        )
    if method == "gossip" and not balanced:
        return (
            "gossip needs a doubly stochastic W, or its average favours some agents; this one only has columns that "
            'sum to 1: use `mixing="push-sum"` (DREAM has it), or weights that balance.'
        )
    return None


def momentum_weight(lam: float, momentum: str = "optimal") -> float:
    """eta_a: (1 - s) / (1 + s) if "optimal", 1 / (1 + s) if "paper", where s = sqrt(1 - lam^2).

    The optimal one damps the slowest mode critically; the paper's starts faster and ends about half as fast.
    """
    s = math.sqrt(max(0.0, (1.0 - lam) * (1.0 + lam)))
    if checks.choice("momentum", momentum, MOMENTA) == "optimal":
        return (1.0 - s) / (1.0 + s)
    return 1.0 / (1.0 + s)


def polynomial(eigenvalues: Array, rounds: int, method: str = "fastmix", momentum_weight: float = 0.0) -> Array:
    """The eigenvalues of the operator of `rounds` rounds, one for each given eigenvalue of W."""
    return np.asarray(perform(modes(eigenvalues, rounds, method, momentum_weight), lambda A: eigenvalues * A))


def modes(eigenvalues: Array, rounds: int, method: str, momentum_weight: float) -> Program:
    """The mixing program seen in the eigenvectors of W, where a round is a product with the eigenvalue."""
    if checks.choice("method", method, METHODS) == "fastmix":
        return _accelerated(np.ones_like(eigenvalues), rounds, momentum_weight)
    return gossip(np.ones_like(eigenvalues), rounds)


def _accelerated(A: Array, rounds: int, eta: float) -> Program:
    """FastMix with its momentum weight given: A, A_previous = (1 + eta) W A - eta A_previous, A.

    What is heard belongs to the program, so the new iterate is made in its place: three times as fast as with
    temporaries where rows are long.
    """
    previous = A
    scratch = np.empty_like(A)
    for _ in range(rounds):
        heard = yield A
        A, previous = accelerate(heard, previous, eta, scratch), A
    return A
