"""The finite-sum quadratic game: the test bed of every law."""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from raydream.checks import number, whole
from raydream.constraints import Constraint, Everything
from raydream.parameters import Count
from raydream.problems.penalty import Nu, SaturatingPenalty, Theta
from raydream.problems.protocol import Constants
from raydream.problems.quadratic_forms import (
    Form,
    check_shapes,
    form_of,
    joined,
    random_forms,
    random_noise,
    root_mean_square,
    stacked,
)
from raydream.problems.quadratic_game import Curvature, DimX, DimY, Game, Heterogeneity, Seed
from raydream.problems.registry import maker_at_random
from raydream.types import Array, Indices


@maker_at_random("quadratic")
class QuadraticGame(Game):
    """The finite-sum game: agent i holds n forms, stacked as A (m, n, dx, dx), B, C, p, q.

    f_i is the mean of its forms, plus the penalty. P is in closed form when Y is everything; with a constraint it
    is exact where the mean C is a multiple of the identity (as `random` makes it), else found to 1e-12.
    """

    def __init__(
        self,
        A: Array,
        B: Array,
        C: Array,
        p: Array,
        q: Array,
        *,
        constraint: Constraint | None = None,
        theta: float = 0.0,
        nu: float = 10.0,
    ) -> None:
        self.components = form_of(A, B, C, p, q)
        check_shapes(self.components, axes=2)
        self.samples = int(self.components.A.shape[1])
        super().__init__(self.components.means(), constraint or Everything(), theta, nu)

    @classmethod
    def random(
        cls,
        agents: int = 8,
        samples: Annotated[Count, "samples of each agent"] = 20,
        dim_x: DimX = 4,
        dim_y: DimY = 5,
        *,
        spread: Annotated[float, "how much an agent's samples differ"] = 0.5,
        constraint: Constraint | None = None,
        theta: Theta = 0.0,
        nu: Nu = 10.0,
        seed: Seed = 0,
        heterogeneity: Heterogeneity = 1.0,
        curvature: Curvature = 0.5,
    ) -> "QuadraticGame":
        """A game drawn from `seed`: agents differ by `heterogeneity`, an agent's components by `spread`."""
        whole("samples", samples, 1)
        generator = np.random.default_rng(whole("seed", seed))
        forms = random_forms(
            generator, agents, dim_x, dim_y, constraint, heterogeneity=heterogeneity, curvature=curvature
        )
        number("spread", spread)
        if samples == 1:  # which deviates from itself by nothing
            components = Form(*(part[:, None] for part in forms.parts))
        else:
            components = Form(*(np.empty((agents, samples, *part.shape[1:])) for part in forms.parts))
        for i in range(agents if samples > 1 else 0):
            noise = random_noise(generator, samples, dim_x, dim_y, spread, isotropic=constraint is not None)
            for part, of_agent, deviation in zip(components.parts, forms[i].parts, noise.parts, strict=True):
                np.add(of_agent, deviation, out=part[i])
        return cls(*components.parts, constraint=constraint, theta=theta, nu=nu)

    def local(self, i: int) -> "QuadraticShard":
        """Agent i's n components."""
        return QuadraticShard(self.components[i], self.forms[i], self.penalty)

    def pooled(self) -> "QuadraticGame":
        """The same game with all components on one agent."""
        pool = self.components.flattened()[None]
        return QuadraticGame(*pool.parts, constraint=self.constraint, theta=self.penalty.theta, nu=self.penalty.nu)

    @property
    def constants_work(self) -> float:
        """About how many products `constants` takes."""
        return self.agents * self.samples * float(self.dim_x + self.dim_y) ** 3

    def constants(self) -> Constants:
        """L^2 is the largest eigenvalue of an agent's mean squared component Hessian; mu the least of C_i."""
        L = root_mean_square(self.components.hessian()) + self.penalty.smoothness
        return Constants(L=L, mu=self.mu, L_full=self._smoothness(self.forms.hessian()))


class QuadraticShard:
    """One agent's share of a `QuadraticGame`."""

    def __init__(self, components: Form, form: Form | None, penalty: SaturatingPenalty) -> None:
        self.components, self.form, self.penalty = components, components[0] if form is None else form, penalty
        self.samples = int(components.A.shape[0])

    def __reduce__(self) -> tuple[Any, ...]:
        # One component is its own mean: it is sent once.
        return QuadraticShard, (self.components, None if self.samples == 1 else self.form, self.penalty)

    @staticmethod
    def stacked(shards: "Sequence[QuadraticShard]") -> "QuadraticStack":
        """The shards as one that answers for all."""
        return QuadraticStack(shards)

    def value(self, x: Array, y: Array) -> float:
        """f_i(x, y)."""
        return self.form.value(x, y) + self.penalty.value(x)

    def gradient(self, x: Array, y: Array, batch: Indices | None = None) -> tuple[Array, Array]:
        """The mean gradient of the batch's components, or of all of them."""
        form = self.form if batch is None else self.components[batch].mean()
        gx, gy = form.gradient(x, y)
        return gx + self.penalty.gradient(x), gy


class QuadraticStack:
    """Several agents' games. Their matrices are multiplied one by one, as those of one agent are."""

    def __init__(self, shards: Sequence[QuadraticShard]) -> None:
        self.shards, self.penalty = shards, shards[0].penalty
        self.form = Form(*(joined([shard.form.parts[k] for shard in shards]) for k in range(5)))
        self.dim_x = int(self.form.B.shape[1])

    def gradient(self, Z: Array, batches: Any, G: Array) -> None:
        """As each shard's `gradient`, for all of them."""
        X, Y = np.ascontiguousarray(Z[:, : self.dim_x]), np.ascontiguousarray(Z[:, self.dim_x :])
        form = self.form if batches is None else self._means(batches)
        G[:, : self.dim_x] = _times(form.A, X) + _times(form.B, Y) + form.p + self.penalty.gradient(X)
        G[:, self.dim_x :] = _times(np.swapaxes(form.B, 1, 2), X) - _times(form.C, Y) + form.q

    def _means(self, batches: Any) -> Form:
        """The mean form of each agent's batch."""
        return stacked([shard.components[batch].mean() for shard, batch in zip(self.shards, batches, strict=True)])


def _times(matrices: Array, vectors: Array) -> Array:
    """Each matrix times its vector."""
    products: Array = np.matmul(matrices, vectors[:, :, None])[:, :, 0]
    return products
