"""The laws of a minimax problem, for every problem of the library."""

import functools
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from problems.test_problems import derivative, feasible, joint, maximum_by_sqp, numeric_gradient, reach

import raydream as rd
from raydream.constraints import Everything
from raydream.errors import InnerMaximumError
from raydream.problems import (
    AUC,
    WGAN,
    AdversarialTraining,
    FairClassification,
    GroupDRO,
    PLGame,
    PolicyEvaluation,
    RobustLeastSquares,
    RobustLogisticRegression,
    RobustNonconvexRegression,
    RobustRegression,
)
from raydream.types import Array

AGENTS = 3
CLASSES = np.repeat(np.arange(3.0), 10)[np.random.default_rng(1).permutation(30)]


def many_classes() -> tuple[Array, Array]:
    """Thirty dense rows of three classes."""
    centres = np.random.default_rng(0).normal(size=(3, 4))
    return centres[CLASSES.astype(int)] + np.random.default_rng(2).normal(size=(30, 4)), CLASSES


def unequal(classes: bool = False, **options: Any) -> Any:
    """Forty-two rows, of which three agents own 5, 12 and 25."""
    owners = np.repeat([0, 1, 2], [5, 12, 25])[np.random.default_rng(3).permutation(42)]
    rows, labels = rd.data.synthetic(42, 4, density=0.6, seed=1)
    return rd.data.shards((rows, np.arange(42) % 3 if classes else labels), by=owners, **options)


MAKERS = {
    "auc, unequal": lambda: AUC(unequal(), theta=0.02),
    "fair, unequal": lambda: FairClassification(unequal(), lam=0.3, theta=0.02),
    "fair, three classes, unequal": lambda: FairClassification(unequal(True), lam=0.3, held_out=0.0),
    "group dro, unequal": lambda: GroupDRO(unequal(), lam=0.4, theta=0.02),
    "adversarial, unequal": lambda: AdversarialTraining(unequal(test=0.1), lam=2.0, size=0.3),
    "adversarial, tanh, unequal": lambda: AdversarialTraining(unequal(), model="tanh", hidden=2, lam=2.0, size=0.003),
    "robust regression, unequal": lambda: RobustRegression(unequal()),
    "robust nonconvex regression, unequal": lambda: RobustNonconvexRegression(unequal(), lam=1.0),
    "robust least squares, unequal": lambda: RobustLeastSquares(unequal(), held_out=0.0),
    "robust logistic, unequal": lambda: RobustLogisticRegression(unequal(), theta=0.02),
    "robust logistic, paper, unequal": lambda: RobustLogisticRegression(unequal(), scaling="paper"),
    "auc": lambda: AUC.random(AGENTS, samples=12, features=4, theta=0.02),
    "fair": lambda: FairClassification.random(AGENTS, samples=12, features=4, theta=0.02),
    "fair, three classes": lambda: FairClassification(*many_classes(), AGENTS, theta=0.02),
    "group dro": lambda: GroupDRO.random(AGENTS, samples=12, features=4, lam=0.3),
    "group dro, by class": lambda: GroupDRO.random(AGENTS, samples=12, features=4, groups="labels", lam=0.3),
    "group dro, groups given": lambda: GroupDRO(*many_classes(), AGENTS, groups=np.arange(30) % 4, lam=0.3),
    "adversarial": lambda: AdversarialTraining.random(AGENTS, samples=12, features=4, lam=2.0),
    "adversarial, ball": lambda: AdversarialTraining.random(
        AGENTS, samples=12, features=4, lam=2.0, perturbation="ball"
    ),
    "adversarial, tanh": lambda: AdversarialTraining.random(
        AGENTS, samples=12, features=3, model="tanh", hidden=2, lam=2.0, size=0.003
    ),
    "policy evaluation": lambda: PolicyEvaluation.random(AGENTS, 30, states=8, features=3),
    "robust regression": lambda: RobustRegression.random(AGENTS, samples=12, features=4),
    "robust regression, ball": lambda: RobustRegression.random(AGENTS, samples=12, features=4, ball=0.1),
    "robust nonconvex regression": lambda: RobustNonconvexRegression.random(AGENTS, samples=12, features=4, lam=1.0),
    "robust nonconvex regression, ball": lambda: RobustNonconvexRegression.random(
        AGENTS, samples=12, features=4, lam=1.0, theta=0.01, ball=0.05
    ),
    "robust least squares": lambda: RobustLeastSquares.random(AGENTS, samples=6, features=4),
    "wgan": lambda: WGAN.random(AGENTS, 10),
    "pl game": lambda: PLGame.random(AGENTS, 8, 4, 5, rank=2),
}
NAMES = sorted(MAKERS)
PERTURBED = [name for name in NAMES if name.startswith(("adversarial", "robust regression", "robust nonconvex"))]


