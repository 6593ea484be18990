"""What trials tell of parameters: shares that mean something, no claim from noise, and rungs told apart."""

import math

import numpy as np
import pytest
from scipy.stats import kruskal

import raydream as rd
from raydream.problems import QuadraticGame
from raydream.studies.tuning.importance import importance
from raydream.studies.tuning.rungs import rungs


def test_what_decides_the_order_explains_it_and_what_does_not_does_not():
    """Sixty trials whose score is a function of one parameter, whatever the other is."""
    draw = np.random.default_rng(0)
    eta, K = draw.random(60), draw.integers(2, 4, size=60)
    deciding, idle = importance(eta, eta**3), importance(K, eta**3)
    assert deciding.share > 0.9 > deciding.chance > 0
    assert idle.share < idle.chance


def test_the_share_is_that_of_the_rank_test_of_kruskal_and_wallis():
    """H = (n - 1) eta^2, of which a share beyond chance is one that the test calls significant."""
    draw = np.random.default_rng(1)
    for _ in range(50):
        groups, scores = draw.integers(0, 3, size=24), draw.normal(size=24)
        scores += 0.8 * groups
        found, told = importance(groups, scores), kruskal(*(scores[groups == one] for one in range(3)))
        n, k = 24, 3
        share = 1 - (1 - told.statistic / (n - 1)) * (n - 1) / (n - k)
        assert found.share == pytest.approx(max(0.0, share))
        assert (found.share > found.chance) == (told.pvalue < 0.05)


def test_noise_is_seldom_taken_for_more():
    """Of 400 parameters that do nothing about one in twenty is beyond chance; with ten at a time, one in 200."""
    draw = np.random.default_rng(2)
    pairs = [(draw.random(30), draw.normal(size=30)) for _ in range(400)]
    alone, together = (np.mean([found.share > found.chance for found in (importance(*one, of) for one in pairs)])
                       for of in (1, 10))  # fmt: skip
    assert 0.01 < alone < 0.09 and together < 0.02
    assert np.mean([importance(*one).share for one in pairs]) < 0.06, "what chance explains is taken off"


def test_only_the_order_counts_and_what_diverged_is_last():
    """Any growing function of the scores gives the same share, and infinity is one more place in the order."""
    draw = np.random.default_rng(3)
    values = draw.integers(0, 4, size=40)
    scores = draw.random(40) + values
    wild = np.where(scores > 3.5, math.inf, np.exp(5 * scores))
    ordered = np.where(scores > 3.5, 1e9, scores)
    assert importance(values, wild) == importance(values, ordered)


def test_words_none_and_numbers_are_values_alike():
    """As a space may mix them; a parameter that never changed explains nothing."""
    values, scores = ["sqrt(n)", 64, None] * 6, [1.0, 2.0, 3.0] * 6
    assert importance(values, scores).share == pytest.approx(1.0) and importance(values, scores).groups == 3
    assert math.isnan(importance([1.0] * 18, scores).share)


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_a_handful_of_trials_tells_nothing(count):
    """Where there are as many values as trials, and where all scores are the same."""
    assert math.isnan(importance(list(range(count)), [float(one) for one in range(count)]).share)
    assert math.isnan(importance([1, 2] * 9, [1.0] * 18).share)


def test_a_rung_is_the_place_of_a_budget_among_those_of_its_configuration():
    """Also where starts differ in price, so that one round of halving has several budgets."""
    game, ring = QuadraticGame.random(agents=4, samples=6, dim_x=2, dim_y=3, seed=1), rd.topology.ring(4)
    space = {"eta": [0.01, 0.03, 0.1, 0.3, 1.0], "gamma": 1.0, "b": 2, "b_large": [2, 30], "K": 2}
    found = rd.tune(game, ring, ["dream"], budget=5000, space=space, search="halving", trials=10, workers=1)
    horizons, budget = found.about["horizons"], found.budget
    assert len(horizons) == 2 and {record["start"] for record in found.records} == {8, 120}
    for record, rung in zip(found.records, rungs(found.records), strict=True):
        limit = budget if rung == 2 else int(record["start"] + horizons[rung])
        assert record["budget"] == limit
    assert [rungs(found.records).count(rung) for rung in range(3)] == [10, 4, 2]
