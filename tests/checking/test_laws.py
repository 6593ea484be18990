"""Answers of a wrong kind, wrong wholes, projections, constants, and code that raises."""

import numpy as np
import pytest
from faulty import Bare, Own, Shard, failing, spoilt

import raydream as rd


def right(s, x, y, batch=None):
    return Shard.gradient(s, x, y, batch)


KINDS = {
    "NaN": (dict(value=lambda s, x, y: float("nan")), "value", "`value` must be finite; it is nan."),
    "a vector": (dict(value=lambda s, x, y: np.ones(2)), "value", "must be one number; it is an array of shape (2,)."),
    "a vector of one": (dict(value=lambda s, x, y: np.ones(1)), "value", "an array of shape (1,)"),
    "complex": (dict(value=lambda s, x, y: 1j), "value", "`value` must be a real number; it is complex."),
    "None": (dict(value=lambda s, x, y: None), "value", "`value` must be a real number; it is None."),
    "too long": (dict(gradient=lambda s, x, y, b=None: (np.append(x, 1.0), y)), "gradient", "they are (4,) and (4,)."),
    "a column": (dict(gradient=lambda s, x, y, b=None: (x[:, None], y)), "gradient", "they are (3, 1) and (4,)."),
    "one vector": (dict(gradient=lambda s, x, y, b=None: np.append(x, y)), "gradient",
                   "`gradient` must be a pair (in x, in y); it is an array of shape (7,)."),
    "complex gradient": (dict(gradient=lambda s, x, y, b=None: (x + 0j, y)), "gradient",
                         "`gradient` in x must be a real vector; it is complex."),
    "nothing": (dict(gradient=lambda s, x, y, b=None: None), "gradient", "must be a pair (in x, in y); it is None."),
    "infinite": (dict(gradient=lambda s, x, y, b=None: (x, np.append(y[:-1], np.inf))), "gradient",
                 "`gradient` in y must be finite; coordinate 3 is inf."),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_answers_of_a_wrong_kind_are_found(name):
    """Whose they are, and what came; everything else that can be is still checked."""
    parts, check, sentence = KINDS[name]
    wrong = spoilt(**parts)

    class One(Shard):
        def __new__(cls, i, *arguments):
            return wrong(i, *arguments) if i == 1 else Shard(i, *arguments)

    found = failing(rd.check(Own(One)))
    assert found.keys() == {check} and found[check].agent == 1
    assert sentence in found[check].text and found[check].text.startswith("agent 1: ")


def test_what_the_problem_raises_is_a_finding():
    """With the agent's number and the error's text, wherever it is raised."""

    def broken(*_):
        raise LookupError("the sensor is broken.")

    found = failing(rd.check(Own(spoilt(gradient=broken))))["gradient"]
    assert found.text.startswith("agent 0: `gradient` raises LookupError: the sensor is broken.") and found.agent == 0
    for name in ("value", "gradient", "best_response", "primal", "primal_and_gradient", "constants", "pooled"):
        problem = Own()
        setattr(problem, name, broken)
        verdict = rd.check(problem)
        texts = [one.text for one in verdict.failures]
        assert any("` raises LookupError: the sensor is broken." in text and name in text for text in texts), name
        assert {one.check for one in verdict.findings} == {one.check for one in rd.check(Own()).findings}
    problem = Own()
    problem.local = broken
    [found] = rd.check(problem).failures
    assert found.agent == 0 and "`local` raises LookupError" in found.text
    for project in (broken, lambda y: y[:-1]):
        problem = Bare(constraint=OwnSet(project))
        problem.start = lambda: (np.ones(3), np.zeros(4))
        [found] = rd.check(problem).failures
        assert "`constraint.project`" in found.text
    problem = Own()
    problem.start = broken
    assert "`start` raises LookupError" in rd.check(problem).failures[0].text


def test_what_is_no_problem_is_refused():
    """As `run` refuses it."""
    with pytest.raises(TypeError, match="`problem` must have"):
        rd.check(3)
    with pytest.raises(ValueError, match="`seed` must be at least 0"):
        rd.check(Own(), seed=-1)


def test_a_whole_that_is_not_the_mean_of_its_agents_is_found():
    """A sum of values, a wrong gradient, another number of samples, another pooled problem."""
    problem = Own()
    problem.value = lambda x, y: 3 * Own.value(problem, x, y)
    found = failing(rd.check(problem))["whole value"]
    assert found.measured == pytest.approx(3 * found.expected) and "3 times that" in found.text
    problem = Own()
    problem.gradient = lambda x, y: (Own.gradient(problem, x, y)[0], Own.gradient(problem, x, y)[1] + np.eye(4)[2])
    found = failing(rd.check(problem))["whole gradient"]
    assert (found.part, found.coordinate) == ("y", 2) and found.measured - found.expected == pytest.approx(1)
    problem = Own()
    problem.samples = 13
    problem.local = lambda i: Shard(i)
    found = failing(rd.check(problem))["samples"]
    assert (found.agent, found.measured, found.expected) == (0, 12, 13)
    problem = Own()
    problem.pooled = lambda: problem
    assert "must have one agent; it has 3" in failing(rd.check(problem))["pooled"].text
    problem = Own()
    problem.pooled = lambda: Own(agents=1)
    assert "pooled" in failing(rd.check(problem))


class OwnSet:
    """A set of one's own: its projection is given."""

    def __init__(self, project):
        self.project = project


def rowwise(function):
    return lambda y: np.apply_along_axis(function, -1, np.asarray(y, dtype=float))


def onto_ball(v):
    return v / max(1.0, float(np.linalg.norm(v)))


PROJECTIONS = {
    # halfway to the ball: what is projected again moves again
    "projection twice": rowwise(lambda v: v if v @ v <= 1 else (v + onto_ball(v)) / 2),
    # in the box, but not the nearest point of it
    "nearest point": rowwise(lambda v: v if np.abs(v).max() <= 1 else v / np.abs(v).max()),
    # the ring between two balls is not convex
    "distances": rowwise(lambda v: v / np.clip(np.linalg.norm(v), 1e-12, 1.0) if v @ v < 1 else v),
    # rows are scaled by the largest of them
    "projection of rows": lambda y: np.asarray(y) / max(1.0, float(np.linalg.norm(y))),
}


@pytest.mark.parametrize("law", PROJECTIONS)
def test_projections_that_are_none_are_found(law):
    """By the law that they break."""
    problem = Bare(constraint=OwnSet(PROJECTIONS[law]))
    problem.start = lambda: (np.ones(3), np.array([1.0, 0.0, 0.0, 0.0]))
    found = failing(rd.check(problem))
    assert law in found
    if law != "projection of rows":
        assert found[law].measured != found[law].expected and "projection of rows" not in found


def test_a_projection_that_writes_into_its_argument_is_found():
    """The rows of the iterates."""

    def project(y):
        np.clip(y, -1, 1, out=y)
        return y.copy()

    assert "writes into its argument" in failing(rd.check(Bare(constraint=OwnSet(project))))["projection of rows"].text


def test_a_start_outside_of_y_is_found():
    """With the coordinate, and where it should be."""
    problem = Own(constraint=rd.constraints.Box(-1.0, 1.0))
    problem.start = lambda: (np.zeros(3), np.array([0.0, 0.0, 2.5, 0.0]))
    found = failing(rd.check(problem))["start"]
    assert (found.coordinate, found.measured, found.expected) == (2, 2.5, 1.0)
    problem.start = lambda: (np.zeros(3), np.zeros(5))
    assert "`start()[1]` must be a vector of length 4" in rd.check(problem).failures[0].text


BENDS = {
    "convex": lambda s, y: np.full(4, 1.0),
    "convex in one direction": lambda s, y: np.array([-1.0, -1.0, 0.1, -1.0]),
    "linear": lambda s, y: np.zeros(4),
}


@pytest.mark.parametrize("name", BENDS)
@pytest.mark.parametrize("constraint", [None, rd.constraints.Ball(1.0)])
def test_functions_that_are_not_concave_in_y_are_found(name, constraint):
    """Though gradients are those of the values."""
    bend = BENDS[name]

    class Bent(Shard):
        def value(self, x, y):
            b = bend(self, y) if self.agent == 1 else -np.ones(4)
            return super().value(x, y) + self.mu * y @ y / 2 + b @ y**2 / 2

        def gradient(self, x, y, batch=None):
            b = bend(self, y) if self.agent == 1 else -np.ones(4)
            gx, gy = super().gradient(x, y, batch)
            return gx, gy + self.mu * y + b * y

    for seed in range(3):
        found = failing(rd.check(Bare(Bent, constraint), seed=seed))
        assert found["concavity"].agent == 1 and "gradient in y" not in found
        assert found["concavity"].measured == pytest.approx(bend(None, None).max(), abs=0.3)


def constants(**changed):
    problem = Own()
    known = Own().constants()
    given = {"L": known.L, "mu": known.mu, "L_full": known.L_full, **changed}
    problem.constants = lambda: rd.problems.Constants(**given)
    return problem


def test_constants_that_do_not_hold_are_found():
    """L_full, L and mu, each off by a twentieth."""
    known = Own().constants()
    found = failing(rd.check(constants(L_full=0.95 * known.L_full)))["smoothness (L)"]
    assert found.measured == pytest.approx(known.L_full, rel=0.05) and found.expected == 0.95 * known.L_full
    assert "L_full" in found.text
    found = failing(rd.check(constants(L=0.9 * known.L_full, L_full=None)))["smoothness (L)"]
    assert found.measured > found.expected == 0.9 * known.L_full
    found = failing(rd.check(constants(L=0.9 * known.L, L_full=2 * known.L)))["smoothness (L)"]
    assert "in root mean square" in found.text and found.measured > found.expected == 0.9 * known.L
    found = failing(rd.check(constants(mu=1.05 * known.mu)))["strong concavity (mu)"]
    assert found.measured == pytest.approx(known.mu) and found.expected == 1.05 * known.mu
    assert rd.check(constants(L=1.01 * known.L, mu=0.99 * known.mu)).ok
