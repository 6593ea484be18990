"""A toy WGAN: a Gaussian generator against a quadratic critic, in closed form."""

from functools import partial
from typing import Annotated, Any

import numpy as np

from raydream import checks
from raydream.checks import positive, whole
from raydream.constraints import Everything
from raydream.parameters import Count, NotNegative, Positive, Whole
from raydream.problems.learning.on_rows import Metric, block_norms
from raydream.problems.protocol import Constants, Danskin
from raydream.problems.registry import maker_at_random
from raydream.types import Array, Indices


@maker_at_random("wgan")
class WGAN(Danskin):
    """A generator x = (mean, deviation) of numbers against a critic y = (y1, y2) of their first two moments.

        f_i(x, y) = mean_j [D(s_ij) - D(G(z_ij))] - lam ||y||^2,    G(z) = x1 + x2 z,    D(s) = y1 s + y2 s^2

    for real numbers s_ij and latent ones z_ij, stacked as (m, n). Y = R^2. With D1 and D2 the real mean of s and of
    s^2 less the generator's, y*(x) = (D1, D2) / (2 lam) and P(x) = (D1^2 + D2^2) / (4 lam), which is not convex, and
    0 where the generator has the real mean and deviation: `solution()`, and its mirror image for a symmetric z.
    mu = 2 lam. After the toy examples of Loizou et al. (ICML 2020) and D-AdaST. Metric: the distance from the real
    mean and deviation.
    """

    dim_x = dim_y = 2

    def __init__(self, real: Any, latent: Any, *, lam: float = 0.5) -> None:
        parts = {"real": real, "latent": latent}
        self.real, self.latent = (
            np.ascontiguousarray(checks.real(name, part), dtype=np.float64) for name, part in parts.items()
        )
        if self.real.ndim != 2 or 0 in self.real.shape or self.real.shape != self.latent.shape:
            raise ValueError(
                "`real` and `latent` must have one row per agent, equally long; "
                f"got shapes {self.real.shape} and {self.latent.shape}."
            )
        if not (np.isfinite(self.real).all() and np.isfinite(self.latent).all() and self.latent.std() > 0):
            raise ValueError("`real` and `latent` must be finite, and `latent` not all the same.")
        self.agents, self.samples = (int(size) for size in self.real.shape)
        self.lam, self.constraint = positive("lam", lam), Everything()
        self.whole = WGANShard(self.real.ravel(), self.latent.ravel(), self.lam)

    @classmethod
    def random(
        cls,
        agents: int = 8,
        samples: Annotated[Count, "samples of each agent"] = 50,
        *,
        mean: Annotated[float, "mean of the real numbers"] = 1.0,
        deviation: Annotated[Positive, "their standard deviation"] = 0.7,
        heterogeneity: Annotated[NotNegative, "how much agents' means differ"] = 0.3,
        lam: Annotated[Positive, "price of the critic; the strong concavity is twice that"] = 0.5,
        seed: Annotated[Whole, "seed from which the numbers are drawn"] = 0,
    ) -> "WGAN":
        """Real numbers around means that differ from agent to agent, and normal latent ones."""
        size = (whole("agents", agents, 1), whole("samples", samples, 1))
        generator = np.random.default_rng(whole("seed", seed))
        latent, noise = generator.normal(size=(2, *size))
        centres = mean + heterogeneity * generator.normal(size=(agents, 1))
        return cls(centres + deviation * noise, latent, lam=lam)

    def local(self, i: int) -> "WGANShard":
        """The numbers of agent i."""
        return WGANShard(self.real[i].copy(), self.latent[i].copy(), self.lam)

    def pooled(self) -> "WGAN":
        """The same problem with all numbers on one agent."""
        return WGAN(self.real.reshape(1, -1), self.latent.reshape(1, -1), lam=self.lam)

    def start(self) -> tuple[Array, Array]:
        """The generator G(z) = z / 2, and no critic."""
        return np.array([0.0, 0.5]), np.zeros(2)

    def value(self, x: Array, y: Array) -> float:
        """f(x, y)."""
        return self.whole.value(x, y)

    def gradient(self, x: Array, y: Array) -> tuple[Array, Array]:
        """The gradients of f in x and in y."""
        return self.whole.gradient(x, y)

    def best_response(self, x: Array) -> Array:
        """(D1, D2) / (2 lam)."""
        made = x[0] + x[1] * self.latent
        gaps = [np.mean(self.real) - np.mean(made), np.mean(self.real**2) - np.mean(made**2)]
        return np.array(gaps) / (2 * self.lam)

    def solution(self) -> Array:
        """The generator with the mean and the deviation of the real numbers."""
        deviation = self.real.std() / self.latent.std()
        return np.array([self.real.mean() - deviation * self.latent.mean(), deviation])

    def primal_minimum(self) -> float:
        """P is a sum of squares, and 0 at the solution."""
        return 0.0

    def primal_bound(self) -> float:
        """The least value of P."""
        return 0.0

    def constants(self, reach: float = 2.0) -> Constants:
        """Bounds while ||x|| and ||y|| are at most `reach`."""
        positive("reach", reach)
        squares = 1 + self.latent**2  # of the norm of dG/dx; G itself is at most reach times it
        xy = np.sqrt(squares * (1 + 4 * reach**2 * squares))
        single = block_norms(2 * reach * squares, xy, np.full_like(xy, 2 * self.lam))
        return Constants(
            L=float(np.sqrt(np.mean(single**2, axis=1).max())),
            mu=2 * self.lam,
            assumes=f"||x|| <= {reach:g} and ||y|| <= {reach:g}",
        )

    @property
    def metrics(self) -> dict[str, Metric]:
        """How far the generator's mean and deviation are from the real ones."""
        moments = (float(self.real.mean()), float(self.real.std()))
        return {"moment_error": partial(_moment_error, self.latent, moments)}


def _moment_error(latent: Array, moments: tuple[float, float], x: Array, y: Array) -> float:
    made = x[0] + x[1] * latent
    return float(np.hypot(made.mean() - moments[0], made.std() - moments[1]))


class WGANShard:
    """The real and latent numbers of one agent."""

    def __init__(self, real: Array, latent: Array, lam: float) -> None:
        self.real, self.latent, self.lam = real, latent, lam
        self.samples = int(real.size)

    def value(self, x: Array, y: Array) -> float:
        """f_i(x, y)."""
        made = x[0] + x[1] * self.latent
        told = y[0] * (self.real - made) + y[1] * (self.real**2 - made**2)
        return float(np.mean(told)) - self.lam * float(np.sum(y * y))

    def gradient(self, x: Array, y: Array, batch: Indices | None = None) -> tuple[Array, Array]:
        """The mean gradient over the batch, or of f_i."""
        real, latent = (self.real, self.latent) if batch is None else (self.real[batch], self.latent[batch])
        made = x[0] + x[1] * latent
        slope = -(y[0] + 2 * y[1] * made)
        gy = np.array([np.mean(real - made), np.mean(real**2 - made**2)]) - 2 * self.lam * y
        return np.array([np.mean(slope), np.mean(slope * latent)]), gy
