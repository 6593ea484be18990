"""Wrong arguments of public names: each is taken, or refused in one sentence that names an argument; nothing else."""

import inspect
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import raydream as rd
from raydream.parameters import parameters_of
from raydream.specs import METHODS, TOPOLOGIES

FUZZ = settings(derandomize=True, deadline=None, database=None, max_examples=40)
NAMED = {
    "nothing": None, "true": True, "minus one": -1, "zero": 0, "three": 3, "huge": 10**30, "below": -(10**30),
    "long": 2**63, "half": 0.5, "large": 1e308, "NaN": float("nan"), "infinite": float("inf"), "empty": "",
    "word": "x", "code": "os:system", "surrogate": "\ud800", "zero byte": "\0", "bytes": b"x", "list": [], "ones": [1],
    "words": ["a"], "nested": [[1]], "table": {}, "entry": {"a": 1}, "pair": (), "object": object(), "class": int,
    "no rows": np.zeros(0), "vector": np.zeros(3), "matrix": np.zeros((2, 2)), "texts": np.array(["a"]),
    "number": np.array(1.0), "single": np.float32(2), "complex": 1j, "function": lambda *_: 1, "set": {1, 2},
}  # fmt: skip
things = st.sampled_from(sorted(NAMED)).map(NAMED.__getitem__) | st.recursive(
    st.none() | st.booleans() | st.integers(-3, 40) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def refused_or_taken(make, **arguments):
    """The one law of this file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            make(**arguments)
        except (rd.errors.RaydreamError, ValueError, TypeError, OSError) as error:
            sentence = str(error)
            assert "`" in sentence and sentence.rstrip().endswith((".", "?")), f"no sentence: {error!r}"


NEEDED = {"erdos-renyi": {"probability": 0.7}, "random-regular": {"degree": 2}}


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_builders_of_topologies(name):
    """Every argument of every builder, with every thing of the list."""
    for argument in parameters_of(TOPOLOGIES[name]):
        for value in NAMED.values():
            refused_or_taken(TOPOLOGIES[name], **{"m": 4, **NEEDED.get(name, {}), argument: value})


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    """Every parameter of every method."""
    known = parameters_of(METHODS[name])
    usual = {step: value for step, value in {"eta": 0.1, "gamma": 1.0}.items() if step in known}
    for argument in known:
        for value in NAMED.values():
            refused_or_taken(METHODS[name], **{**usual, argument: value})


@pytest.mark.parametrize("kind", [rd.Conditions, rd.Evaluation, rd.RayBackend])
@given(st.data())
@FUZZ
def test_settings(kind, data):
    """Conditions, evaluation and the backend."""
    argument = data.draw(st.sampled_from(sorted(parameters_of(kind))))
    refused_or_taken(kind, **{argument: data.draw(things)})


GAME = rd.problems.QuadraticGame.random(agents=3, samples=4, dim_x=2, dim_y=2)
USUAL = {"problem": GAME, "topology": rd.topology.ring(3), "method": rd.DREAM(eta=0.05, gamma=0.3, b=2),
         "iterations": 2, "backend": "local", "progress": False}  # fmt: skip
ARGUMENTS = [one for one in inspect.signature(rd.run).parameters if one != "progress"]


@pytest.mark.parametrize("argument", ARGUMENTS)
def test_run(argument, tmp_path, monkeypatch):
    """Every argument of `run`; whatever is written is written here."""
    monkeypatch.chdir(tmp_path)
    for value in NAMED.values():
        refused_or_taken(rd.run, **{**USUAL, argument: value})


ROWS, LABELS = np.arange(24.0).reshape(12, 2), np.tile([-1.0, 1.0], 6)


@given(st.sampled_from([*inspect.signature(rd.data.shards).parameters]), things)
@settings(FUZZ, max_examples=150)
def test_shards(argument, value):
    """Rows dealt to agents."""
    refused_or_taken(rd.data.shards, **{"data": ROWS, "label": LABELS, "agents": 3, argument: value})


@given(st.sampled_from(["name_or_path", "bias", "unit", "test", "features", "samples", "density", "what"]), things)
@settings(FUZZ, max_examples=100)
def test_load(argument, value):
    """Data by name."""
    refused_or_taken(rd.data.load, **{argument: value})
