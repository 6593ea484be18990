"""Slopes with intervals, against known answers."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "experiments"))

import bootstrap

PLACES = (0.04, 0.02, 0.01, 0.005)


def sample(generator, power=-1.8, count=8, own=0.2, shared=0.0):
    """x, y and cluster of `count` instances at every place; `shared` moves all of a place together."""
    x = np.repeat(PLACES, count)
    logs = power * np.log(x) + own * generator.normal(size=len(x))
    logs += np.repeat(shared * generator.normal(size=len(PLACES)), count)
    return x, np.exp(logs), list(range(len(x)))


def test_an_exact_power_has_an_interval_without_width():
    x = np.repeat(PLACES, 3)
    found = bootstrap.slope(x, 7 * x**-1.8, range(12))
    assert np.allclose([found.slope, found.low, found.high], -1.8) and found.of_instances < 1e-9


def test_the_slope_is_that_of_least_squares():
    """Also where places have different numbers of rows."""
    x, y, clusters = sample(np.random.default_rng(0))
    x, y, clusters = x[5:], y[5:], clusters[5:]
    assert np.isclose(bootstrap.slope(x, y, clusters).slope, np.polyfit(np.log(x), np.log(y), 1)[0])


@pytest.mark.parametrize("shared", [0.0, 0.15])
def test_intervals_hold_the_true_slope(shared):
    """About 95 of 100, also where the instances of a place err together; never many fewer."""
    generator = np.random.default_rng(1)
    found = [bootstrap.slope(*sample(generator, shared=shared)) for _ in range(200)]
    assert np.mean([one.low <= -1.8 <= one.high for one in found]) >= 0.93
    alone = [one.slope - one.of_instances <= -1.8 <= one.slope + one.of_instances for one in found]
    assert 0.9 <= np.mean(alone) <= 0.99 if not shared else np.mean(alone) < 0.8


def test_rows_of_a_cluster_are_drawn_together():
    """Instances with slopes of their own, each at every place: the interval is that of the mean of their slopes."""
    generator = np.random.default_rng(2)
    slopes = -1.8 + 0.3 * generator.normal(size=10)
    x = np.tile(PLACES, 10)
    y = np.exp(np.repeat(slopes, 4) * np.log(x))
    together = bootstrap.slope(x, y, np.repeat(range(10), 4).tolist())
    expected = 1.96 * np.std(slopes, ddof=1) / np.sqrt(10)
    assert np.isclose(together.slope, slopes.mean()) and 0.85 < together.of_instances / expected < 1.15


def test_the_variance_of_a_drawn_mean_is_unbiased():
    """n - 1 of n: 1.96 s/sqrt(n) with the unbiased s, not sqrt((n - 1)/n) of it."""
    generator = np.random.default_rng(3)
    ratios = []
    for _ in range(50):
        x, y, clusters = sample(generator, count=3)
        means = np.log(y).reshape(4, 3)
        u = np.log(np.array(PLACES)) - np.log(PLACES).mean()
        error = np.sqrt(np.sum(u**2 * means.var(axis=1, ddof=1) / 3)) / (u @ u)
        ratios.append(bootstrap.slope(x, y, clusters).of_instances / (1.96 * error))
    assert abs(np.mean(ratios) - 1) < 0.05


def test_two_places_make_no_line():
    found = bootstrap.slope([1, 1, 2, 2], [1, 2, 3, 4], range(4))
    assert np.isnan([found.slope, found.low, found.high]).all()


def test_the_same_rows_give_the_same_interval():
    x, y, clusters = sample(np.random.default_rng(4))
    assert bootstrap.slope(x, y, clusters) == bootstrap.slope(x, y, clusters)
