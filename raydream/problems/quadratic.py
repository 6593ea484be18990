"""Quadratic games: every agent another game, the whole game in closed form. The test bed of every law."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from raydream.checks import number, positive, whole
from raydream.constraints import Constraint, Everything
from raydream.problems.maximiser import maximise
from raydream.problems.penalty import SaturatingPenalty
from raydream.problems.protocol import Constants, Danskin
from raydream.types import Array, Indices

Noise = tuple[Indices, Array, Array, Array]


@dataclass(frozen=True)
class Form:
    """f(x, y) = x'Ax/2 + x'By - y'Cy/2 + p'x + q'y, or a stack of such forms along the first axis."""

    A: Array
    B: Array
    C: Array
    p: Array
    q: Array

    def __getitem__(self, key: Any) -> "Form":
        return Form(self.A[key], self.B[key], self.C[key], self.p[key], self.q[key])

    def mean(self) -> "Form":
        """The mean over the first axis."""
        return Form(*(part.mean(axis=0) for part in (self.A, self.B, self.C, self.p, self.q)))

    def flattened(self) -> "Form":
        """The first two axes as one."""
        parts = (self.A, self.B, self.C, self.p, self.q)
        return Form(*(part.reshape((-1, *part.shape[2:])) for part in parts))

    def value(self, x: Array, y: Array) -> float:
        """f(x, y)."""
        return float(x @ (self.A @ x) / 2 + x @ (self.B @ y) - y @ (self.C @ y) / 2 + self.p @ x + self.q @ y)

    def gradient(self, x: Array, y: Array) -> tuple[Array, Array]:
        """The gradients of f in x and in y."""
        return self.A @ x + self.B @ y + self.p, self.B.T @ x - self.C @ y + self.q

    def hessian(self) -> Array:
        """[[A, B], [B', -C]] (also of a stack)."""
        return np.block([[self.A, self.B], [np.swapaxes(self.B, -1, -2), -self.C]])


class _Game(Danskin):
    """What the finite-sum and the online game share: the mean form, the constraint, y*(x) and P."""

    def __init__(self, forms: Form, constraint: Constraint, theta: float, nu: float) -> None:
        self.forms = forms  # one per agent
        self.form = forms.mean()
        self.agents = int(forms.A.shape[0])
        self.dim_x, self.dim_y = (int(size) for size in forms.B.shape[1:])
        self.constraint = constraint
        if number("theta", theta) < 0:
            raise ValueError(f"`theta` must not be negative; got {theta!r}.")
        self.penalty = SaturatingPenalty(float(theta), positive("nu", nu))
        self.mu = float(np.linalg.eigvalsh(forms.C).min())
        if self.mu <= 0:
            raise ValueError(f"`C` must be positive definite on every agent; its least eigenvalue is {self.mu:.3g}.")

    def value(self, x: Array, y: Array) -> float:
        """f(x, y)."""
        return self.form.value(x, y) + self.penalty.value(x)

    def gradient(self, x: Array, y: Array) -> tuple[Array, Array]:
        """The gradients of f in x and in y."""
        gx, gy = self.form.gradient(x, y)
        return gx + self.penalty.gradient(x), gy

    def best_response(self, x: Array) -> Array:
        """y*(x) = argmax over Y of y'(B'x + q) - y'Cy/2: solved, projected, or found by the inner maximiser."""
        free = _solve(self.form.C, self.form.B.T @ x + self.form.q)
        if isinstance(self.constraint, Everything):
            return free
        curvature = self.form.C[0, 0]
        if np.array_equal(self.form.C, curvature * np.eye(self.dim_y)):
            return self.constraint.project(free)
        return maximise(lambda y: self.form.gradient(x, y)[1], self.constraint.project, free)

    def start(self) -> tuple[Array, Array]:
        """x = 1 in every coordinate, and the point of Y nearest to 0."""
        return np.ones(self.dim_x), self.constraint.project(np.zeros(self.dim_y))

    def primal_minimum(self) -> float | None:
        """The least value of P, where it is known: for the game without constraint and penalty, if P has one."""
        return self._free_minimum() if self.penalty.theta == 0 else None

    def _free_minimum(self) -> float | None:
        """The least value of P less its penalty, where y is free and P curves upwards."""
        form = self.form
        if not isinstance(self.constraint, Everything) or np.linalg.eigvalsh(primal_hessian(form)).min() <= 0:
            return None
        x = _solve(primal_hessian(form), -form.p - form.B @ _solve(form.C, form.q))
        return form.value(x, self.best_response(x))

    def primal_bound(self) -> float:
        """A lower bound of P, without its penalty: the least value where known, else that of f(., y0)."""
        known = self._free_minimum()
        if known is not None:
            return known
        if float(np.linalg.eigvalsh(self.form.A).min()) <= 0:
            raise ValueError("`primal_bound` is not known for this game: the mean A does not curve upwards.")
        y = self.start()[1]
        form = self.form
        slope = form.p + form.B @ y
        x = _solve(form.A, -slope)
        return form.value(x, y)

    def _smoothness(self, hessians: Array) -> float:
        """The largest norm among Hessians (stacked), with the penalty's share."""
        return float(np.linalg.norm(hessians, 2, axis=(-2, -1)).max()) + self.penalty.smoothness


