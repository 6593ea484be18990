"""Run directories of version 0.1.0 load, go on and are reported."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import raydream as rd

OLD = Path(__file__).parents[1] / "golden" / "v0.1.0"


@pytest.fixture
def old(tmp_path):
    """A copy to work on."""
    return Path(shutil.copytree(OLD, tmp_path / "old"))


def test_a_run_loads_and_is_reported(old):
    """With all its columns."""
    result = rd.load(old / "run")
    assert result.outcome == "completed" and result.history.iteration.tolist() == [0, 5, 10, 15, 20]
    assert "Phi" in result.history and result.ledger.sfo == result.history.sfo.iloc[-1]
    assert result.report(old / "run" / "report.html").stat().st_size > 1_000_000


def test_a_finished_run_goes_on(old):
    """To a later end, as a run of today goes that was asked for that end at once."""
    result = rd.resume(old / "run", iterations=30, backend="local", progress=False)
    assert result.history.iteration.tolist() == [0, 5, 10, 15, 20, 25, 30]
    assert rd.load(old / "run").history.iteration.iloc[-1] == 30


def test_a_stopped_run_goes_on_to_the_same_bits(old):
    """From its own start, which lies beside it."""
    result = rd.resume(old / "stopped", backend="local", progress=False)
    wanted = json.loads((old / "stopped-whole.json").read_text())
    for column, values in wanted["history"].items():
        np.testing.assert_allclose(result.history[column], values, rtol=1e-9, atol=1e-12, err_msg=column)
    np.testing.assert_allclose(result.x_out, wanted["x_out"], rtol=1e-9)
    np.testing.assert_allclose(result.arrays["Z"], wanted["Z"], rtol=1e-9)


def test_a_comparison_loads_and_is_reported(old):
    """All runs, none skipped."""
    comparison = rd.Comparison.load(old / "compare")
    assert list(comparison.results) == [("dream", 0), ("dream", 1), ("gt-gda", 0), ("gt-gda", 1)]
    assert not comparison.skipped and comparison.report(old / "compare" / "report.html").is_file()


def test_a_tuning_loads(old):
    """With its winners as methods."""
    tuning = rd.Tuning.load(old / "tune")
    assert set(tuning.best) == {"dream", "gt-gda"} and isinstance(tuning.best["dream"], rd.DREAM)
