"""Random draws depend on their key alone."""

import numpy as np
import pytest

from raydream.agents.streams import PURPOSES, Streams


def test_a_draw_does_not_depend_on_what_was_drawn_before():
    """The stream at a key starts afresh, whatever was taken from other keys, or from this one."""
    quiet, busy = Streams(3), Streams(3)
    for t in range(5):
        stream = busy.at("sample", agent=1, iteration=t, draw=2)
        stream.normal(size=7), stream.integers(9, size=3, dtype=np.uint32)
    expected = quiet.at("sample", agent=4, iteration=9, draw=1).random(6)
    assert np.array_equal(busy.at("sample", agent=4, iteration=9, draw=1).random(6), expected)
    assert np.array_equal(busy.at("sample", agent=4, iteration=9, draw=1).random(6), expected)


def test_every_part_of_the_key_matters():
    """Another seed, purpose, agent, iteration or draw gives other numbers."""
    keys = [dict(agent=a, iteration=t, draw=d) for a in (0, 1) for t in (0, 1) for d in (0, 1)]
    drawn = [
        tuple(Streams(seed).at(purpose, **key).random(4)) for seed in (0, 1) for purpose in PURPOSES for key in keys
    ]
    assert len(set(drawn)) == len(drawn)


def test_draws_of_different_agents_are_uncorrelated():
    """Correlations over 20000 draws of neighbouring keys are within five standard errors of 0."""
    rows = np.stack([Streams(0).at("sample", agent=a, iteration=5).normal(size=20_000) for a in range(6)])
    correlations = np.corrcoef(rows) - np.eye(6)
    assert np.abs(correlations).max() < 5 / np.sqrt(20_000)


@pytest.mark.parametrize("seed", [-1, 1.5, "a", None, True])
def test_a_seed_is_a_whole_number(seed):
    """A seed that is not a whole number from 0 is refused by name."""
    with pytest.raises((TypeError, ValueError), match="`seed`"):
        Streams(seed)
