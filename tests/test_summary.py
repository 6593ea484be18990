"""Tables over many runs: known answers on histories made by hand, and laws of resampling."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raydream.running.progress import Progress, time_left
from raydream.studies.curves import quantile, reach_table, resample, resampled_curves

INF = math.inf


def history(grad_norms, sfo=10, rounds=2, primal=None):
    """A history of which row k has cost k times the given numbers."""
    k = np.arange(len(grad_norms))
    return pd.DataFrame({
        "iteration": k, "sfo": sfo * k, "rounds": rounds * k, "messages": 0 * k, "bytes": 100 * k,
        "seconds": 0.5 * k, "grad_norm": grad_norms, "primal": grad_norms if primal is None else primal,
    })  # fmt: skip


def test_the_cost_of_a_target_is_that_of_the_first_record_which_is_as_low():
    """Rising again afterwards changes nothing, and a record that equals the target counts."""
    runs = {("a", 0): history([8, 4, 2, 1, 5]), ("a", 1): history([8, 2, 2, 9, 9]), ("a", 2): history([8, 7, 6, 2, 0])}
    [row] = reach_table(runs, 2).to_dict("records")
    assert (row["seeds"], row["reached"]) == (3, 3)
    assert (row["sfo_low"], row["sfo"], row["sfo_high"]) == (15, 20, 25)
    assert (row["rounds"], row["bytes"], row["seconds"]) == (4, 200, 1.0)


def test_a_seed_that_does_not_reach_the_target_counts_as_infinity():
    """So does one that failed: with two of four seeds the median is infinite, with three it is the third's."""
    good, bad, broken = history([8, 1]), history([8, 7]), history([8, math.nan])
    table = reach_table({("a", 0): good, ("a", 1): good, ("a", 2): bad, ("a", 3): None,
                         ("b", 0): good, ("b", 1): broken, ("b", 2): good}, 1).set_index("method")  # fmt: skip
    assert (table.reached["a"], table.seeds["a"]) == (2, 4)
    assert (table.sfo_low["a"], table.sfo["a"], table.sfo_high["a"]) == (10, INF, INF)
    assert (table.reached["b"], table.sfo["b"], table.sfo_high["b"]) == (2, 10, INF)


def test_the_metric_may_be_the_primal_value():
    """The same history answers both questions."""
    runs = {("a", 0): history([9, 9, 0], primal=[3, 1, 1])}
    assert reach_table(runs, 1, "primal").sfo[0] == 10
    assert reach_table(runs, 1, "grad_norm").sfo[0] == 20
    with pytest.raises(ValueError, match=r"`metric` must be one of .*Did you mean 'grad_norm'"):
        reach_table(runs, 1, "grad")


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=9), st.floats(0, 1))
@settings(deadline=None, max_examples=60)
def test_quantiles_of_finite_numbers_are_numpy_s(values, share):
    """Infinity is all that is new."""
    assert quantile(values, share) == pytest.approx(np.quantile(values, share), rel=1e-9, abs=1e-9)
    assert quantile([*values, INF], 1.0) == INF and quantile([INF, INF], share) == INF


steps = st.lists(st.tuples(st.integers(0, 5), st.floats(-10, 10)), min_size=1, max_size=8)


@given(steps, st.lists(st.floats(-3, 50), min_size=1, max_size=20))
@settings(deadline=None, max_examples=100)
def test_resampling_evaluates_the_step_function_and_nothing_beyond(pairs, grid):
    """At each place: the last value at or before it, by search; NaN before the first record and after the last."""
    x, y = np.cumsum([gap for gap, _ in pairs]), [value for _, value in pairs]
    found = resample(x, y, np.array(grid))
    for place, value in zip(grid, found, strict=True):
        before = [own for at, own in zip(x, y, strict=True) if at <= place]
        if before and place <= x[-1]:
            assert value == before[-1]
        else:
            assert math.isnan(value)
    assert np.array_equal(resample(x, y, x.astype(float))[-1:], y[-1:])


def test_curves_share_an_axis_and_count_the_runs_that_reach_each_place():
    """Two runs of one method, one of which ends half way, and a third that begins later."""
    runs = {("a", 0): history([4, 3, 2, 1, 0]), ("a", 1): history([8, 7, 6]),
            ("b", 0): history([1, 1, 1, 1, 1]).iloc[2:]}  # fmt: skip
    table = resampled_curves(runs, "sfo", "grad_norm", points=5)
    a, b = (table[table.method == name] for name in "ab")
    assert list(a.sfo) == list(b.sfo) == [0, 10, 20, 30, 40]
    assert list(a.runs) == [2, 2, 2, 1, 1] and list(b.runs) == [0, 0, 1, 1, 1]
    assert list(a["median"]) == [6, 5, 4, 1, 0]
    assert list(a.low)[:3] == [5, 4, 3] and list(a.high)[:3] == [7, 6, 5]
    assert b["median"].isna().tolist() == [True, True, False, False, False]


def test_a_run_that_diverged_counts_as_infinity_in_a_curve():
    """NaN in a metric is no reason to leave the run out of the median."""
    runs = {("a", 0): history([4, math.nan]), ("a", 1): history([4, math.inf]), ("a", 2): history([4, 1])}
    table = resampled_curves(runs, "iteration", "grad_norm", points=2)
    assert list(table["median"]) == [4, INF] and list(table.runs) == [3, 3]


def test_an_unknown_axis_is_answered_with_the_nearest():
    """Both axes."""
    runs = {("a", 0): history([4, 3])}
    with pytest.raises(ValueError, match=r"`x` must be one of .* Did you mean 'rounds'"):
        resampled_curves(runs, x="round")
    with pytest.raises(ValueError, match=r"`y` must be one of .* Did you mean 'primal'"):
        resampled_curves(runs, y="primel")
    assert resampled_curves({}).empty


def test_the_time_left_is_that_of_the_pace_so_far():
    """A quarter done in 30 seconds leaves 90; nothing is said before the first and after the last."""
    assert time_left(1, 4, 30) == "; about 1 min 30 s left"
    assert time_left(2, 4, 30) == "; about 30 s left"
    assert time_left(1, 3, 3600) == "; about 2 h 0 min left"
    assert time_left(0, 4, 30) == time_left(4, 4, 30) == ""


def test_lines_are_printed_where_they_are_asked_for(capsys):
    """Not a terminal: lines with True, and with None or False nothing."""
    for wanted in (True, None, False):
        with Progress("tune", 3, wanted) as told:
            told.skip(1, 1.0)
            told.step("one")
            told.step("two")
    assert capsys.readouterr().err.splitlines() == ["tune 1/2: one", "tune 2/2: two"]


def test_summaries_use_the_columns_of_a_history():
    """What the tables ask for is what a result has."""
    from raydream.columns import RECORDED as COLUMNS
    from raydream.studies.curves import AXES, COSTS, METRICS

    assert {*AXES, *COSTS, *METRICS} <= {*COLUMNS}
