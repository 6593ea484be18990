"""The ends of a large network's spectrum, off consensus: lambda_2 and lambda_m of W, by Lanczos and inversion."""

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any

import numpy as np
from scipy.sparse import eye_array

from raydream.types import Array

Sparse = Any  # a float64 `csr_array`: scipy ships no types
ACCURACY = 1e-10


def second_eigenvalue(W: Sparse) -> float:
    """lambda_2(W) from I + W - 2 J, which sends consensus to the bottom of its spectrum."""
    from scipy.sparse.linalg import ArpackNoConvergence

    m = W.shape[0]
    with suppress(ArpackNoConvergence):
        return _largest(lambda x: x + W @ x - 2 * x.mean(), m, restarts=40) - 1
    # a large, poorly connected network: invert just above lambda_1 = 1, on vectors of mean zero
    shift = 1 + ACCURACY
    factor = _factor(shift * eye_array(m) - W)

    def inverse(x: Array) -> Array:
        y = factor.solve(x - x.mean())
        return np.asarray(y - y.mean())

    return shift - 1 / _largest(inverse, m)


def smallest_eigenvalue(W: Sparse) -> float:
    """lambda_m(W) from I - W, or, where Lanczos does not settle, from below by inversion."""
    from scipy.sparse.linalg import ArpackNoConvergence

    m = W.shape[0]
    with suppress(ArpackNoConvergence):
        return 1 - _largest(lambda x: x - W @ x, m, restarts=40)
    # By Gershgorin nothing lies below the first shift, and no Ritz value lies below lambda_m: the two close in
    # on it. A shift that is too high leaves a matrix that is not positive definite.
    shift, tolerance = float((2 * W.diagonal() - 1).min()) - ACCURACY / 2, 1e-3
    factor = _factor(W - shift * eye_array(m))
    while True:
        ritz = shift + 1 / _largest(factor.solve, m, tolerance=tolerance)
        if ritz - shift <= ACCURACY or tolerance < 1e-14:
            return ritz
        closer = ritz - max((ritz - shift) / 50, ACCURACY / 2)
        candidate = _factor(W - closer * eye_array(m))
        if _positive_definite(candidate):
            shift, factor = closer, candidate
        else:
            tolerance /= 10


def directed_modes(W: Sparse) -> Array:
    """The sizes of the eigenvalues of a directed W except the first, ascending."""
    with one_thread():
        values = np.linalg.eigvals(W.toarray())
    others = np.delete(values, np.abs(values - 1).argmin())
    return np.sort(np.minimum(np.abs(others), 1.0))


def largest_singular(W: Sparse) -> float:
    """The largest singular value of W - J, which no eigenvalue but the first exceeds where W is doubly stochastic."""
    m = W.shape[0]

    def squared(x: Array) -> Array:
        y = W @ (x - x.mean())
        z = W.T @ (y - y.mean())
        return np.asarray(z - z.mean())

    return float(np.sqrt(max(0.0, _largest(squared, m))))


def gossip_rounds(W: Sparse, tolerance: float, most: int) -> int:
    """The least K for which the norm of W^K - J is at most the tolerance; it falls with K, which is closed in on.

    W  doubly stochastic; its powers need not shrink as those of its eigenvalues do
    """
    off = W.toarray() - 1.0 / W.shape[0]
    powers = [off]  # of 1, 2, 4, ... rounds
    with one_thread():
        while np.linalg.norm(powers[-1], 2) > tolerance:
            if 2 ** len(powers) > most:
                raise ValueError(f"`tolerance` {tolerance:g} takes more than {most} rounds.")
            powers.append(powers[-1] @ powers[-1])
        if len(powers) == 1:
            return 1
        K, reached = 1 << (len(powers) - 2), powers[-2]  # too few, as was seen
        for step in range(len(powers) - 3, -1, -1):
            further = reached @ powers[step]
            if np.linalg.norm(further, 2) > tolerance:
                K, reached = K + (1 << step), further
    return K + 1


def _largest(apply: Callable[[Array], Array], m: int, restarts: int = 10_000, tolerance: float = ACCURACY) -> float:
    """The largest eigenvalue of a symmetric operator, by Lanczos."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    start = np.random.default_rng(0).standard_normal(m)  # fixed: the same network has the same eigenvalues
    operator = LinearOperator((m, m), matvec=apply, dtype=np.float64)
    with one_thread():
        values = eigsh(
            operator, 1, which="LA", v0=start, ncv=50, maxiter=restarts, tol=tolerance, return_eigenvectors=False
        )
    return float(values[0])


def one_thread() -> AbstractContextManager[object]:
    """BLAS on one thread: the bits of an eigenvalue, hence of a run, must not depend on the number of cores."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits


def _factor(A: Any) -> Any:
    """The sparse LU factors of a symmetric matrix, with pivots on the diagonal where they are not 0."""
    from scipy.sparse.linalg import splu

    options = {"SymmetricMode": True}
    return splu(A.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)


def _positive_definite(factor: Any) -> bool:
    """Whether a symmetric matrix, factored, is positive definite: every pivot on the diagonal and positive."""
    return bool((factor.perm_r == factor.perm_c).all() and (factor.U.diagonal() > 0).all())
