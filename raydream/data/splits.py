"""How rows are dealt to agents: shards of equal size, alike or different in their labels."""

import numpy as np
import numpy.typing as npt

from raydream.checks import choice, positive, vector, whole
from raydream.types import Array, Indices

KINDS = ("even", "sorted", "dirichlet")


def split(labels: npt.ArrayLike, agents: int, how: str = "even", *, alpha: float = 0.5, seed: int = 0) -> Indices:
    """An order of the rows in which agent i owns order[i n : (i + 1) n], where n = len(labels) // agents.

    `how` is "even" (rows as they come), "sorted" (by label, so that most agents see one class) or "dirichlet"
    (the label shares of each agent are drawn). Every order is a permutation of the first agents * n rows, so
    all of them pose the same problem to the network and differ only in who owns what.

    "dirichlet" draws the shares of agent i as q_i ~ Dirichlet(alpha C p), where p are the shares of the C
    classes in the data; for balanced classes this is Dirichlet(alpha). A large `alpha` gives every agent the
    shares p, a small one gives it one class. A class that has run out is replaced by the largest one left.
    """
    classes = vector("labels", labels)
    agents = whole("agents", agents, at_least=1)
    how = choice("how", how, KINDS)
    alpha = positive("alpha", alpha)
    seed = whole("seed", seed)
    n = classes.size // agents
    if n == 0:
        raise ValueError(f"`labels` must have at least one row per agent; got {classes.size} for {agents} agents.")
    kept = classes[: agents * n]
    if how == "sorted":
        return np.argsort(kept, kind="stable")
    if how == "dirichlet":
        return _dirichlet(kept, agents, alpha, np.random.default_rng(seed))
    return np.arange(agents * n)


def _dirichlet(labels: Array, agents: int, alpha: float, rng: np.random.Generator) -> Indices:
    """Shards whose label shares follow a Dirichlet distribution as far as the rows last."""
    n = labels.size // agents
    _, group, size = np.unique(labels, return_inverse=True, return_counts=True)
    pools = [rng.permutation(np.flatnonzero(group == k)) for k in range(size.size)]
    used = np.zeros(size.size, dtype=np.int64)
    shards = []
    for _ in range(agents):
        shares = rng.dirichlet(alpha * size.size * size / labels.size)
        # rounding the running total, not each share, keeps the sum at n
        wanted = np.diff(np.rint(n * np.cumsum(shares)), prepend=0).astype(np.int64)
        taken = np.minimum(wanted, size - used)
        for k in np.argsort(-(size - used - taken), kind="stable"):
            taken[k] += min(n - taken.sum(), size[k] - used[k] - taken[k])
        shard = [pool[u : u + t] for pool, u, t in zip(pools, used, taken, strict=True)]
        shards.append(np.sort(np.concatenate(shard)))
        used += taken
    return np.concatenate(shards)
