"""The laws of a minimax problem: derivatives, means over agents and samples, y*(x), P, and the constants."""

import functools
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize

from raydream.constraints import Ball, Box, Constraint, Everything, Simplex
from raydream.errors import InnerMaximumError
from raydream.problems import Completed, OnlineQuadraticGame, QuadraticGame, RobustLogisticRegression, complete
from raydream.problems.maximiser import maximise
from raydream.types import Array

# --- independent references ---


def derivative(function: Callable[[Array], float], point: Array, h: float = 1e-5) -> Array:
    """The gradient by central differences."""
    units = h * np.eye(point.size)
    return np.array([(function(point + unit) - function(point - unit)) / (2 * h) for unit in units])


def edges(box: Box) -> tuple[Array, Array]:
    """The least and the largest corner."""
    return np.asarray(box.low, dtype=np.float64), np.asarray(box.high, dtype=np.float64)


def feasible(constraint: Constraint, size: int, generator: np.random.Generator) -> Array:
    """A random point of the set, found without projecting."""
    match constraint:
        case Ball():
            direction = generator.normal(size=size)
            direction *= constraint.radius * generator.uniform() ** (1 / size) / np.linalg.norm(direction)
            return direction
        case Simplex():
            return constraint.radius * generator.dirichlet(np.ones(size))
        case Box():
            return generator.uniform(*edges(constraint), size=size)
    return 3 * generator.normal(size=size)


def reach(constraint: Constraint, slope: Array) -> float:
    """The largest slope'v over the points v of a bounded set."""
    match constraint:
        case Ball():
            return constraint.radius * float(np.linalg.norm(slope))
        case Simplex():
            return constraint.radius * float(slope.max())
        case Box():
            low, high = edges(constraint)
            return float(np.maximum(slope * low, slope * high).sum())
    raise AssertionError(constraint)


def maximum_by_sqp(problem: Any, x: Array, generator: np.random.Generator) -> Array:
    """argmax over Y of f(x, .) by sequential quadratic programming, from a random feasible point."""
    constraint, bounds = problem.constraint, None
    rules: tuple[dict[str, Any], ...] = ()
    match constraint:
        case Ball():
            square = constraint.radius**2
            rules = ({"type": "ineq", "fun": lambda y: square - y @ y, "jac": lambda y: -2 * y},)
        case Simplex():
            rules = ({"type": "eq", "fun": lambda y: y.sum() - constraint.radius, "jac": np.ones_like},)
            bounds = [(0.0, constraint.radius)] * problem.dim_y
        case Box():
            low, high = edges(constraint)
            bounds = [(float(low), float(high))] * problem.dim_y
    found = minimize(
        lambda y: -problem.value(x, y),
        feasible(constraint, problem.dim_y, generator),
        jac=lambda y: -problem.gradient(x, y)[1],
        method="SLSQP", bounds=bounds, constraints=rules, options={"ftol": 1e-15, "maxiter": 1000},
    )  # fmt: skip
    return np.asarray(found.x, dtype=np.float64)


def numeric_gradient(part: Any, x: Array, y: Array) -> tuple[Array, Array]:
    """The gradients in x and in y of a problem or a shard, by central differences of its value."""
    return derivative(lambda u: float(part.value(u, y)), x), derivative(lambda v: float(part.value(x, v)), y)


def joint(part: Any, x: Array, y: Array, *batch: Any) -> Array:
    """The gradients in x and in y as one vector."""
    return np.concatenate(part.gradient(x, y, *batch))


def hessian(part: Any, dim_x: int, dim_y: int, *batch: Any, h: float = 1e-4) -> Array:
    """The Hessian at 0 by central differences of the gradient."""
    units = h * np.eye(dim_x + dim_y)
    columns = [joint(part, u[:dim_x], u[dim_x:], *batch) - joint(part, -u[:dim_x], -u[dim_x:], *batch) for u in units]
    H = np.stack(columns, axis=1) / (2 * h)
    return (H + H.T) / 2


# --- quadratic games ---

CONSTRAINTS: dict[str, Constraint | None] = {
    "free": None, "ball": Ball(1.0), "simplex": Simplex(1.5), "box": Box(-0.5, 0.7),
}  # fmt: skip
SETS = sorted(CONSTRAINTS)
BOUNDED = [name for name in SETS if name != "free"]
PLAIN = [f"{kind} {name}" for kind in ("sum", "online") for name in SETS]
PENALISED = [f"{name} penalised" for name in PLAIN]
SKEW = [f"sum {name} skew" for name in BOUNDED]  # C is no multiple of the identity: y*(x) by the inner maximiser
GAMES = [*PLAIN, *PENALISED, *SKEW]
SUMS = [name for name in GAMES if name.startswith("sum")]
ONLINE = [name for name in GAMES if name.startswith("online")]


@functools.cache
def game(name: str) -> Any:
    """The game that the name describes: kind, constraint, and perhaps 'penalised' or 'skew'."""
    kind, constraint, *more = name.split()
    theta = 0.02 if "penalised" in more else 0.0
    if "skew" in more:
        free = QuadraticGame.random(4, 6, 3, 5, seed=5, curvature=8.0).components
        return QuadraticGame(free.A, free.B, free.C, free.p, free.q, constraint=CONSTRAINTS[constraint])
    if kind == "online":
        return OnlineQuadraticGame.random(4, 3, 5, sigma=2.0, constraint=CONSTRAINTS[constraint], theta=theta, seed=7)
    return QuadraticGame.random(4, 6, 3, 5, constraint=CONSTRAINTS[constraint], theta=theta, seed=3)


def points(problem: Any, count: int = 4, seed: int = 0) -> Iterator[tuple[Array, Array]]:
    """Random points (x, y) with y feasible."""
    generator = np.random.default_rng(seed)
    for _ in range(count):
        yield 2 * generator.normal(size=problem.dim_x), feasible(problem.constraint, problem.dim_y, generator)


