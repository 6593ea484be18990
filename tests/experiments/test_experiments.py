"""The experiments run from a clean start, and their result files say what they claim."""

import csv
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import theorem

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


def test_the_theorem_holds_in_full(tmp_path):
    """All T iterations of the theorem for epsilon = 2 ||grad P(x0)||, 16 seeds, offline and online.

    The upper 95 % limit of the RMS of ||grad P(x_out)|| is at most epsilon, and with it at most half of what the start
    has: about epsilon/4, as descent on P alone would give.
    """
    tables, said = outcome_of("theorem", tmp_path)
    assert {(row["case"], row["factor"]) for row in tables["runs"]} == {("offline", "2"), ("online", "2")}
    assert len(tables["runs"]) == 32 and all(float(row["kappa"]) <= 1.1 for row in tables["runs"])
    for limit in theorem.limits_of(tables):
        assert limit["held"] and limit["iterations"] > 100_000
        assert 0.2 * limit["epsilon"] < limit["rms"] <= limit["upper"] < 0.26 * limit["epsilon"]
    assert "In 2 of 2 settings" in said
    worse = [{**row, "mean_square": 17 * float(row["mean_square"])} for row in tables["runs"]]
    summary, body = theorem.text_of({**tables, "runs": worse})
    assert "In 0 of 2 settings" in summary and "Broken: offline, 2, online, 2." in body


def test_what_was_found_of_the_theorem_is_what_its_files_say():
    """findings/theorem.md is rendered from its CSV files; in full the theorem held for every case and epsilon."""
    files = {path.stem.removeprefix("theorem_"): path for path in (FOLDER / "findings").glob("theorem_*.csv")}
    tables = {name: list(csv.DictReader(path.read_text().splitlines())) for name, path in files.items()}
    summary, body = theorem.text_of(tables)
    assert f"{summary}\n\n{body.strip()}\n\n" in (FOLDER / "findings" / "theorem.md").read_text()
    limits = theorem.limits_of(tables)
    assert {(row["case"], row["factor"]) for row in limits} == {(c, f) for c in theorem.CASES for f in (1.0, 0.5, 0.25)}
    assert all(row["held"] and row["seeds"] >= 16 for row in limits)


def test_mixing_that_amplifies_is_found(tmp_path):
    """One round with the printed momentum has an eigenvalue below -1 on the ring with weights 1/3 (-1.17)."""
    tables, _ = outcome_of("ablation_mixing", tmp_path)
    wild = [row for row in tables["runs"] if row["amplifies"] == "True"]
    assert [(row["topology"], row["K"]) for row in wild] == [("ring, self weight 1/3", "1")]
    assert abs(float(wild[0]["low"]) + 1.17) < 0.01
    calm = [row for row in tables["runs"] if row["mixing"] == "FastMix"]
    assert calm and all(math.isfinite(float(row["rounds"])) for row in calm)


def test_always_taking_large_batches_costs_more(tmp_path):
    """Full gradients in every iteration need more SFO than a coin with p = b/(b + n)."""
    tables, _ = outcome_of("ablation_coin", tmp_path)
    sfo = {row["rule"]: float(row["sfo"]) for row in tables["runs"]}
    assert set(sfo) == {"shared coin", "coin per agent", "fixed period", "always", "never"}
    assert sfo["always"] > sfo["shared coin"]


def test_the_variance_formula_is_measured(tmp_path):
    """Drawn corrections have the predicted variance, within five standard errors; the printed bound fails at b=16."""
    tables, _ = outcome_of("ablation_participation", tmp_path)
    for row in tables["variance"]:
        assert abs(float(row["measured"]) - float(row["predicted"])) <= 5 * float(row["error"]), row
    (thin,) = [row for row in tables["variance"] if (row["b"], row["q"]) == ("16", "0.5")]
    assert float(thin["measured"]) > 3 * float(thin["bound"])


def test_both_orders_of_projection_reach_the_target(tmp_path):
    """The constraint is active, and only projecting last keeps every gradient inside Y."""
    tables, _ = outcome_of("ablation_projection", tmp_path)
    rows = {row["order"]: row for row in tables["runs"]}
    assert rows["before"]["active"] == rows["after"]["active"] == "1 of 1"
    assert all(float(row["least"]) <= 1e-6 for row in rows.values())
    assert float(rows["after"]["outside"]) == 0


def test_defects_show(tmp_path):
    """Without tracking DM-HSGD never moves x; the biased recursion blows up; wrong shards end elsewhere."""
    tables, _ = outcome_of("ablation_defects", tmp_path)
    rows = {(row["defect"], row["version"]): row for row in tables["runs"]}
    still = rows["DM-HSGD without tracking", "defect"]
    assert float(still["moved"]) == 0 and still["end"] == still["start"]
    assert float(rows["DM-HSGD without tracking", "correct"]["moved"]) > 0.1
    assert float(rows["biased 1/q recursion", "defect"]["end"]) > 100 * float(
        rows["biased 1/q recursion", "correct"]["end"]
    )
    assert float(rows["wrong shards", "defect"]["end"]) > 5 * float(rows["wrong shards", "correct"]["end"])
    curves = [
        row for row in tables["curves"] if row["defect"] == "DM-HSGD without tracking" and row["version"] == "defect"
    ]
    assert len(curves) > 10 and len({row["grad_norm"] for row in curves}) == 1


def test_the_readme_has_a_line_for_every_script():
    """make_readme.py has been run since the last script came, and every finding is linked."""
    text = (FOLDER / "README.md").read_text()
    parts = {"sweeps.py", "valley.py", "vectorised.py", "figures.py", "make_readme.py"}
    for script in FOLDER.glob("*.py"):
        assert script.name in parts or f"| `{script.name}` |" in text, f"{script.name}: run make_readme.py"
    for finding in (FOLDER / "findings").glob("*.md"):
        assert f"(findings/{finding.name})" in text


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
