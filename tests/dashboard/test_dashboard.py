"""The dashboard without a browser: who may come in, which folders it reads, what its forms can start, what it draws."""

import contextlib
import dataclasses
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Literal
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import raydream as rd
from raydream import specs
from raydream.algorithms import METHODS
from raydream.backends.ray.links import LINKS
from raydream.backends.registry import BACKENDS
from raydream.cli import app as cli
from raydream.dashboard import axes, curves, serve
from raydream.dashboard.app import make_app
from raydream.dashboard.curves import Zoom
from raydream.dashboard.live import facts as shown
from raydream.dashboard.new.again import again
from raydream.dashboard.new.fields import (
    EXAMPLES,
    backends,
    conditions,
    limits,
    links,
    method_fields,
    problem_fields,
    topology_fields,
)
from raydream.dashboard.new.forms import MOST_AGENTS, new_run
from raydream.dashboard.overview import page as overview
from raydream.dashboard.pages import PAGES
from raydream.dashboard.parts import Query, address, state
from raydream.dashboard.watching import watched as watched_module
from raydream.dashboard.watching.jobs import Jobs, last_sentence
from raydream.dashboard.watching.progress import Progress
from raydream.dashboard.watching.runs import Runs
from raydream.dashboard.watching.watched import ACTORS, Watched
from raydream.data.synthetic import synthetic
from raydream.parameters import Positive, parameters_of
from raydream.problems.registry import takes_data
from raydream.steps import settled
from raydream.storage.lock import locked

FORM = {"problem": "quadratic", "topology": "ring", "method": "dream", "agents": 4, "backend": "local",
        "iterations": 6, "record_every": 2, "problem.samples": "9", "method.eta": "0.05", "method.b": "3"}  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Two finished runs, one of them two folders down, and a secret beside the root."""
    folder = tmp_path_factory.mktemp("dashboard")
    problem = specs.build_problem("quadratic", 4, {"samples": 9})
    ring = specs.build_topology("ring", 4, {"self_weight": 0.5})
    for name, method in (
        ("first", rd.DREAM(eta=0.05, gamma=0.5, b=3)),
        ("deep/er/second", rd.GTGDA(eta=0.05, gamma=0.5)),
    ):
        rd.run(problem, ring, method, iterations=30, record_every=3, backend="local", directory=folder / "runs" / name)
    shutil.copytree(folder / "runs" / "first", folder / "secret")
    return folder / "runs"


@pytest.fixture
def jobs(root):
    return Jobs(Runs(root))


# ---------------------------------------------------------------- folders


def test_every_run_below_the_root_is_found(root):
    """By its path from there."""
    assert sorted(Runs(root).names()) == ["deep/er/second", "first"]


@pytest.mark.parametrize(
    "name",
    [
        "../secret",
        "first/../../secret",
        "/etc",
        "..",
        "",
        ".",
        "deep",
        "first/checkpoint",
        "a\0b",
        "~",
        "link",
        "x" * 5000,
    ],
)
def test_nothing_outside_the_root_is_read(root, name):
    """Whatever the name says, also through a link that somebody laid."""
    link = root / "link"
    if not link.is_symlink():
        link.symlink_to(root.parent / "secret", target_is_directory=True)
    assert (root.parent / "secret" / "run.json").exists()
    with pytest.raises(ValueError, match=r"must be a run directory below runs/"):
        Runs(root).folder(name)
    assert "link" not in Runs(root).names()


def test_a_file_that_is_a_link_is_not_read(root, tmp_path):
    """A run directory whose run.json points elsewhere says nothing."""
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "run.json").symlink_to(root / "first" / "run.json")
    assert Runs(tmp_path).look("r").record == {}


# ---------------------------------------------------------------- watching


def grown(folder, rows, name="history.csv"):
    with open(folder / name, "ab") as file:
        file.write(rows)


def test_a_history_is_followed_while_it_grows(root, tmp_path):
    """In pieces of any size, also where a line is only half written: the same columns as the whole file has."""
    folder = tmp_path / "first"
    shutil.copytree(root / "first", folder)
    whole = (folder / "history.csv").read_bytes()
    (folder / "history.csv").write_bytes(b"")
    watched, versions = Watched("first", folder), []
    for start in range(0, len(whole), 97):
        grown(folder, whole[start : start + 97])
        watched.refresh()
        versions.append(watched.version)
    wanted = pd.read_csv(root / "first" / "history.csv")
    assert list(watched.columns) == list(wanted.columns)
    assert all(np.array_equal(watched.columns[name], wanted[name], equal_nan=True) for name in wanted.columns)
    assert versions == sorted(versions) and versions[-1] > len(wanted)


def test_a_history_that_was_replaced_is_read_again(root, tmp_path):
    """As when a run is resumed from an earlier row."""
    folder = tmp_path / "first"
    shutil.copytree(root / "first", folder)
    watched = Watched("first", folder)
    watched.refresh()
    lines = (folder / "history.csv").read_text().splitlines(keepends=True)
    (folder / "new.csv").write_text("".join(lines[:4]))
    os.replace(folder / "new.csv", folder / "history.csv")
    watched.refresh()
    assert list(watched.columns["iteration"]) == [0, 3, 6]
    before = watched.version
    watched.refresh()
    assert watched.version == before


def under_way(root, folder, pid, progress=None, **changes):
    """A directory as a run leaves it while it lasts."""
    shutil.copytree(root / "first", folder)
    record = json.loads((folder / "run.json").read_text())
    record |= {"outcome": "running", "driver": {"host": platform.node(), "pid": pid}, **changes}
    (folder / "run.json").write_text(json.dumps(record))
    if progress is not None:
        (folder / "progress.json").write_text(json.dumps(progress))
    return Watched("r", folder)


def test_a_run_whose_driver_is_gone_is_lost(root, tmp_path):
    """run.json still says that it runs, and its process number may be another's by now; nobody holds the directory."""
    run = under_way(root, tmp_path / "r", os.getpid())
    with locked(tmp_path / "r"):
        run.refresh()
        assert run.state == "running" and not run.resumable
    run.refresh()
    assert run.state == "lost" and run.resumable


def test_without_locks_the_process_tells(root, tmp_path, monkeypatch):
    """Where a file system has none."""
    monkeypatch.setattr(watched_module, "is_locked", lambda folder: None)
    gone = 2**22 - 3  # beyond any process number in use
    for pid, wanted in ((os.getpid(), "running"), (gone, "lost"), (2**70, "lost"), ("x", "lost")):
        run = under_way(root, tmp_path / str(pid), pid)
        run.refresh()
        assert run.state == wanted


