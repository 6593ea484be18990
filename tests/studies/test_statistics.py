"""What a few seeds can tell: intervals that hold what they promise, and no claim without one."""

import math

import numpy as np
import pandas as pd
import pytest

from raydream.columns import RECORDED
from raydream.studies.standings import differences, finals, values_at, verdict
from raydream.studies.statistics import has_followed, median_interval, paired_difference, student_interval


def test_the_interval_of_a_mean_holds_it_in_95_of_100_samples():
    """Ten normal numbers at a time, two thousand times: within four standard errors of 95 %."""
    draws = np.random.default_rng(0).normal(3.0, 2.0, size=(2000, 10))
    inside = [low <= 3.0 <= high for _, low, high in map(student_interval, draws)]
    assert abs(np.mean(inside) - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 2000)


def test_the_interval_of_a_median_holds_it_nearly_as_often():
    """A percentile bootstrap of ten numbers promises a little less."""
    draws = np.random.default_rng(1).exponential(size=(400, 10))
    inside = [low <= math.log(2) <= high for _, low, high, _ in map(median_interval, draws)]
    assert 0.88 < np.mean(inside) <= 1.0


def test_equal_methods_are_seldom_told_apart_and_unlike_ones_always():
    """At most one pair in ten of equals is called decided; a shift of five deviations always is."""
    generator = np.random.default_rng(2)
    noise = generator.normal(size=(400, 2, 10))
    assert np.mean([paired_difference(a, b).decided for a, b in noise]) < 0.1
    assert all(paired_difference(a, b + 5).decided for a, b in noise[:50])


def test_pairs_share_their_seeds():
    """What is common to a seed cancels: unpaired, these two could not be told apart."""
    common = np.array([1.0, 50.0, 3.0, 70.0])
    found = paired_difference(common + 0.1, common)
    assert found.decided and found.middle == pytest.approx(0.1) and found.low > 0.09
    with pytest.raises(ValueError, match="`first` and `second` must be pairs; got 4 and 3"):
        paired_difference(common, common[1:])


def test_a_ratio_is_a_geometric_mean():
    """Twice as much is 2, whatever the scale."""
    found = paired_difference([2.0, 20.0, 2e5], [1.0, 10.0, 1e5], ratio=True)
    assert (found.middle, found.low, found.high) == pytest.approx((2, 2, 2)) and found.decided


def test_a_lost_seed_decides_nothing_and_no_bound_is_infinite():
    """Two of three pairs may agree as they like."""
    found = paired_difference([1.0, 1.1, math.inf], [5.0, 5.1, 5.2])
    assert (found.pairs, found.lost, found.decided) == (3, 1, False)
    one = paired_difference([1.0], [2.0])
    assert not one.decided and one.low == -math.inf
    middle, low, high, of = median_interval([1.0, 2.0, math.inf])
    assert (middle, low, of) == (2.0, 1.0, 3) and math.isnan(high)
    assert math.isnan(median_interval([]).middle)


def test_y_has_followed_where_the_gap_is_less_than_the_gain():
    """64 times P, where P has hardly moved, is not following; rounding at a converged start is."""
    assert has_followed(0.69, 0.45, 0.01) and not has_followed(2.129e-5, 2.121e-5, 64 * 2.1e-5)
    assert has_followed(1.0, 1.0, 1e-17) and has_followed(1.0, 0.5, math.nan)
    assert not has_followed(1.0, 1.2, 0.1)


def history(primal, gap=0.0):
    """Records at 10, 20, ... SFO calls."""
    rows = range(len(primal))
    table = pd.DataFrame({name: [float(10 * row + 10) for row in rows] for name in RECORDED})
    return table.assign(iteration=list(rows), primal=primal, grad_norm=primal, dual_gap=gap)


RUNS = {
    **{("steady", seed): history([9, 5, 1 + 0.01 * seed]) for seed in range(5)},
    **{("noisy", seed): history([9, 5, [0, 4, 1, 3, 2][seed]]) for seed in range(5)},
    **{("slow", seed): history([9, 8, 7 + 0.02 * seed], gap=50.0) for seed in range(5)},
}


def test_only_a_difference_whose_interval_excludes_equality_is_claimed():
    """`noisy` lies behind in the median and is not called worse; `slow` is."""
    table = differences(RUNS, "primal").set_index(["first", "second"])
    assert table.decided.to_dict() == {
        ("steady", "noisy"): False, ("steady", "slow"): True, ("noisy", "slow"): True,
    }  # fmt: skip
    said = verdict(RUNS, "primal")
    assert "steady has the best median of primal, 1.02" in said and "beyond doubt (95 %) over slow" in said
    assert "undecided against noisy (2)" in said
    assert verdict({key: run for key, run in RUNS.items() if key[0] == "slow"}, "primal") == ""


def test_runs_are_judged_at_a_price():
    """The last record within it; by default the most that all have spent; a run that ended before stays there."""
    at = values_at(RUNS, "primal", "sfo", 29.0)
    assert at["steady"] == dict.fromkeys(range(5), 5.0) and at["slow"][0] == 8
    short = {**RUNS, ("steady", 0): history([9, 5])}
    assert values_at(short, "primal", "sfo")["slow"][0] == 8 and values_at(short, "primal")["slow"][0] == 7
    assert values_at(short, "primal", "sfo", 30)["steady"] == {
        0: 5.0,
        **{seed: 1 + 0.01 * seed for seed in range(1, 5)},
    }


def test_runs_whose_y_has_not_followed_are_counted():
    """The dual gap of `slow` is 50 where P has gained 2."""
    table = finals(RUNS, "primal").set_index("method")
    assert table.followed.to_dict() == {"steady": 5, "noisy": 5, "slow": 0} and table.dual_gap["slow"] == 50
    assert table.low["steady"] <= table["median"]["steady"] <= table.high["steady"]
