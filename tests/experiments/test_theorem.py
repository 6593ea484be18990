"""The theorem in full: every one of its iterations, and the claim for all of epsilon."""

import theorem
from test_ablations import FOLDER, outcome_of
from test_ablations import texts as texts


def test_the_theorem_holds_in_full(tmp_path):
    """All T iterations of the theorem for epsilon = 2 ||grad P(x0)||, 16 seeds, offline and online.

    The upper 95 % limit of the RMS of ||grad P(x_out)|| is at most epsilon, and with it at most half of what the start
    has: about epsilon/4, as descent on P alone would give.
    """
    tables = outcome_of("theorem", tmp_path)
    assert {(row["case"], row["factor"]) for row in tables["runs"]} == {("offline", 2), ("online", 2)}
    assert len(tables["runs"]) == 32 and all(row["kappa"] <= 1.1 for row in tables["runs"])
    for limit in theorem.limits_of(tables):
        assert limit["held"] and limit["iterations"] > 100_000
        assert 0.2 * limit["epsilon"] < limit["rms"] <= limit["upper"] < 0.26 * limit["epsilon"]
    assert "In 2 of 2 settings" in (tmp_path / "findings.md").read_text()
    worse = [{**row, "mean_square": 17 * row["mean_square"]} for row in tables["runs"]]
    summary, body = theorem.text_of({**tables, "runs": worse})
    assert "In 0 of 2 settings" in summary and "Broken: offline, 2, online, 2." in body


def test_what_was_found_covers_every_case_and_epsilon(texts):
    """In full the theorem held for every case and epsilon, with 16 seeds."""
    limits = theorem.limits_of(texts.read_tables(FOLDER / "findings", "theorem"))
    assert {(row["case"], row["factor"]) for row in limits} == {(c, f) for c in theorem.CASES for f in (1.0, 0.5, 0.25)}
    assert all(row["held"] and row["seeds"] >= 16 for row in limits)
