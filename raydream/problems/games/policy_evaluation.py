"""Policy evaluation: the mean squared projected Bellman error, agents with private rewards."""

from functools import partial
from typing import Annotated, Any

import numpy as np

from raydream.checks import not_negative, real, whole
from raydream.parameters import Count, NotNegative, Rule, Whole
from raydream.problems.dealt import share
from raydream.problems.learning.on_rows import Metric
from raydream.problems.quadratic import QuadraticGame
from raydream.problems.quadratic_forms import Form, solve
from raydream.problems.registry import maker_at_random
from raydream.types import Array

Discount = Annotated[float, Rule(share), "how much later rewards count: gamma, from 0 to below 1"]
Rho = Annotated[NotNegative, "weight of ||x||^2 / 2"]


@maker_at_random("policy-evaluation")
class PolicyEvaluation(QuadraticGame):
    """Values phi(s)'x of a Markov chain's states, learnt from transitions and private rewards (MSPBE).

        f_i(x, y) = mean_t [y'(r_it phi_t - phi_t (phi_t - gamma phi_t')'x) - (y'phi_t)^2 / 2] + (rho/2) ||x||^2

    where phi_t and phi_t' are the features of a state and of its successor, (m, n, d) in all, and r_it is the reward
    that agent i alone sees. Y is everything. With A, b and C the means of phi (phi - gamma phi')', r phi and
    phi phi', P(x) = ||A x - b||^2 / 2 in the norm of C^-1, plus (rho/2) ||x||^2, in closed form with its minimum.
    mu is the least eigenvalue of an agent's C, which must be positive: n must be large enough for the features to
    span R^d. After Wai, Yang, Wang, Hong (NeurIPS 2018). Metrics: the MSPBE on another trajectory (where given, else
    on this one), and where the chain is known the root mean square error of the values, states as often as visited.
    """

    def __init__(
        self, phi: Any, following: Any, rewards: Any, *, discount: float = 0.9, rho: float = 0.01,
        held_out: tuple[Array, Array, Array] | None = None, chain: tuple[Array, Array, Array] | None = None,
    ) -> None:  # fmt: skip
        """The transitions as (m, n, d), (m, n, d) and (m, n).

        held_out  another trajectory: (n, d), (n, d) and rewards (n,), the agents' mean
        chain     the states' features, true values and shares of visits
        """
        self.phi, self.following, self.rewards = (
            np.ascontiguousarray(real(name, part), dtype=np.float64)
            for name, part in {"phi": phi, "following": following, "rewards": rewards}.items()
        )
        shape = self.phi.shape
        if len(shape) != 3 or self.following.shape != shape or self.rewards.shape != shape[:2] or 0 in shape:
            raise ValueError(
                "`phi`, `following` and `rewards` must have shapes (m, n, d), (m, n, d) and (m, n); "
                f"got {shape}, {self.following.shape} and {self.rewards.shape}."
            )
        self.discount, self.rho = share("discount", discount), not_negative("rho", rho)
        self.held_out, self.chain = held_out, chain
        forms = bellman(self.phi, self.following, self.rewards, self.discount, self.rho)
        if float(np.linalg.eigvalsh(forms.C.mean(axis=1)).min()) <= 1e-12:
            raise ValueError(
                "`phi` must span all d dimensions on every agent; give more transitions or fewer features."
            )
        super().__init__(*forms.parts)

    @classmethod
    def random(  # type: ignore[override]
        cls,
        agents: int = 8,
        samples: Annotated[Count, "transitions, which all agents see"] = 60,
        *,
        states: Annotated[Count, "states of the chain"] = 12,
        features: Annotated[Count, "features of a state, at most as many"] = 4,
        discount: Discount = 0.9,
        rho: Rho = 0.01,
        heterogeneity: Annotated[NotNegative, "how much agents' rewards differ"] = 1.0,
        seed: Annotated[Whole, "seed from which the chain is drawn"] = 0,
    ) -> "PolicyEvaluation":
        """A chain with random transitions, features and rewards, walked twice: once to learn from, once to test."""
        for name, size in (("agents", agents), ("samples", samples), ("states", states), ("features", features)):
            whole(name, size, 1)
        if features > states:
            raise ValueError(f"`features` must be at most `states`, {states}; got {features}.")
        generator = np.random.default_rng(whole("seed", seed))
        chances = generator.dirichlet(np.full(states, 0.5), size=states)
        known = generator.normal(size=(states, features))
        rewards = generator.uniform(size=states) + heterogeneity * generator.normal(size=(agents, states))
        walk, other = (_walk(generator, chances, samples) for _ in range(2))
        values = solve(np.eye(states) - discount * chances, rewards.mean(axis=0))
        visits = np.linalg.lstsq(
            np.vstack([chances.T - np.eye(states), np.ones(states)]), np.append(np.zeros(states), 1.0), rcond=None
        )[0]
        return cls(
            np.broadcast_to(known[walk[:-1]], (agents, samples, features)),
            np.broadcast_to(known[walk[1:]], (agents, samples, features)),
            rewards[:, walk[:-1]],
            discount=discount,
            rho=rho,
            held_out=(known[other[:-1]], known[other[1:]], rewards.mean(axis=0)[other[:-1]]),
            chain=(known, values, visits),
        )

    def start(self) -> tuple[Array, Array]:
        """Both 0."""
        return np.zeros(self.dim_x), np.zeros(self.dim_y)

    def pooled(self) -> "PolicyEvaluation":
        """The same problem with all transitions on one agent."""
        d = self.phi.shape[-1]
        return PolicyEvaluation(
            self.phi.reshape(1, -1, d), self.following.reshape(1, -1, d), self.rewards.reshape(1, -1),
            discount=self.discount, rho=self.rho, held_out=self.held_out, chain=self.chain,
        )  # fmt: skip

    @property
    def metrics(self) -> dict[str, Metric]:
        """The MSPBE, and the error of the values where they are known."""
        d = self.phi.shape[-1]
        own = (self.phi.reshape(-1, d), self.following.reshape(-1, d), self.rewards.ravel())
        form = bellman(*(self.held_out or own), self.discount, 0.0).mean()
        found: dict[str, Metric] = {"mspbe": partial(_mspbe, form)}
        if self.chain is not None:
            found["value_error"] = partial(_value_error, self.chain)
        return found


def bellman(phi: Array, following: Array, rewards: Array, discount: float, rho: float) -> Form:
    """The quadratic form of every transition."""
    ahead = phi - discount * following
    eye = np.broadcast_to(rho * np.eye(phi.shape[-1]), (*phi.shape, phi.shape[-1]))
    return Form(
        eye, -ahead[..., :, None] * phi[..., None, :], phi[..., :, None] * phi[..., None, :],
        np.zeros(phi.shape), rewards[..., None] * phi,
    )  # fmt: skip


def _walk(generator: np.random.Generator, chances: Array, steps: int) -> list[int]:
    """The states of a walk along the chain."""
    states = [int(generator.integers(len(chances)))]
    for _ in range(steps):
        states.append(int(generator.choice(len(chances), p=chances[states[-1]])))
    return states


def _mspbe(form: Form, x: Array, y: Array) -> float:
    """||A x - b||^2 in the norm of C^+, without the halving: the error as it is usually reported."""
    gap = form.B.T @ x + form.q
    return float(gap @ np.linalg.lstsq(form.C, gap, rcond=None)[0])


def _value_error(chain: tuple[Array, Array, Array], x: Array, y: Array) -> float:
    """The root mean square error of phi(s)'x."""
    phi, values, visits = chain
    return float(np.sqrt(np.sum(visits * (phi @ x - values) ** 2)))
