"""Appendix B of the DREAM paper, on runs of DM-HSGD: the equation on which its theory rests, with a constraint."""

import itertools

import numpy as np
import pytest
from laws import session_for, states_of

import raydream as rd
from raydream.constraints import Ball, Simplex
from raydream.problems import QuadraticGame

RING = rd.topology.ring(6)
METHOD = rd.DMHSGD(eta=0.05, gamma=0.5, beta=0.1, b=3, b0=8)


def residuals(constraint):
    """The largest |left - right| of a step, relative to its largest term (or 1e-4), of eq:incorrect and of eq:correct.

        2 eta <v_bar_t, y^_t - y_bar_t> = |y_bar_t - y^_t|^2 + |w - y_bar_t|^2 - |w - y^_t|^2

    with y^_t = y*(x_bar_t), and w = y_bar_{t+1} (incorrect) or w = y_bar_{t+1/2} = y_bar_t + eta v_bar_t (correct).
    """
    game = QuadraticGame.random(agents=6, samples=9, dim_x=3, dim_y=4, seed=2, constraint=constraint)
    states = [state.arrays for state in states_of(session_for(game, RING, METHOD), [False] * 80)]
    terms = []
    for old, new in itertools.pairwise(states):
        x, y, v = old["Z"].mean(axis=0)[:3], old["Z"].mean(axis=0)[3:], old["S"].mean(axis=0)[3:]
        projected = game.constraint.project(old["Z"][:, 3:] + METHOD.eta * old["S"][:, 3:])
        after, best = new["Z"].mean(axis=0)[3:], game.best_response(x)
        np.testing.assert_allclose(after, projected.mean(axis=0), atol=1e-12)
        left = 2 * METHOD.eta * v @ (best - y)
        terms.append([[-left, _square(y, best), _square(w, y), -_square(w, best)] for w in (after, y + METHOD.eta * v)])
    return np.max(np.abs(np.sum(terms, axis=2)) / np.maximum(np.abs(terms).max(axis=2), 1e-4), axis=0)


def _square(one, other):
    return np.sum((one - other) ** 2)


@pytest.mark.parametrize("constraint", [None, Ball(1e3)], ids=["free", "never reached"])
def test_both_equations_hold_where_no_constraint_is_active(constraint):
    """Then y_bar_{t+1} = y_bar_{t+1/2}."""
    assert max(residuals(constraint)) < 1e-12


@pytest.mark.parametrize("constraint", [Ball(0.2), Simplex()], ids=["ball", "simplex"])
def test_where_a_constraint_is_active_the_printed_equation_fails(constraint):
    """eq:incorrect is off by half of its terms; eq:correct, the same for the step before its projection, holds."""
    incorrect, correct = residuals(constraint)
    assert correct < 1e-12 and incorrect > 0.5