@functools.cache
def problem_of(name: str) -> Any:
    """The problem that the name describes."""
    return MAKERS[name]()


def points(problem: Any, count: int = 3, seed: int = 0) -> Iterator[tuple[Array, Array]]:
    """Points where the constants hold: x in the region, y in Y, and in the range of C where that is less."""
    generator = np.random.default_rng(seed)
    for _ in range(count):
        x, y = generator.normal(size=problem.dim_x), feasible(problem.constraint, problem.dim_y, generator)
        radius = 2.0 if isinstance(problem, WGAN) else getattr(problem, "radius", None)
        if radius is not None:
            x *= radius * generator.uniform(0.5, 1.0) / np.linalg.norm(x)
            if isinstance(problem.constraint, Everything):
                y *= generator.uniform(0.2, 1.0) / np.linalg.norm(y)
        if isinstance(problem, PLGame):
            y = problem.form.C @ y
        yield x, y


def shards_of(problem: Any) -> list[Any]:
    return [problem.local(i) for i in range(problem.agents)]


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_derivatives_of_values(name: str) -> None:
    """Both parts are those of central differences, for f and for every f_i."""
    problem = problem_of(name)
    for x, y in points(problem, 2):
        for part in (problem, *shards_of(problem)):
            for exact, numeric in zip(part.gradient(x, y), numeric_gradient(part, x, y), strict=True):
                np.testing.assert_allclose(exact, numeric, rtol=0, atol=1e-7 * max(1.0, np.abs(exact).max()))


