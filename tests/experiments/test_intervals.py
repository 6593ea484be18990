"""Who wins is said only where a 95 % interval over paired seeds excludes equality."""

import math
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "experiments"


@pytest.fixture
def intervals(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import intervals

    return intervals


def rows(costs, **more):
    return [{"seed": seed, "sfo": cost, **more} for seed, cost in enumerate(costs)]


@pytest.mark.parametrize("n", [8, 16])
def test_the_interval_holds_the_mean_as_often_as_it_says(intervals, n):
    """Of 3000 normal samples 93 to 97 %, where chance alone moves it by 1 %; plain percentiles hold 90 % with n = 8."""
    samples = np.random.default_rng(0).normal(size=(3000, n))
    held = [low <= 0 <= high for low, high in map(intervals.interval, samples)]
    assert 0.93 <= np.mean(held) <= 0.97


def test_a_common_factor_is_found_through_large_differences_between_seeds(intervals):
    """Costs that differ tenfold from seed to seed, and by 10 % within each pair: only pairing can tell."""
    generator = np.random.default_rng(0)
    base = 10 ** generator.uniform(3, 4, size=8)
    cheap = 0.9 * base * np.exp(0.02 * generator.normal(size=8))
    found = intervals.compare(rows(cheap), rows(base), "sfo")
    assert found.low < found.ratio < found.high < 1 and found.verdict == "less"
    back = intervals.compare(rows(base), rows(cheap), "sfo")
    assert back.verdict == "more" and math.isclose(back.ratio, 1 / found.ratio)
    assert str(found) == f"{found.ratio:.3g} [{found.low:.3g}, {found.high:.3g}]"


def test_noise_decides_nothing_and_equal_costs_are_called_equal(intervals):
    base = np.full(8, 100.0)
    noise = base * np.exp([0.3, -0.3, 0.2, -0.25, 0.1, -0.1, 0.3, -0.2])
    assert intervals.compare(rows(noise), rows(base), "sfo").verdict == "undecided"
    same = intervals.compare(rows(base), rows(base), "sfo")
    assert same.verdict == "equal" and str(same) == "1 in every pair"


def test_few_seeds_decide_nothing(intervals):
    few = intervals.compare(rows([1.0] * 5), rows([2.0] * 5), "sfo")
    assert few.verdict == "undecided" and str(few) == "0.5 [too few seeds]"
    none = intervals.compare([], [], "sfo")
    assert none.verdict == "undecided" and str(none) == "no pairs"


def test_runs_that_never_reached_are_counted_and_not_left_out(intervals):
    """Two cheap runs of eight are no cheaper method; one that never reaches where the other always does is dearer."""
    base = rows([100] * 8)
    lucky = intervals.compare(rows([10, 10] + [None] * 6), base, "sfo")
    assert str(lucky) == "2 of 8 reached against 8 of 8" and lucky.verdict == "more"
    assert intervals.compare(rows([None] * 2 + [1] * 6), base, "sfo").verdict == "undecided"
    assert intervals.compare(base, rows([None] * 8), "sfo").verdict == "less"


def test_settings_of_one_seed_count_once(intervals):
    """Four settings that share their seeds give the interval of their means, not that of four times the seeds."""
    ratios = np.exp([0.1, -0.05, 0.2, 0.1, -0.1, 0.15, 0.05, 0.1])
    single = intervals.compare(rows(ratios), rows(np.ones(8)), "sfo")
    many = [row for n in range(4) for row in rows(ratios, n=n)]
    pooled = intervals.compare(many, [row for n in range(4) for row in rows(np.ones(8), n=n)], "sfo", over=("n",))
    assert pooled.runs == 32 and np.allclose((pooled.low, pooled.high), (single.low, single.high))


def test_what_cannot_be_paired_is_refused(intervals):
    with pytest.raises(ValueError, match="the same"):
        intervals.compare(rows([1.0] * 8), rows([1.0] * 7), "sfo")


def test_the_typical_cost_is_a_median_or_a_count(intervals):
    assert intervals.typical(rows([1, 2, 9], eta=0.5), "sfo", "eta") == {"sfo": 2.0, "eta": 0.5}
    missed = intervals.typical(rows([1, None, 9], eta=0.5), "sfo", "eta")
    assert missed["sfo"] == "2 of 3 reached" and math.isnan(missed["eta"])


def test_a_tally_names_every_comparison_once(intervals):
    base = rows([100.0] * 8)
    found = {
        "a": intervals.compare(rows([50.0] * 8), base, "sfo"),
        "b": intervals.compare(base, base, "sfo"),
        "c": intervals.compare(rows([None] * 8), base, "sfo"),
        "d": intervals.compare(rows([25.0] * 8), base, "sfo"),
    }
    assert intervals.tally(found) == (
        "2 of 4 fewer (a: 0.5 [0.5, 0.5]; d: 0.25 [0.25, 0.25]), 1 of 4 more (c: 0 of 8 reached against 8 of 8), "
        "1 of 4 the same (b: 1 in every pair)"
    )
