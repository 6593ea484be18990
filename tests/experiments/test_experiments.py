"""The experiments run from a clean start, and their result files say what they claim."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "experiments"


def outcome_of(script, out, size="--quick"):
    """The result files of a small run: {name: rows}, and what was printed."""
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{script}.py"), size, "--workers", "1", "--out", str(out)],
        capture_output=True, text=True, timeout=900, cwd=out, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    tables = {path.stem: list(csv.DictReader(path.read_text().splitlines())) for path in out.glob("*.csv")}
    assert (out / "findings.md").read_text() in done.stdout
    assert "plotly" in (out / "figure.html").read_text()
    return tables, done.stdout


@pytest.fixture(scope="module")
def table_1(tmp_path_factory):
    """A quick run of table_1_scaling.py: where it lies, and its tables."""
    out = tmp_path_factory.mktemp("table_1")
    return out, outcome_of("table_1_scaling", out)[0]


def test_table_1_has_a_row_for_every_prediction_and_every_instance(table_1):
    """All sweeps are measured at three points on three instances, against SFO, rounds and bytes.

    SFO of full gradients grow like N where iterations do not; a run that never arrived has no cost and is counted.
    """
    tables = table_1[1]
    every = {"epsilon", "epsilon constrained", "kappa", "gap", "N", "m", "epsilon online"}
    assert {row["sweep"] for row in tables["slopes"]} == {row["sweep"] for row in tables["runs"]} == every
    assert {row["method"] for row in tables["runs"]} == {"DREAM", "GT-DA", "GT-GDA", "GT-SRVR", "DM-HSGD"}
    groups = {}
    for row in tables["runs"]:
        for cost in row["tuned_for"].split():
            groups.setdefault((row["sweep"], row["x"], row["method"], cost), set()).add(row["seed"])
            assert (row[cost] == "") == (row["iterations"] == "")
    assert len(groups) == (6 * 4 + 2) * 3 * 3 and {len(seeds) for seeds in groups.values()} == {3}
    (full,) = [row for row in tables["slopes"] if (row["sweep"], row["cost"], row["method"]) == ("N", "sfo", "GT-DA")]
    assert abs(float(full["slope"]) - 1) < 0.1
    failed = sum(row["sfo"] == "" for row in tables["runs"] if "sfo" in row["tuned_for"].split())
    assert failed == sum(int(row["failed"]) for row in tables["slopes"] if row["cost"] == "sfo")


def test_a_second_start_runs_nothing_again(table_1):
    """Finished runs are read from runs.jsonl, one line each, also when the last line was cut off."""
    out, first = table_1
    log = out / "runs.jsonl"
    lines = log.read_text().splitlines()
    spent = [json.loads(line)["answer"]["seconds"] for line in lines]
    log.write_text("\n".join(lines) + '\n{"job": {"method"')
    assert outcome_of("table_1_scaling", out)[0] == first
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