@pytest.mark.parametrize("name", NAMES)
def test_components_average_to_agents_and_agents_to_the_whole(name: str) -> None:
    """grad f_i = mean of component gradients, no component being all of it; grad f = mean of grad f_i; f likewise."""
    problem = problem_of(name)
    for x, y in points(problem, 2):
        agents = []
        for i, shard in enumerate(shards_of(problem)):
            assert shard.samples == (problem.sizes[i] if hasattr(problem, "sizes") else problem.samples)
            parts = [joint(shard, x, y, np.array([j])) for j in range(shard.samples)]
            agents.append(joint(shard, x, y))
            np.testing.assert_allclose(np.mean(parts, axis=0), agents[-1], rtol=0, atol=1e-12)
            assert np.ptp(parts, axis=0).max() > 1e-3
        np.testing.assert_allclose(np.mean(agents, axis=0), joint(problem, x, y), rtol=0, atol=1e-12)
        assert np.ptp(agents, axis=0).max() > 1e-3
        values = [shard.value(x, y) for shard in shards_of(problem)]
        assert problem.value(x, y) == pytest.approx(np.mean(values), abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_repeated_samples_count_as_often_as_they_occur(name: str) -> None:
    """The batch (3, 1, 3) weighs sample 3 twice as much as sample 1."""
    problem = problem_of(name)
    (x, y), shard = next(points(problem)), problem.local(1)
    third, first = (joint(shard, x, y, np.array([j])) for j in (3, 1))
    np.testing.assert_allclose(joint(shard, x, y, np.array([3, 1, 3])), (2 * third + first) / 3, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_best_responses_are_feasible_maxima(name: str) -> None:
    """y*(x) is in Y, no direction in Y leads up, another maximiser finds nothing higher, and P is the value there."""
    problem = problem_of(name)
    for x, _ in points(problem, 3, seed=2):
        best = problem.best_response(x)
        slope, P = problem.gradient(x, best)[1], problem.primal(x)
        assert pytest.approx(problem.value(x, best), abs=1e-13) == P
        if isinstance(problem.constraint, Everything):
            np.testing.assert_allclose(slope, 0, atol=1e-11)
        else:
            assert problem.constraint.contains(best)
            assert reach(problem.constraint, slope) - slope @ best <= 1e-10
        found = maximum_by_sqp(problem, x, np.random.default_rng(3))
        assert problem.value(x, found) <= P + 1e-10
        assert problem.value(x, found) == pytest.approx(P, abs=1e-7)
        if not isinstance(problem, PLGame):
            np.testing.assert_allclose(best, found, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", [name for name in NAMES if "ball" in name or name == "adversarial, tanh"])
def test_constraints_bite_somewhere(name: str) -> None:
    """At some point the best response is not the free one, so that the law above is not that of free y."""
    problem = problem_of(name)
    slopes = [problem.gradient(x, problem.best_response(x))[1] for x, _ in points(problem, 3, seed=2)]
    assert max(float(np.abs(slope).max()) for slope in slopes) > 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_primal_gradients_are_derivatives_of_the_primal(name: str) -> None:
    """grad P is that of central differences of P, and `primal_and_gradient` gives both."""
    problem = problem_of(name)
    for x, _ in points(problem, 2, seed=4):
        x = 0.99 * x  # so that the differences stay in the region
        slope = problem.primal_gradient(x)
        np.testing.assert_allclose(slope, derivative(problem.primal, x), rtol=0, atol=1e-6 * max(1, abs(slope).max()))
        P, same = problem.primal_and_gradient(x)
        assert problem.primal(x) == P
        np.testing.assert_array_equal(same, slope)


@pytest.mark.parametrize("name", NAMES)
def test_constants_bound_smoothness_and_concavity(name: str) -> None:
    """Between points of the region, near and far: L, L_full and mu hold of every agent; L and mu are not idle."""
    problem = problem_of(name)
    known = problem.constants()
    single, full, bends = [], [], []
    here, there = list(points(problem, 12, seed=5)), list(points(problem, 12, seed=6))
    near = [tuple(0.9 * a + 0.1 * b for a, b in zip(p, q, strict=True)) for p, q in zip(here, there, strict=True)]
    for (x, y), (u, v) in [*zip(here, there, strict=True), *zip(here, near, strict=True)]:
        length = np.sqrt(np.sum((x - u) ** 2) + np.sum((y - v) ** 2))
        for shard in shards_of(problem):
            change = [joint(shard, u, v, [j]) - joint(shard, x, y, [j]) for j in range(shard.samples)]
            single.append(np.sqrt(np.mean(np.sum(np.square(change), axis=1))) / length)
            full.append(np.linalg.norm(joint(shard, u, v) - joint(shard, x, y)) / length)
            rise = (shard.gradient(x, v)[1] - shard.gradient(x, y)[1]) @ (v - y)
            bends.append(-rise / np.sum((v - y) ** 2))
    assert 0.02 * known.L <= max(single) <= known.L * (1 + 1e-9)
    assert max(full) <= (known.L_full or known.L) * (1 + 1e-9)
    assert known.mu * (1 - 1e-9) <= min(bends) <= 10 * known.mu
    assert known.kappa >= 1


@pytest.mark.parametrize("name", NAMES)
def test_the_bound_of_the_primal_is_below_it(name: str) -> None:
    """`primal_bound()` <= P near and far, and no further below the start than ten; a known minimum is such a bound."""
    problem = problem_of(name)
    bound = problem.primal_bound()
    for x, _ in points(problem, 20, seed=7):
        for scale in (0.03, 0.3, 0.99):
            assert bound <= problem.primal(scale * x) + 1e-12
    assert bound >= problem.primal(problem.start()[0]) - 10
    assert getattr(problem, "primal_minimum", lambda: bound)() in (None, bound)


@pytest.mark.parametrize("name", NAMES)
def test_shards_survive_the_journey_with_their_bits(name: str) -> None:
    """After pickling, problem and shards give the same bits; the start is feasible and of the right size."""
    problem = problem_of(name)
    again, batch = pickle.loads(pickle.dumps(problem)), np.array([2, 0, 2])
    for x, y in (problem.start(), next(points(problem))):
        assert (x.shape, y.shape) == ((problem.dim_x,), (problem.dim_y,))
        assert problem.constraint.contains(y)
        assert again.primal(x) == problem.primal(x)
        for i in range(problem.agents):
            shard = problem.local(i)
            for other in (pickle.loads(pickle.dumps(shard)), again.local(i)):
                np.testing.assert_array_equal(joint(other, x, y), joint(shard, x, y))
                np.testing.assert_array_equal(joint(other, x, y, batch), joint(shard, x, y, batch))


@pytest.mark.parametrize("name", NAMES)
def test_a_pooled_problem_is_the_same_problem(name: str) -> None:
    """One agent, all samples, the same f, gradient, y*, P and metrics."""
    problem, pooled = problem_of(name), problem_of(name).pooled()
    assert (pooled.agents, pooled.samples) == (1, sum(shard.samples for shard in shards_of(problem)))
    for x, y in points(problem, 2):
        for one in (pooled, pooled.local(0)):
            assert one.value(x, y) == pytest.approx(problem.value(x, y), abs=1e-12)
            np.testing.assert_allclose(joint(one, x, y), joint(problem, x, y), rtol=0, atol=1e-12)
        assert pooled.primal(x) == pytest.approx(problem.primal(x), abs=1e-11)
        np.testing.assert_allclose(pooled.best_response(x), problem.best_response(x), rtol=0, atol=1e-10)
        for metric, measure in getattr(problem, "metrics", {}).items():
            assert pooled.metrics[metric](x, y) == pytest.approx(measure(x, y), rel=1e-12)


def test_equal_seeds_draw_equal_problems() -> None:
    """And other seeds others."""
    kinds = {type(problem_of(name)) for name in NAMES} - {RobustLogisticRegression}
    for kind in sorted(kinds, key=lambda kind: kind.__name__):
        first, again, other = (kind.random(2, seed=seed) for seed in (1, 1, 2))
        x, y = (0.1 * np.ones(size) for size in (first.dim_x, first.dim_y))
        assert first.value(x, y) == again.value(x, y) != other.value(x, y)


# --- closed forms, from their definitions ---


def rows_of(problem: Any) -> tuple[Array, Array]:
    return problem.features.toarray(), problem.labels


def test_the_auc_problem_uses_the_share_of_all_agents() -> None:
    """Sorted labels leave agents with one class; P is still that of the pooled rows, and as the formula has it."""
    features, labels = rd.data.synthetic(40, 4, density=0.6)
    order = rd.data.split(labels, 4, "sorted")
    problem = AUC(features[order], labels[order], 4, theta=0.0, held_out=0.0)
    assert {float(np.mean(problem.local(i).labels > 0)) for i in range(4)} > {0.0, 1.0}
    (A, b), p = rows_of(problem), np.mean(labels > 0)
    for x, _ in points(problem):
        h, (a, c) = A @ x[:-2], x[-2:]
        high, low = h[b > 0], h[b < 0]
        spread = np.mean((high - a) ** 2) + np.mean((low - c) ** 2)
        P = p * (1 - p) * (spread + (1 + low.mean() - high.mean()) ** 2 - 1)
        assert problem.primal(x) == pytest.approx(P, rel=1e-12)


@pytest.mark.parametrize(("name", "centred"), [("fair", False), ("group dro", True), ("group dro, by class", True)])
def test_grouped_losses_are_means_over_groups(name: str, centred: bool) -> None:
    """f(x, y) = sum_g y_g L_g - (lam/2) ||y - centre||^2 + g, from the definition."""
    problem = problem_of(name)
    A, b = rows_of(problem)
    groups = np.repeat(np.arange(AGENTS), problem.samples) if name == "group dro" else (b > 0).astype(int)
    for x, y in points(problem):
        losses = np.log1p(np.exp(-b * (A @ x)))
        L = np.array([losses[groups == g].mean() for g in range(y.size)])
        centre = 1 / y.size if centred else 0.0
        wanted = y @ L - problem.lam / 2 * np.sum((y - centre) ** 2) + problem.penalty.value(x)
        assert problem.value(x, y) == pytest.approx(wanted, rel=1e-12)


def test_an_agent_moves_only_its_own_weight_by_its_loss() -> None:
    """grad_y f_i of agent DRO is lam (1/m - y), and larger by m L_i in coordinate i alone."""
    problem = problem_of("group dro")
    x, y = next(points(problem))
    for i in range(AGENTS):
        lift = problem.local(i).gradient(x, y)[1] - problem.lam * (1 / AGENTS - y)
        wanted = np.zeros(AGENTS)
        wanted[i] = AGENTS * problem.group_losses(x)[i]
        np.testing.assert_allclose(lift, wanted, rtol=0, atol=1e-12)


def test_the_softmax_of_three_classes_is_its_formula() -> None:
    """Class losses are means of -log of the class's probability; huge scores give finite losses."""
    problem = problem_of("fair, three classes")
    (A, b), (x, _) = rows_of(problem), next(points(problem))
    odds = np.exp(A @ x.reshape(3, -1).T)
    losses = -np.log((odds / odds.sum(axis=1, keepdims=True))[np.arange(b.size), b.astype(int)])
    wanted = [losses[b == c].mean() for c in range(3)]
    np.testing.assert_allclose(problem.group_losses(x), wanted, rtol=1e-12)
    assert np.isfinite(problem.group_losses(1e6 * x)).all()


def test_nonconvex_regression_is_its_formula_and_has_no_factor_two() -> None:
    """f and the slope 2r/(2 + r^2), from the definition, at one row."""
    problem = RobustNonconvexRegression([[1.0, 2.0]], [3.0], 1, lam=1.0, held_out=0.0)
    x, y = np.array([0.3, 0.1]), np.array([0.2, -0.4])
    r = x @ (np.array([1.0, 2.0]) + y) - 3.0
    assert problem.value(x, y) == pytest.approx(np.log(1 + r**2 / 2) - y @ y / 2, rel=1e-14)
    np.testing.assert_allclose(problem.gradient(x, y)[1], 2 * r / (2 + r**2) * x - y, rtol=1e-14)


def test_robust_regression_has_its_closed_form() -> None:
    """y* = x mean(a'x - b) / (r2 - ||x||^2) where y is free."""
    problem = problem_of("robust regression")
    A, b = rows_of(problem)
    for x, _ in points(problem):
        wanted = x * np.mean(A @ x - b) / (0.2 - x @ x)
        np.testing.assert_allclose(problem.best_response(x), wanted, rtol=1e-12)


def test_least_squares_has_its_closed_form() -> None:
    """P = lam ||Ax - b||^2 / (2 N (lam - 1)), least at the solution of the normal equations."""
    problem = problem_of("robust least squares")
    (A, b), lam = rows_of(problem), problem.lam
    for x, _ in points(problem):
        wanted = lam / (2 * b.size * (lam - 1)) * np.sum((A @ x - b) ** 2)
        assert problem.primal(x) == pytest.approx(wanted, rel=1e-12)
    x = problem.solution()
    np.testing.assert_allclose(x, np.linalg.lstsq(A, b, rcond=None)[0], rtol=0, atol=1e-12)
    assert problem.primal(x) == pytest.approx(problem.primal_minimum(), rel=1e-12)


def test_the_wgan_has_its_closed_form() -> None:
    """P = (D1^2 + D2^2) / (4 lam), 0 at the solution, whose numbers have the real mean and deviation."""
    problem = problem_of("wgan")
    for x, _ in points(problem):
        made = x[0] + x[1] * problem.latent
        gaps = problem.real.mean() - made.mean(), np.mean(problem.real**2) - np.mean(made**2)
        assert problem.primal(x) == pytest.approx(np.sum(np.square(gaps)) / (4 * problem.lam), rel=1e-12)
    x = problem.solution()
    assert problem.primal(x) < 1e-28
    assert np.std(x[0] + x[1] * problem.latent) == pytest.approx(problem.real.std(), rel=1e-12)


def test_policy_evaluation_has_its_closed_form() -> None:
    """P = ||Ax - b||^2 / 2 in the norm of C^-1 + (rho/2) ||x||^2; components are those of the formula."""
    problem = problem_of("policy evaluation")
    phi, ahead = problem.phi[0], problem.phi[0] - 0.9 * problem.following[0]
    A, C, b = phi.T @ ahead / 30, phi.T @ phi / 30, phi.T @ problem.rewards.mean(axis=0) / 30
    for x, y in points(problem):
        gap = A @ x - b
        wanted = gap @ np.linalg.solve(C, gap) / 2
        assert problem.primal(x) == pytest.approx(wanted + 0.01 * x @ x / 2, rel=1e-10)
        error = problem.rewards[1, 4] - ahead[4] @ x
        one = problem.local(1).gradient(x, y, np.array([4]))
        np.testing.assert_allclose(one[1], phi[4] * (error - phi[4] @ y), rtol=0, atol=1e-12)
        np.testing.assert_allclose(one[0], 0.01 * x - ahead[4] * (phi[4] @ y), rtol=0, atol=1e-12)


def test_the_pl_game_is_not_strongly_concave_and_keeps_y_in_its_range() -> None:
    """C has a kernel, along which f is flat; gradients of components lie in the range; P by the pseudo-inverse."""
    problem = problem_of("pl game")
    kernel = np.linalg.eigh(problem.form.C)[1][:, :3]
    for x, y in points(problem):
        flat = y + kernel @ [1.0, -2.0, 3.0]
        assert problem.value(x, flat) == pytest.approx(problem.value(x, y), abs=1e-10)
        for shard in shards_of(problem):
            np.testing.assert_allclose(shard.gradient(x, y, np.array([0]))[1] @ kernel, 0, atol=1e-10)
        slope = problem.form.B.T @ x + problem.form.q
        wanted = x @ problem.form.A @ x / 2 + slope @ np.linalg.pinv(problem.form.C) @ slope / 2
        assert problem.primal(x) == pytest.approx(wanted, rel=1e-10)


# --- what is refused ---

DATA = rd.data.synthetic(20, 3)


@pytest.mark.parametrize("name", PERTURBED)
def test_an_x_beyond_concavity_is_refused(name: str) -> None:
    """`best_response` says so, and is right up to there: inside, every y-Hessian is negative."""
    problem = problem_of(name)
    with pytest.raises(InnerMaximumError, match=rf"the maximum over y is not known at .* `{problem.name}` is"):
        problem.best_response(np.full(problem.dim_x, 10.0))


@pytest.mark.parametrize("kind", [RobustNonconvexRegression, AdversarialTraining])
def test_concavity_is_lost_where_it_is_refused(kind: Any) -> None:
    """At one row whose loss bends most, f(x, .) bends upwards just beyond the edge, and downwards just inside."""
    bend = 1.0 if kind is RobustNonconvexRegression else 0.25
    problem, edge = kind([[0.0]], [1.0], 1, lam=1.0, held_out=0.0), np.sqrt(1.0 / bend)
    for scale, sign in ((0.99, -1), (1.01, 1)):
        x = np.array([edge * scale])
        y = np.array([1.0 / x[0] if bend == 1.0 else 0.0])  # where the residual, or the score, is 0
        change = problem.whole.gradient(x, y + 1e-5)[1] - problem.whole.gradient(x, y - 1e-5)[1]
        assert np.sign(change[0]) == sign


REFUSALS = {
    "one class": (lambda: AUC(DATA[0], np.ones(20), 2), r"`labels` must hold both classes; all rows in use are \+1"),
    "no signs": (lambda: AUC(DATA[0], np.arange(20), 2), "`labels` must be -1 or \\+1; entry 0 is 0"),
    "fair, one class": (lambda: FairClassification(DATA[0], np.ones(20), 2), "`labels` must hold at least two classes"),
    "fair, 0 and 1": (lambda: FairClassification(DATA[0], np.arange(20) % 2, 2), "`labels` of two classes must be -1 "),
    "groups": (lambda: GroupDRO(*DATA, 2, groups=[0.5] * 20), "`groups` must be 'agents', 'labels', or one whole numb"),
    "empty group": (lambda: GroupDRO(*DATA, 2, groups=[2] * 20), "`groups` must each have a row in use; group 0 has"),
    "lam": (lambda: AdversarialTraining(*DATA, 2, lam=1.0, radius=2.0), r"`lam` must exceed 1 for f to be"),
    "tanh": (
        lambda: AdversarialTraining(*DATA, 2, lam=1.0, radius=2.0, model="tanh"),
        "`lam` must exceed 3.37 for f to be strongly concave in y while",
    ),
    "tanh start": (lambda: AdversarialTraining(*DATA, 2, lam=1e-3, model="tanh"), "`lam` must exceed .* at the start"),
    "regression": (lambda: RobustNonconvexRegression(*DATA, 2, lam=1.0, radius=1.0), "`lam` must exceed 1 for f to be"),
    "r2": (lambda: RobustRegression(*DATA, 2, radius=0.5), "`r2` must exceed 0.25 for f to be strongly concave"),
    "least squares": (lambda: RobustLeastSquares(*DATA, 4, lam=4.0), "`lam` must exceed the number of agents, 4"),
    "targets": (lambda: RobustLeastSquares(DATA[0], [np.nan] * 20, 2), "`targets` must be finite; entry 0 is nan"),
    "held out": (lambda: AUC(*DATA, 2, held_out=1.0), r"`held_out` must be in \[0, 1\); got 1.0"),
    "agents": (lambda: AUC(*DATA, 21), "`agents` must be at most the 20 samples; got 21"),
    "features": (lambda: AUC(*DATA, 2).metrics_on(np.ones((2, 4)), [1, -1]), "`features` must have 3 columns; got 4"),
    "short walk": (lambda: PolicyEvaluation.random(2, 2), "`phi` must span all d dimensions on every agent"),
    "rank": (lambda: PLGame.random(2, rank=6), "`rank` must be at least 1, below `dim_y`"),
    "unbounded": (
        lambda: PLGame(*(np.ones((1, 1, *size)) for size in ((1, 1), (1, 2))), np.diag([1.0, 0.0])[None, None],
                       np.zeros((1, 1, 1)), np.zeros((1, 1, 2))),
        "`C` must have the same range on every agent, and hold B'x and q",
    ),
    "shapes": (lambda: WGAN(np.ones((2, 3)), np.ones((2, 4))), r"`real` and `latent` must have one row per agent"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(REFUSALS))
def test_what_makes_no_sense_is_refused(name: str) -> None:
    """With a sentence."""
    make, sentence = REFUSALS[name]
    with pytest.raises(ValueError, match=sentence):
        make()


# --- metrics, on rows that nobody trains on ---


def test_rows_held_out_are_nobodys_and_metrics_use_them_alone() -> None:
    """Of ten rows of each agent two are held out; they come from every agent, and shards have the others."""
    features, labels = np.arange(40.0).reshape(20, 2) + 1, np.tile([1.0, -1.0], 10)
    problem = AUC(features, labels, 2)
    assert problem.held.tolist() == [8, 9, 18, 19] and problem.samples == 8
    kept = np.vstack([problem.local(i).rows.features.toarray() for i in range(2)])
    np.testing.assert_array_equal(kept, np.delete(features, [8, 9, 18, 19], axis=0))
    x = np.array([1.0, 0.0, 0.0, 0.0])
    assert problem.metrics["auc"](x, np.zeros(1)) == 0.25  # positive 17, 37 against negative 19, 39: one of four
    assert problem.metrics["auc"](-x, np.zeros(1)) == 0.75
    assert problem.metrics_on([[1.0, 0], [1.0, 0]], [1, -1])["auc"](x, np.zeros(1)) == 0.5
    assert np.isnan(problem.metrics_on([[1.0, 0]], [1])["auc"](x, np.zeros(1)))


def test_accuracies_are_shares_of_right_answers() -> None:
    """Overall, of the worst class, of the worst agent, and under the perturbation."""
    features, labels = np.array([[1.0], [2.0], [-1.0], [-3.0]]), np.array([1.0, -1.0, -1.0, -1.0])
    x, y = np.array([1.0]), np.zeros(2)
    fair = FairClassification(features, labels, 2, held_out=0.0).metrics
    assert (fair["accuracy"](x, y), fair["worst_class_accuracy"](x, y)) == (0.75, 2 / 3)
    dro = GroupDRO(features, labels, 2, held_out=0.0).metrics
    assert (dro["accuracy"](x, y), dro["worst_group_accuracy"](x, y)) == (0.75, 0.5)
    three = FairClassification(np.eye(3), [0, 1, 2], 1, held_out=0.0).metrics
    assert three["worst_class_accuracy"](np.eye(3).ravel(), np.zeros(3)) == 1.0
    trained = AdversarialTraining(features, labels, 2, size=5.0, held_out=0.0).metrics
    assert (trained["accuracy"](x, np.array([-2.5])), trained["perturbed_accuracy"](x, np.array([-2.5]))) == (
        0.75,
        0.75,
    )
    assert trained["perturbed_accuracy"](x, np.array([4.0])) == 0.25


def test_errors_are_mean_squares() -> None:
    """Of regressions, with and without the perturbation; of values, 0 at the true ones."""
    x, y = np.array([1.0, 0.0]), np.array([1.0, 0.0])
    metrics = RobustRegression(np.eye(2), [1.0, 2.0], 1, held_out=0.0).metrics
    assert (metrics["mse"](x, y), metrics["perturbed_mse"](x, y)) == (2.0, 1.0)
    assert RobustLeastSquares(np.eye(2), [1.0, 2.0], 1, held_out=0.0).metrics["mse"](x, y) == 2.0
    whole = PolicyEvaluation.random(2, 40, states=3, features=3, rho=0.0)
    assert whole.chain is not None
    exact = np.linalg.solve(whole.chain[0], whole.chain[1])
    assert whole.metrics["value_error"](exact, exact) < 1e-10 < whole.metrics["value_error"](exact + 1, exact)
    assert whole.chain[2].sum() == pytest.approx(1.0)
    alone = PolicyEvaluation(whole.phi, whole.following, whole.rewards, rho=0.0)
    assert alone.metrics["mspbe"](exact, exact) == pytest.approx(2 * alone.primal(exact), rel=1e-8)
    wgan = problem_of("wgan")
    assert wgan.metrics["moment_error"](wgan.solution(), np.zeros(2)) < 1e-14
