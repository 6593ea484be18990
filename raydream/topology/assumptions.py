"""Assumption 2.5 of the paper, and what is said of a matrix that does not meet it."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from raydream.types import Sparse

TOLERANCE = 1e-10  # allowed error of a row sum and of symmetry in a matrix that is given
ROUNDING = 1e-15  # entries of this size are a computation's rounding, not a link


def checked_matrix(W: Any, directed: bool = False) -> Sparse:
    """W as a read-only CSR array with sorted columns, if it meets Assumption 2.5 (a-d); its support is the graph.

    directed  whether it may be other than symmetric: then its columns sum to 1, and everybody reaches everybody
    """
    W = _sparse(W)
    if directed and not is_symmetric(W):
        _require_columns(W)
        _require_strongly_connected(W)
    else:
        _require_symmetric(W)
        _require_stochastic(W)
        require_connected(W, "W")
        W = ((W + W.T) / 2).tocsr()
    W.sort_indices()
    for part in (W.data, W.indices, W.indptr):
        part.setflags(write=False)
    return W


def checked_round(W: Any, m: int, when: str) -> Sparse:
    """The W of one round of a network that changes: columns sum to 1; it need not connect anybody."""
    try:
        W = _sparse(W)
        if W.shape != (m, m):
            raise ValueError(f"`W` must have a row for each of the {m} agents; got shape {W.shape}.")
        _require_columns(W)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{when}: {error}") from None
    W.sort_indices()
    return W


def _sparse(W: Any) -> Sparse:
    """W as a CSR array of its own, square and finite."""
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
    return W


def is_symmetric(W: Sparse) -> bool:
    """Whether every link goes both ways, with one weight."""
    difference = abs(W - W.T)
    return not difference.nnz or bool(difference.data.max() <= TOLERANCE)


def is_balanced(W: Sparse) -> bool:
    """Whether the rows sum to 1, beside the columns: whoever hears nothing new keeps what he has."""
    return bool(np.abs(W.sum(axis=1) - 1).max() <= TOLERANCE)


def _require_symmetric(W: Sparse) -> None:
    difference = abs(W - W.T).tocoo()
    if difference.nnz and difference.data.max() > TOLERANCE:
        i, j = (int(index[difference.data.argmax()]) for index in difference.coords)
        raise ValueError(
            f"`W` must be symmetric (Assumption 2.5c); W[{i}, {j}] is {W[i, j]:.6g} but W[{j}, {i}] is {W[j, i]:.6g}. "
            "Links that have a direction are for `from_matrix(W, directed=True)`."
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


def _require_columns(W: Sparse) -> None:
    if (W.data < 0).any():
        raise ValueError(f"`W` must be nonnegative; {_first(W, W.data < 0)}.")
    sums = W.sum(axis=0)
    worst = int(np.abs(sums - 1).argmax())
    if abs(sums[worst] - 1) > TOLERANCE:
        raise ValueError(
            f"`W` must have columns that sum to 1, so that no mass is lost on directed links (W[i, j] is what i takes "
            f"of what j says); column {worst} sums to {sums[worst]:.10g}."
        )


def _require_strongly_connected(W: Sparse) -> None:
    from scipy.sparse.csgraph import connected_components  # every actor would pay for it

    count, part = connected_components(W, directed=True, connection="strong")
    if count > 1:
        other = int((part != part[0]).argmax())
        raise ValueError(
            f"`W` must let every agent reach every other along its directed links; agents 0 and {other} cannot both "
            "reach each other."
        )


def require_connected(links: Sparse, argument: str) -> None:
    from scipy.sparse.csgraph import connected_components  # every actor would pay for it

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
