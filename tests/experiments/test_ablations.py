"""The ablations run from a clean start in seconds, are told from their files, and show what they are about."""

import importlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "experiments"


@pytest.fixture(autouse=True)
def texts(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("texts")


def outcome_of(script, out):
    """The tables of a quick run, whose text is what its script makes of them."""
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{script}.py"), "--quick", "--out", str(out)],
        capture_output=True, text=True, timeout=900, cwd=out, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    texts, module = importlib.import_module("texts"), importlib.import_module(script)
    tables = {path.stem: texts.read_csv(path) for path in out.glob("*.csv")}
    text = (out / "findings.md").read_text()
    assert text == texts.page(module.TITLE, module.text_of, tables) and text in done.stdout
    assert "plotly" in (out / "figure.html").read_text()
    return tables


def test_a_second_start_runs_nothing_again(tmp_path):
    """Finished runs are read from runs.jsonl, one line each, also when the last line was cut off."""
    first = outcome_of("ablation_coin", tmp_path)
    log = tmp_path / "runs.jsonl"
    lines = log.read_text().splitlines()
    spent = [json.loads(line)["answer"]["seconds"] for line in lines]
    log.write_text("\n".join(lines) + '\n{"job": {"method"')
    assert outcome_of("ablation_coin", tmp_path) == first
    assert [json.loads(line)["answer"]["seconds"] for line in log.read_text().splitlines()] == spent


def test_always_taking_large_batches_costs_more(tmp_path):
    """Full gradients in every iteration need more SFO than a coin with p = b/(b + n), and no more rounds."""
    runs = outcome_of("ablation_coin", tmp_path)["runs"]
    assert {row["rule"] for row in runs} == {"shared coin", "coin per agent", "fixed period", "always", "never"}
    sfo, rounds = (
        {rule: [row[cost] for row in runs if row["rule"] == rule] for rule in ("shared coin", "always")}
        for cost in ("sfo", "rounds")
    )
    assert min(sfo["always"]) > 2 * max(sfo["shared coin"])
    assert max(rounds["always"]) <= max(rounds["shared coin"])


def test_mixing_that_amplifies_is_found(tmp_path):
    """One round with the printed momentum has an eigenvalue below -1 on the ring with weights 1/3 (-1.17)."""
    tables = outcome_of("ablation_mixing", tmp_path)
    wild = [row for row in tables["operators"] if not -1 < row["low"] <= row["high"] < 1]
    assert [(row["topology"], row["mixing"], row["K"]) for row in wild] == [
        ("ring, self weight 1/3", "FastMix, paper's momentum", 1)
    ]
    assert abs(wild[0]["low"] + 1.17) < 0.01
    calm = [row for row in tables["runs"] if row["mixing"] == "gossip"]
    assert calm and all(row["rounds"] for row in calm)


def test_the_variance_formula_is_measured(tmp_path):
    """Drawn corrections have the predicted variance, within five standard errors; the printed bound fails at b=16."""
    variances = outcome_of("ablation_participation", tmp_path)["variance"]
    for row in variances:
        assert abs(row["measured"] - row["predicted"]) <= 5 * row["error"], row
    (thin,) = [row for row in variances if (row["b"], row["q"]) == (16, 0.5)]
    assert thin["measured"] > 3 * thin["bound"]


def test_a_thinned_correction_is_compared_with_as_many_samples(tmp_path):
    """b = 8 and q = 1/2 against a whole batch of 4, of the same games and seeds."""
    script = importlib.import_module("ablation_participation")
    runs = [
        {"spread": 1.0, "b": b, "q": q, "seed": seed, "sfo": cost * (seed + 1)}
        for b, q, cost in ((8, 0.5, 300), (4, 1.0, 100), (8, 1.0, 600)) for seed in range(8)
    ]  # fmt: skip
    found = {row["what"]: row["compared"] for row in script.comparisons(runs, "sfo")}
    assert math.isclose(found["same b q"].ratio, 3) and math.isclose(found["same b"].ratio, 0.5)


def test_both_orders_of_projection_reach_the_target(tmp_path):
    """The constraint is active, and only projecting last keeps every gradient inside Y."""
    runs = outcome_of("ablation_projection", tmp_path)["runs"]
    assert all(row["active"] and row["iterations"] for row in runs)
    assert all((row["outside"] > 0) == (row["order"] == "before") for row in runs)


def test_defects_show(tmp_path):
    """Without tracking DM-HSGD never moves x; the biased recursion blows up; wrong shards end elsewhere."""
    tables = outcome_of("ablation_defects", tmp_path)
    rows = {(row["defect"], row["version"]): row for row in tables["runs"]}
    still = rows["DM-HSGD without tracking", "defect"]
    assert still["moved"] == 0 and math.isclose(still["level"], still["start"], rel_tol=1e-9)
    assert rows["DM-HSGD without tracking", "correct"]["moved"] > 0.1
    biased, right = rows["biased 1/q recursion", "defect"], rows["biased 1/q recursion", "correct"]
    assert biased["level"] > 100 * right["level"]
    assert biased["spent"] < 1.3 * right["spent"]  # who takes no part pays nothing
    assert rows["wrong shards", "defect"]["level"] > 5 * rows["wrong shards", "correct"]["level"]
    curves = [
        row for row in tables["curves"] if row["defect"] == "DM-HSGD without tracking" and row["version"] == "defect"
    ]
    assert len(curves) > 10 and len({row["grad_norm"] for row in curves}) == 1


class Given:
    """What `options` gives."""

    workers = 1

    def __init__(self, out):
        self.out, self.seconds = out, {}


def test_a_step_is_chosen_on_other_seeds_and_from_the_common_grid(tmp_path):
    """Who reaches more often wins over who is cheap, then the geometric mean decides; the search ends two steps below.

    The costs of the reported seeds favour another step, which must not matter.
    """
    sweeps = importlib.import_module("sweeps")
    rehearsed = {1.0: [None, 1], 0.5: [10, 1000], 0.25: [90, 90], 0.125: [200, 200], 0.0625: [300, 300], 0.03: [1, 1]}

    def function(job):
        return {"c": rehearsed[job["eta"]][job["seed"] - 1000] if job["seed"] >= 1000 else int(1000 * job["eta"])}

    def late(job):  # reaches for certain with the smallest step alone
        return {"c": 5 if job["seed"] == 1000 or job["eta"] == 0.03 else None}

    tuning, runs = sweeps.tuned(function, [{"a": 1}], rehearsed, Given(tmp_path), cost="c", rehearsals=2, seeds=3)
    assert [row["eta"] for row in tuning] == [e for e in (1.0, 0.5, 0.25, 0.125, 0.0625) for _ in range(2)]
    assert runs == [{"a": 1, "eta": 0.25, "seed": seed, "c": 250} for seed in range(3)]
    (tmp_path / "runs.jsonl").unlink()
    tuning, runs = sweeps.tuned(late, [{"a": 1}], rehearsed, Given(tmp_path), cost="c", rehearsals=2, seeds=1)
    assert len(tuning) == 12 and runs[0]["eta"] == 0.03


def test_patience_changes_no_run_that_needed_none():
    """A run that settles within twice the iterations of exact descent costs the same with more patience."""
    valley, coin = importlib.import_module("valley"), importlib.import_module("ablation_coin")
    rd = importlib.import_module("raydream")
    problem, ring = valley.offline(8, 64, 8, 0.25, 1.0, 0), rd.topology.ring(8, self_weight=0.5)
    method = coin.method_of("shared coin", 0.25, 64, 8, 0)
    short, patient = (valley.settle(problem, ring, method, 0.24, 0, patience) for patience in (2.0, 8.0))
    assert short == patient and short["sfo"]
    assert short["bytes"] == short["rounds"] * 16 * 8 * 8  # directed edges, coordinates of (x, y), bytes of a float
