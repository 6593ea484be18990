"""Problems and methods of one's own on the command line: run, compared, tuned and resumed by their names."""

import json

import pytest
from typer.testing import CliRunner

from raydream.cli.app import app

MODULE = """
from dataclasses import dataclass

import numpy as np

import raydream as rd
from raydream.algorithms import Iterates


class Mine:
    dim_x = dim_y = 2

    def __init__(self, agents):
        self.agents = agents

    def local(self, i):
        return Shard(i)


class Shard:
    samples = 5

    def __init__(self, i):
        self.t = np.random.default_rng(i).normal(size=(5, 2))

    def value(self, x, y):
        return float(((x - self.t) ** 2).sum() / 10 + x @ y - y @ y / 2)

    def gradient(self, x, y, batch=None):
        t = self.t if batch is None else self.t[batch]
        return x - t.mean(axis=0) + y, x - y


def make(agents=6):
    return Mine(agents)


def six():
    return Mine(6)


@dataclass(frozen=True)
class Steps:
    eta: float
    gamma: float
    b: int = 2

    def init(self, agents):
        return Iterates(agents.start())

    def step(self, state, agents, t, coin):
        Z = yield agents.descend_ascend(state.Z, agents.gradient(state.Z, self.b), self.eta, self.gamma)
        return Iterates(Z)


@dataclass(frozen=True)
class Still:
    pace: float = 1.0

    def init(self, agents):
        return Iterates(agents.start())

    def step(self, state, agents, t, coin):
        return state


NUMBER = 3
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_parts.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    import sys

    sys.modules.pop("own_parts", None)


def raydream(*words):
    return CliRunner().invoke(app, [*words])


def test_agents_reach_a_maker_that_takes_them(here):
    """`--agents` was ignored before."""
    ran = raydream("run", "--problem", "own_parts:make", "--agents", "4", "--backend", "local", "--iterations", "3",
                   "--directory", "r")  # fmt: skip
    assert ran.exit_code == 0, ran.output
    assert json.loads((here / "r" / "run.json").read_text())["topology"]["m"] == 4


def test_a_maker_keeps_its_own_number_where_none_is_given(here):
    ran = raydream("run", "--problem", "own_parts:make", "--backend", "local", "--iterations", "3", "--directory", "r")
    assert ran.exit_code == 0, ran.output
    assert json.loads((here / "r" / "run.json").read_text())["topology"]["m"] == 6


def test_agents_that_a_maker_cannot_have_are_refused(here):
    ran = raydream("run", "--problem", "own_parts:six", "--agents", "4", "--backend", "local", "--iterations", "3")
    assert ran.exit_code == 2
    assert "`agents` must be 6, as own_parts:six makes them; got 4" in ran.output


@pytest.mark.parametrize("method", ["own_parts:Steps", "own_parts:Still"])
def test_a_method_of_ones_own_runs_and_goes_on(here, method):
    """With `eta` and `gamma` only where it has them; code is run again only where its name is repeated."""
    ran = raydream("run", "--problem", "own_parts:make", "--method", method, "--backend", "local", "--iterations", "4",
                   "--checkpoint-every", "2", "--directory", "r")  # fmt: skip
    assert ran.exit_code == 0, ran.output
    more = ["resume", "r", "--iterations", "6", "--problem", "own_parts:make"]
    refused = raydream(*more)
    assert refused.exit_code == 2 and "`method` must be given" in refused.output
    resumed = raydream(*more, "--method", method)
    assert resumed.exit_code == 0, resumed.output


def test_steps_that_a_method_does_not_have_are_refused(here):
    ran = raydream("run", "--problem", "own_parts:make", "--method", "own_parts:Still", "--eta", "0.1", "--backend",
                   "local")  # fmt: skip
    assert ran.exit_code == 2 and "eta" in ran.output


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere_at_all:Class", "`method` must name an importable module"),
        ("own_parts:Missing", "has no callable 'Missing'"),
        ("own_parts:NUMBER", "has no callable 'NUMBER'"),
    ],
)
def test_a_method_that_is_none_is_refused(here, name, sentence):
    ran = raydream("run", "--method", name, "--backend", "local")
    assert ran.exit_code == 2 and sentence in ran.output


def test_methods_of_ones_own_are_compared_and_tuned(here, monkeypatch):
    """In this process: a Ray that other tests have started does not know where this module lies."""
    monkeypatch.setattr("raydream.studies.compare.cpus", lambda: 1)
    common = ["--problem", "own_parts:make", "--agents", "4"]
    compared = raydream("compare", *common, "--methods", "dream,own_parts:Steps", "--backend", "local", "--seeds", "0",
                        "--iterations", "5", "--directory", "c")  # fmt: skip
    assert compared.exit_code == 0, compared.output
    assert (here / "c" / "Steps").is_dir() and (here / "c" / "dream").is_dir()
    tuned = raydream("tune", *common, "--methods", "own_parts:Steps", "--budget", "400", "--trials", "3", "--workers",
                     "1", "--directory", "t")  # fmt: skip
    assert tuned.exit_code == 0, tuned.output
    assert "--methods own_parts:Steps" in tuned.output  # of the command that it prints
    again = raydream("compare", "--best", "t", "--problem", "own_parts:make", "--methods", "own_parts:Steps",
                     "--backend", "local", "--seeds", "5", "--directory", "d")  # fmt: skip
    assert again.exit_code == 0, again.output
