"""How rows are dealt to agents: shards of equal size, alike or different in their labels."""

import numpy as np
import numpy.typing as npt

from raydream.checks import choice, positive, vector, whole
from raydream.data.dealing import dirichlet, equal_sizes
from raydream.types import Indices

ORDERS = ("even", "sorted", "dirichlet")


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
    how = choice("how", how, ORDERS)
    alpha = positive("alpha", alpha)
    seed = whole("seed", seed)
    n = classes.size // agents
    if n == 0:
        raise ValueError(f"`labels` must have at least one row per agent; got {classes.size} for {agents} agents.")
    kept = classes[: agents * n]
    if how == "sorted":
        return np.argsort(kept, kind="stable")
    if how == "dirichlet":
        numbers = np.unique(kept, return_inverse=True)[1]
        return np.concatenate(dirichlet(numbers, equal_sizes(kept.size, agents), alpha, np.random.default_rng(seed)))
    return np.arange(agents * n)
