"""The saboteur: a quick storm is survived with the same bits, and what it draws and tells is what it says."""

import importlib
from collections import Counter
from random import Random

import pytest
from test_ablations import outcome_of, texts  # noqa: F401


def test_a_run_that_is_struck_four_times_ends_with_the_same_bits(tmp_path):
    """A full disk, two actors killed, one stopped for a while and a cut link: nothing hangs, nothing is left."""
    tables = outcome_of("chaos", tmp_path)
    chaos = importlib.import_module("chaos")
    assert [row["fault"] for row in tables["faults"]] == list(chaos.QUICK)
    assert {row["outcome"] for row in tables["faults"]} <= {"recovered", "resumed", "passed unnoticed"}
    [run] = tables["runs"]
    assert run["same_bits"] is True and run["left_behind"] == 0
    outcomes = {row["fault"]: row for row in tables["faults"]}
    assert outcomes["disk full"]["outcome"] == "resumed"
    assert outcomes["two actors killed at once"]["recovered"] >= outcomes["two actors killed at once"]["noticed"]


@pytest.mark.parametrize(("count", "hosts"), [(200, True), (200, False), (23, True)])
def test_as_many_faults_are_drawn_as_are_asked_for(count, hosts):
    """Of every kind, over all methods, links and packings; the same ones for the same seed."""
    chaos = importlib.import_module("chaos")
    jobs = chaos.jobs_of(1, count, hosts)
    struck = Counter(name for job in jobs for name in job["faults"])
    assert sum(struck.values()) == count and jobs == chaos.jobs_of(1, count, hosts)
    assert jobs != chaos.jobs_of(2, count, hosts)
    if count == 200:
        assert struck.keys() == {*chaos.ON_ONE, *(chaos.ON_HOSTS if hosts else ())}
        alone = [job for job in jobs if job["place"] == "one machine"]
        assert {job["links"] for job in alone} == {*chaos.LINKS} and {job["method"] for job in alone} == {
            *chaos.METHODS
        }
        assert {(job["agents"], job["packing"]) for job in alone} == {*chaos.PACKINGS}


def test_every_fault_that_is_drawn_can_be_done():
    """The names of the shares are those of deeds."""
    chaos, faults, rack = (importlib.import_module(name) for name in ("chaos", "sabotage.faults", "sabotage.rack"))
    assert {fault.name for fault in faults.FAULTS} == {*chaos.ON_ONE}
    assert {fault.name for fault in rack.faults_of(None)} == {*chaos.ON_HOSTS}
    assert {*chaos.QUICK} <= {*chaos.ON_ONE} and {*chaos.FIRST} <= {*chaos.ON_ONE, *chaos.ON_HOSTS}


def test_what_went_wrong_is_told():
    """A hang, other bits and something left are in the sentence; a run without faults of a kind has no line for it."""
    chaos = importlib.import_module("chaos")
    row = {
        "fault": "one actor killed",
        "outcome": "recovered",
        "noticed": 0.5,
        "recovered": 3.0,
        "words": "lost agent 1",
    }
    job = chaos.drawn_run(Random(0), "one machine", 0)
    done = [{**job, "rows": [row, {**row, "noticed": 1.5}], "iterations": 70, "same": True, "left": [], "took": 30.0},
            {**job, "rows": [{**row, "outcome": "HANG", "noticed": None, "recovered": None}], "same": False,
             "left": ["process 7"], "took": 300.0}]  # fmt: skip
    setting = {"seed": 1, "hosts": "permitted", "cuts": "permitted", "drawn": 3, "remark": None}
    summary, body = chaos.text_of({"setting": [setting], **chaos.tables_of(done)})
    assert "3 faults in 2 runs" in summary and "1 hangs, 1 runs with other bits" in summary and "1 processes" in summary
    assert "| one actor killed | 3 | goes on by itself (2), HANG (1) | 1.0 (1.5) | 3.0 (3.0) |" in body
