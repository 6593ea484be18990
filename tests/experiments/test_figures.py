"""Figures 1 and 2 run from a clean start on small data, and say what their files say."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "experiments"


@pytest.mark.parametrize(("script", "axis"), [("figure_1_sfo", "sfo"), ("figure_2_rounds", "rounds")])
def test_a_figure_is_drawn_and_told_from_its_files(script, axis, tmp_path):
    """Every method has a value within the budget, the winners are named, and the text's leader is the table's."""
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{script}.py"), "--quick", "--scalings", "balanced", "--out", str(tmp_path)],
        capture_output=True, text=True, timeout=400, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    rows = list(csv.DictReader((tmp_path / f"{script}.csv").read_text().splitlines()))
    assert {row["method"] for row in rows} == {"dream", "dm-hsgd", "gt-da", "gt-gda", "gt-srvr"}
    budget = 4 * 1600 if axis == "sfo" else 120
    assert all(float(row[axis]) <= budget for row in rows)
    best = min(rows, key=lambda row: float(row["primal"]))
    text = (tmp_path / f"{script}.md").read_text()
    assert f"{float(best['primal']):.4g}" in text
    winners = json.loads((tmp_path / f"{script}_winners.json").read_text())
    assert set(winners["synthetic, balanced scaling"]) == {row["method"] for row in rows}
    assert "plotly" in (tmp_path / f"{script}.html").read_text()