@pytest.mark.parametrize("name", GAMES)
def test_gradients_of_games_are_derivatives_of_values(name: str) -> None:
    """The gradient is that of central differences, for f and for every f_i."""
    problem = game(name)
    for x, y in points(problem):
        for part in (problem, *map(problem.local, range(problem.agents))):
            for exact, numeric in zip(part.gradient(x, y), numeric_gradient(part, x, y), strict=True):
                np.testing.assert_allclose(exact, numeric, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", GAMES)
def test_a_game_is_the_mean_of_its_agents(name: str) -> None:
    """f = mean of f_i, in value and in gradient."""
    problem = game(name)
    shards = [problem.local(i) for i in range(problem.agents)]
    for x, y in points(problem):
        assert problem.value(x, y) == pytest.approx(np.mean([shard.value(x, y) for shard in shards]), abs=1e-12)
        for k in (0, 1):
            mean = np.mean([shard.gradient(x, y)[k] for shard in shards], axis=0)
            np.testing.assert_allclose(problem.gradient(x, y)[k], mean, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", SUMS)
def test_component_gradients_of_a_game_average_to_the_agents(name: str) -> None:
    """grad f_i = mean over j of grad F_ij, no component being all of it."""
    problem = game(name)
    for x, y in points(problem, 2):
        for shard in map(problem.local, range(problem.agents)):
            for k in (0, 1):
                parts = [shard.gradient(x, y, np.array([j]))[k] for j in range(shard.samples)]
                full = shard.gradient(x, y)[k]
                np.testing.assert_allclose(np.mean(parts, axis=0), full, rtol=0, atol=1e-12)
                assert all(np.linalg.norm(part - full) > 1e-3 for part in parts)


@pytest.mark.parametrize("name", SUMS)
def test_repeated_samples_of_a_game_count_as_often_as_they_occur(name: str) -> None:
    """The batch (3, 5, 3) weighs sample 3 twice as much as sample 5."""
    problem = game(name)
    x, y = next(points(problem))
    shard = problem.local(1)
    for k in (0, 1):
        third, fifth = (shard.gradient(x, y, np.array([j]))[k] for j in (3, 5))
        batch = shard.gradient(x, y, np.array([3, 5, 3]))[k]
        np.testing.assert_allclose(batch, (2 * third + fifth) / 3, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", GAMES)
def test_a_pooled_game_is_the_same_game(name: str) -> None:
    """One agent, and the same f, gradient, y*, P; its own function is f."""
    problem, pooled = game(name), game(name).pooled()
    assert (pooled.agents, pooled.constraint) == (1, problem.constraint)
    for x, y in points(problem):
        for one in (pooled, pooled.local(0)):
            assert one.value(x, y) == pytest.approx(problem.value(x, y), abs=1e-11)
            np.testing.assert_allclose(joint(one, x, y), joint(problem, x, y), rtol=0, atol=1e-11)
        assert pooled.primal(x) == pytest.approx(problem.primal(x), abs=1e-10)
        np.testing.assert_allclose(pooled.best_response(x), problem.best_response(x), rtol=0, atol=1e-10)


def sorted_rows(rows: list[Array]) -> Array:
    """The rows in an order that does not depend on where they came from."""
    stacked = np.stack(rows)
    return stacked[np.lexsort(stacked.T)]


@pytest.mark.parametrize("name", SUMS)
def test_a_pooled_game_has_the_same_components(name: str) -> None:
    """The component gradients of the one agent are those of all agents, each as often."""
    problem, pooled = game(name), game(name).pooled()
    x, y = next(points(problem))
    assert pooled.samples == problem.agents * problem.samples
    shards = [problem.local(i) for i in range(problem.agents)]
    apart = [joint(shard, x, y, [j]) for shard in shards for j in range(problem.samples)]
    together = [joint(pooled.local(0), x, y, [j]) for j in range(pooled.samples)]
    np.testing.assert_allclose(sorted_rows(together), sorted_rows(apart), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", GAMES)
def test_best_responses_of_games_are_maxima(name: str) -> None:
    """y*(x) is feasible, solves the variational inequality, and is what another maximiser finds."""
    problem = game(name)
    generator = np.random.default_rng(1)
    for x, _ in points(problem, seed=2):
        best = problem.best_response(x)
        slope = problem.gradient(x, best)[1]
        if isinstance(problem.constraint, Everything):
            np.testing.assert_allclose(slope, 0, atol=1e-11)
            H = hessian(problem, problem.dim_x, problem.dim_y)[problem.dim_x :, problem.dim_x :]
            closed = np.linalg.solve(-H, problem.gradient(x, np.zeros(problem.dim_y))[1])
            np.testing.assert_allclose(best, closed, rtol=0, atol=1e-9)
        else:
            assert problem.constraint.contains(best)
            assert reach(problem.constraint, slope) - slope @ best <= 1e-10
        np.testing.assert_allclose(best, maximum_by_sqp(problem, x, generator), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in GAMES if "free" not in name])
def test_the_constraints_of_the_games_bite(name: str) -> None:
    """At some of the points above, the best response is not the free one: the constrained laws are not the free."""
    problem = game(name)
    slopes = [problem.gradient(x, problem.best_response(x))[1] for x, _ in points(problem, seed=2)]
    assert max(float(np.ptp(slope)) for slope in slopes) > 0.1


@pytest.mark.parametrize("name", GAMES)
def test_the_primal_of_a_game_is_the_largest_value(name: str) -> None:
    """P(x) = f(x, y*(x)), and f(x, y) <= P(x) - (mu/2)||y - y*||^2 at every feasible y."""
    problem, generator = game(name), np.random.default_rng(3)
    mu = problem.constants().mu
    for x, _ in points(problem):
        P, best = problem.primal(x), problem.best_response(x)
        assert pytest.approx(problem.value(x, best), abs=1e-12) == P
        for _ in range(50):
            y = feasible(problem.constraint, problem.dim_y, generator)
            assert problem.value(x, y) <= P - mu / 2 * np.sum((y - best) ** 2) + 1e-9


@pytest.mark.parametrize("name", GAMES)
def test_primal_gradients_of_games_are_derivatives_of_the_primal(name: str) -> None:
    """grad P is that of central differences of P, and `primal_and_gradient` gives both."""
    problem = game(name)
    for x, _ in points(problem):
        slope = problem.primal_gradient(x)
        np.testing.assert_allclose(slope, derivative(problem.primal, x), rtol=0, atol=1e-6)
        P, same = problem.primal_and_gradient(x)
        assert problem.primal(x) == P
        np.testing.assert_array_equal(same, slope)


def least_primal(problem: Any) -> tuple[Array, float]:
    """A minimum of P by a quasi-Newton method."""
    found = minimize(
        problem.primal, np.zeros(problem.dim_x), jac=problem.primal_gradient, method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000},
    )  # fmt: skip
    return found.x, float(found.fun)


@pytest.mark.parametrize("name", ["sum free", "online free"])
def test_the_primal_minimum_is_the_least_value_of_the_primal(name: str) -> None:
    """A minimiser finds `primal_minimum()` at a point with grad P = 0, and P is larger elsewhere."""
    problem, generator = game(name), np.random.default_rng(4)
    x, least = least_primal(problem)
    np.testing.assert_allclose(problem.primal_gradient(x), 0, atol=1e-5)
    assert problem.primal_minimum() == pytest.approx(least, abs=1e-9)
    for scale in (0.01, 0.1, 1.0, 10.0):
        step = scale * generator.normal(size=x.size)
        # P curves upwards by at least 0.5, the default of `random`.
        assert problem.primal(x + step) >= least + 0.5 / 2 * step @ step - 1e-6 * scale


@pytest.mark.parametrize("name", [name for name in GAMES if name not in ("sum free", "online free")])
def test_the_primal_minimum_is_not_claimed_where_it_is_unknown(name: str) -> None:
    """With a constraint or a penalty there is no closed form."""
    assert game(name).primal_minimum() is None


def saddle_game() -> QuadraticGame:
    """P(x) = (x_1^2 - x_2^2)/2, which has a stationary point and no minimum."""
    A, eye = np.diag([0.0, -2.0]), np.eye(2)
    return QuadraticGame(A[None, None], eye[None, None], eye[None, None], np.zeros((1, 1, 2)), np.zeros((1, 1, 2)))


def test_a_primal_without_a_minimum_has_no_bound() -> None:
    """A stationary point of P that is a saddle is not passed off as the minimum."""
    problem = saddle_game()
    assert problem.primal(np.array([0.0, 2.0])) == pytest.approx(-2.0)
    assert problem.primal_minimum() is None
    with pytest.raises(ValueError, match="`primal_bound` is not known for this game: the mean A does not curve upwar"):
        problem.primal_bound()


@pytest.mark.parametrize("name", GAMES)
def test_the_primal_bound_of_a_game_is_below_the_primal(name: str) -> None:
    """`primal_bound()` <= P, at random points of every size and at a minimum."""
    problem, generator = game(name), np.random.default_rng(5)
    bound, (x, least) = problem.primal_bound(), least_primal(problem)
    assert bound <= least + 1e-9
    for scale in np.repeat((0.1, 1.0, 10.0), 40):
        assert bound <= problem.primal(x + scale * generator.normal(size=x.size)) + 1e-9


@pytest.mark.parametrize("name", [*PLAIN, *PENALISED])
def test_agents_of_a_random_game_differ_and_are_not_convex(name: str) -> None:
    """Local gradients at one point are far apart, and some f_i bends downwards in x."""
    problem = game(name)
    x, y = next(points(problem))
    shards = [problem.local(i) for i in range(problem.agents)]
    slopes = [joint(shard, x, y) for shard in shards]
    gaps = [np.linalg.norm(a - b) for i, a in enumerate(slopes) for b in slopes[:i]]
    assert min(gaps) > 0.1 * np.linalg.norm(slopes[0])
    bends = [hessian(shard, problem.dim_x, problem.dim_y)[: problem.dim_x, : problem.dim_x] for shard in shards]
    assert min(np.linalg.eigvalsh(A).min() for A in bends) < -0.1


def component_gradients(shard: Any, z: Array, cut: int) -> Array:
    """The gradients of all components at z, one per row."""
    return np.stack([joint(shard, z[:cut], z[cut:], np.array([j])) for j in range(shard.samples)])


@pytest.mark.parametrize("name", SUMS)
def test_constants_of_a_game_bound_its_smoothness_and_are_nearly_attained(name: str) -> None:
    """mean_j ||grad F_ij(z) - grad F_ij(z')||^2 <= L^2 ||z - z'||^2, and >= (0.7 L)^2 ||z - z'||^2 somewhere.

    The same of grad f_i and L_full, which is the smaller one.
    """
    problem, generator = game(name), np.random.default_rng(6)
    known, cut, size = problem.constants(), problem.dim_x, problem.dim_x + problem.dim_y
    single, full = [], []
    for shard in map(problem.local, range(problem.agents)):
        parts = [hessian(shard, cut, size - cut, [j]) for j in range(shard.samples)]
        top = np.linalg.eigh(np.mean([H @ H for H in parts], axis=0))[1][:, -1]
        whole = np.linalg.eigh(np.mean(parts, axis=0))[1][:, [0, -1]].T
        directions = [1e-3 * v for v in (top, *whole)]
        directions += [scale * generator.normal(size=size) for scale in (1e-3, 0.1, 1, 1, 10)]
        for step in directions:
            for start in (np.zeros(size), generator.normal(size=size)):
                change = component_gradients(shard, start + step, cut) - component_gradients(shard, start, cut)
                mean_change = joint(shard, (start + step)[:cut], (start + step)[cut:])
                mean_change = mean_change - joint(shard, start[:cut], start[cut:])
                single.append(np.sqrt(np.mean(np.sum(change**2, axis=1))) / np.linalg.norm(step))
                full.append(np.linalg.norm(mean_change) / np.linalg.norm(step))
    assert 0.7 * known.L <= max(single) <= known.L * (1 + 1e-9)
    assert 0.7 * known.L_full <= max(full) <= known.L_full * (1 + 1e-9)
    assert known.L_full < known.L
    assert known.sigma is None
    assert known.kappa == known.L / known.mu


@pytest.mark.parametrize("name", GAMES)
def test_mu_bounds_the_strong_concavity_of_every_agent(name: str) -> None:
    """(grad_y f_i(x, y) - grad_y f_i(x, y'))'(y - y') <= -mu ||y - y'||^2, with equality in one direction."""
    problem, generator = game(name), np.random.default_rng(7)
    mu, x, bends = problem.constants().mu, generator.normal(size=problem.dim_x), []
    for shard in map(problem.local, range(problem.agents)):
        C = -hessian(shard, problem.dim_x, problem.dim_y)[problem.dim_x :, problem.dim_x :]
        weakest = np.linalg.eigh(C)[1][:, 0]
        for step in (weakest, *generator.normal(size=(20, problem.dim_y))):
            y = generator.normal(size=problem.dim_y)
            change = shard.gradient(x, y + step)[1] - shard.gradient(x, y)[1]
            bends.append(-change @ step / (step @ step))
    assert min(bends) == pytest.approx(mu, rel=1e-9)


def test_a_game_is_drawn_from_its_seed() -> None:
    """Equal seeds give equal games, other seeds others."""
    first, again, other = (QuadraticGame.random(2, 2, seed=seed).primal(np.ones(4)) for seed in (1, 1, 2))
    assert first == again != other


def parts_of_a_game(**changes: Any) -> dict[str, Any]:
    """The arrays of a small game (1 agent, 2 samples, dimensions 2 and 3), with some of them changed."""
    eye = np.eye(3)
    parts = {
        "A": np.zeros((1, 2, 2, 2)), "B": np.zeros((1, 2, 2, 3)), "C": np.stack([eye, eye])[None],
        "p": np.zeros((1, 2, 2)), "q": np.zeros((1, 2, 3)),
    }  # fmt: skip
    return {**parts, **changes}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"B": np.zeros((2, 2, 3))}, r"`B` must have 4 nonempty axes; got shape \(2, 2, 3\)\."),
        ({"A": np.zeros((1, 2, 3, 3))}, r"`A` must have shape \(1, 2, 2, 2\), to fit `B`; got \(1, 2, 3, 3\)\."),
        ({"q": np.full((1, 2, 3), np.nan)}, "`q` must be finite; it holds NaN or infinity"),
        ({"A": np.arange(8.0).reshape(1, 2, 2, 2)}, r"`A` must be symmetric; use \(A \+ A\.T\) / 2"),
        ({"C": -np.stack([np.eye(3)] * 2)[None]}, "`C` must be positive definite on every agent; its least .* -1"),
        ({"theta": -0.1}, r"`theta` must not be negative; got -0\.1\."),
        ({"nu": 0.0}, r"`nu` must be positive; got 0\.0\."),
    ],
)
def test_a_game_that_does_not_fit_together_is_refused(changes: dict[str, Any], sentence: str) -> None:
    """Each fault has its sentence; without a fault there is none."""
    QuadraticGame(**parts_of_a_game())
    with pytest.raises(ValueError, match=sentence):
        QuadraticGame(**parts_of_a_game(**changes))