def test_a_run_without_a_sign_of_life_is_silent(root, tmp_path):
    """Somebody drives it, but nothing was written for long."""
    run = under_way(root, tmp_path / "r", os.getpid(), {"iteration": 3, "time": time.time() - 100})
    os.utime(tmp_path / "r" / "run.json", (time.time() - 100, time.time() - 100))
    with locked(tmp_path / "r"):
        run.refresh()
    assert run.state == "silent" and "no sign of life for 10" in run.reason and run.live


@pytest.mark.parametrize(("quiet", "state"), [(3, "running"), (60, "silent"), (600, "lost")])
def test_a_run_on_another_machine_is_given_up_when_it_is_silent_for_long(root, tmp_path, quiet, state):
    """Its lock may not be seen from here; after a while it can be gone on with."""
    then = time.time() - quiet
    changes = {"driver": {"host": "elsewhere", "pid": 1}}
    run = under_way(root, tmp_path / "r", 0, {"iteration": 3, "time": then}, **changes)
    os.utime(tmp_path / "r" / "run.json", (then, then))
    run.refresh()
    assert run.state == state


def test_a_run_that_was_removed_and_made_again_is_read_again(root, tmp_path):
    """Also where the new file happens to be the old one's inode."""
    folder = tmp_path / "first"
    shutil.copytree(root / "first", folder)
    watched = Watched("first", folder)
    watched.refresh()
    with open(folder / "history.csv", "r+b") as file:  # the same inode, longer, and other numbers
        whole = file.read()
        file.seek(0)
        file.write(
            whole.replace(b"\n3,", b"\n4,").replace(b"\n6,", b"\n8,").replace(b"\n30,", b"\n31,")
            + b"99"
            + b",1" * 9
            + b"\n"
        )
    watched.refresh()
    assert list(watched.columns["iteration"][:3]) == [0, 4, 8] and watched.columns["iteration"][-1] == 99


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"outcome": "completed"}', '"x"'])
def test_a_damaged_directory_is_shown_as_such(tmp_path, text):
    """And breaks no page."""
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "run.json").write_text(text)
    (tmp_path / "r" / "history.csv").write_text("iteration,sfo\n0,nonsense\n")
    jobs = Jobs(Runs(tmp_path))
    run = jobs.look("r")
    assert run.state == "damaged"
    assert shown.facts(run) and shown.actions(run) and shown.details(run) and overview.row(run)
    assert curves.runs_of([run]) == []


W = {"indptr": [0, 1, 2, 3, 4], "indices": [-(10**8)] * 4, "data": [1.0] * 4}
HOSTILE = [
    {"limits": []}, {"limits": {"max_sfo": "x"}}, {"problem": 7}, {"method": None}, {"topology": []}, {"driver": "x"},
    {"iterations": "many"}, {"iterations": [1]}, {"places": {}}, {"places": [{}]}, {"places": [5]}, {"recoveries": 5},
    {"recoveries": [{}]}, {"recoveries": [{"iteration": "x", "rolled_back_to": 0, "agents": []}]}, {"backend": "ray"},
    {"method": {"name": "dream", "parameters": []}}, {"method": {"name": "\ud800", "parameters": {}}}, {"outcome": 5},
    {"problem": {"name": "x", "spec": "y"}}, {"outcome": None}, {"reason": "\udfff"}, {"seed": {"a": 1}},
    {"method": {"name": {"a": 1}}}, {"topology": {"name": "ring", "m": 4, "W": W}}, {"topology": {"m": "x", "W": 5}},
    {"topology": {"m": 10**30, "W": W}}, {"problem": {"name": ["<script>"], "agents": "x"}}, {"constants": 5},
    {"asked": [1]}, {"asked": "x"},
    {"places": [{"agents": [0], "actor": {"namespace": "dash_html_components", "type": "Iframe", "props": {}}}]},
]  # fmt: skip


@pytest.mark.parametrize("change", HOSTILE, ids=str)
@pytest.mark.parametrize("outcome", ["completed", "running", "stopped"])
def test_whatever_a_run_file_says_pages_are_shown(root, tmp_path, change, outcome):
    """Nonsense in one directory neither breaks its own page nor hides the other runs."""
    for name in ("good", "bad"):
        shutil.copytree(root / "first", tmp_path / name)
    record = json.loads((tmp_path / "bad" / "run.json").read_text()) | {"outcome": outcome} | change
    (tmp_path / "bad" / "run.json").write_text(json.dumps(record))
    client = make_app(Jobs(Runs(tmp_path))).server.test_client()
    looked = [("overview-tick", "n_intervals", 1), (state("search"), "value", "")]
    listed = post(client, "overview", looked, ["overview-shown", (state("runs"), "value", [])])
    assert '"good"' in listed and '"bad"' in listed
    told = post(
        client,
        "live",
        [("live-tick", "n_intervals", 1), (state("run"), "value", "bad")],
        ["live-version", "live-rows", "live-stage"],
    )
    assert '"live-title"' in told and '"Iframe"' not in told
    assert '"live-more"' in post(
        client, "more", [("live-stage", "data", ""), ("dark", "data", False)], [(state("run"), "value", "bad")]
    )
    page = client.get("/report?runs=bad&runs=good")
    assert page.status_code in (200, 404)


@pytest.mark.parametrize(
    "progress",
    [{"time": None}, {"time": [1]}, {"time": "x"}, {"iteration": None}, {"iteration": "x"}, {"recoveries": 5},
     {"recoveries": [{}]}, {"iteration": 1e999}, {"time": float("nan")}],
    ids=str,
)  # fmt: skip
def test_a_senseless_progress_is_passed_over(root, tmp_path, progress):
    """The run is shown by what is left."""
    under_way(root, tmp_path / "r", os.getpid(), progress)
    with locked(tmp_path / "r"):
        run = Jobs(Runs(tmp_path)).look("r")
        assert run.state == "running" and run.progress == Progress() and overview.row(run) and shown.facts(run)


