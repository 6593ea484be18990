"""The constants of the DREAM paper's theorem, and what it predicts."""

import warnings
from dataclasses import dataclass
from math import ceil, log, sqrt
from typing import Any

from raydream.checks import positive, whole
from raydream.errors import TheoryWarning
from raydream.topology import Topology
from raydream.types import Array

C1 = sqrt(14)  # FastMix contracts by C1 (1 - C2 sqrt(delta))^K (Proposition 2.3)
C2 = 1 - 1 / sqrt(2)
ALPHA = 1 / 8


@dataclass(frozen=True)
class DreamParameters:
    """Every constant of Theorem 3.1, and the expected price of the run that it prescribes.

    sfo, rounds              as this package bills them: 2b per correction, and the mixing of z as well
    sfo_paper, rounds_paper  as the paper counts them: b per correction, and the tracker's mixing only
    """

    kappa: float
    eta: float
    gamma: float
    b: int
    q: float
    p: float
    b_large: int
    iterations: int
    K0: int
    K: int
    K_large: int
    sfo: float
    rounds: float
    sfo_paper: float
    rounds_paper: float


def parameters_for(problem: Any, topology: Topology, epsilon: float) -> DreamParameters:
    """What the theorem prescribes for this problem on this network, from epsilon alone.

    A `TheoryWarning` tells where it promises nothing: W must be positive semidefinite (Assumption 2.5e), and the
    problem's constants must hold wherever the run goes.
    """
    for part in ("constants", "primal_bound"):
        if not hasattr(problem, part):
            raise ValueError(f"`problem` must have `{part}()`; {type(problem).__name__} has none. Give L, mu and psi0.")
    known = problem.constants()
    _warn_of_assumptions(topology, getattr(known, "assumes", ""))
    return dream_parameters(
        L=known.L,
        mu=known.mu,
        epsilon=epsilon,
        m=topology.m,
        delta=topology.spectral_gap,
        psi0=starting_gap(problem),
        n=problem.samples,
        sigma=known.sigma if problem.samples is None else None,
    )


def _warn_of_assumptions(topology: Topology, assumes: str) -> None:
    """Of those that are not met, or not known to be."""
    if not topology.positive_semidefinite:
        warnings.warn(
            f"`topology` {topology.name} must have a positive semidefinite W for the theorem to hold; its smallest "
            f"eigenvalue is {topology.smallest_eigenvalue:.3g}: use `topology.lazy()`.",
            TheoryWarning,
            stacklevel=3,
        )
    if assumes:
        warnings.warn(
            f"`problem` must have constants that hold everywhere for the theorem to hold; these do only while "
            f"{assumes}: see that the run stays there.",
            TheoryWarning,
            stacklevel=3,
        )


def starting_gap(problem: Any, start: tuple[Array, Array] | None = None) -> float:
    """Psi_0 = P(x0) - P* + alpha (P(x0) - f(x0, y0)), with a lower bound of P in the place of P*.

    start is (x0, y0), by default the problem's own.
    """
    x0, y0 = problem.start() if start is None else start
    P = problem.primal(x0)
    return float(P - problem.primal_bound() + ALPHA * (P - problem.value(x0, y0)))


def dream_parameters(
    *,
    L: float,
    mu: float,
    epsilon: float,
    m: int,
    delta: float,
    psi0: float,
    n: int | None = None,
    sigma: float | None = None,
) -> DreamParameters:
    """What the theorem prescribes for E||grad P(x_out)|| <= epsilon.

    L, mu    average smoothness and strong concavity
    m, delta agents, and the spectral gap of W
    psi0     P(x0) - P* + (P(x0) - f(x0, y0)) / 8
    n        samples per agent (offline), or
    sigma    standard deviation of a component gradient (online): exactly one of the two

        kappa = L/mu            gamma = alpha / (128 (1 + alpha) kappa^2)     eta = 1/(48 L)
        b' = n, or ceil(32 sigma^2 / (gamma m epsilon^2))
        b = ceil(sqrt(b'/m))    q = sqrt(b'/m)/b                              p = b q / (b q + b')
        T = ceil(16 psi0 / (gamma eta epsilon^2) + 2/p)
        K0 = ceil(log(16 c1 / (gamma m epsilon^2)) / (c2 sqrt(delta)))
        K = ceil(5 log(c1 (m/b' + 1)) / (c2 sqrt(delta)))
        K' = ceil(5 log(c1 m) / (c2 sqrt(delta)))

    Differs from the paper: K0 is at least 0 (its logarithm is negative where epsilon is large), and a delta of 1
    or a single agent needs no rounds beyond what the formulas give. The printed K0, kept here, lacks
    the factor X = ||g_0 - 1 g_bar_0||^2, by which agents differ at the start: the proof needs 4 rho_0^2 X / (gamma m)
    to be a share of epsilon^2, where rho_0 = c1 (1 - c2 sqrt(delta))^K0. With this K0 it is at most
    gamma m epsilon^4 X / 64, a quarter of epsilon^2 only if gamma m epsilon^2 X <= 16.
    """
    L, mu, epsilon, psi0 = positive("L", L), positive("mu", mu), positive("epsilon", epsilon), positive("psi0", psi0)
    m, delta = whole("m", m, 1), positive("delta", delta)
    if mu > L:
        raise ValueError(f"`mu` must not exceed `L`; got mu={mu:g} and L={L:g}.")
    if delta > 1:
        raise ValueError(f"`delta` must be in (0, 1]; got {delta!r}.")
    if (n is None) == (sigma is None):
        raise ValueError("exactly one of `n` (offline) and `sigma` (online) must be given.")
    kappa = L / mu
    eta, gamma = 1 / (48 * L), ALPHA / (128 * (1 + ALPHA) * kappa**2)
    if n is not None:
        b_large = whole("n", n, 1)
    else:
        assert sigma is not None
        b_large = ceil(32 * positive("sigma", sigma) ** 2 / (gamma * m * epsilon**2))
    root = sqrt(b_large / m)
    b = ceil(root)
    q = root / b
    p = b * q / (b * q + b_large)
    T = ceil(16 * psi0 / (gamma * eta * epsilon**2) + 2 / p)
    speed = C2 * sqrt(delta)
    K0 = max(0, ceil(log(16 * C1 / (gamma * m * epsilon**2)) / speed))
    K, K_large = ceil(5 * log(C1 * (m / b_large + 1)) / speed), ceil(5 * log(C1 * m) / speed)
    tracker = p * K_large + (1 - p) * K
    return DreamParameters(
        kappa=kappa, eta=eta, gamma=gamma, b=b, q=q, p=p, b_large=b_large, iterations=T, K0=K0, K=K, K_large=K_large,
        sfo=m * (b_large + T * (p * b_large + 2 * (1 - p) * b * q)),
        rounds=K0 + T * (K + tracker),
        sfo_paper=m * (b_large + T * (p * b_large + (1 - p) * b * q)),
        rounds_paper=K0 + T * tracker,
    )  # fmt: skip
