"""Quadratic forms in x and y, stacked; and random ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from raydream.checks import number, positive, real, whole
from raydream.constraints import Constraint
from raydream.types import Array


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

    @property
    def parts(self) -> tuple[Array, Array, Array, Array, Array]:
        """A, B, C, p and q."""
        return self.A, self.B, self.C, self.p, self.q

    def mean(self) -> "Form":
        """The mean over the first axis."""
        return Form(*(part.mean(axis=0) for part in self.parts))

    def means(self) -> "Form":
        """The means over the second axis; where that has one entry, the entry itself."""
        return Form(*(part[:, 0] if part.shape[1] == 1 else part.mean(axis=1) for part in self.parts))

    def flattened(self) -> "Form":
        """The first two axes as one."""
        return Form(*(part.reshape((-1, *part.shape[2:])) for part in self.parts))

    def value(self, x: Array, y: Array) -> float:
        """f(x, y)."""
        return float(x @ (self.A @ x) / 2 + x @ (self.B @ y) - y @ (self.C @ y) / 2 + self.p @ x + self.q @ y)

    def gradient(self, x: Array, y: Array) -> tuple[Array, Array]:
        """The gradients of f in x and in y."""
        return self.A @ x + self.B @ y + self.p, self.B.T @ x - self.C @ y + self.q

    def hessian(self) -> Array:
        """[[A, B], [B', -C]] (also of a stack)."""
        return np.block([[self.A, self.B], [np.swapaxes(self.B, -1, -2), -self.C]])


def form_of(A: Any, B: Any, C: Any, p: Any, q: Any) -> Form:
    """The form of a caller's arrays, as float64 side by side."""
    parts = {"A": A, "B": B, "C": C, "p": p, "q": q}
    return Form(*(np.ascontiguousarray(real(name, part), dtype=np.float64) for name, part in parts.items()))


def solve(matrix: Array, right: Array) -> Array:
    return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)


def primal_hessian(form: Form) -> Array:
    """The Hessian A + B C^-1 B' of P where y is free and there is no penalty."""
    return form.A + form.B @ solve(form.C, form.B.T)


def root_mean_square(hessians: Array) -> float:
    """The largest root of an eigenvalue of mean_j H_ij^2 over the agents i, for Hessians stacked as (m, n, d, d)."""
    mean_square = np.matmul(hessians, hessians).mean(axis=1)
    return float(np.sqrt(np.linalg.eigvalsh(mean_square).max()))


def check_shapes(form: Form, axes: int) -> None:
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
        flipped = np.swapaxes(part, -1, -2)
        if not np.array_equal(part, flipped) and not np.allclose(part, flipped, rtol=1e-12, atol=1e-12):
            raise ValueError(f"`{name}` must be symmetric; use ({name} + {name}.T) / 2.")


def stacked(forms: list[Form]) -> Form:
    return Form(*(np.stack([getattr(form, name) for form in forms]) for name in "ABCpq"))


def joined(parts: list[Array]) -> Array:
    """Arrays of one shape as one, with a first axis more; those that follow each other in memory are not copied."""
    first = parts[0]
    places = np.array([part.__array_interface__["data"][0] for part in parts])
    side_by_side = all(part.flags.c_contiguous and part.base is first.base is not None for part in parts)
    if side_by_side and (np.diff(places) == first.nbytes).all():
        return np.lib.stride_tricks.as_strided(first, (len(parts), *first.shape), (first.nbytes, *first.strides))
    return np.stack(parts)


def random_forms(
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


def random_noise(
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