@pytest.mark.parametrize(
    "text",
    ["", "iteration,sfo\n0,x\n", "sfo\n1\n", "iteration,sfo\n0,inf\ninf,nan\n", "\0\1\2", "iteration\n" + "1\n" * 9],
)
def test_a_senseless_history_breaks_nothing(root, tmp_path, text):
    shutil.copytree(root / "first", tmp_path / "r")
    (tmp_path / "r" / "history.csv").write_text(text)
    client = make_app(Jobs(Runs(tmp_path))).server.test_client()
    run = Runs(tmp_path).look("r")
    assert shown.facts(run) and overview.row(run)
    drawn = [
        (state("x"), "value", "sfo"),
        (state("y"), "value", "primal"),
        (state("scale_x"), "value", "log"),
        (state("scale_y"), "value", "log"),
    ]
    inputs = [("live-rows", "data", ""), *drawn, ("live-zoom", "data", None), ("dark", "data", False)]
    assert "figure" in post(client, "curve", inputs, [(state("run"), "value", "r")])
    assert client.get("/report?runs=r").status_code in (200, 404)


OUTPUTS = {
    "overview": [("overview-rows", "children"), ("overview-note", "children"), ("overview-shown", "data")],
    "live": [("live-title", "children"), ("live-facts", "children"), ("live-actions", "children"),
             ("live-details", "children"), ("live-tick", "interval"), ("live-version", "data"), ("live-rows", "data"),
             ("live-stage", "data"), ("live-message", "children")],
    "more": [("live-more", "children")],
    "curve": [("live-curve", "figure")],
}  # fmt: skip


def post(client, callback, inputs, states):
    """What a callback answers to a browser; never an error, and never the excuse for something unforeseen."""

    def part(one):
        id, name, value = one if isinstance(one, tuple) else (one, "data", None)
        return {"id": id, "property": name, "value": value}

    outputs = OUTPUTS[callback]
    names = [
        f"{json.dumps(id, sort_keys=True, separators=(',', ':')) if isinstance(id, dict) else id}.{name}"
        for id, name in outputs
    ]
    body = {
        "output": names[0] if len(names) == 1 else f"..{'...'.join(names)}..",
        "outputs": [{"id": id, "property": name} for id, name in outputs][slice(None) if len(names) > 1 else 0],
        "inputs": [part(one) for one in inputs],
        "changedPropIds": [],
        "state": [part(one) for one in states],
    }
    answer = client.post("/_dash-update-component", json=body)
    text = answer.data.decode()
    assert answer.status_code == 200, text
    assert "could not be shown" not in text, text[:2000]
    return text


def test_pace_and_time_left_follow_from_progress(root, tmp_path):
    """100 iterations in 10 s of 300: 10 a second, and 20 s for what is left."""
    now = time.time()
    run = under_way(root, tmp_path / "r", os.getpid(), {"iteration": 0, "time": now - 10}, iterations=300)
    (tmp_path / "r" / "history.csv").write_text("iteration,sfo\n")
    with locked(tmp_path / "r"):
        run.refresh()
        assert run.rate is None and run.seconds_left is None
        (tmp_path / "r" / "progress.json").write_text(json.dumps({"iteration": 100, "time": now}))
        run.refresh()
    assert run.rate == pytest.approx(10) and run.seconds_left == pytest.approx(20)
    assert run.share == pytest.approx(1 / 3)


def test_the_share_done_is_that_of_whatever_ends_the_run_first(root, tmp_path):
    """A budget that is nearly spent counts more than iterations that will never be reached."""
    run = under_way(root, tmp_path / "r", os.getpid(), iterations=10**7, limits={"max_rounds": 1000})
    run.refresh()
    assert run.share == pytest.approx(run.last("rounds") / 1000)


# ---------------------------------------------------------------- forms


def started(tmp_path, form):
    """What comes of a form on the command line."""
    done = CliRunner().invoke(cli.app, ["run", *new_run(form).arguments, "--directory", str(tmp_path / "r")])
    assert done.exit_code == 0, done.output
    return rd.load(tmp_path / "r")


def test_a_new_run_is_what_the_form_says(tmp_path):
    """The arguments mean to `raydream run` what the fields mean to a reader."""
    result = started(
        tmp_path, {**FORM, "method.K": "2", "topology.self_weight": "0.5", "seed": 7, "diagnostics": ["1"]}
    )
    config = result.config
    assert config["method"]["name"] == "dream" and config["problem"]["samples"] == 9 and config["seed"] == 7
    assert {name: config["method"]["parameters"][name] for name in ("eta", "gamma", "b", "K")} == {
        "eta": 0.05, "gamma": settled("dream", "quadratic", {})["gamma"], "b": 3, "K": 2
    }  # fmt: skip
    assert config["topology"]["spec"]["parameters"] == {"self_weight": 0.5} and "Phi" in result.history
    assert list(result.history.iteration) == [0, 2, 4, 6]


def test_a_new_run_has_the_conditions_of_the_form(tmp_path):
    """Numbers and words; asked for again they are the same, unless there is one for each agent."""
    given = {"latency": "0.05", "drop": "bursts-0.1-0.5", "uplink": "", "compression": "top-0.3", "memory": "true"}
    fields = {f"condition.{name}": value for name, value in given.items()}
    result = started(tmp_path, {**FORM, **fields})
    wanted = rd.Conditions(latency=0.05, drop="bursts-0.1-0.5", compression="top-0.3", memory=True)
    assert result.record.conditions == wanted
    config = result.config
    form = dict(parse_qsl(urlsplit(again(config, {})).query))
    assert {name: form[name] for name in fields if fields[name]} == {name: one for name, one in fields.items() if one}
    assert again(config | {"conditions": {"gradient_seconds": [1, 2, 3, 4]}}, {}) is None
    assert {field.name for field in dataclasses.fields(rd.Conditions)} == {*conditions()}, "every condition has a field"
    for name, examples in EXAMPLES.items():
        needed = {"condition.compression": "sign"} if name == "memory" else {}
        for one in examples:
            assert new_run({**FORM, **needed, f"condition.{name}": one}).arguments, "what is offered fits"
    for field, wrong in (
        ("latency", "-1"),
        ("latency", "[1,2]"),
        ("drop", "1"),
        ("compression", "top-2.5"),
        ("bandwidth", "$(x)"),
    ):
        with pytest.raises((ValueError, TypeError), match=f"`{field}`"):
            new_run({**FORM, f"condition.{field}": wrong})


@pytest.mark.parametrize("method", [name for name, kind in METHODS.items() if not kind.facts.one_machine])
def test_every_method_can_be_started_with_its_defaults(tmp_path, method):
    """All fields left empty."""
    form = {
        "problem": "quadratic",
        "topology": "ring",
        "method": method,
        "agents": 4,
        "backend": "local",
        "iterations": 2,
    }
    assert started(tmp_path, form).config["method"]["name"] == method


