"""Figures 1 and 2 run from a clean start on small data, and say what their files say."""

import figures
import pytest
from test_ablations import outcome_of
from test_ablations import texts as texts


@pytest.mark.parametrize(
    ("script", "axis", "budget"), [("figure_1_sfo", "sfo", 12800), ("figure_2_rounds", "rounds", 40)]
)
def test_a_figure_is_drawn_and_told_from_its_files(script, axis, budget, tmp_path):
    """Every run is there with what it spent within the budget, every method with what was tried."""
    tables = outcome_of(script, tmp_path)
    methods = {"dream", "dm-hsgd", "gt-da", "gt-gda", "gt-srvr"}
    assert {row["method"] for row in tables["tuned"]} == methods >= {row["method"] for row in tables["runs"]}
    assert all(row[axis] <= budget == row["budget"] for row in tables["runs"])
    assert len({row["configurations"] for row in tables["tuned"]}) == 1, "as many of each"
    assert {row["seed"] for row in tables["runs"]} == {0, 1}


def runs(**methods):
    """Rows of a table, one seed after the other."""
    same = {
        "study": "s",
        "cell": "c",
        "budget": 10.0,
        "iteration": 3,
        "sfo": 9,
        "rounds": 3,
        "bytes": 7,
        "started": 1.0,
    }
    return [
        {**same, "method": method, "seed": seed, "primal": value, "grad_norm": 0.1, "dual_gap": gap}
        for method, (values, gap) in methods.items()
        for seed, value in enumerate(values)
    ]


def test_no_lead_is_claimed_without_an_interval_and_bad_points_are_marked():
    """`b` may be as good as `a`, `c` is behind, and the y of `c` has not followed."""
    rows = runs(a=([0.50, 0.51, 0.49, 0.50], 0.0), b=([0.52, 0.48, 0.55, 0.47], 0.0), c=([0.7, 0.71, 0.72, 0.7], 64.0))
    same = {
        "study": "s",
        "cell": "c",
        "configurations": 3,
        "parameters": '{"eta": 0.1}',
        "edges": "eta",
        "remark": "none",
    }
    tuned = [{**same, "method": method, "best": 0.4, "third": 0.45} for method in "abc"]
    summary, body = figures.text_of({"setting": [{"axis": "sfo"}], "runs": rows, "tuned": tuned})
    assert "c, at 10 SFO calls, from P = 1: a has the least, 0.5, ahead of c (0.705)" in summary
    assert "undecided against b (0.5); y has not followed in runs of c (4 of 4)." in summary
    assert "| eta |" in body and "eta=0.1" in body


def test_a_lead_within_the_noise_of_the_search_is_said_to_be():
    """The best three trials of `c` lie further apart than `a` and `c`: another draw might turn them round."""
    rows = runs(a=([0.50, 0.51, 0.49, 0.50], 0.0), c=([0.7, 0.71, 0.72, 0.7], 0.0), d=([0.9, 0.91, 0.92, 0.9], 0.0))
    same = {"study": "s", "cell": "c", "configurations": 3, "parameters": "{}", "edges": "no", "remark": "none"}
    third = {"a": 0.41, "c": 0.75, "d": None}
    tuned = [{**same, "method": method, "best": 0.4, "third": score} for method, score in third.items()]
    summary, _ = figures.text_of({"setting": [{"axis": "sfo"}], "runs": rows, "tuned": tuned})
    assert "ahead of d (0.905); by less than the search leaves open, ahead of c (0.705)." in summary
