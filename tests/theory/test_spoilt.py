"""The laws of the theory notice when DREAM is spoilt: each is applied to a version that is wrong in one place."""

import numpy as np
import pytest
import theorem
from laws import drive_in_blocks
from lemmas import (
    Copies,
    drift_of,
    law_of_drift,
    law_of_lemmas,
    law_of_the_hypergradient,
    law_of_the_tracker,
    method_of,
    prescribed,
    resting,
)
from spoilt import OtherSamples, PrivateCoin, ScaledMemory, Spoilt, Unprojected, Untracked
from test_lemmas import CONSTRAINTS, RING, SETS, game_of, states_around

import raydream as rd

FREE = game_of("offline", None)
MIXED = dict(eta=0.02, gamma=0.5, p=0.4, b=2, q=0.7, K0=1, K=1, K_large=3)  # little mixing, or no coin would matter


def test_spoilt_in_no_place_is_dream():
    """What the spoilt versions have in common is DREAM to the bit, so that nothing else makes them fail."""
    states = []
    for kind in (rd.DREAM, Spoilt):
        network = Copies(FREE, RING, method_of(kind, FREE, prescribed(FREE, RING)))
        state = network.start(3)
        for t in range(5):
            state = network.step(state, [False, True, t % 2 == 0], t)
        states.append(state)
    assert all(np.array_equal(*parts) for parts in zip(*states, strict=True))


@pytest.mark.parametrize(
    ("kind", "lemma"),
    [(ScaledMemory, "Lemma [VU]"), (OtherSamples, "Lemma [VU]"), (Untracked, "Lemma C"), (PrivateCoin, "Lemma U")],
)
@CONSTRAINTS
def test_a_spoilt_step_breaks_a_lemma(kind, lemma, constraint):
    """A memory scaled by 1/q, other samples at the other point: V and U; no mixing: C; a coin for every agent: U.

    With private coins errors that cancel in the mean no longer leave together: E U+ has p (1 - p) V/m more.
    """
    game = game_of("offline", constraint)
    with pytest.raises(AssertionError, match=lemma):
        law_of_lemmas(kind, game, RING, states_around(game), copies=96)


@pytest.mark.parametrize("case", theorem.CASES[:2])
@pytest.mark.parametrize("kind", [ScaledMemory, OtherSamples])
def test_a_spoilt_recursion_breaks_the_drift(kind, case):
    """Estimators that lose their way lift Phi above what the inequality allows, within 25 steps."""
    with pytest.raises(AssertionError, match="drift inequality fails"):
        law_of_drift(**drift_of(kind, theorem.game_of(case), RING, copies=50, steps=25, epsilon=2.2))


def test_a_coin_for_every_agent_spoils_the_tracker():
    """s_bar = g_bar fails where K and K' differ, since agents then stop mixing at different times; with K = K' not."""
    law_of_the_tracker(rd.DREAM, FREE, RING, **MIXED)
    law_of_the_tracker(PrivateCoin, FREE, RING, **{**MIXED, "K_large": 1})
    with pytest.raises(AssertionError, match="the tracker's mean is"):
        law_of_the_tracker(PrivateCoin, FREE, RING, **MIXED)


def test_a_coin_for_every_agent_leaves_agents_waiting():
    """Where agents live apart, those with more rounds wait for ever for those with fewer."""
    blocks, coins = [[0], [1], [2], [3]], [False] * 8
    drive_in_blocks(FREE, RING, rd.DREAM(**MIXED), blocks, coins)
    with pytest.raises(AssertionError, match="all blocks end in the same round"):
        drive_in_blocks(FREE, RING, PrivateCoin(**MIXED), blocks, coins)


@pytest.mark.parametrize("name", ["ball", "simplex"])
def test_without_the_projection_the_method_rests_where_it_should_not(name):
    """At rest nothing moves, Psi stays, and Lemma P asks for a loss of (gamma eta/2) ||grad P||^2."""
    game = game_of("offline", SETS[name])
    with pytest.raises(AssertionError, match="Lemma P"):
        law_of_lemmas(Unprojected, game, RING, [resting(Unprojected, game, RING)], copies=2)


@pytest.mark.parametrize("name", ["ball", "simplex"])
def test_without_the_projection_the_reduced_gradient_bounds_nothing(name):
    """Where grad_y f = 0 outside Y, the gradient of P is elsewhere than grad_x f."""
    game = game_of("offline", SETS[name])
    X = np.random.default_rng(0).normal(size=(20, game.dim_x))
    Y = (X @ game.form.B + game.form.q) @ np.linalg.inv(game.form.C)
    law_of_the_hypergradient(game, game.constraint.project, X, Y, 1 / (4 * game.constants().L))
    with pytest.raises(AssertionError, match=">"):
        law_of_the_hypergradient(game, lambda y: y, X, Y, 1 / (4 * game.constants().L))