@pytest.mark.parametrize("problem", specs.PROBLEMS)
def test_every_problem_can_be_started_with_every_field_filled_in(tmp_path, problem):
    """Each field with its own default written out."""
    fields = {
        f"problem.{f.name}": str(f.default).lower()
        for f in problem_fields(problem, "synthetic")
        if f.default is not None
    }
    form = {**FORM, **fields, "problem": problem, "iterations": 1}
    form |= {"method.b_large": "6"} if problem == "quadratic-online" else {"problem.samples": "40"}
    assert started(tmp_path, form).config["problem"]["spec"]["name"] == problem


def test_a_run_can_be_asked_for_again(jobs):
    """The link to the form of a run leads to a run of the same parts."""
    record = jobs.look("first").record
    form = dict(parse_qsl(urlsplit(again(record, {})).query))
    arguments = new_run(form).arguments
    said = dict(one.split("=") for flag, one in pairwise(arguments) if flag == "--set")
    assert said == {"b": "3", "q": "1.0"}, "what was asked for; what was settled by rule is settled again"
    assert "self_weight=0.5" in arguments and "samples=9" in arguments
    assert arguments[arguments.index("--iterations") + 1] == "30"


def test_a_run_that_was_started_here_is_asked_for_again_as_it_was(jobs, monkeypatch):
    """Also where it never began; the form is kept beside it."""
    monkeypatch.setattr(Jobs, "_launch", lambda self, name, arguments: None)
    name = jobs.start(new_run({**FORM, "name": "started", "method.p": "0.5"}))
    kept = json.loads((jobs.runs.root / name / "form.json").read_text())
    shutil.rmtree(jobs.runs.root / name)
    assert (
        new_run(dict(parse_qsl(urlsplit(again({}, kept)).query))).arguments
        == new_run({**FORM, "method.p": "0.5"}).arguments
    )


@pytest.mark.parametrize(
    "change",
    [{"problem": {"spec": None}}, {"topology": {"spec": None}}, {"method": {"name": "MyMethod"}},
     {"problem": {"spec": {"name": "mine:make"}}},
     {"problem": {"spec": {"name": "quadratic", "parameters": {"data": "/x"}}}}],
    ids=str,
)  # fmt: skip
def test_what_a_form_cannot_ask_for_is_not_offered_again(jobs, change):
    """A run made in Python would come back as another one."""
    record = jobs.look("first").record
    assert again(record, {}) is not None
    assert again(record | change, {}) is None


def test_fields_left_as_they_were_are_not_passed_on():
    """So that a run from the form and one from the command line are called the same."""
    words = {
        "problem": "robust-logistic",
        "problem.bias": "false",
        "problem.split": "even",
        "topology.weights": "metropolis",
    }
    assert new_run({**FORM, **words}).arguments == new_run({**FORM, "problem": "robust-logistic"}).arguments


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"problem": "os:system"}, "`problem` must be one of"),
        ({"problem": "raydream.cli:main"}, "`problem` must be one of"),
        ({"problem": "robust-logistic", "data": "/etc/passwd"}, "`data` must be one of"),
        ({"problem": "robust-logistic", "data": "../secret"}, "`data` must be one of"),
        ({"method": "no-such"}, "`method` must be one of"),
        ({"topology": "__import__('os')"}, "`topology` must be one of"),
        ({"topology": "hypercube", "agents": 6}, "`m` must be a power of two"),
        ({"topology": "erdos-renyi"}, "`probability` of the topology must be given"),
        ({"method.eta": "__import__('os').system('id')"}, "`eta` must be a number"),
        ({"method.eta": "1; rm -rf /"}, "`eta` must be a number"),
        ({"method.eta": "-1"}, "`eta` must be"),
        ({"method.mixing": "magic"}, "`mixing` must be one of"),
        (
            {"problem.data": "/etc/passwd", "problem": "robust-logistic", "problem.split": "/etc/passwd"},
            "`split` must be",
        ),
        ({"agents": 0}, "`agents` must be"),
        ({"seed": "9007199254740993.5"}, "`seed` must be a whole number"),
        ({"seed": "1e300"}, "`seed` must be a whole number"),
        ({"seed": "1e999"}, "`seed` must be a whole number"),
        ({"seed": "nan"}, "`seed` must be a whole number"),
        ({"seed": "1_000"}, "`seed` must be a whole number"),
        ({"seed": "-1"}, "`seed` must be at least 0"),
        ({"agents": 2.5}, "`agents` must be a whole number"),
        ({"agents": MOST_AGENTS + 1}, "`agents` must be at most"),
        ({"iterations": "many"}, "`iterations` must be a whole number"),
        ({"record_every": 0.5}, "`record_every` must be a whole number"),
        ({"backend": "cloud"}, "`backend` must be one of"),
        ({"backend": "ray", "agents_per_actor": "1 --address evil"}, "`agents_per_actor` must be"),
        ({"backend": "ray", "links": "smoke"}, "`links` must be one of"),
        ({"max_seconds": "--help"}, "`max_seconds` must be a number"),
        ({"max_sfo": "0"}, "`max_sfo` must be"),
        ({"target_primal": "none"}, "`target_primal` must be a number"),
        ({"target_primal": "sqrt(n)"}, "`target_primal` must be a number"),
        ({"checkpoint_every": "2.5"}, "`checkpoint_every` must be a whole number"),
        ({"target_grad_norm": "-1"}, "`target_grad_norm` must be"),
        ({"name": "../outside"}, "`name` must be"),
        ({"name": "a/b"}, "`name` must be"),
        ({"name": "-x"}, "`name` must be"),
        ({"name": ".hidden"}, "`name` must be"),
        ({"method.eta": "1" * 1_000_000 + "x"}, "at most 200 characters"),
        ({"problem.samples": "0" * 300_000 + "9"}, "at most 200 characters"),
    ],
)
def test_a_form_cannot_start_what_it_does_not_offer(jobs, change, sentence):
    """One sentence, and nothing is started or written."""
    before = sorted(jobs.runs.root.rglob("*"))
    with pytest.raises(ValueError, match=sentence):
        jobs.start(new_run({**FORM, **change}))
    assert sorted(jobs.runs.root.rglob("*")) == before


@pytest.mark.parametrize("seed", [2**53 + 1, 2**64 + 3, 10**40 + 7])
def test_a_seed_is_passed_on_digit_by_digit(seed):
    """Also one that no browser's number can hold, and back from the run to the form."""
    arguments = new_run({**FORM, "seed": str(seed)}).arguments
    assert arguments[arguments.index("--seed") + 1] == str(seed)
    assert "seed=" + str(seed) in again({"problem": {"spec": {"name": "quadratic"}}, "method": {"name": "dream"},
                                         "topology": {"m": 4, "spec": {"name": "ring"}}, "seed": seed}, {})  # fmt: skip


