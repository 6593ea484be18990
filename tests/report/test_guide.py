"""Theory as a guide: the slope that papers state, through what was measured, and both in words."""

import numpy as np
import pytest

import raydream as rd
from raydream.problems import QuadraticGame
from raydream.report.collect import Run
from raydream.report.figures.guide import exponent, guide, improvements, order_of
from raydream.report.figures.promise import promise_over


def run_with(costs, norms, method="dream", samples=5):
    config = {"method": {"name": method, "parameters": {}}, "problem": {"samples": samples, "agents": 4}}
    return Run(method, 0, {"iteration": costs, "sfo": costs, "rounds": costs, "grad_norm": norms}, config)


@pytest.mark.parametrize("power", [0.5, 2.0, 3.0])
def test_the_exponent_of_a_power_is_measured(power):
    """cost = epsilon^-k gives k, whatever the constant."""
    norms = np.geomspace(1.0, 1e-3, 60)
    assert exponent(7 * norms**-power, norms) == pytest.approx(power)


def test_too_little_measures_nothing():
    """Three improvements, or a gradient that has hardly fallen."""
    assert exponent(np.array([1.0, 2, 3]), np.array([1.0, 0.1, 0.01])) is None
    assert exponent(np.arange(1.0, 20), np.linspace(1.0, 0.9, 19)) is None


def test_improvements_are_where_it_is_lower_than_ever():
    """What swings back is left out, and so is what was not paid for."""
    costs, norms = improvements(np.array([0.0, 1, 2, 3, 4]), np.array([9.0, 4, 5, 3, np.nan]))
    assert costs.tolist() == [1, 3] and norms.tolist() == [4, 3]


def test_the_slope_is_that_of_the_method_s_facts():
    """Offline 2 and online 3 for the SFO of DREAM, through the last improvement, no further than the curve."""
    norms = np.geomspace(1.0, 1e-2, 50)
    costs = 3 * norms**-1.5
    for samples, power in ((5, 2.0), (None, 3.0)):
        one = run_with(costs, norms, samples=samples)
        found = guide("dream", [one], "sfo")
        assert (found.x[1], found.y[1]) == (pytest.approx(costs[-1]), pytest.approx(norms[-1]))
        assert np.log(found.x[1] / found.x[0]) / np.log(found.y[0] / found.y[1]) == pytest.approx(power)
        assert found.x[0] >= costs[0] and order_of(one, "sfo").formula in found.said and "measured ε⁻¹·⁵" in found.said
    assert guide("dgda", [run_with(costs, norms, "dgda")], "sfo") is None, "its facts state no rate"
    assert guide("mine", [run_with(costs, norms, "mine")], "sfo") is None
    assert guide("dream", [run_with(costs, norms)], "iteration") is None


def test_the_gap_of_the_constant_is_that_of_the_theorem():
    """Its bound at the last accuracy over what was spent there."""
    game = QuadraticGame.random(agents=4, samples=6, dim_x=2, dim_y=3, seed=1)
    result = rd.run(game, rd.topology.ring(4).lazy(), rd.DREAM(eta=0.1, gamma=0.3), iterations=60, backend="local")
    figure = result.plot.convergence(slopes=True)
    (drawn,) = [trace for trace in figure.data if trace.line.dash == "dot"]
    runs = result.plot.runs
    promise = promise_over(runs, None)
    found = guide("dream", runs, "sfo", promise)
    last = improvements(runs[0].columns["sfo"], runs[0].columns["grad_norm"])
    norm, cost = last[1][-1], last[0][-1]
    bound = np.exp(np.interp(-np.log(norm), -np.log(promise["values"]), np.log(promise["costs"]["sfo"])))
    assert f"is {bound / cost:.2g} times what was spent" in found.said and tuple(drawn.x) == found.x
