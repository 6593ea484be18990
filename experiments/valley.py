"""Valley games: P has a long nonconvex valley, in which its gradient falls like a power of time.

On a quadratic game P is strongly convex and every method converges linearly: no power of epsilon can be measured.
Here, with half of the coordinates in the valley V and the other half stiff (S),

    f(x, y) = g(x_V) + x_S'y_S - ||y||^2/2,    g(x) = (s/a) sum_k (1 + x_k^2)^(-a/2),    P(x) = g(x_V) + ||x_S||^2/2.

In the valley P falls for ever, more and more slowly: descent with step h has |grad P| ~ (h t)^(-(a+1)/(a+2)), so that
epsilon^-((a+2)/(a+1)) iterations are needed. This comes near the theory's epsilon^-2 as a tends to 0; a = 1/4 gives
the power 1.8. The stiff half turns noise of an estimator into noise of the gradient, so that variance has its price;
in the valley itself noise need not cost anything, since an iterate that is thrown far along it has a small gradient.

Agents and components differ by quadratic forms of mean zero: f is one function for every number of agents and samples.
"""

from functools import cache
from typing import Any

import numpy as np

import raydream as rd

A, S = 0.25, 0.5
POWER = (A + 2) / (A + 1)  # iterations ~ epsilon^-POWER
HALF, DIM = 2, 4
STIFF = np.array([0.0] * HALF + [1.0] * HALF)
HESSIAN = np.block([[np.zeros((DIM, DIM)), np.diag(STIFF)], [np.diag(STIFF), -np.eye(DIM)]])


class Valley:
    """The game; agent i owns n quadratic deviations (offline) or one and noisy gradients of size sigma (online)."""

    agents: int
    dim_x = dim_y = DIM
    constraint = rd.constraints.Everything()

    def __init__(self, rows: Any, sigma: float | None = None) -> None:
        self.rows, self.sigma = rows, sigma  # (m, n, 2 DIM, 2 DIM + 1): the Hessian and the slope of each deviation
        self.agents = len(rows)
        self.samples = None if sigma else rows.shape[1]

    def local(self, i: int) -> "Shard":
        return Shard(self.rows[i]) if self.sigma is None else NoisyShard(self.rows[i], self.sigma)

    def start(self) -> tuple[Any, Any]:
        return np.ones(DIM), np.zeros(DIM)

    def value(self, x: Any, y: Any) -> float:
        return _valley(x) + float((STIFF * x) @ y) - float(y @ y) / 2

    def gradient(self, x: Any, y: Any) -> tuple[Any, Any]:
        return _valley_gradient(x) + STIFF * y, STIFF * x - y

    def best_response(self, x: Any) -> Any:
        return STIFF * x

    def primal(self, x: Any) -> float:
        return self.value(x, STIFF * x)

    def primal_gradient(self, x: Any) -> Any:
        return _valley_gradient(x) + STIFF * x

    def constants(self) -> dict[str, float]:
        """L, root mean square over an agent's components, and L_full, of the agents' own functions (mu is 1)."""
        H = HESSIAN + self.rows[..., :-1]
        squares = np.linalg.eigvalsh(np.matmul(H, H).mean(axis=1)).max()
        noise = 0.0 if self.sigma is None else self.sigma**2 / (4 * DIM)
        full = np.linalg.norm(H.mean(axis=1), 2, axis=(-2, -1)).max()
        return {"L": float(np.sqrt(squares + noise)) + S, "L_full": float(full) + S}


class Shard:
    """An agent's components F_j(z) = f(z) + z'H_j z/2 + l_j'z."""

    def __init__(self, rows: Any) -> None:
        self.samples = len(rows)
        self.rows = np.ascontiguousarray(rows).reshape(self.samples, -1)
        self.mean = self.rows.mean(axis=0)

    def value(self, x: Any, y: Any) -> float:
        z, form = np.concatenate([x, y]), self.mean.reshape(2 * DIM, -1)
        return _valley(x) + float((STIFF * x) @ y) - float(y @ y) / 2 + float(z @ (form[:, :-1] @ z / 2 + form[:, -1]))

    def gradient(self, x: Any, y: Any, batch: Any = None) -> tuple[Any, Any]:
        mean = self.mean if batch is None else self.rows[batch].sum(axis=0) / len(batch)
        form, z = mean.reshape(2 * DIM, -1), np.concatenate([x, y])
        g = form[:, :-1] @ z + form[:, -1]
        return g[:DIM] + _valley_gradient(x) + STIFF * y, g[DIM:] + STIFF * x - y