# --- the online game: what a sample's noise is ---


def noise_at(problem: Any, shard: Any, z: Array, batches: list[Any]) -> Array:
    """Each batch's gradient less the exact one, one per row."""
    x, y = z[: problem.dim_x], z[problem.dim_x :]
    exact = joint(shard, x, y)
    return np.stack([joint(shard, x, y, batch) for batch in batches]) - exact


def samples_of(shard: Any, count: int, seed: int = 0) -> list[Any]:
    """Single samples."""
    generator = np.random.default_rng(seed)
    return [shard.draw(generator, 1) for _ in range(count)]


def assert_mean(values: Array, expected: float | Array) -> None:
    """The mean of independent rows is as expected, up to five standard errors."""
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    assert np.all(np.abs(values.mean(axis=0) - expected) <= 5 * error)


@pytest.mark.parametrize("name", ["online free", "online simplex penalised"])
def test_noise_is_unbiased_and_has_standard_deviation_sigma_everywhere(name: str) -> None:
    """E noise = 0 and E||noise||^2 = sigma^2, near to and far from 0."""
    problem = game(name)
    shard, sigma = problem.local(2), problem.constants().sigma
    assert (problem.samples, shard.samples, sigma) == (None, None, 2.0)
    batches = samples_of(shard, 3000)
    for scale in (0.0, 1.0, 30.0):
        z = scale * np.random.default_rng(8).normal(size=problem.dim_x + problem.dim_y)
        noise = noise_at(problem, shard, z, batches)
        assert_mean(noise, 0.0)
        squares = np.sum(noise**2, axis=1)
        assert_mean(squares, sigma**2)
        # Otherwise the law above would hold of anything.
        assert squares.std() / np.sqrt(len(squares)) < 0.02 * sigma**2