class QuadraticGame(_Game):
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
        self.components = Form(*(np.ascontiguousarray(part, dtype=np.float64) for part in (A, B, C, p, q)))
        _check_shapes(self.components, axes=2)
        self.samples = int(self.components.A.shape[1])
        forms = [self.components[i].mean() for i in range(self.components.A.shape[0])]
        super().__init__(_stack(forms), constraint or Everything(), theta, nu)

    @classmethod
    def random(
        cls,
        agents: int = 8,
        samples: int = 20,
        dim_x: int = 4,
        dim_y: int = 5,
        *,
        spread: float = 0.5,
        constraint: Constraint | None = None,
        theta: float = 0.0,
        nu: float = 10.0,
        seed: int = 0,
        **shape: float,
    ) -> "QuadraticGame":
        """A game drawn from `seed`: agents differ by `heterogeneity`, an agent's components by `spread`."""
        whole("samples", samples, 1)
        generator = np.random.default_rng(whole("seed", seed))
        forms = _random_forms(generator, agents, dim_x, dim_y, constraint, **shape)
        components = []
        for i in range(agents):
            noise = _random_noise(generator, samples, dim_x, dim_y, spread, isotropic=constraint is not None)
            components.append(_combine(forms[i], noise))
        stacked = _stack(components)
        return cls(stacked.A, stacked.B, stacked.C, stacked.p, stacked.q, constraint=constraint, theta=theta, nu=nu)

    def local(self, i: int) -> "QuadraticShard":
        """Agent i's n components."""
        return QuadraticShard(self.components[i], self.forms[i], self.penalty)

    def pooled(self) -> "QuadraticGame":
        """The same game with all components on one agent."""
        whole_shard = self.components.flattened()[None]
        return QuadraticGame(
            whole_shard.A, whole_shard.B, whole_shard.C, whole_shard.p, whole_shard.q,
            constraint=self.constraint, theta=self.penalty.theta, nu=self.penalty.nu,
        )  # fmt: skip

    def constants(self) -> Constants:
        """L^2 is the largest eigenvalue of an agent's mean squared component Hessian; mu the least of C_i."""
        L = _root_mean_square(self.components.hessian()) + self.penalty.smoothness
        return Constants(L=L, mu=self.mu, L_full=self._smoothness(self.forms.hessian()))


class QuadraticShard:
    """One agent's share of a `QuadraticGame`."""

    def __init__(self, components: Form, form: Form, penalty: SaturatingPenalty) -> None:
        self.components, self.form, self.penalty = components, form, penalty
        self.samples = int(components.A.shape[0])

    def value(self, x: Array, y: Array) -> float:
        """f_i(x, y)."""
        return self.form.value(x, y) + self.penalty.value(x)

    def gradient(self, x: Array, y: Array, batch: Indices | None = None) -> tuple[Array, Array]:
        """The mean gradient of the batch's components, or of all of them."""
        form = self.form if batch is None else self.components[batch].mean()
        gx, gy = form.gradient(x, y)
        return gx + self.penalty.gradient(x), gy


class OnlineQuadraticGame(_Game):
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
        forms = Form(*(np.ascontiguousarray(part, dtype=np.float64) for part in (A, B, C, p, q)))
        _check_shapes(forms, axes=1)
        self.sigma = positive("sigma", sigma)
        super().__init__(forms, constraint or Everything(), theta, nu)

    @classmethod
    def random(
        cls,
        agents: int = 8,
        dim_x: int = 4,
        dim_y: int = 5,
        *,
        sigma: float = 1.0,
        constraint: Constraint | None = None,
        theta: float = 0.0,
        nu: float = 10.0,
        seed: int = 0,
        **shape: float,
    ) -> "OnlineQuadraticGame":
        """A game drawn from `seed`."""
        generator = np.random.default_rng(whole("seed", seed))
        forms = _random_forms(generator, agents, dim_x, dim_y, constraint, **shape)
        return cls(
            forms.A, forms.B, forms.C, forms.p, forms.q,
            sigma=sigma, constraint=constraint, theta=theta, nu=nu,
        )  # fmt: skip

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
        mean = game.form
        super().__init__(
            mean.A[None], mean.B[None], mean.C[None], mean.p[None], mean.q[None],
            sigma=game.sigma, constraint=game.constraint, theta=game.penalty.theta, nu=game.penalty.nu,
        )  # fmt: skip
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
        forms = _root_mean_square(self.sources.hessian()[None]) + self.penalty.smoothness
        L = np.hypot(forms, self.sigma / np.sqrt(2 * (self.dim_x + self.dim_y)))
        return Constants(L=float(L), mu=self.mu, sigma=float(sigma), L_full=self._smoothness(self.forms.hessian()))


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


