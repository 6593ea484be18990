"""What quadratic games share: every agent another game, the whole game in closed form."""

from functools import cached_property
from typing import Annotated

import numpy as np

from raydream.checks import not_negative, positive
from raydream.constraints import Constraint, Everything
from raydream.parameters import Count, Positive, Whole
from raydream.problems.maximiser import maximise
from raydream.problems.penalty import SaturatingPenalty
from raydream.problems.protocol import Danskin
from raydream.problems.quadratic_forms import Form, primal_hessian, solve
from raydream.types import Array

DimX = Annotated[Count, "dimensions of x"]
DimY = Annotated[Count, "dimensions of y"]
Heterogeneity = Annotated[float, "how much agents differ"]
Curvature = Annotated[Positive, "least curvature of P"]
Seed = Annotated[Whole, "seed from which the game is drawn"]


class Game(Danskin):
    """What the finite-sum and the online game share: the mean form, the constraint, y*(x) and P."""

    def __init__(self, forms: Form, constraint: Constraint, theta: float, nu: float) -> None:
        self.forms = forms  # one per agent
        self.form = forms.mean()
        self.agents = int(forms.A.shape[0])
        self.dim_x, self.dim_y = (int(size) for size in forms.B.shape[1:])
        self.constraint = constraint
        self.penalty = SaturatingPenalty(not_negative("theta", theta), positive("nu", nu))
        self._check_concavity()

    def _check_concavity(self) -> None:
        """Refuse a C that is not positive definite; its factors tell that in a tenth of the time of its eigenvalues."""
        try:
            np.linalg.cholesky(self.forms.C)
        except np.linalg.LinAlgError:
            self._concavity()

    @cached_property
    def mu(self) -> float:
        """The strong concavity of every agent's game in y; found when it is first asked for."""
        return self._concavity()

    def _concavity(self) -> float:
        """The strong concavity of every agent's game in y, or a sentence where there is none."""
        least = float(np.linalg.eigvalsh(self.forms.C).min())
        if least <= 0:
            raise ValueError(f"`C` must be positive definite on every agent; its least eigenvalue is {least:.3g}.")
        return least

    def value(self, x: Array, y: Array) -> float:
        """f(x, y)."""
        return self.form.value(x, y) + self.penalty.value(x)

    def gradient(self, x: Array, y: Array) -> tuple[Array, Array]:
        """The gradients of f in x and in y."""
        gx, gy = self.form.gradient(x, y)
        return gx + self.penalty.gradient(x), gy

    def best_response(self, x: Array) -> Array:
        """y*(x) = argmax over Y of y'(B'x + q) - y'Cy/2: solved, projected, or found by the inner maximiser."""
        free = solve(self.form.C, self.form.B.T @ x + self.form.q)
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
        x = solve(primal_hessian(form), -form.p - form.B @ solve(form.C, form.q))
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
        x = solve(form.A, -slope)
        return form.value(x, y)

    def _smoothness(self, hessians: Array) -> float:
        """The largest norm among Hessians (stacked), with the penalty's share."""
        return float(np.linalg.norm(hessians, 2, axis=(-2, -1)).max()) + self.penalty.smoothness