class NoisyShard(Shard):
    """Fresh samples F(z; xi) = f_i(z) + e'z + sigma cos(w'z + phi), whose gradients have deviation sigma everywhere."""

    def __init__(self, rows: Any, sigma: float) -> None:
        super().__init__(rows)
        self.sigma, self.samples = sigma, None

    def draw(self, generator: np.random.Generator, size: int) -> Any:
        w = generator.normal(size=(size, 2 * DIM))
        w /= np.linalg.norm(w, axis=1, keepdims=True)
        e = generator.normal(scale=self.sigma / np.sqrt(4 * DIM * size), size=2 * DIM)  # the mean of `size` normals
        return e, w, generator.uniform(0, 2 * np.pi, size=size)

    def gradient(self, x: Any, y: Any, batch: Any = None) -> tuple[Any, Any]:
        gx, gy = super().gradient(x, y)
        if batch is None:
            return gx, gy
        e, w, phi = batch
        noise = e - self.sigma / len(phi) * (np.sin(w @ np.concatenate([x, y]) + phi) @ w)
        return gx + noise[:DIM], gy + noise[DIM:]


@cache
def offline(agents: int, samples: int, groups: int, heterogeneity: float, spread: float, seed: int) -> Valley:
    """N = agents * samples components in `groups` unlike groups of equal size, dealt to the agents in order.

    With `groups` fixed, the same N components are dealt to any number of agents that divides it.
    """
    generator = np.random.default_rng(seed)
    size = agents * samples // groups
    rows = np.repeat(heterogeneity * _deviations(generator, groups)[:, None], size, axis=1)
    for group in rows:
        group += spread * _deviations(generator, size)
    return Valley(rows.reshape(agents, samples, 2 * DIM, -1))


@cache
def online(agents: int, sigma: float, heterogeneity: float, seed: int) -> Valley:
    """One deviation per agent, and noise of deviation sigma."""
    generator = np.random.default_rng(seed)
    return Valley(heterogeneity * _deviations(generator, agents)[:, None], sigma)


@cache
def exact_descent(epsilon: float, step: float) -> int:
    """Iterations of exact descent on P until |grad P| <= epsilon, at least 20."""
    problem = online(1, 1.0, 0.0, 0)
    x, t = problem.start()[0], 0
    gradient = problem.primal_gradient(x)
    while np.linalg.norm(gradient) > epsilon:
        x, t = x - step * gradient, t + 1
        gradient = problem.primal_gradient(x)
    return max(t, 20)


def reach(problem: Any, topology: Any, method: Any, epsilon: float, seed: int, patience: float = 2.0) -> dict[str, Any]:
    """What it costs to reach |grad P| <= epsilon: None where it takes `patience` times as long as exact descent."""
    iterations = int(patience * exact_descent(epsilon, method.gamma * method.eta))
    result = rd.run(
        problem, topology, method, iterations=iterations, seed=seed, record_every=2, backend="local",
        target_grad_norm=epsilon, progress=False,
    )  # fmt: skip
    last, reached = result.history.iloc[-1], result.outcome == "target"
    names = {"iterations": "iteration", "sfo": "sfo", "rounds": "rounds", "bytes": "bytes"}
    return {name: int(last[column]) if reached else None for name, column in names.items()}


def settle(
    problem: Any, topology: Any, method: Any, epsilon: float, seed: int, patience: float = 2.0
) -> dict[str, Any]:
    """As `reach`, but |grad P| must be as low in the mean over 20 iterations; "dip" has the SFO of the first record.

    Noise makes single iterates dip below epsilon early, so that `reach` flatters noisy estimators. With more patience
    than 2, a run is first made that long, since most need no more: a longer one repeats its bits.
    """
    for waited in sorted({min(patience, 2.0), patience}):
        iterations = int(waited * exact_descent(epsilon, method.gamma * method.eta)) + 20
        result = rd.run(
            problem, topology, method, iterations=iterations, seed=seed, record_every=2, backend="local", progress=False
        )
        history = result.history
        lasting = history[history.grad_norm.rolling(10).mean() <= epsilon]
        if not lasting.empty or result.outcome == "diverged":
            break
    first = history[history.grad_norm <= epsilon]
    names = {"iterations": "iteration", "sfo": "sfo", "rounds": "rounds", "bytes": "bytes"}
    costs = {name: None if lasting.empty else int(lasting[column].iloc[0]) for name, column in names.items()}
    return {**costs, "dip": None if first.empty else int(first.sfo.iloc[0])}


def _deviations(generator: np.random.Generator, count: int) -> Any:
    """Quadratic forms of mean zero that leave the curvature in y alone, each with its slope as last column."""
    forms = generator.normal(size=(count, 2 * DIM, 2 * DIM + 1))
    square = forms[..., :-1]
    square[...] = (square + np.swapaxes(square, 1, 2)) / 2
    square[:, DIM:, DIM:] = 0.0
    square[:, :HALF, :HALF] = 0.0
    return forms - forms.mean(axis=0)


def _valley(x: Any) -> float:
    return S / A * float(np.sum((1 + x[:HALF] ** 2) ** (-A / 2)))


def _valley_gradient(x: Any) -> Any:
    slope = np.zeros(DIM)
    v = x[:HALF]
    slope[:HALF] = -S * v * (1 + v * v) ** (-A / 2 - 1)
    return slope