@pytest.mark.parametrize(
    "network", [{"topology": "random-regular", "topology.degree": "500"},
                {"topology": "erdos-renyi", "topology.probability": "1e-4"}],
)  # fmt: skip
def test_a_network_that_takes_long_is_drawn_by_the_run_and_not_by_the_server(network, monkeypatch):
    """A request costs no more than reading the form."""
    monkeypatch.setattr(specs, "build_topology", lambda *_: pytest.fail("the server builds a network"))
    assert "--topology-set" in new_run({**FORM, "agents": "1000", **network}).arguments


def test_fields_that_a_form_does_not_have_are_not_passed_on():
    """Also such as `raydream run` would understand."""
    asked = {
        **FORM,
        "address": "evil:6379",
        "problem.data": "/etc/passwd",
        "method.nonsense": "1",
        "directory": "/tmp/x",
    }
    assert not {"evil:6379", "data=/etc/passwd", "nonsense=1", "/tmp/x"} & set(new_run(asked).arguments)


def test_a_taken_name_is_refused(jobs):
    """The run that is there stays as it is."""
    with pytest.raises(ValueError, match="`name` must be new; 'first' is there already"):
        jobs.start(new_run({**FORM, "name": "first"}))


def test_what_is_not_under_way_cannot_be_stopped(jobs):
    with pytest.raises(ValueError, match="'first' is not under way: it is completed"):
        jobs.stop("first")
    with pytest.raises(ValueError, match="must be a run directory below"):
        jobs.stop("../secret")
    assert not (jobs.runs.root.parent / "secret" / "stop").exists()


def test_a_run_that_is_under_way_is_not_resumed(root, tmp_path):
    """Two drivers would write to one directory."""
    under_way(root, tmp_path / "r", os.getpid())
    with locked(tmp_path / "r"), pytest.raises(ValueError, match="under way already"):
        Jobs(Runs(tmp_path)).resume("r")


def stopped_run(root, folder, **spec):
    """A directory of a run that was stopped."""
    shutil.copytree(root / "first", folder)
    record = json.loads((folder / "run.json").read_text())
    record["problem"]["spec"] |= spec
    (folder / "run.json").write_text(json.dumps({**record, "outcome": "stopped"}))
    return Jobs(Runs(folder.parent))


def test_however_often_resume_is_pressed_one_program_starts(root, tmp_path, monkeypatch):
    """At the same moment, and under other names of the same directory."""
    jobs, started = stopped_run(root, tmp_path / "r"), []

    def start(arguments, **options):
        started.append(arguments)
        return SimpleNamespace(poll=lambda: None)

    monkeypatch.setattr(subprocess, "Popen", start)

    def press(name):
        with contextlib.suppress(ValueError):
            jobs.resume(name)

    pressing = [threading.Thread(target=press, args=(name,)) for name in ("r", "./r", "r/", "r/../r", "r", "r")]
    for thread in pressing:
        thread.start()
    for thread in pressing:
        thread.join(timeout=300)
    assert len(started) == 1


def test_nothing_is_imported_from_a_run_directory(root, tmp_path):
    """Not even a numpy.py that somebody laid there: the program fails for want of a checkpoint, not of numpy."""
    jobs = stopped_run(root, tmp_path / "r")
    (tmp_path / "r" / "run.json").write_text((root / "first" / "run.json").read_text())  # completed: cannot go on
    for name in ("numpy", "raydream", "sitecustomize", "json"):
        (tmp_path / "r" / f"{name}.py").write_text("import pathlib; pathlib.Path('pwned').touch(); raise SystemExit(7)")
    jobs.resume("r")
    assert jobs._programs["r"][0].wait(timeout=300) == 2
    assert "no checkpoint" in jobs.look("r").log() and not list(tmp_path.rglob("pwned"))


@pytest.mark.parametrize("iterations", [float("inf"), float("nan"), 1e300, 2.5, 0, -3, "x"])
def test_a_wrong_total_gets_a_sentence(root, tmp_path, iterations):
    jobs = stopped_run(root, tmp_path / "r")
    with pytest.raises((ValueError, TypeError), match="`iterations` must be"):
        jobs.resume("r", iterations)