def test_a_batch_of_samples_has_their_mean_gradient() -> None:
    """The gradient of a batch is the mean of those of its samples."""
    problem = game("online free penalised")
    shard, (x, y) = problem.local(0), next(points(problem))
    batch = shard.draw(np.random.default_rng(9), 5)
    singles = [joint(shard, x, y, tuple(part[j : j + 1] for part in batch)) for j in range(5)]
    np.testing.assert_allclose(joint(shard, x, y, batch), np.mean(singles, axis=0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["online free", "online box"])
def test_noise_on_the_same_samples_does_not_cancel_between_points(name: str) -> None:
    """E||noise(z) - noise(z')||^2 is sigma^2 r^2 / (2 d) at a small distance r, and grows with r."""
    problem = game(name)
    size, shard = problem.dim_x + problem.dim_y, problem.local(1)
    z, direction = np.random.default_rng(10).normal(size=(2, size))
    direction /= np.linalg.norm(direction)
    batches = samples_of(shard, 2000)
    here = noise_at(problem, shard, z, batches)
    distances = (0.05, 0.5, 2.0)
    squares = [np.sum((noise_at(problem, shard, z + r * direction, batches) - here) ** 2, axis=1) for r in distances]
    assert_mean(squares[0], problem.sigma**2 * distances[0] ** 2 / (2 * size))
    near, middle, far = (float(square.mean()) for square in squares)
    assert 0 < near < 0.05 * middle < 0.05 * far


@pytest.mark.parametrize("pool", [False, True], ids=["agents", "pooled"])
@pytest.mark.parametrize("name", ["online free", "online ball penalised"])
def test_constants_of_an_online_game_bound_its_smoothness_and_are_nearly_attained(name: str, pool: bool) -> None:
    """E||grad F_i(z; xi) - grad F_i(z'; xi)||^2 <= L^2 ||z - z'||^2, and >= (0.7 L)^2 ||z - z'||^2 somewhere."""
    problem = game(name).pooled() if pool else game(name)
    known, size, cut = problem.constants(), problem.dim_x + problem.dim_y, problem.dim_x
    ratios, generator = [], np.random.default_rng(11)
    for shard in map(problem.local, range(problem.agents)):
        batches = samples_of(shard, 300)
        parts = [hessian(shard, cut, size - cut, batch) for batch in batches[:60]]
        top = np.linalg.eigh(np.mean([H @ H for H in parts], axis=0))[1][:, -1]
        for step in (1e-2 * top, *generator.normal(size=(3, size))):
            changes = []
            for batch in batches:
                there = joint(shard, step[:cut], step[cut:], batch)
                changes.append(np.sum((there - joint(shard, np.zeros(cut), np.zeros(size - cut), batch)) ** 2))
            squares = np.array(changes) / (step @ step)
            assert squares.mean() - 5 * squares.std() / np.sqrt(len(squares)) <= known.L**2
            ratios.append(np.sqrt(squares.mean()))
    assert max(ratios) >= 0.7 * known.L
    assert known.L_full < known.L


def test_noise_adds_its_share_to_the_smoothness() -> None:
    """L^2 = L_full^2 + sigma^2/(2d): a noise of 100 with d = 8 is a smoothness of 25."""
    free = game("online free").forms
    known: Any = OnlineQuadraticGame(free.A, free.B, free.C, free.p, free.q, sigma=100.0).constants()
    assert known.L**2 - known.L_full**2 == pytest.approx(25.0**2)


@pytest.mark.parametrize("name", ["online free", "online ball penalised"])
def test_without_noise_a_pooled_online_game_is_as_smooth_as_the_finite_sum_of_its_agents(name: str) -> None:
    """As sigma goes to 0 the constants become those of the pooled finite sum with one component per agent."""
    problem = game(name)
    parts = [getattr(problem.forms, letter) for letter in "ABCpq"]
    setting = {"constraint": problem.constraint, "theta": problem.penalty.theta}
    online = OnlineQuadraticGame(*parts, sigma=1e-9, **setting).pooled().constants()
    offline = QuadraticGame(*(part[:, None] for part in parts), **setting).pooled().constants()
    for one in ("L", "mu", "L_full"):
        assert getattr(online, one) == pytest.approx(getattr(offline, one), rel=1e-12)
    assert online.L_full is not None
    assert 1.01 * online.L_full < online.L


@pytest.mark.parametrize("name", ["online free", "online simplex penalised"])
def test_samples_of_a_pooled_online_game_come_from_all_agents_alike(name: str) -> None:
    """The gradient is unbiased, and its mean square at the start is the sigma^2 that the constants claim."""
    problem = game(name).pooled()
    x, y = problem.start()
    noise = noise_at(problem, problem.local(0), np.concatenate([x, y]), samples_of(problem.local(0), 3000))
    assert_mean(noise, 0.0)
    assert_mean(np.sum(noise**2, axis=1), problem.constants().sigma ** 2)
    assert problem.constants().sigma > game(name).sigma


# --- robust logistic regression ---

SCALINGS = ("balanced", "paper")
ROWS, COLUMNS, AGENTS = 47, 6, 5
OWN = ROWS // AGENTS
TOTAL = OWN * AGENTS


@functools.cache
def rows() -> tuple[Any, Array]:
    """A sparse matrix with an empty row, and labels."""
    generator = np.random.default_rng(20)
    dense = generator.normal(size=(ROWS, COLUMNS)) * (generator.uniform(size=(ROWS, COLUMNS)) < 0.5)
    dense[7] = 0
    return sparse.csr_array(dense), np.where(generator.uniform(size=ROWS) < 0.4, 1.0, -1.0)


@functools.cache
def regression(scaling: str, theta: float = 1e-2, agents: int = AGENTS) -> RobustLogisticRegression:
    """The regression on those rows."""
    return RobustLogisticRegression(*rows(), agents, scaling=scaling, theta=theta)


def losses(x: Array) -> Array:
    """log(1 + exp(-b a'x)) of the rows in use, from the definition."""
    features, labels = rows()
    margins: Array = labels[:TOTAL] * (features.toarray()[:TOTAL] @ x)
    return np.log1p(np.exp(-margins))


def penalty(x: Array, theta: float, nu: float = 10.0) -> float:
    """theta sum nu x^2 / (1 + nu x^2), from the definition."""
    return theta * float(np.sum(nu * x**2 / (1 + nu * x**2)))


def classifiers(*scales: float) -> list[Array]:
    """A random x of each size."""
    generator = np.random.default_rng(21)
    return [scale * generator.normal(size=COLUMNS) for scale in scales]


@pytest.mark.parametrize("scaling", SCALINGS)
def test_the_regression_is_the_formula_of_its_docstring(scaling: str) -> None:
    """f_i = (r/n) sum_j y_ij l_ij - ||y - r/N||^2/2 + g, and f is the mean of the f_i."""
    problem = regression(scaling)
    r = 1.0 if scaling == "paper" else np.sqrt(TOTAL)
    for x, y in points_of(problem):
        own = (y * losses(x)).reshape(AGENTS, OWN).sum(axis=1)
        expected = r / OWN * own - np.sum((y - r / TOTAL) ** 2) / 2 + penalty(x, 1e-2)
        got = [problem.local(i).value(x, y) for i in range(AGENTS)]
        np.testing.assert_allclose(got, expected, rtol=1e-12)
        assert problem.value(x, y) == pytest.approx(np.mean(expected), rel=1e-12)


def points_of(problem: RobustLogisticRegression) -> Iterator[tuple[Array, Array]]:
    """Points (x, y) of several sizes, y feasible."""
    generator = np.random.default_rng(22)
    for x in classifiers(0.1, 1.0, 3.0):
        yield x, feasible(problem.constraint, problem.dim_y, generator)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_gradients_of_the_regression_are_derivatives_of_values(scaling: str) -> None:
    """The gradient is that of central differences to 1e-6 of its size, for f and for every f_i."""
    problem: Any = regression(scaling)
    for x, y in points_of(problem):
        for part in (problem, *map(problem.local, range(AGENTS))):
            for exact, numeric in zip(part.gradient(x, y), numeric_gradient(part, x, y), strict=True):
                np.testing.assert_allclose(exact, numeric, rtol=0, atol=1e-6 * np.abs(exact).max())


@pytest.mark.parametrize("scaling", SCALINGS)
def test_component_gradients_of_the_regression_average_to_the_agents_and_theirs_to_the_whole(scaling: str) -> None:
    """grad f_i = mean of grad F_ij, grad f = mean of grad f_i; repeated samples count as often as they occur."""
    problem = regression(scaling)
    for x, y in points_of(problem):
        agents = []
        for shard in map(problem.local, range(AGENTS)):
            parts = [joint(shard, x, y, np.array([j])) for j in range(OWN)]
            agents.append(joint(shard, x, y))
            np.testing.assert_allclose(np.mean(parts, axis=0), agents[-1], rtol=0, atol=1e-13 * problem.radius)
            np.testing.assert_allclose(joint(shard, x, y, np.array([3, 3])), parts[3], rtol=1e-13)
            mixed = joint(shard, x, y, np.array([3, 8, 3]))
            np.testing.assert_allclose(mixed, (2 * parts[3] + parts[8]) / 3, rtol=0, atol=1e-13 * problem.radius)
            assert np.ptp(parts, axis=0).max() > 0.1 * problem.radius
        np.testing.assert_allclose(np.mean(agents, axis=0), joint(problem, x, y), rtol=0, atol=1e-13)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_a_batch_gradient_reads_only_its_own_rows(scaling: str) -> None:
    """With NaN in all other rows of the shard, the gradient of a batch keeps its bits."""
    x, y = next(points_of(regression(scaling)))
    shard, batch = regression(scaling).local(2), np.array([4, 1, 4])
    before = joint(shard, x, y, batch)
    for j in set(range(OWN)) - set(batch.tolist()):
        shard.features.data[shard.features.indptr[j] : shard.features.indptr[j + 1]] = np.nan
    np.testing.assert_array_equal(joint(shard, x, y, batch), before)
    assert np.isfinite(before).all()
    with np.errstate(invalid="ignore"):
        assert not np.isfinite(joint(shard, x, y)).all()


def test_shards_are_a_partition_of_the_rows_in_use() -> None:
    """Agent i holds rows i n to (i+1) n with their labels' signs, and nothing else; the surplus is cut."""
    features, labels = rows()
    problem = regression("balanced")
    assert (problem.samples, problem.dim_x, problem.dim_y) == (OWN, COLUMNS, TOTAL)
    shards = [problem.local(i) for i in range(AGENTS)]
    for i, shard in enumerate(shards):
        own = features[i * OWN : (i + 1) * OWN]
        assert (shard.samples, shard.features.shape, shard.features.nnz) == (OWN, own.shape, own.nnz)
    stacked = np.vstack([shard.features.toarray() for shard in shards])
    np.testing.assert_array_equal(stacked, (labels[:, None] * features.toarray())[:TOTAL])


@pytest.mark.parametrize("scaling", SCALINGS)
def test_an_agent_moves_only_its_own_weights_by_losses(scaling: str) -> None:
    """grad_y f_i is r/N - y outside the agent's coordinates, and larger by (r/n) l_ij inside."""
    problem = regression(scaling)
    x, y = next(points_of(problem))
    for i in range(AGENTS):
        lift = problem.local(i).gradient(x, y)[1] - (problem.radius / TOTAL - y)
        expected = np.zeros(TOTAL)
        expected[i * OWN : (i + 1) * OWN] = problem.radius / OWN * losses(x)[i * OWN : (i + 1) * OWN]
        np.testing.assert_allclose(lift, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_a_pooled_regression_is_the_same_problem(scaling: str) -> None:
    """One agent with all rows in use: the same f, gradient, y*, P and components."""
    problem, pooled = regression(scaling), regression(scaling).pooled()
    assert (pooled.agents, pooled.samples, pooled.scaling) == (1, TOTAL, scaling)
    for x, y in points_of(problem):
        assert pooled.local(0).value(x, y) == pytest.approx(problem.value(x, y), rel=1e-13)
        np.testing.assert_allclose(joint(pooled.local(0), x, y), joint(problem, x, y), rtol=0, atol=1e-13)
        assert pooled.primal(x) == problem.primal(x)
        np.testing.assert_array_equal(pooled.best_response(x), problem.best_response(x))
        apart = [joint(problem.local(i), x, y, [j])[:COLUMNS] for i in range(AGENTS) for j in range(OWN)]
        together = [joint(pooled.local(0), x, y, [j])[:COLUMNS] for j in range(TOTAL)]
        np.testing.assert_allclose(together, apart, rtol=0, atol=1e-13)


def test_the_primal_is_mean_plus_half_the_variance_where_nothing_clips() -> None:
    """N P_paper(x) = mean(l) + Var(l)/2 + N g(x) at small x, and log(2) at 0."""
    problem = regression("paper")
    assert TOTAL * problem.primal(np.zeros(COLUMNS)) == pytest.approx(np.log(2), rel=1e-13)
    for x in classifiers(0.01, 0.1, 0.3):
        assert problem.best_response(x).min() > 0
        expected = losses(x).mean() + losses(x).var() / 2 + TOTAL * penalty(x, 1e-2)
        assert TOTAL * problem.primal(x) == pytest.approx(expected, rel=1e-12)


def test_large_classifiers_clip_weights() -> None:
    """At large x some weights are 0, and the formula without clipping is wrong: no weights attain it."""
    problem = regression("paper")
    for x in classifiers(3.0, 30.0):
        best = problem.best_response(x)
        assert 0 < np.count_nonzero(best) < TOTAL
        assert best.min() == 0
        unclipped = losses(x).mean() + losses(x).var() / 2 + TOTAL * penalty(x, 1e-2)
        assert TOTAL * problem.primal(x) < 0.99 * unclipped


def test_balanced_is_the_paper_problem_in_other_units() -> None:
    """f_balanced(x, sqrt(N) y) = N f_paper(x, y) where theta is N times the paper's; gradients by the chain rule."""
    theta, root = 1e-3, np.sqrt(TOTAL)
    paper: Any = regression("paper", theta)
    balanced: Any = regression("balanced", TOTAL * theta)
    for x, y in points_of(paper):
        assert balanced.value(x, root * y) == pytest.approx(TOTAL * paper.value(x, y), rel=1e-12)
        assert balanced.primal(x) == pytest.approx(TOTAL * paper.primal(x), rel=1e-12)
        np.testing.assert_allclose(balanced.best_response(x), root * paper.best_response(x), rtol=0, atol=1e-13)
        np.testing.assert_allclose(balanced.primal_gradient(x), TOTAL * paper.primal_gradient(x), rtol=1e-10)
        for one, other in zip((balanced, balanced.local(3)), (paper, paper.local(3)), strict=True):
            (bx, by), (px, py) = one.gradient(x, root * y), other.gradient(x, y)
            np.testing.assert_allclose(bx, TOTAL * px, rtol=0, atol=1e-11)
            np.testing.assert_allclose(by, root * py, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("scale", [0.0, 0.3, 3.0, 30.0])
def test_best_responses_of_the_regression_are_maxima(scaling: str, scale: float) -> None:
    """y*(x) is feasible, solves the variational inequality, and is what two other maximisers find."""
    problem = regression(scaling)
    (x,) = classifiers(scale)
    best, r = problem.best_response(x), problem.radius
    assert problem.constraint.contains(best)
    slope = problem.gradient(x, best)[1]
    assert reach(problem.constraint, slope) - slope @ best <= 1e-12 * r**2
    found = maximum_by_sqp(problem, x, np.random.default_rng(23))
    np.testing.assert_allclose(best, found, rtol=0, atol=1e-5 * r)
    # The stationary point of the Lagrange function, with the multiplier that makes the sum right.
    target = r / TOTAL * (1 + losses(x))
    tau = brentq(lambda tau: np.maximum(target - tau, 0).sum() - r, target.min() - r, target.max(), xtol=1e-15)
    np.testing.assert_allclose(best, np.maximum(target - tau, 0), rtol=0, atol=1e-12 * r)


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("scale", [0.3, 3.0, 30.0])
def test_the_primal_of_the_regression_is_the_largest_value(scaling: str, scale: float) -> None:
    """P(x) = f(x, y*(x)) >= f(x, y) at every feasible y, with and without clipping."""
    problem, generator = regression(scaling), np.random.default_rng(24)
    (x,) = classifiers(scale)
    P, best = problem.primal(x), problem.best_response(x)
    assert pytest.approx(problem.value(x, best), rel=1e-14) == P
    for weight in (1.0, 0.1, 0.01):
        for _ in range(50):
            y = (1 - weight) * best + weight * feasible(problem.constraint, TOTAL, generator)
            assert problem.value(x, y) < P
    assert problem.primal_bound() <= P


@pytest.mark.parametrize("scaling", SCALINGS)
def test_primal_gradients_of_the_regression_are_derivatives_of_the_primal(scaling: str) -> None:
    """grad P is that of central differences of P to 1e-6 of its size, with and without clipping."""
    problem = regression(scaling)
    for x in classifiers(0.1, 1.0, 10.0):
        slope = problem.primal_gradient(x)
        np.testing.assert_allclose(slope, derivative(problem.primal, x), rtol=0, atol=1e-6 * np.abs(slope).max())


def test_the_regression_starts_at_uniform_weights() -> None:
    """x = 0, and y = y*(0) is uniform and feasible."""
    for problem in map(regression, SCALINGS):
        x, y = problem.start()
        np.testing.assert_array_equal(x, np.zeros(COLUMNS))
        assert problem.constraint.contains(y)
        np.testing.assert_allclose(y, problem.best_response(x), rtol=1e-12)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_extreme_classifiers_have_finite_values_and_gradients(scaling: str) -> None:
    """At 1e3 times a direction and beyond, losses are -b a'x and nothing overflows."""
    problem = regression(scaling)
    for x in classifiers(1e3, 1e6):
        y = problem.best_response(x)
        linear = np.maximum(-rows()[1][:TOTAL] * (rows()[0].toarray()[:TOTAL] @ x), 0)
        expected = problem.radius / TOTAL * y @ linear - np.sum((y - problem.radius / TOTAL) ** 2) / 2
        assert problem.value(x, y) == pytest.approx(expected, rel=1e-2)
        assert np.isfinite(problem.primal(x))
        for part in (problem, problem.local(0)):
            assert np.isfinite(joint(part, x, y)).all()
        assert np.isfinite(joint(problem.local(0), x, y, np.array([0, 7]))).all()


def test_accuracy_is_the_share_of_right_signs() -> None:
    """x = 1 is right about three of the four rows in use, -x about one; the fifth row is cut."""
    features = np.array([[2.0], [-1.0], [0.5], [3.0], [1.0]])
    problem = RobustLogisticRegression(features, [1, -1, -1, 1, -1], 2)
    assert problem.accuracy(np.array([1.0])) == 0.75
    assert problem.accuracy(np.array([-1.0])) == 0.25


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("weight", [1.5, 4.0])
def test_constants_of_the_regression_bound_its_smoothness(scaling: str, weight: float) -> None:
    """Between points whose weights are at most `weight` times uniform, L, L_full and mu are bounds, and not idle."""
    problem, generator = regression(scaling), np.random.default_rng(25)
    known: Any = problem.constants(weight)
    uniform = problem.radius / TOTAL
    single, full = [0.0], [0.0]
    for shard in map(problem.local, range(AGENTS)):
        # The direction in x that bends most, and the weights that it moves.
        steep = np.linalg.svd(shard.features.toarray())[2][0]
        for direction in (steep, *generator.normal(size=(6, COLUMNS))):
            x = generator.normal(size=COLUMNS) * generator.choice([0.0, 1.0])
            step = 1e-2 * direction
            y, other = uniform * generator.uniform(0, weight, size=(2, TOTAL))
            moved = np.full(TOTAL, uniform * weight)
            moved[shard.offset : shard.offset + OWN] -= np.abs(shard.features @ step) * min(1.0, problem.radius)
            for first, second in ((y, other), (y, y), (np.full(TOTAL, uniform * weight), moved)):
                length = np.sqrt(step @ step + np.sum((second - first) ** 2))
                here = [joint(shard, x, first, np.array([j])) for j in range(OWN)]
                there = [joint(shard, x + step, second, np.array([j])) for j in range(OWN)]
                change = np.subtract(there, here)
                single.append(np.sqrt(np.mean(np.sum(change**2, axis=1))) / length)
                full.append(float(np.linalg.norm(change.mean(axis=0))) / length)
    assert known.L / 2.5 <= max(single) <= known.L
    assert known.L_full / 2.5 <= max(full) <= known.L_full
    assert known.mu == 1.0


def test_constants_of_a_single_heavy_sample_are_sharp() -> None:
    """One row a = 10, small weights, a hopeless x: the Hessian is [[0, -10], [-10, -1]], and L is just above."""
    problem = RobustLogisticRegression([[10.0]], [1.0], 1, theta=0.0)
    known = problem.constants(weight=0.01)
    x, y, v = np.array([-5.0]), np.array([0.005]), np.array([1.0, 1.0512492197250393])
    step = 1e-3 * v / np.linalg.norm(v)
    change = joint(problem, x + step[:1], y + step[1:]) - joint(problem, x, y)
    bend = float(np.linalg.norm(change) / np.linalg.norm(step))
    assert bend == pytest.approx((1 + np.sqrt(401)) / 2, rel=1e-9)
    assert bend <= known.L == pytest.approx(bend, rel=0.02)
    assert known.L_full == pytest.approx(known.L)


@pytest.mark.parametrize(
    "features",
    [np.zeros((6, 4)), np.array([[1.0, -1, 0, 0]] * 4), np.array([[1.0, -1, 1, -1], [-1, 1, -1, 1]] * 3)],
    ids=["zero", "row sums 0", "all sums 0"],
)
def test_constants_exist_for_centred_and_empty_features(features: Array) -> None:
    """L_full follows from the largest singular value s alone, also where the vector 1 is in the kernel."""
    N, s = len(features), float(np.linalg.norm(features, 2))
    signs = np.resize([1.0, -1.0], N)  # which the loss takes out again
    rows = signs[:, None] * features
    known = RobustLogisticRegression(rows, signs, 1, scaling="paper", theta=0.0).constants(weight=1.0)
    blocks = [[s**2 / (4 * N**2), s / N], [s / N, 1.0]]
    assert known.L_full == pytest.approx(np.linalg.norm(blocks, 2), rel=1e-12)


def test_the_data_of_the_caller_stay_as_they_are() -> None:
    """Integers in unsorted columns, all read-only, are read rightly; changing a caller's own later changes nothing."""
    entries, columns, starts = np.array([1, 2, 3, 4]), np.array([2, 0, 1, 0]), np.array([0, 2, 4])
    features, labels = sparse.csr_array((entries, columns, starts), shape=(2, 3)), np.array([1.0, -1.0])
    dense = np.array([[2.0, 0, 1], [4, 3, 0]])
    for part in (features.data, features.indices, features.indptr):
        part.flags.writeable = False
    problem = RobustLogisticRegression(features, labels, 1)
    labels[0] = np.nan
    np.testing.assert_array_equal(features.toarray(), dense)
    np.testing.assert_array_equal(problem.local(0).features.toarray(), dense * [[1], [-1]])


def with_entry(value: float) -> Any:
    """The rows with one entry of row 9 replaced."""
    features = rows()[0].copy()
    features.data[features.indptr[9]] = value
    return features


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"labels": np.ones(ROWS - 1)},
            r"`labels` must have one entry per row of `features`; got shape \(46,\) for 47 rows\.",
        ),
        ({"features": with_entry(np.nan)}, "`features` must be finite; row 9 holds NaN or infinity"),
        ({"features": with_entry(-np.inf)}, "`features` must be finite; row 9 holds NaN or infinity"),
        ({"labels": np.where(np.arange(ROWS) == 4, 0.0, 1.0)}, r"`labels` must be -1 or \+1; entry 4 is 0\.0"),
        ({"labels": np.where(np.arange(ROWS) == 4, np.nan, 1.0)}, r"`labels` must be -1 or \+1; entry 4 is nan"),
        ({"features": np.ones(ROWS)}, r"`features` must be a matrix with at least one column; got shape \(47,\)"),
        ({"agents": ROWS + 1}, "`agents` must be at most the 47 samples; got 48"),
        ({"agents": 0}, "`agents` must be at least 1; got 0"),
        ({"scaling": "papr"}, r"`scaling` must be one of 'balanced', 'paper'; got 'papr'\. Did you mean 'paper'\?"),
        ({"theta": -1e-3}, r"`theta` must not be negative; got -0\.001"),
        ({"theta": np.inf}, "`theta` must be finite; got inf"),
        ({"nu": 0.0}, r"`nu` must be positive; got 0\.0"),
    ],
)
def test_unusable_data_and_settings_are_refused(changes: dict[str, Any], sentence: str) -> None:
    """Each fault has its sentence, which says where it is."""
    features, labels = rows()
    with pytest.raises(ValueError, match=sentence):
        RobustLogisticRegression(**{"features": features, "labels": labels, "agents": AGENTS, **changes})


