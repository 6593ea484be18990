"""Gradient estimators: g_{t+1} from the new point, the old point and the old estimate, one row per agent.

Below, mean_b is agent i's mean over b samples of its own, the same ones at both points of a difference, and b=None
means its whole shard. A recursive estimator pays for both points: 2b SFO per agent.
"""

from raydream.agents import Agents
from raydream.types import Array


def full(agents: Agents, Z: Array) -> Array:
    """The exact local gradients: n SFO per agent."""
    return agents.gradient(Z)


def spider(
    agents: Agents,
    Z: Array,
    Z_old: Array,
    G_old: Array,
    *,
    t: int,
    Q: int,
    b: int | None,
    b_large: int | None = None,
) -> Array:
    """SPIDER at z_{t+1}: a fresh estimate in every Q-th iteration, corrections in between.

    g_{t+1} = mean_b' gradient at z_{t+1}                                  if Q divides t + 1
    g_{t+1} = g_t + mean_b [gradient at z_{t+1} - gradient at z_t]         else

    Cost: b_large or 2b SFO per agent. Reference: Fang, Li, Lin, Zhang, NeurIPS 2018.
    """
    return page(agents, Z, Z_old, G_old, coin=(t + 1) % Q == 0, b=b, b_large=b_large)


def page(
    agents: Agents,
    Z: Array,
    Z_old: Array,
    G_old: Array,
    *,
    coin: bool,
    b: int | None,
    b_large: int | None = None,
) -> Array:
    """PAGE: SPIDER with a coin of the whole network instead of a period.

    g_{t+1} = mean_b' gradient at z_{t+1}                                  if the coin shows 1
    g_{t+1} = g_t + mean_b [gradient at z_{t+1} - gradient at z_t]         else

    Cost: b_large or 2b SFO per agent. Reference: Li, Bao, Zhang, Richtarik, ICML 2021.
    """
    return thinned_page(agents, Z, Z_old, G_old, coin=coin, b=b, b_large=b_large, q=1.0)


def thinned_page(
    agents: Agents,
    Z: Array,
    Z_old: Array,
    G_old: Array,
    *,
    coin: bool,
    b: int | None,
    b_large: int | None = None,
    q: float,
) -> Array:
    """PAGE in which agent i takes part in a correction with probability q: omega(i) ~ Bernoulli(q), private.

    g_{t+1}(i) = mean_b' gradient at z_{t+1}(i)                                                 if the coin shows 1
    g_{t+1}(i) = g_t(i) + omega(i)/q mean_b [gradient at z_{t+1}(i) - gradient at z_t(i)]       else

    Cost: b_large, or 2b for those who take part. Reference: the DREAM paper, Algorithm 2, lines 14 to 20.
    """
    if coin:
        return agents.gradient(Z, b_large)
    correction: Array = G_old + agents.correction(Z, Z_old, b, q)
    return correction


def storm(agents: Agents, Z: Array, Z_old: Array, G_old: Array, *, beta: float, b: int | None) -> Array:
    """STORM: a sampled gradient, and of the old estimate's error all but a share beta.

    g_{t+1} = mean_b gradient at z_{t+1} + (1 - beta) (g_t - mean_b gradient at z_t)

    Cost: 2b SFO per agent. Reference: Cutkosky, Orabona, NeurIPS 2019.
    """
    fresh, stale = agents.gradient_pair(Z, Z_old, b)
    return fresh + (1.0 - beta) * (G_old - stale)
