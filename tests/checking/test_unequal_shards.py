"""Agents who own different numbers of samples, and weigh differently, are no contradiction."""

import numpy as np
import pytest

import raydream as rd


def value(x, y, A, t):
    return np.mean((A @ x - t) ** 2) / 2 + y @ x - y @ y / 2


def gradient(x, y, A, t):
    return A.T @ (A @ x - t) / len(t) + y, x - y


@pytest.mark.parametrize("weights", [None, [0.4, 0.1, 0.2, 0.3], "sizes"])
def test_functions_of_unequal_shards_are_sound(weights):
    """`samples` is their mean rounded up; where weights forbid to pool them, that is said and nothing else."""
    draw = np.random.default_rng(0).normal
    sizes = np.array([30, 5, 12, 50])
    given = sizes / sizes.sum() if weights == "sizes" else weights
    problem = rd.problems.FromFunctions(
        value, gradient, [(draw(size=(n, 3)), draw(size=n)) for n in sizes], 3, 3, weights=given
    )
    verdict = rd.check(problem)
    assert verdict.ok, str(verdict)
    (pooled,) = [one for one in verdict.findings if one.check == "pooled"]
    assert pooled.ok is (True if weights == "sizes" else None)


@pytest.mark.parametrize("kind", ["RobustLogisticRegression", "AUC", "GroupDRO", "RobustRegression"])
def test_problems_on_unequal_shards_are_sound(kind):
    shards = rd.data.shards(rd.data.synthetic(samples=61, features=4), agents=4, by="sizes", seed=1)
    verdict = rd.check(getattr(rd.problems, kind)(shards))
    assert verdict.ok, str(verdict)


def test_a_number_that_is_neither_theirs_nor_their_mean_is_found():
    draw = np.random.default_rng(0).normal

    class Wrong(rd.problems.FromFunctions):
        samples = 7

    problem = Wrong(value, gradient, [(draw(size=(n, 3)), draw(size=n)) for n in (6, 8, 9)], 3, 3)
    (found,) = [one for one in rd.check(problem).failures if one.check == "samples"]
    assert found.agent == 0 and found.text == "agent 0: it has 6, and `problem.samples` is 7."