@pytest.mark.parametrize("name", ["log.txt", "stop", "checkpoint", "start.npz", "history.csv"])
def test_links_in_a_run_directory_are_not_written_through(root, tmp_path, name):
    """Neither by Stop nor by Resume; what they point to stays as it is."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    jobs = stopped_run(root, tmp_path / "runs" / "r")
    (tmp_path / "runs" / "r" / name).unlink(missing_ok=True)
    (tmp_path / "runs" / "r" / name).symlink_to(
        outside if name == "checkpoint" else outside / ("precious" if name == "log.txt" else "new")
    )
    with pytest.raises(ValueError, match=f"its {name} is a link"):
        jobs.resume("r")
    record = json.loads((tmp_path / "runs" / "r" / "run.json").read_text())
    (tmp_path / "runs" / "r" / "run.json").write_text(
        json.dumps({**record, "outcome": "running", "driver": {"host": platform.node(), "pid": 1}})
    )
    with locked(tmp_path / "runs" / "r"), pytest.raises(ValueError, match=f"its {name} is a link"):
        jobs.stop("r")
    assert [path.name for path in outside.iterdir()] == ["precious"] and (
        outside / "precious"
    ).read_text() == "precious"


def test_what_a_link_or_a_pipe_says_is_not_shown(root, tmp_path):
    """log.txt may point outside the root, or keep its reader waiting for ever."""
    (tmp_path / "secret").write_text("TOP SECRET")
    jobs = stopped_run(root, tmp_path / "runs" / "r")
    (tmp_path / "runs" / "r" / "log.txt").symlink_to(tmp_path / "secret")
    assert jobs.look("r").log() == ""
    (tmp_path / "runs" / "r" / "log.txt").unlink()
    for name in ("log.txt", "history.csv", "progress.json"):
        (tmp_path / "runs" / "r" / name).unlink(missing_ok=True)
        os.mkfifo(tmp_path / "runs" / "r" / name)
    assert jobs.look("r").log() == "" and jobs.look("r").state == "stopped"


def test_of_a_log_the_last_lines_are_read_whatever_it_holds(root, tmp_path):
    """Also of one that is long, of lines that are, and of bytes that are no text; never by a link or a name outside."""
    jobs = stopped_run(root, tmp_path / "runs" / "r")
    log = tmp_path / "runs" / "r" / ACTORS
    log.write_bytes(b"".join(b"line %d\n" % number for number in range(20_000)))
    lines = jobs.look("r").log(200, ACTORS).splitlines()
    assert len(lines) == 200 and lines[-1] == "line 19999"
    log.write_bytes(b"\xff" * 10_000_000)
    assert len(jobs.look("r").log(200, ACTORS)) <= 500
    log.unlink()
    (tmp_path / "secret").write_text("TOP SECRET")
    log.symlink_to(tmp_path / "secret")
    assert jobs.look("r").log(200, ACTORS) == ""
    with pytest.raises(ValueError, match="link"):
        jobs.resume("r", 100)


def test_a_complaint_does_not_outlive_its_cause(root, tmp_path):
    """It is told once, as long as nothing has changed; and the page is not drawn anew for it."""
    jobs = stopped_run(root, tmp_path / "r")
    jobs._complaints["r"] = "it had no luck", jobs.runs.watched("r").stamp("run.json")
    assert jobs.look("r").reason == "it had no luck"
    version = jobs.look("r").version
    assert jobs.look("r").version == version
    shutil.copy(root / "first" / "run.json", tmp_path / "r" / "run.json")
    assert (jobs.look("r").state, jobs.look("r").reason) == ("completed", "30 iterations")


@pytest.mark.parametrize(
    "spec",
    [
        {"name": "evil.module:make"},
        {"name": None},
        {"parameters": {"data": "/etc/passwd"}},
        {"parameters": {"data": ["a9a"]}},
    ],
)
def test_a_problem_or_data_of_ones_own_is_not_resumed_from_a_page(root, tmp_path, spec):
    """run.json may name any module and any file, and a page must not make the server import or read them."""
    jobs = stopped_run(root, tmp_path / "r", **spec)
    with pytest.raises(ValueError, match="a problem or data of one's own"):
        jobs.resume("r")


def test_the_last_words_of_a_program_are_its_sentence():
    assert last_sentence("a\nraydream: `x` must be y.\n\n") == "`x` must be y."
    assert last_sentence("") == ""


# ---------------------------------------------------------------- the door

TOKEN = "a-token-that-nobody-guesses"


@pytest.fixture
def open_door(jobs):
    """The dashboard of a machine's own, asked as its own."""
    return make_app(jobs).server.test_client()


@pytest.fixture
def closed_door(jobs):
    """The dashboard of a machine that others reach."""
    return make_app(jobs, TOKEN).server.test_client()


ADDRESSES = ["/", "/lab", "/_dash-layout", "/_dash-dependencies", "/assets/dashboard.css", "/report?runs=first"]


@pytest.mark.parametrize("path", ADDRESSES)
def test_without_the_token_nothing_is_served(closed_door, path):
    answer = closed_door.get(path, base_url="http://machine:8050")
    assert answer.status_code == 401 and b"?token=" in answer.data and len(answer.data) < 200


@pytest.mark.parametrize("given", ["", "x", TOKEN + "x", TOKEN[:-1], "é"])
def test_a_wrong_token_does_not_open(closed_door, given):
    assert closed_door.get("/", query_string={"token": given}, base_url="http://machine:8050").status_code == 401
    assert closed_door.get("/", headers={"Authorization": f"Bearer {given}".encode()}).status_code == 401


@pytest.mark.parametrize("path", ADDRESSES)
def test_the_token_opens_once_and_for_all(closed_door, path):
    """It becomes a cookie that scripts cannot read, and leaves the address."""
    answer = closed_door.get(f"{path}{'&' if '?' in path else '?'}token={TOKEN}")
    assert answer.status_code == 302 and TOKEN not in answer.headers["Location"]
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie
    with closed_door.get(answer.headers["Location"]) as opened:
        assert opened.status_code == 200


