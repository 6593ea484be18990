"""The experiments run from a clean start, and their result files say what they claim."""

import csv
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "experiments"


def outcome_of(script, out):
    """The result files of a tiny run: {name: rows}, and what was printed."""
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{script}.py"), "--tiny", "--out", str(out)],
        capture_output=True, text=True, timeout=900, cwd=out, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    tables = {path.stem: list(csv.DictReader(path.read_text().splitlines())) for path in out.glob("*.csv")}
    assert (out / "findings.md").read_text() in done.stdout
    assert "plotly" in (out / "figure.html").read_text()
    return tables, done.stdout


def test_table_1_has_a_slope_for_every_prediction(tmp_path):
    """All five sweeps are measured; a point that was never reached counts as failed.

    SFO of full gradients grow like N, since their iterations do not change.
    """
    tables, _ = outcome_of("table_1_scaling", tmp_path)
    slopes = tables["slopes"]
    assert {row["sweep"] for row in slopes} == {"epsilon", "N", "m", "gap", "epsilon online"}
    for row in slopes:
        assert int(row["points"]) + int(row["failed"]) == 3
        assert math.isfinite(float(row["slope"])) == (int(row["points"]) == 3), row
    assert sum(int(row["points"]) == 3 for row in slopes) >= len(slopes) - 4
    (full,) = [row for row in slopes if (row["sweep"], row["cost"], row["method"]) == ("N", "sfo", "GT-GDA")]
    assert abs(float(full["slope"]) - 1) < 0.3
    assert {row["method"] for row in tables["points"]} == {"DREAM", "GT-DA", "GT-GDA", "GT-SRVR", "DM-HSGD"}


def test_a_second_start_runs_nothing_again(tmp_path):
    """Finished runs are read from runs.jsonl, one line each, also when the last line was cut off.

    SFO per agent are the total divided by m.
    """
    first, _ = outcome_of("speedup", tmp_path)
    reached = [row for row in first["points"] if row["sfo"]]
    assert {row["method"] for row in reached} == {"DREAM", "GT-SRVR"}
    assert all(math.isclose(float(row["per_agent"]), int(row["sfo"]) / int(row["m"]), rel_tol=1e-4) for row in reached)
    log = tmp_path / "runs.jsonl"
    lines = log.read_text().splitlines()
    spent = [json.loads(line)["answer"]["seconds"] for line in lines]
    log.write_text("\n".join(lines) + '\n{"job": {"method"')
    second, _ = outcome_of("speedup", tmp_path)
    assert second == first
    assert [json.loads(line)["answer"]["seconds"] for line in log.read_text().splitlines()] == spent


@pytest.mark.parametrize("script", ["table_1_scaling", "ablation_mixing"])
def test_help_names_the_sizes(script):
    """--help says what --quick is."""
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{script}.py"), "--help"],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    assert "--quick" in done.stdout and "--out" in done.stdout
