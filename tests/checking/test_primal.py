"""What a problem says of P is compared with another maximiser."""

import numpy as np
import pytest
from faulty import Bare, Own, failing

import raydream as rd

SETS = {"free": None, "ball": rd.constraints.Ball(0.3), "box": rd.constraints.Box(-0.2, 0.5)}
PRIMAL = {"best response", "P", "gradient of P", "P*", "maximum over y"}


def spoil(problem, **parts):
    for name, part in parts.items():
        setattr(problem, name, part)
    return problem


@pytest.mark.parametrize("name", SETS)
def test_a_best_response_that_is_none_is_found(name):
    """Too short; with f there, and f at a better y."""
    problem = Own(constraint=SETS[name])
    spoil(problem, best_response=lambda x: 0.9 * Own.best_response(problem, x))
    found = failing(rd.check(problem))
    assert {"best response", "P"} <= found.keys()
    assert found["best response"].measured < found["best response"].expected


def test_a_best_response_outside_of_y_is_found():
    """The free one."""
    problem = Own(constraint=rd.constraints.Ball(0.02))
    found = failing(rd.check(spoil(problem, best_response=lambda x: Own().best_response(x))))["best response"]
    assert "must be in Y" in found.text and found.part == "y"


@pytest.mark.parametrize(("shift", "way"), [(-1e-4, "low"), (1e-4, "high")])
def test_a_wrong_P_is_found(shift, way):
    """Below the maximum, and above it."""
    problem = Own(constraint=SETS["ball"])
    spoil(problem, primal=lambda x: Own.primal(problem, x) + shift)
    found = failing(rd.check(problem))
    assert found.keys() & PRIMAL == {"P"} and f"too {way}" in found["P"].text
    assert found["P"].measured - found["P"].expected == pytest.approx(shift, rel=1e-2)


def test_a_wrong_gradient_of_P_is_found():
    """In one coordinate; and the total derivative that forgets that y* is the maximum is no other."""
    problem = Own()
    spoil(problem, primal_gradient=lambda x: Own.primal_gradient(problem, x) * np.array([1.0, 1.01, 1.0]))
    found = failing(rd.check(problem))["gradient of P"]
    assert (found.part, found.coordinate) == ("x", 1)
    assert found.measured == pytest.approx(1.01 * found.expected, rel=1e-5)
    problem = Own()
    spoil(problem, primal_and_gradient=lambda x: (Own.primal(problem, x), 2 * Own.primal_gradient(problem, x)))
    assert "`primal_and_gradient`" in failing(rd.check(problem))["gradient of P"].text


def test_a_bound_above_a_value_of_P_is_found():
    """Which lies on the way down from the start, and not at the start."""
    problem = Own()
    start = problem.primal(problem.start()[0])
    lowest = min(problem.primal(x) for x in np.random.default_rng(0).normal(size=(500, 3)))
    bound = (start + lowest) / 2
    found = failing(rd.check(spoil(problem, primal_bound=lambda: bound)))
    assert found.keys() == {"P*"} and found["P*"].measured == bound > found["P*"].expected
    assert rd.check(spoil(Own(), primal_bound=lambda: lowest - 10.0)).ok
    assert "P*" in failing(rd.check(spoil(Own(), primal_minimum=lambda: start)))


def test_a_problem_that_says_nothing_of_P_has_it_found():
    """And it is said that nothing was there to be compared."""
    verdict = rd.check(Bare())
    assert verdict.ok
    told = {one.check: one for one in verdict.findings}
    assert told["maximum over y"].ok and told["P"].ok is None and "the package's maximiser" in told["P"].text


def test_a_problem_without_a_maximum_is_found():
    """f grows with y for ever."""

    class Endless(Own):
        def gradient(self, x, y):
            return super().gradient(x, y)[0], np.ones(4)

        def value(self, x, y):
            return float(y.sum())

    assert "maximum over y" in failing(rd.check(Endless()))
