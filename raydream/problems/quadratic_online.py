"""The online quadratic game: fresh samples without end, whose noise is known."""

from typing import Annotated

import numpy as np

from raydream.checks import positive, whole
from raydream.constraints import Constraint, Everything
from raydream.parameters import Positive
from raydream.problems.penalty import Nu, SaturatingPenalty, Theta
from raydream.problems.protocol import Constants
from raydream.problems.quadratic_forms import Form, check_shapes, form_of, random_forms, root_mean_square
from raydream.problems.quadratic_game import Curvature, DimX, DimY, Game, Heterogeneity, Seed
from raydream.problems.registry import maker_at_random
from raydream.types import Array, Indices

Noise = tuple[Indices, Array, Array, Array]


@maker_at_random("quadratic-online")
class OnlineQuadraticGame(Game):
    """The online game: one form per agent, and gradients whose noise has standard deviation `sigma` everywhere.

    A sample's function is F_i(z; xi) = f_i(z) + e'z + sigma cos(w'z + phi), with z = (x, y), e normal with
    E||e||^2 = sigma^2/2, w uniform on the unit sphere, phi uniform on the circle. The cosine has mean 0 at every
    z, its gradient has mean square sigma^2/2, and it does not cancel between two points, so that recursive
    estimators have something to estimate.
    """

    samples = None

    def __init__(
        self,
        A: Array,
        B: Array,
        C: Array,
        p: Array,
        q: Array,
        *,
        sigma: float = 1.0,
        constraint: Constraint | None = None,
        theta: float = 0.0,
        nu: float = 10.0,
    ) -> None:
        forms = form_of(A, B, C, p, q)
        check_shapes(forms, axes=1)
        self.sigma = positive("sigma", sigma)
        super().__init__(forms, constraint or Everything(), theta, nu)

    @classmethod
    def random(
        cls,
        agents: int = 8,
        dim_x: DimX = 4,
        dim_y: DimY = 5,
        *,
        sigma: Annotated[Positive, "standard deviation of a gradient"] = 1.0,
        constraint: Constraint | None = None,
        theta: Theta = 0.0,
        nu: Nu = 10.0,
        seed: Seed = 0,
        heterogeneity: Heterogeneity = 1.0,
        curvature: Curvature = 0.5,
    ) -> "OnlineQuadraticGame":
        """A game drawn from `seed`."""
        generator = np.random.default_rng(whole("seed", seed))
        forms = random_forms(
            generator, agents, dim_x, dim_y, constraint, heterogeneity=heterogeneity, curvature=curvature
        )
        return cls(*forms.parts, sigma=sigma, constraint=constraint, theta=theta, nu=nu)

    def local(self, i: int) -> "OnlineQuadraticShard":
        """Agent i's form and its noise."""
        return OnlineQuadraticShard(self.forms[i : i + 1], self.sigma, self.penalty)

    def pooled(self) -> "_PooledOnlineGame":
        """The same game on one agent, whose samples come from an agent drawn at random."""
        return _PooledOnlineGame(self)

    def constants(self) -> Constants:
        """The noise adds sigma^2/(2 d) to the square of the forms' smoothness."""
        L_full = self._smoothness(self.forms.hessian())
        L = float(np.hypot(L_full, self.sigma / np.sqrt(2 * (self.dim_x + self.dim_y))))
        return Constants(L=L, mu=self.mu, sigma=self.sigma, L_full=L_full)


class _PooledOnlineGame(OnlineQuadraticGame):
    """An online game seen by one machine: each sample belongs to one of the former agents."""

    def __init__(self, game: OnlineQuadraticGame) -> None:
        super().__init__(
            *game.form[None].parts,
            sigma=game.sigma,
            constraint=game.constraint,
            theta=game.penalty.theta,
            nu=game.penalty.nu,
        )
        self.sources = game.forms

    def local(self, i: int) -> "OnlineQuadraticShard":
        """The whole distribution."""
        return OnlineQuadraticShard(self.sources, self.sigma, self.penalty)

    def constants(self) -> Constants:
        """The former agents' differences add to both; they grow with z, so that sigma is that of the start."""
        x, y = self.start()
        mean = np.concatenate(self.form.gradient(x, y))
        spread = [np.concatenate(self.sources[i].gradient(x, y)) - mean for i in range(len(self.sources.A))]
        sigma = np.sqrt(self.sigma**2 + np.mean(np.sum(np.square(spread), axis=1)))
        forms = root_mean_square(self.sources.hessian()[None]) + self.penalty.smoothness
        L = np.hypot(forms, self.sigma / np.sqrt(2 * (self.dim_x + self.dim_y)))
        return Constants(
            L=float(L),
            mu=self.mu,
            sigma=float(sigma),
            L_full=self._smoothness(self.forms.hessian()),
            assumes="the former agents' gradients differ no more than at the start",
        )


class OnlineQuadraticShard:
    """One agent's share of an `OnlineQuadraticGame`: fresh samples without end."""

    samples = None

    def __init__(self, forms: Form, sigma: float, penalty: SaturatingPenalty) -> None:
        self.forms, self.form, self.sigma, self.penalty = forms, forms.mean(), sigma, penalty

    def value(self, x: Array, y: Array) -> float:
        """f_i(x, y), the expectation."""
        return self.form.value(x, y) + self.penalty.value(x)

    def draw(self, generator: np.random.Generator, size: int) -> Noise:
        """`size` fresh samples (form, e, w, phi)."""
        dim = self.form.p.size + self.form.q.size
        source = generator.integers(len(self.forms.A), size=size)
        e = generator.normal(scale=self.sigma / np.sqrt(2 * dim), size=(size, dim))
        w = generator.normal(size=(size, dim))
        w /= np.linalg.norm(w, axis=1, keepdims=True)
        return source, e, w, generator.uniform(0, 2 * np.pi, size=size)

    def gradient(self, x: Array, y: Array, batch: Noise | None = None) -> tuple[Array, Array]:
        """The mean gradient of the batch's samples, or the exact gradient of f_i."""
        form = self.form
        if batch is not None and len(self.forms.A) > 1:
            form = self.forms[batch[0]].mean()
        gx, gy = form.gradient(x, y)
        gx += self.penalty.gradient(x)
        if batch is None:
            return gx, gy
        _, e, w, phi = batch
        noise = (e - self.sigma * np.sin(w @ np.concatenate([x, y]) + phi)[:, None] * w).mean(axis=0)
        return gx + noise[: x.size], gy + noise[x.size :]