def test_as_many_agents_as_samples_are_allowed() -> None:
    """Then every agent owns one row, and its gradient is that of its one component."""
    problem = regression("balanced", agents=ROWS)
    x, y = next(points_of(problem))
    assert problem.samples == 1
    np.testing.assert_array_equal(joint(problem.local(46), x, y, np.array([0])), joint(problem.local(46), x, y))


# --- the same on the data of the paper ---


@pytest.fixture(scope="module")
def a9a() -> tuple[Any, Array]:
    """The a9a data, from $RAYDREAM_DATA or the folder of shared data beside the repository."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("RAYDREAM_DATA") or beside)
    if not any((folder / f"a9a{ending}").is_file() for ending in ("", ".bz2", ".xz", ".gz")):
        pytest.skip("there is no a9a here; set RAYDREAM_DATA to a folder with it")
    from raydream.data import load

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAYDREAM_DATA", str(folder))
        return load("a9a")


def test_the_primal_of_a9a_at_zero_is_log_2_over_n(a9a: tuple[Any, Array]) -> None:
    """P_paper(0) = log(2)/N, with N = 32560 for 8 agents (one row is cut)."""
    problem = RobustLogisticRegression(*a9a, 8, scaling="paper", theta=1e-5)
    assert (problem.dim_x, problem.dim_y) == (123, 32560)
    assert problem.primal(np.zeros(123)) == pytest.approx(np.log(2) / 32560, rel=1e-11)
    x = 0.02 * np.random.default_rng(30).normal(size=123)
    l = np.log1p(np.exp(-problem.labels * (problem.features @ x)))  # noqa: E741
    assert problem.best_response(x).min() > 0
    expected = l.mean() + l.var() / 2 + 32560 * penalty(x, 1e-5)
    assert 32560 * problem.primal(x) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_gradients_on_a9a_are_derivatives_and_means(a9a: tuple[Any, Array], scaling: str) -> None:
    """Along random directions in x, y, and x of P, to 1e-6; the mean over all single components is the shard's."""
    problem: Any = RobustLogisticRegression(*a9a, 32, scaling=scaling)
    generator = np.random.default_rng(31)
    x = 0.3 * generator.normal(size=123)
    y = feasible(problem.constraint, problem.dim_y, generator)
    shard, h = problem.local(5), 1e-4
    for function in (problem, shard):
        gx, gy = function.gradient(x, y)
        u = generator.normal(size=123) + gx / np.linalg.norm(gx)
        v = generator.normal(size=problem.dim_y) / 100 + gy / np.linalg.norm(gy)
        slope = (function.value(x + h * u, y) - function.value(x - h * u, y)) / (2 * h)
        assert gx @ u == pytest.approx(slope, rel=1e-6)
        slope = (function.value(x, y + h * v) - function.value(x, y - h * v)) / (2 * h)
        assert gy @ v == pytest.approx(slope, rel=1e-6)
    gP = problem.primal_gradient(x)
    u = gP / np.linalg.norm(gP)
    assert gP @ u == pytest.approx((problem.primal(x + h * u) - problem.primal(x - h * u)) / (2 * h), rel=1e-6)
    total = np.zeros(123 + problem.dim_y)
    for j in range(shard.samples):
        total += joint(shard, x, y, np.array([j]))
    exact = joint(shard, x, y)
    np.testing.assert_allclose(total / shard.samples, exact, rtol=0, atol=1e-11 * np.abs(exact).max())


