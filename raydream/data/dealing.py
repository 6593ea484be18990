"""Who owns which rows: each split as a list with the row numbers of every agent."""

from typing import Any

import numpy as np
import scipy.sparse as sparse

from raydream.types import Array, Indices, Sparse

# Who may own what, on the command line and in forms too.
KINDS = {
    "even": "as rows come",
    "sorted": "sorted by label",
    "dirichlet": "label shares drawn for each agent",
    "classes": "few classes each",
    "features": "sorted along the widest direction of the features",
    "sizes": "shards of drawn sizes",
}
EQUAL = ("even", "sorted", "dirichlet", "features")  # splits whose shards differ in size by a row at most


def equal_sizes(rows: int, agents: int) -> Indices:
    """As equal as can be: the first ones own a row more."""
    return rows // agents + (np.arange(agents) < rows % agents)


def in_turn(order: Indices, sizes: Indices) -> list[Indices]:
    """The rows of an order, so many for each agent in turn."""
    return np.split(order, np.cumsum(sizes)[:-1])


def dirichlet(numbers: Indices, sizes: Indices, alpha: float, rng: np.random.Generator) -> list[Indices]:
    """Shards of these sizes whose class shares follow a Dirichlet distribution as far as the rows last.

    Agent i draws q_i ~ Dirichlet(alpha C p), where p are the shares of the C classes in the data. A class that has
    run out is replaced by the largest one left.
    """
    count = np.bincount(numbers)
    pools = [rng.permutation(np.flatnonzero(numbers == k)) for k in range(count.size)]
    used = np.zeros(count.size, dtype=np.int64)
    shards = []
    for n in sizes:
        shares = rng.dirichlet(alpha * count.size * count / numbers.size)
        # rounding the running total, not each share, keeps the sum at n
        wanted = np.diff(np.rint(n * np.cumsum(shares)), prepend=0).astype(np.int64)
        taken = np.minimum(wanted, count - used)
        for k in np.argsort(-(count - used - taken), kind="stable"):
            taken[k] += min(n - taken.sum(), count[k] - used[k] - taken[k])
        shard = [pool[u : u + t] for pool, u, t in zip(pools, used, taken, strict=True)]
        shards.append(np.sort(np.concatenate(shard)))
        used += taken
    return shards


def few_classes(numbers: Indices, agents: int, k: int, rng: np.random.Generator) -> list[Indices]:
    """Shards of at most k classes each: a class is cut into pieces, and every agent is dealt k of all pieces.

    Pieces are as equal as whole numbers allow: the class with the largest ones is cut into one more, until there
    are k for every agent, or each class has as many as there are agents or as it has rows. Pieces are dealt class by
    class, to all agents in a drawn order, then in another: those who already have of the class that goes on come last.
    """
    count = np.bincount(numbers)
    pieces, most = np.ones_like(count), np.minimum(count, agents)
    while pieces.sum() < agents * k and (pieces < most).any():
        pieces[np.argmax(np.where(pieces < most, count / pieces, 0.0))] += 1
    shards: list[list[Indices]] = [[] for _ in range(agents)]
    waiting: list[int] = []
    for c in rng.permutation(count.size):
        served: list[int] = []
        for piece in np.array_split(rng.permutation(np.flatnonzero(numbers == c)), pieces[c]):
            waiting = waiting or sorted(rng.permutation(agents).tolist(), key=lambda i: i in served)
            served.append(waiting.pop(0))
            shards[served[-1]].append(piece)
    return [np.sort(np.concatenate(parts)) for parts in shards]


def drawn_sizes(rows: int, agents: int, alpha: float, rng: np.random.Generator) -> list[Indices]:
    """Rows drawn at random in shards whose sizes are 1 + (rows - agents) q_i with q ~ Dirichlet(alpha, ..., alpha)."""
    ends = np.rint((rows - agents) * np.cumsum(rng.dirichlet(np.full(agents, alpha))))
    ends[-1] = rows - agents
    sizes = np.diff(ends, prepend=0).astype(np.int64) + 1
    return [np.sort(part) for part in in_turn(rng.permutation(rows), sizes)]


def widest(features: Array | Sparse) -> Array:
    """The place of each row along the direction in which rows spread most: their first principal component."""
    from threadpoolctl import threadpool_limits

    rows = features if sparse.issparse(features) else features.reshape(len(features), -1)
    # Dense rows become sparse ones, so that whatever holds the same numbers gives the same bits.
    data = sparse.csr_array(rows, dtype=np.float64)
    mean, size = np.asarray(data.sum(axis=0)).ravel() / data.shape[0], float(np.sum(data.data**2))
    from scipy.sparse.linalg import svds  # every actor would pay for it

    with threadpool_limits(1, "blas"):
        if size - data.shape[0] * mean @ mean <= 1e-12 * size:  # all rows are alike: any direction will do
            direction = np.ones(data.shape[1])
        elif min(data.shape) < 3:
            direction = np.linalg.svd(data.toarray() - mean, full_matrices=False)[2][0]
        else:
            start = np.random.default_rng(0).normal(size=min(data.shape))
            direction = svds(_centred(data, mean), k=1, v0=start, return_singular_vectors="vh")[2][0]
    direction = direction * np.sign(direction[np.argmax(np.abs(direction))])
    found: Array = data @ direction
    return found


def _centred(data: Sparse, mean: Array) -> Any:
    """The matrix less the mean of its rows, never formed."""
    from scipy.sparse.linalg import LinearOperator

    return LinearOperator(
        data.shape,
        matvec=lambda v: data @ v.ravel() - mean @ v.ravel(),
        rmatvec=lambda u: data.T @ u.ravel() - mean * u.sum(),
        dtype=np.float64,
    )