def _solve(matrix: Array, right: Array) -> Array:
    return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)


def _root_mean_square(hessians: Array) -> float:
    """The largest root of an eigenvalue of mean_j H_ij^2 over the agents i, for Hessians stacked as (m, n, d, d)."""
    mean_square = np.matmul(hessians, hessians).mean(axis=1)
    return float(np.sqrt(np.linalg.eigvalsh(mean_square).max()))


def primal_hessian(form: Form) -> Array:
    """The Hessian A + B C^-1 B' of P where y is free and there is no penalty."""
    return form.A + form.B @ _solve(form.C, form.B.T)


def _random_forms(
    generator: np.random.Generator,
    agents: int,
    dim_x: int,
    dim_y: int,
    constraint: Constraint | None,
    *,
    heterogeneity: float = 1.0,
    curvature: float = 0.5,
) -> Form:
    """One form per agent: A_i indefinite, C_i at least 1, and P curved upwards by at least `curvature`."""
    for name, size in (("agents", agents), ("dim_x", dim_x), ("dim_y", dim_y)):
        whole(name, size, 1)
    number("heterogeneity", heterogeneity)
    A = _symmetric(generator, agents, dim_x) * heterogeneity
    B = generator.normal(size=(1, dim_x, dim_y)) + heterogeneity * generator.normal(size=(agents, dim_x, dim_y)) / 2
    if constraint is None:
        rotation = np.linalg.qr(generator.normal(size=(agents, dim_y, dim_y)))[0]
        spectrum = np.linspace(1.0, 2.0, dim_y)
        C = np.matmul(rotation * spectrum, np.swapaxes(rotation, -1, -2))
    else:
        C = np.eye(dim_y) * generator.uniform(1.0, 2.0, size=(agents, 1, 1))
    form = Form(A, B, C, generator.normal(size=(agents, dim_x)), generator.normal(size=(agents, dim_y)))
    # Where y is bounded, P grows only linearly through y, so that the mean A itself must curve upwards.
    floor = primal_hessian(form.mean()) if constraint is None else form.A.mean(axis=0)
    lift = positive("curvature", curvature) - float(np.linalg.eigvalsh((floor + floor.T) / 2).min())
    return Form(form.A + lift * np.eye(dim_x), form.B, form.C, form.p, form.q)


def _random_noise(
    generator: np.random.Generator, samples: int, dim_x: int, dim_y: int, spread: float, *, isotropic: bool
) -> Form:
    """Deviations of an agent's components from their mean."""
    if isotropic:
        C = np.eye(dim_y) * generator.normal(size=(samples, 1, 1))
    else:
        C = _symmetric(generator, samples, dim_y)
    parts = (
        _symmetric(generator, samples, dim_x),
        generator.normal(size=(samples, dim_x, dim_y)),
        C,
        generator.normal(size=(samples, dim_x)),
        generator.normal(size=(samples, dim_y)),
    )
    return Form(*(number("spread", spread) * (part - part.mean(axis=0)) for part in parts))


def _symmetric(generator: np.random.Generator, count: int, size: int) -> Array:
    square = generator.normal(size=(count, size, size))
    half: Array = (square + np.swapaxes(square, -1, -2)) / 2
    return half


def _combine(form: Form, noise: Form) -> Form:
    return Form(form.A + noise.A, form.B + noise.B, form.C + noise.C, form.p + noise.p, form.q + noise.q)


def _stack(forms: list[Form]) -> Form:
    return Form(*(np.stack([getattr(form, name) for form in forms]) for name in "ABCpq"))


def _check_shapes(form: Form, axes: int) -> None:
    """Refuse stacks that do not fit together, are not symmetric, or are not finite."""
    lead = form.B.shape[:axes]
    if form.B.ndim != axes + 2 or 0 in form.B.shape:
        raise ValueError(f"`B` must have {axes + 2} nonempty axes; got shape {form.B.shape}.")
    dx, dy = form.B.shape[axes:]
    wanted = {"A": (*lead, dx, dx), "C": (*lead, dy, dy), "p": (*lead, dx), "q": (*lead, dy)}
    for name, shape in wanted.items():
        if getattr(form, name).shape != shape:
            raise ValueError(f"`{name}` must have shape {shape}, to fit `B`; got {getattr(form, name).shape}.")
    for name in "ABCpq":
        if not np.isfinite(getattr(form, name)).all():
            raise ValueError(f"`{name}` must be finite; it holds NaN or infinity.")
    for name in "AC":
        part = getattr(form, name)
        if not np.allclose(part, np.swapaxes(part, -1, -2), rtol=1e-12, atol=1e-12):
            raise ValueError(f"`{name}` must be symmetric; use ({name} + {name}.T) / 2.")
