"""Tables over many runs: known answers on histories made by hand, laws of resampling, and every column once."""

import hashlib
import io
import json
import math
import os
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import run

import raydream as rd
from raydream import columns
from raydream.agents.ledger import Ledger
from raydream.running.progress import Progress, time_left
from raydream.running.stopping import reached
from raydream.storage.settings import Limits
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


def test_a_seed_that_does_not_reach_the_target_is_dearer_than_all_others_and_has_no_number():
    """So is one that failed: with two of four seeds the median is not known; with two of three it is the second's."""
    good, bad, broken = history([8, 1]), history([8, 7]), history([8, math.nan])
    table = reach_table({("a", 0): good, ("a", 1): good, ("a", 2): bad, ("a", 3): None,
                         ("b", 0): good, ("b", 1): broken, ("b", 2): good}, 1).set_index("method")  # fmt: skip
    assert (table.reached["a"], table.seeds["a"]) == (2, 4)
    assert table.sfo_low["a"] == 10 and math.isnan(table.sfo["a"]) and math.isnan(table.sfo_high["a"])
    assert (table.reached["b"], table.sfo["b"]) == (2, 10) and math.isnan(table.sfo_high["b"])
    assert not np.isinf(table.to_numpy(dtype=float)).any()


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


# ---------------------------------------------------------------- columns


def test_every_count_of_the_ledger_is_a_cost():
    """What is billed is a column, whole, in the ledger's order; and every column has a way to be shown."""
    assert tuple(name for name in columns.COSTS if columns.COLUMNS[name].integer) == columns.BILLED
    assert [*Ledger().as_dict()] == [*columns.BILLED]
    assert all(one.label and one.short for one in columns.COLUMNS.values())
    assert {*columns.COLUMNS} == {*columns.AXES, *columns.METRICS, *columns.names("overhead")}


def test_every_limit_reads_a_column():
    """`Limits` and the columns name each other."""
    assert {field.name for field in fields(Limits)} == {*columns.LIMITED}
    row = dict.fromkeys(columns.RECORDED, 5.0)
    assert reached(Limits(), row) is None
    assert reached(Limits(max_sfo=5), row) == ("budget", "sfo = 5 reached the limit 5")
    assert reached(Limits(max_sfo=6, max_rounds=6, max_seconds=5.1, target_grad_norm=4.9), row) is None
    assert reached(Limits(max_sfo=5, target_primal=5), row)[0] == "target", "a run that got there was not cut short"


def test_a_column_that_is_better_when_it_is_more():
    """Targets are reached from below, and a run that diverged is infinitely bad downwards."""
    score = columns.Column("score", "metric", "score", "score", better="more", diverges=True)
    assert list(score.reaches([1, 2, 3, math.nan], 2)) == [False, True, True, False]
    assert list(score.counted([1, math.nan])) == [1, -INF]


def test_a_history_from_before_a_column_has_nan_there(tmp_path):
    """Loaded, resumed and compared: never a KeyError."""
    game = rd.problems.QuadraticGame.random(agents=4, samples=5, seed=1)
    method, ring = rd.DREAM(eta=0.05, gamma=0.3, b=2), rd.topology.ring(4)
    run(game, ring, method, iterations=20, record_every=5, checkpoint_every=10, directory=tmp_path / "r")
    forget(tmp_path / "r", "consensus", "messages")
    loaded = rd.load(tmp_path / "r")
    assert list(loaded.history.columns) == list(columns.RECORDED)
    assert loaded.history[["consensus", "messages"]].isna().all().all() and loaded.history.primal.notna().all()
    found = rd.resume(tmp_path / "r", iterations=30, problem=game)
    wanted = run(game, ring, method, iterations=30, record_every=5)
    assert found.history.consensus.isna().tolist() == [True] * 5 + [False] * 2
    assert found.history.messages[5:].tolist() == wanted.history.messages[5:].tolist()
    assert found.history.primal.equals(wanted.history.primal)
    assert rd.load(tmp_path / "r").history.messages.isna().sum() == 5
    for told in (loaded, found):
        runs = {("dream", 0): told.history, ("dream", 1): wanted.history}
        assert reach_table(runs, 1e9, "consensus").reached[0] == (2 if told is found else 1)
        assert len(resampled_curves(runs, "sfo", "consensus")) == 200
        assert told.plot.convergence(x="sfo", y="primal").data and told.report(tmp_path / "r.html").exists()
    assert found.plot.convergence(x="messages", y="consensus").data


def forget(folder, *names):
    """A run directory as it was written before there were these columns."""
    history = pd.read_csv(folder / "history.csv")
    history.drop(columns=[*names]).to_csv(folder / "history.csv", index=False)
    manifest = json.loads((folder / "checkpoint" / "manifest.json").read_text())
    path = folder / "checkpoint" / manifest["file"]
    with np.load(io.BytesIO(path.read_bytes())) as file:
        arrays = {name: file[name] for name in file.files}
    kept = [place for place, name in enumerate(manifest["columns"]) if name not in names]
    np.savez(path, **{**arrays, "history": arrays["history"][:, kept]})
    manifest["columns"] = [manifest["columns"][place] for place in kept]
    manifest["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "checkpoint" / "manifest.json").write_text(json.dumps(manifest))


ENTRY = """    Measured(
        name="farthest", kind="metric", label="the farthest coordinate", short="farthest", log=True,
        measure=lambda at: float(np.abs(at.x_bar).max()),
    ),
)  # fmt: skip
"""
LOOK = """
import json, sys
import numpy as np
import raydream as rd
from raydream.dashboard import axes
from raydream.dashboard.parts import Query
from raydream.report.collect import collect
from raydream.report.page.page import page

game = rd.problems.QuadraticGame.random(agents=4, samples=5, seed=1)
parts = game, rd.topology.ring(4), rd.DREAM(eta=0.05, gamma=0.3, b=2)
result = rd.run(*parts, iterations=20, record_every=5, checkpoint_every=20, backend="local", directory="r")
assert result.history.farthest.iloc[-1] == np.abs(result.x_bar).max()
assert "farthest" in open("r/history.csv").readline() and "farthest" in rd.load("r").history
assert "farthest" in json.load(open("r/checkpoint/manifest.json"))["columns"]
both = rd.compare(game, parts[1], {"dream": parts[2]}, max_sfo=400, seeds=(0, 1), backend="local", progress=False)
assert both.curves("sfo", "farthest")["median"].notna().any() and both.to_reach(1e9, "farthest").reached[0] == 2
facts = json.loads(page(collect(result)).split('id="facts">')[1].split("</script>")[0])
assert facts["metrics"]["farthest"]["name"] == "the farthest coordinate" and facts["metrics"]["farthest"]["log"]
assert "farthest" in facts["packed"][0]["columns"] and facts["targets"]["farthest"] is not None
menu = axes.controls(Query("?y=farthest"))[0].children[1]
assert menu.value == "farthest" and {"value": "farthest", "label": "the farthest coordinate"} in menu.options
"""


def test_a_metric_is_one_entry(tmp_path):
    """Added to a copy of the package, it is in history, files, checkpoint, curves, report and the dashboard's menus."""
    package = Path(rd.__file__).parent
    shutil.copytree(package, tmp_path / "raydream", ignore=shutil.ignore_patterns("__pycache__"))
    entries = tmp_path / "raydream" / "columns" / "metrics.py"
    before, end, after = entries.read_text().partition(")  # fmt: skip\n")
    entries.write_text(before + ENTRY + after)
    done = subprocess.run(
        [sys.executable, "-c", LOOK], cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert end and done.returncode == 0, done.stderr[-3000:]
