"""A game that is not strongly concave in y, and nearly as good: the y-PL game."""

from typing import Annotated

import numpy as np

from raydream.checks import whole
from raydream.constraints import Constraint
from raydream.parameters import Count
from raydream.problems.protocol import Constants
from raydream.problems.quadratic import QuadraticGame
from raydream.problems.quadratic_game import DimX, DimY, Heterogeneity, Seed
from raydream.problems.registry import maker_at_random
from raydream.types import Array

SMALL = 1e-9  # an eigenvalue below this share of the largest counts as 0


@maker_at_random("pl-game")
class PLGame(QuadraticGame):
    """A quadratic game whose C is rank-deficient: not strongly concave in y, but of the Polyak-Lojasiewicz kind.

        f_i(x, y) = x'A_i x/2 + x'B_i y - y'C_i y/2 + p_i'x + q_i'y,    Y = everything

    where every C_i has the same range V, of lower dimension than y, and all B_i'x and q_i lie in V (else f is
    unbounded in y, which is refused). Then P(x) = x'A x/2 + p'x + (B'x + q)'C^+ (B'x + q)/2 with the
    pseudo-inverse, and y*(x) = C^+ (B'x + q) is the least of many best responses. From a start in V no gradient
    leaves V, and on V f is strongly concave: mu is the least eigenvalue of a C_i that is not 0, the PL constant.
    After Chen, Yao, Luo (SPIDER-GDA, 2022).
    """

    def __init__(
        self, A: Array, B: Array, C: Array, p: Array, q: Array, *, constraint: Constraint | None = None,
        theta: float = 0.0, nu: float = 10.0,
    ) -> None:  # fmt: skip
        if constraint is not None:
            raise ValueError("`constraint` must be None: the y of a PL game is free.")
        super().__init__(A, B, C, p, q, theta=theta, nu=nu)

    @classmethod
    def random(  # type: ignore[override]
        cls,
        agents: int = 8,
        samples: Annotated[Count, "samples of each agent, at least `rank`"] = 20,
        dim_x: DimX = 6,
        dim_y: DimY = 6,
        *,
        rank: Annotated[Count, "dimensions of y in which f is concave, below `dim_y`"] = 3,
        heterogeneity: Heterogeneity = 1.0,
        seed: Seed = 0,
    ) -> "PLGame":
        """A game drawn from `seed`: components a a', b (V z)' and (V z) (V z)', with a, b and z normal.

        A has rank `rank` too: P is convex, of the PL kind, and bounded below.
        """
        for name, size in (("agents", agents), ("dim_x", dim_x), ("dim_y", dim_y)):
            whole(name, size, 1)
        if not 1 <= whole("rank", rank) < min(dim_y, dim_x + 1):
            raise ValueError(f"`rank` must be at least 1, below `dim_y` and at most `dim_x`; got {rank!r}.")
        if whole("samples", samples) < rank:
            raise ValueError(f"`samples` must be at least `rank`, {rank}; got {samples!r}.")
        generator = np.random.default_rng(whole("seed", seed))
        U, V = (np.linalg.qr(generator.normal(size=(size, rank)))[0] for size in (dim_x, dim_y))
        a, b, z = generator.normal(size=(3, agents, samples, rank))
        shift = heterogeneity * generator.normal(size=(2, agents, 1, rank))
        left, right, z = a @ U.T, (b + shift[0]) @ U.T, z @ V.T
        A, C = left[..., :, None] * left[..., None, :], z[..., :, None] * z[..., None, :]
        q = np.broadcast_to(shift[1] @ V.T, (agents, samples, dim_y))
        return cls(A, right[..., :, None] * z[..., None, :], C, np.zeros((agents, samples, dim_x)), q)

    def _check_concavity(self) -> None:
        """Eigenvalues tell what there is to tell: these matrices have no factors."""
        self.mu  # noqa: B018  found once, and kept

    def _concavity(self) -> float:
        """The least eigenvalue of a C_i that is not 0, if all agents' games are bounded in y."""
        values = np.linalg.eigvalsh(self.forms.C)
        floor = SMALL * float(values.max())
        ranks = np.count_nonzero(values > floor, axis=1)
        if values.max() <= 0 or values.min() < -floor:
            raise ValueError(
                f"`C` must be positive semidefinite and not 0; its least eigenvalue is {values.min():.3g}."
            )
        kernel = np.linalg.eigh(self.form.C)[1][:, : self.dim_y - int(ranks[0])]
        out = [np.abs(part @ kernel).max(initial=0.0) for part in (self.forms.C, self.forms.B, self.forms.q)]
        if len(set(ranks.tolist())) > 1 or max(out) > 1e-8 * float(np.abs(self.forms.hessian()).max()):
            raise ValueError(
                "`C` must have the same range on every agent, and hold B'x and q; else f has no maximum in y."
            )
        self.inverse = np.asarray(np.linalg.pinv(self.form.C, rcond=SMALL, hermitian=True), dtype=np.float64)
        return float(values[values > floor].min())

    def best_response(self, x: Array) -> Array:
        """C^+ (B'x + q), of all best responses the smallest."""
        return np.asarray(self.inverse @ (self.form.B.T @ x + self.form.q), dtype=np.float64)

    def _free_minimum(self) -> float | None:
        """The least value of P less its penalty, if it has one."""
        form = self.form
        curve, slope = form.A + form.B @ self.inverse @ form.B.T, form.p + form.B @ self.inverse @ form.q
        x = np.asarray(-np.linalg.lstsq(curve, slope, rcond=SMALL)[0], dtype=np.float64)
        flat = np.abs(curve @ x + slope).max() <= 1e-8 * (1 + np.abs(slope).max())
        if not flat or np.linalg.eigvalsh(curve).min() < -SMALL * float(np.abs(curve).max()):
            return None
        return form.value(x, self.best_response(x))

    def pooled(self) -> "PLGame":
        """The same game with all components on one agent."""
        pool = self.components.flattened()[None]
        return PLGame(*pool.parts, theta=self.penalty.theta, nu=self.penalty.nu)

    def constants(self) -> Constants:
        """Those of a quadratic game, with the PL constant for mu."""
        known = super().constants()
        return Constants(L=known.L, mu=known.mu, L_full=known.L_full, assumes="y stays in the range of C")