# --- the inner maximiser ---


def planted(constraint: Constraint, condition: float, size: int, seed: int) -> tuple[Array, Array, Array]:
    """C, q and the maximiser of q'y - y'Cy/2 over the set: q = C y* + an outward normal of the set at y*."""
    generator = np.random.default_rng(seed)
    rotation = np.linalg.qr(generator.normal(size=(size, size)))[0]
    C = (rotation * np.geomspace(1.0, condition, size)) @ rotation.T
    best, normal = feasible(constraint, size, generator), np.zeros(size)
    match constraint:
        case Ball():
            best *= constraint.radius / np.linalg.norm(best)
            normal = generator.uniform(0, 3) * best
        case Simplex():
            best[size // 2 :] = 0
            best *= constraint.radius / best.sum()
            normal[size // 2 :] = -generator.uniform(0, 3, size=size - size // 2)
            normal += generator.normal()
        case Box():
            best[0], best[-1] = float(np.max(constraint.high)), float(np.min(constraint.low))
            normal[0], normal[-1] = generator.uniform(0, 3), -generator.uniform(0, 3)
    return C, C @ best + normal, best


@settings(deadline=None, max_examples=60)
@given(
    constraint=st.sampled_from([Everything(), Ball(1.3), Simplex(2.0), Box(-0.5, 0.7)]),
    exponent=st.floats(0, 4),
    size=st.integers(2, 8),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_maximiser_finds_planted_maxima(constraint: Constraint, exponent: float, size: int, seed: int) -> None:
    """Strongly concave quadratics of condition numbers 1 to 1e4 are solved to 1e-10."""
    C, q, best = planted(constraint, 10.0**exponent, size, seed)
    found = maximise(lambda y: q - C @ y, constraint.project, np.zeros(size))
    np.testing.assert_allclose(found, best, rtol=0, atol=1e-10)


def test_the_maximiser_leaves_its_start_alone_and_may_stay_there() -> None:
    """The start is not written to; a start at the maximum is returned."""
    start = np.array([0.25, -0.5])
    found = maximise(lambda y: start - y, Everything().project, start)
    np.testing.assert_array_equal(found, [0.25, -0.5])
    maximise(lambda y: -y, Everything().project, start)
    np.testing.assert_array_equal(start, [0.25, -0.5])


def test_an_unbounded_objective_has_no_maximum() -> None:
    """A linear function on the whole space gets a sentence with the remedy."""
    sentence = r"f\(x, \.\) has no maximum on Y: it grows as y goes beyond 1e\+15. Give .* `best_response\(x\)`"
    with pytest.raises(InnerMaximumError, match=sentence):
        maximise(lambda y: np.ones(3), Everything().project, np.zeros(3), iterations=200)


# --- a problem of one's own ---

SLOPES = (np.array([[1.0, 2.0], [0.0, 1.0], [3.0, -1.0]]), np.array([[1.0, 0.0], [2.0, -1.0], [-1.0, 1.0]]))
COUPLING = (SLOPES[0] + SLOPES[1]) / 2


class OwnShard:
    """f_i = |x|^2/2 + x'B_i y - (i + 1)|y - 1|^2/2, and one sample."""

    samples = 1

    def __init__(self, i: int) -> None:
        self.i = i

    def value(self, x: Array, y: Array) -> float:
        return float(x @ x / 2 + x @ SLOPES[self.i] @ y - (self.i + 1) * np.sum((y - 1) ** 2) / 2)

    def gradient(self, x: Array, y: Array, batch: Any = None) -> tuple[Array, Array]:
        return x + SLOPES[self.i] @ y, SLOPES[self.i].T @ x - (self.i + 1) * (y - 1)


class OwnProblem:
    """The least that a problem must have: f = |x|^2/2 + x'By - (3/4)|y - 1|^2, so that y*(x) = 1 + B'x/1.5."""

    agents, dim_x, dim_y = 2, 3, 2

    def local(self, i: int) -> OwnShard:
        return OwnShard(i)


class OwnBoundedProblem(OwnProblem):
    """The same on a ball, in which y*(x) is the projection of the free one."""

    constraint = Ball(1.0)


def test_a_minimal_problem_is_completed() -> None:
    """f, its gradient, y*, P, grad P, the start and the samples agree with closed forms."""
    problem: Any = complete(OwnProblem())
    assert (problem.agents, problem.dim_x, problem.dim_y, problem.samples) == (2, 3, 2, 1)
    assert isinstance(problem.constraint, Everything)
    for part, zeros in zip(problem.start(), (np.zeros(3), np.zeros(2)), strict=True):
        np.testing.assert_array_equal(part, zeros)
    for x, y in points(problem, seed=40):
        pull = COUPLING.T @ x
        assert problem.value(x, y) == pytest.approx(x @ x / 2 + pull @ y - 0.75 * np.sum((y - 1) ** 2), rel=1e-12)
        gx, gy = problem.gradient(x, y)
        np.testing.assert_allclose(gx, x + COUPLING @ y, rtol=0, atol=1e-12)
        np.testing.assert_allclose(gy, pull - 1.5 * (y - 1), rtol=0, atol=1e-12)
        np.testing.assert_allclose(problem.best_response(x), 1 + pull / 1.5, rtol=0, atol=1e-11)
        P, slope = x @ x / 2 + pull.sum() + pull @ pull / 3, x + COUPLING @ (1 + pull / 1.5)
        assert problem.primal(x) == pytest.approx(P, rel=1e-11)
        np.testing.assert_allclose(problem.primal_gradient(x), slope, rtol=0, atol=1e-10)
        both = problem.primal_and_gradient(x)
        assert both[0] == pytest.approx(P, rel=1e-11)
        np.testing.assert_allclose(both[1], slope, rtol=0, atol=1e-10)


def test_a_completed_problem_keeps_its_constraint() -> None:
    """y*(x) is the point of the ball nearest to the free maximum, since the curvature in y is the same all round."""
    problem: Any = complete(OwnBoundedProblem())
    x = np.array([1.0, -2.0, 0.5])
    free = 1 + COUPLING.T @ x / 1.5
    assert np.linalg.norm(free) > 1
    np.testing.assert_allclose(problem.best_response(x), free / np.linalg.norm(free), rtol=0, atol=1e-10)
    assert problem.constraint == Ball(1.0)


@pytest.mark.parametrize(
    "name", ["start", "value", "gradient", "best_response", "primal", "primal_gradient", "primal_and_gradient"]
)
def test_what_a_problem_defines_itself_is_used(name: str) -> None:
    """The completed problem hands on the problem's own part, whatever it returns."""
    own, sentinel = OwnProblem(), object()
    setattr(own, name, lambda *points: sentinel)
    assert getattr(complete(own), name)() is sentinel
    assert getattr(complete(own), "local") == own.local  # noqa: B009


def test_own_parts_serve_the_derived_ones() -> None:
    """P is taken at the problem's own y*; its own P and its own grad P are each used when both are asked for."""
    x, sentinel = np.array([1.0, 0.0, 2.0]), np.array([7.0, 7.0])
    responding: Any = OwnProblem()
    responding.best_response = lambda x: sentinel
    problem: Any = complete(responding)
    assert problem.primal(x) == problem.value(x, sentinel)
    np.testing.assert_array_equal(problem.primal_gradient(x), x + COUPLING @ sentinel)
    for part, place in (("primal", 0), ("primal_gradient", 1)):
        own = OwnProblem()
        setattr(own, part, lambda x: sentinel)
        both = complete(own).primal_and_gradient(x)  # type: ignore[attr-defined]
        assert both[place] is sentinel
        assert both[1 - place] is not sentinel


def test_samples_of_a_problem_are_its_own_word_or_its_agents() -> None:
    """`samples` of the problem wins, None included; else it is what agent 0 says."""
    own: Any = OwnProblem()
    own.samples = None
    assert complete(own).samples is None
    assert complete(OwnProblem()).samples == 1


def test_extra_parts_of_a_completed_problem_stay_reachable() -> None:
    """What only the problem knows is asked of the problem; what nobody knows is missing."""
    own: Any = OwnProblem()
    own.constants = lambda: "known"
    problem: Any = complete(own)
    assert problem.constants() == "known"
    assert not hasattr(problem, "pooled")


@pytest.mark.parametrize("name", ["agents", "dim_x", "dim_y", "local"])
def test_a_problem_without_a_required_part_is_refused(name: str) -> None:
    """The sentence names the missing part."""
    required = {"agents": 2, "dim_x": 3, "dim_y": 2, "local": OwnShard}
    incomplete = type("Incomplete", (), {key: value for key, value in required.items() if key != name})()
    sentence = rf"`problem` must have `agents`, `dim_x`, `dim_y`, `local`; Incomplete has no `{name}`\."
    with pytest.raises(TypeError, match=sentence):
        complete(incomplete)


@pytest.mark.parametrize("problem", [game("sum ball"), game("online free"), regression("paper")])
def test_a_problem_with_every_part_is_returned_as_it_is(problem: Any) -> None:
    """There is nothing to derive, so nothing is wrapped; what is wrapped once is not wrapped again."""
    assert complete(problem) is problem
    wrapped = complete(OwnProblem())
    assert isinstance(wrapped, Completed)
    assert complete(wrapped) is wrapped


@pytest.mark.parametrize(
    "problem", [game("sum simplex"), game("online box penalised"), regression("balanced"), complete(OwnProblem())]
)
def test_problems_and_shards_survive_pickling(problem: Any) -> None:
    """A copy that went through bytes has the same P and the same local gradients, to the bit."""
    copy, x = pickle.loads(pickle.dumps(problem)), np.ones(problem.dim_x)
    shard = pickle.loads(pickle.dumps(problem.local(1)))
    y = problem.best_response(x)
    assert copy.primal(x) == problem.primal(x)
    np.testing.assert_array_equal(joint(shard, x, y), joint(problem.local(1), x, y))