def test_programs_bring_the_token_in_a_header(closed_door):
    assert closed_door.get("/", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


def press(client, **headers):
    """What the browser posts when Start is pressed in the form."""
    form = [
        {"id": {"type": "state", "name": name}, "property": "value", "value": value} for name, value in FORM.items()
    ]
    body = {
        "output": "..new-go.href...new-message.children..",
        "outputs": [{"id": "new-go", "property": "href"}, {"id": "new-message", "property": "children"}],
        "inputs": [{"id": "new-start", "property": "n_clicks", "value": 1}],
        "changedPropIds": ["new-start.n_clicks"],
        "state": [form, [{**one, "property": "id", "value": one["id"]} for one in form]],
    }
    return client.post("/_dash-update-component", json=body, headers=headers)


def test_a_post_without_the_token_starts_nothing(closed_door, monkeypatch):
    """With it the very same post starts the run, so that the refusal is the token's doing."""
    started = []
    monkeypatch.setattr(Jobs, "_launch", lambda self, name, arguments: started.append(name))
    assert press(closed_door).status_code == 401 and started == []
    assert press(closed_door, Authorization=f"Bearer {TOKEN}").status_code == 200 and started == ["dream-1"]


def test_a_page_of_another_site_cannot_post(open_door, monkeypatch):
    """The browser says where a post comes from; and a foreign name for this machine is not its own."""
    started = []
    monkeypatch.setattr(Jobs, "_launch", lambda self, name, arguments: started.append(name))
    assert press(open_door, Origin="http://evil.example").status_code == 403
    assert press(open_door, Origin="http://localhost:9999").status_code == 403
    assert press(open_door, Host="evil.example").status_code == 403
    assert press(open_door, **{"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert press(open_door, Origin="http://[").status_code == 400
    assert open_door.get("/", headers={"Host": "evil.example:8050"}).status_code == 403
    assert started == []
    assert press(open_door, Origin="http://localhost").status_code == 200 and len(started) == 1


@pytest.mark.parametrize("host", ["localhost:8050", "127.0.0.1:8050", "[::1]:8050"])
def test_this_machine_is_served_under_its_own_names(open_door, host):
    assert open_door.get("/", headers={"Host": host}).status_code == 200


def test_browsers_are_told_to_run_nothing_foreign(open_door):
    """And reports keep their own, stricter rules."""
    policy = open_door.get("/").headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy
    scripts = next(part for part in policy.split(";") if "script-src" in part)
    assert "unsafe" not in scripts and "http" not in scripts
    report = open_door.get("/report?runs=first")
    assert (
        b"default-src 'none'" in report.data and report.headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    )


def test_a_huge_post_is_refused(open_door):
    assert open_door.post("/_dash-update-component", json={"x": "x" * 2_000_000}).status_code == 413


@pytest.mark.parametrize("name", ["../secret", "/etc", "%2e%2e/secret", "first/../../secret", "no-such"])
def test_reports_of_other_places_are_refused(open_door, name):
    answer = open_door.get(f"/report?runs={name}")
    assert answer.status_code == 404 and b"<html" not in answer.data


@pytest.mark.parametrize(
    "path", ["/assets/../app.py", "/assets/..%2f..%2fcli.py", "/_dash-component-suites/../../etc/passwd"]
)
def test_assets_stay_in_their_folder(open_door, path):
    assert b"import" not in open_door.get(path).data


@pytest.mark.parametrize(
    "path",
    ["gate.py", "lab/page.py", "./gate.py", "lab/../gate.py", "gate.py/", "gate.PY", "__init__.py", "x.js/../gate.py",
     "__pycache__/gate.cpython-311.pyc"],
)  # fmt: skip
def test_of_the_files_beside_the_pages_only_their_own_are_served(open_door, path):
    """Python lies in the same folders, and stays there."""
    assert open_door.get(f"/assets/{path}").status_code == 404


def test_every_page_gets_its_style_and_its_program(open_door):
    """All that lie in the pages' folders, the common ones first."""
    here = Path(rd.dashboard.__file__).parent
    files = {path.relative_to(here).as_posix() for kind in ("css", "js") for path in here.rglob(f"*.{kind}")}
    asked = re.findall(r'"/assets/([^"?]+)', open_door.get("/").text)
    assert sorted(asked) == sorted(files) and {"dashboard.css", "lab/lab.js"} <= files
    assert [name for name in asked if "/" not in name] == [asked[0], asked[len(files) // 2]]
    for name in asked:
        with open_door.get(f"/assets/{name}") as answer:
            assert answer.status_code == 200


# ---------------------------------------------------------------- figures


def test_the_report_of_the_dashboard_is_the_report(open_door, root):
    """The very page that `raydream report` writes."""
    path = rd.load(root / "first").report(root.parent / "r.html")
    assert open_door.get("/report?runs=first").data.decode() == path.read_text()


def made_up(rows, name="made", folder=None):
    """A watched run of so many records."""
    t = np.arange(rows)
    run = Watched(name, folder or Path("nowhere"))
    draw = np.random.default_rng(len(name) + sum(map(ord, name)))
    run._history.columns = {
        "iteration": t.astype(float),
        "sfo": 10.0 * t,
        "grad_norm": np.exp(-t / rows) + 0.1 * draw.random(rows),
    }
    run.record = {
        "method": {"name": "dream", "parameters": {"b": name}},
        "problem": {},
        "topology": {},
        "outcome": "completed",
    }
    run.state = "completed"
    return run


def test_a_long_run_is_thinned_and_exact_where_one_zooms_in():
    """At most so many points; in a small range every record, bit for bit, with as much on both sides to pan over."""
    run = made_up(100_000)
    runs = curves.runs_of([run])
    drawn = curves.curve(runs, "sfo", "grad_norm").data[0]
    assert len(drawn.x) <= curves.POINTS
    assert drawn.y.min() == run.columns["grad_norm"].min() and drawn.y.max() == run.columns["grad_norm"].max()
    zoomed = curves.curve(runs, "sfo", "grad_norm", zoom=Zoom((500_000, 501_000))).data[0]
    inside = (zoomed.x >= 499_000) & (zoomed.x <= 502_000)
    rows = np.arange(49_900, 50_201)
    assert np.array_equal(zoomed.x[inside], run.columns["sfo"][rows])
    assert np.array_equal(zoomed.y[inside], run.columns["grad_norm"][rows])


def test_a_logarithmic_axis_is_zoomed_in_powers_of_ten():
    """10 to 10,000 SFO calls are 1 to 4 on the axis."""
    figure = curves.curve(curves.runs_of([made_up(5000)]), "sfo", "grad_norm", "log", zoom=Zoom((1, 4)))
    assert figure.layout.xaxis.range == (1, 4) and figure.layout.xaxis.type == "log"
    assert set(np.arange(10, 10_001, 10)) <= set(figure.data[0].x)


def test_fifty_runs_share_the_points():
    """However many runs, a figure stays small enough to send again and again."""
    figure = curves.curve(curves.runs_of([made_up(20_000, f"r{i}") for i in range(50)]), "iteration", "grad_norm")
    assert len(figure.data) == 50
    assert sum(len(line.x) for line in figure.data) <= curves.POINTS * 1.1
    assert len(figure.to_json()) < 1_500_000


def test_recoveries_are_marks_on_the_curve():
    """Where the agents were lost, with what happened."""
    run = made_up(100)
    run.record["recoveries"] = [{"iteration": 40, "rolled_back_to": 30, "agents": [1], "reason": "actor 1 died"}]
    mark = curves.curve(curves.runs_of([run]), "sfo", "grad_norm").data[-1]
    assert mark.name == "recovery" and list(mark.x) == [400.0] and list(mark.y) == [run.columns["grad_norm"][40]]
    assert mark.text[0] == "actor 1 died<br>rolled back to iteration 30"


def test_a_figure_without_records_says_so():
    figure = curves.curve([], "sfo", "tracking")
    assert "nothing recorded yet" in figure.layout.annotations[0].text and len(figure.data) == 0


def test_the_range_in_sight_is_what_the_figure_reports():
    zoomed = {"chosen": ["sfo", "primal", "auto", "log"], "xaxis": [1, 3], "yaxis": [-2, 0.5]}
    assert axes.in_sight(zoomed, "sfo", "primal", "auto", "log") == Zoom((1, 3), (-2, 0.5))
    assert axes.in_sight(zoomed, "rounds", "primal", "auto", "log") == Zoom(), "the ranges of another axis"
    for nonsense in (None, ["a", 1], [1], [3, 1], [1, float("nan")], [1, float("inf")], "ab", 7):
        assert axes.in_sight({**zoomed, "xaxis": nonsense}, *zoomed["chosen"]) == Zoom(None, (-2, 0.5))
    assert axes.in_sight(None, "sfo", "primal", "auto", "log") == Zoom() == axes.in_sight({}, *zoomed["chosen"])


# ---------------------------------------------------------------- pages


def ids_of(part):
    """The ids of all components of a page."""
    found = [getattr(part, "id", None)] if getattr(part, "id", None) else []
    children = part if isinstance(part, list | tuple) else getattr(part, "children", None)
    for child in children if isinstance(children, list | tuple) else [children]:
        if hasattr(child, "to_plotly_json"):
            found += ids_of(child)
    return found


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize(
    "search", ["", "?nonsense=1&x=%00&agents=-5&run=..%2Fsecret&runs=%2Fetc&y=<script>&method=os:system"]
)
def test_every_page_opens_whatever_the_address_says(jobs, path, search):
    """Unknown values fall back to defaults; the address is never trusted."""
    page = PAGES[path].layout(Query(search), jobs)
    assert len(ids_of(page)) >= 3


def values_of(part):
    """The values of a page's controls by their names in the URL."""
    found = {}
    if isinstance(getattr(part, "id", None), dict):
        found[part.id["name"]] = getattr(part, "value", None)
    children = part if isinstance(part, list | tuple) else getattr(part, "children", None)
    for child in children if isinstance(children, list | tuple) else [children]:
        if hasattr(child, "to_plotly_json"):
            found |= values_of(child)
    return found


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_restored_from_its_address(jobs, path):
    """What the browser writes into the address brings the same values back."""
    first = values_of(PAGES[path].layout(Query(""), jobs))
    assert first
    pairs = {
        name: value if isinstance(value, list) else [value] for name, value in first.items() if value not in (None, "")
    }
    again = values_of(PAGES[path].layout(Query(urlsplit(address(path, **pairs)).query), jobs))
    assert again == first


def test_fields_of_topologies_are_their_builders():
    assert [f.name for f in topology_fields("erdos-renyi")] == ["probability", "seed", "self_weight", "weights", "lazy"]


def test_a_new_problem_has_its_own_fields_in_the_form(monkeypatch, jobs):
    """Those of its maker's signature and no others; with `data` among them it is offered the data sets."""

    def tug(agents: int, *, pull: Annotated[Positive, "how hard"] = 2.0, side: Literal["left", "right"] = "left"): ...
    def on_data(agents: int, *, data: str = "synthetic", pull: float = 1.0, samples: int = 5, features: int = 3): ...

    for name, make in (("tug", tug), ("tug-on-data", on_data)):
        monkeypatch.setitem(specs.PROBLEMS._entries, name, make)
    pull, side = problem_fields("tug", "synthetic")
    assert (pull.name, pull.default, pull.help) == ("pull", 2.0, "how hard") and side.words == ("left", "right")
    page = PAGES["/new"].layout(Query("?problem=tug&problem.pull=3"), jobs)
    assert {name for name in values_of(page) if name.startswith("problem.")} == {"problem.pull", "problem.side"}
    asked = {"problem": "tug", "topology": "ring", "method": "dream", "agents": 4, "problem.pull": "3"}
    arguments = new_run(asked).arguments
    assert "pull=3" in arguments and "--data" not in arguments
    with pytest.raises(ValueError, match="`pull` must be"):
        new_run({**asked, "problem.pull": "-1"})
    assert "--data" in new_run({**asked, "problem": "tug-on-data"}).arguments
    assert [one.name for one in problem_fields("tug-on-data", "a9a")] == ["pull"]


@pytest.mark.parametrize("problem", specs.PROBLEMS)
def test_what_synthetic_data_are_like_is_asked_of_synthetic_data_alone(problem):
    """Another data set is as it is."""
    drawn, named = ({one.name for one in problem_fields(problem, data)} for data in ("synthetic", "a9a"))
    about = {*parameters_of(synthetic)}
    assert drawn - named == (about if takes_data(problem) else set())


FIELDS = {
    **{name: lambda name=name: problem_fields(name, "synthetic") for name in specs.PROBLEMS},
    **{name: lambda name=name: topology_fields(name) for name in specs.TOPOLOGIES},
    **{name: lambda name=name: method_fields(name, "robust-logistic", {}) for name in METHODS},
}


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_says_what_it_means(name):
    """The help that rides on the annotation is the field's hint."""
    assert all(field.help for field in FIELDS[name]()), [f.name for f in FIELDS[name]() if not f.help]


def test_the_form_offers_what_the_registries_have(jobs):
    """Backends and links with the line that each says of itself, limits as columns name them."""
    assert backends().keys() == BACKENDS.keys() and links().keys() == LINKS.keys()
    assert all(kind.says in links()[name] for name, kind in LINKS.items())
    assert limits() == {
        "max_sfo": "at most SFO calls", "max_rounds": "at most rounds", "max_seconds": "at most seconds",
        "target_grad_norm": "until ‖∇P‖ ≤", "target_primal": "until P ≤",
    }  # fmt: skip
    shown = values_of(PAGES["/new"].layout(Query(""), jobs))
    assert {*limits()} <= shown.keys()


def test_a_form_of_version_0_1_0_is_filled_in_again(root, tmp_path):
    """It lies beside the run under another name."""
    shutil.copytree(root / "first", tmp_path / "r")
    (tmp_path / "r" / "order.json").write_text(json.dumps({"method": "dream", "agents": "4"}))
    assert Runs(tmp_path).look("r").form == {"method": "dream", "agents": "4"}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_page_is_a_folder_with_all_its_parts(page):
    """Title, layout and callbacks; nothing of it lies elsewhere."""
    assert isinstance(page.TITLE, str) and callable(page.layout) and callable(page.register)
    folder = Path(page.__file__).parent
    own = [path.stem for path in folder.iterdir() if path.suffix in (".css", ".js")]
    assert all(name == folder.name for name in own)


@pytest.mark.parametrize("package", ["dash", "waitress"])
def test_without_the_extra_the_command_says_what_to_install(tmp_path, monkeypatch, package):
    """One sentence and exit code 2; the rest of the package does without."""
    for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    for name in [name for name in sys.modules if name.startswith("raydream.dashboard.")]:
        monkeypatch.delitem(sys.modules, name)
    done = CliRunner().invoke(cli.app, ["dashboard", str(tmp_path)])
    assert done.exit_code == 2 and f"needs {package}" in done.output and "raydream[dashboard]" in done.output


def test_serving_needs_a_folder_and_a_free_port(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="`root` must be a folder"):
        serve(tmp_path / "file")
    with pytest.raises(ValueError, match="`host` must be an address"):
        serve(tmp_path / "runs", host="")
    with pytest.raises(OSError, match="`port` must be free"):
        serve(tmp_path / "runs", port=70_000)
