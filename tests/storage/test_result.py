"""Results survive the disk, whole or not at all."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import run

import raydream as rd
from raydream.agents.ledger import Ledger
from raydream.errors import RecordError
from raydream.problems import QuadraticGame
from raydream.specs import Spec
from raydream.storage.files import next_free, whole_file
from raydream.storage.record import (
    FINISHED,
    UNFINISHED,
    MethodRecord,
    ProblemRecord,
    RunRecord,
    TopologyRecord,
)
from raydream.storage.settings import Limits, Settings


@pytest.fixture
def result():
    game = QuadraticGame.random(agents=4, samples=6, dim_x=2, dim_y=3, seed=1)
    method = rd.DREAM(eta=0.1, gamma=0.3, p=0.3, b=2, K=2)
    return run(game, rd.topology.ring(4), method, iterations=12, record_every=5)


def test_a_saved_result_loads_with_the_same_bits(result, tmp_path):
    """history, arrays, outcome, ledger and configuration come back as they were."""
    folder = result.save(tmp_path / "deep" / "run")
    again = rd.load(folder)
    pd.testing.assert_frame_equal(again.history, result.history, check_exact=True)
    for name in ("x_bar", "y_bar", "x_out"):
        assert np.array_equal(getattr(again, name), getattr(result, name))
    assert again.arrays.keys() == result.arrays.keys() == {"Z", "G", "S"}
    assert all(np.array_equal(again.arrays[name], result.arrays[name]) for name in "ZGS")
    assert (again.outcome, again.reason, again.ledger) == (result.outcome, result.reason, result.ledger)
    assert again.config == json.loads(json.dumps(result.config))
    assert repr(again) == repr(result)


def test_run_json_says_how_to_run_it_again(result, tmp_path):
    """The method's settled parameters, the seed and the versions are in the record."""
    record = json.loads((result.save(tmp_path) / "run.json").read_text())
    assert record["method"]["name"] == "dream"
    assert record["method"]["parameters"]["K_large"] == 2
    assert record["seed"] == 0 and record["iterations"] == 12 and record["record_every"] == 5
    assert record["raydream"] == rd.__version__ and record["versions"]["numpy"] == np.__version__
    assert record["outcome"] == "completed" and record["ledger"]["sfo"] == result.ledger.sfo


def test_run_saves_where_it_is_told(tmp_path):
    """directory= writes the three files and nothing else."""
    game = QuadraticGame.random(agents=2, samples=2, dim_x=1, dim_y=1)
    run(game, rd.topology.ring(2), rd.DREAM(eta=0.1, gamma=0.3), iterations=1, directory=tmp_path / "r")
    assert {path.name for path in (tmp_path / "r").iterdir()} == {"run.json", "history.csv", "arrays.npz"}


@pytest.mark.parametrize("name", ["run.json", "history.csv", "arrays.npz"])
def test_a_missing_file_is_named(result, tmp_path, name):
    """A folder that lacks a file is no run directory."""
    result.save(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"has no {name}"):
        rd.load(tmp_path)


@pytest.mark.parametrize("name", ["run.json", "arrays.npz"])
def test_a_damaged_file_is_refused(result, tmp_path, name):
    """A truncated file gives one sentence that names the folder."""
    result.save(tmp_path)
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="holds no readable run"):
        rd.load(tmp_path)


def test_pickled_arrays_are_never_loaded(result, tmp_path):
    """An arrays.npz that needs pickle is refused."""
    result.save(tmp_path)
    np.savez(tmp_path / "arrays.npz", x_bar=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="holds no readable run"):
        rd.load(tmp_path)


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    """An error while writing leaves the old content and no other file."""
    (tmp_path / "x").write_text("old")
    with pytest.raises(KeyboardInterrupt), whole_file(tmp_path / "x") as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["x"] and (tmp_path / "x").read_text() == "old"


def test_a_name_that_is_taken_is_passed_over(tmp_path):
    """The first that does not exist."""
    (tmp_path / "a-1").mkdir()
    (tmp_path / "a-2").touch()
    assert next_free(tmp_path, "a") == tmp_path / "a-3" and next_free(tmp_path / "new", "a").name == "a-1"


# ---------------------------------------------------------------- run.json

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
small, count, positive = st.floats(-1e6, 1e6), st.integers(0, 10**6), st.floats(1e-6, 1e6)
plain = st.none() | st.booleans() | count | small | text
tables = st.dictionaries(text, plain | st.lists(plain, max_size=3), max_size=3)
specs = st.none() | st.builds(Spec, text.filter(bool), tables)
wholes = st.lists(count, max_size=3)
entries = st.none() | st.fixed_dictionaries({"indptr": wholes, "indices": wholes, "data": st.lists(small, max_size=3)})
sizes = st.integers(1, 10**6)
events = {"iteration": count, "rolled_back_to": count, "actors": wholes, "agents": wholes, "reason": text,
          "time": small, "seconds": small}  # fmt: skip
places = {"actor": count, "agents": wholes, "node": text, "address": text, "pid": count}
records = st.builds(
    RunRecord,
    problem=st.builds(ProblemRecord, text, sizes, st.none() | count, count, count, text, specs),
    topology=st.builds(TopologyRecord, text, sizes, small, specs, entries),
    method=st.builds(MethodRecord, text, tables),
    seed=count,
    settings=st.builds(
        Settings,
        count,
        sizes,
        st.none() | sizes,
        st.booleans(),
        st.builds(Limits, st.none() | sizes, st.none() | sizes, st.none() | positive, st.none() | positive, small),
    ),
    backend=tables,
    asked=tables,
    constants=st.none() | st.dictionaries(text, small, max_size=3),
    own_start=st.booleans(),
    raydream=text,
    versions=st.dictionaries(text, text, max_size=3),
    outcome=st.sampled_from([*FINISHED, *UNFINISHED]),
    reason=text,
    ledger=st.none() | st.builds(Ledger, count, count, count, count),
    recoveries=st.lists(st.fixed_dictionaries(events), max_size=2),
    places=st.lists(st.fixed_dictionaries(places), max_size=2),
    driver=st.none() | st.fixed_dictionaries({"host": text, "pid": count}),
    least_primal=st.none() | st.fixed_dictionaries({"value": small, "source": text}),
    lyapunov=st.none() | st.fixed_dictionaries({"eta": positive, "p": positive, "assumed": text}),
)


@given(records)
@settings(deadline=None, max_examples=60)
def test_a_record_comes_back_from_json_as_it_was(record):
    """Whatever it holds; and again from what a newer version added."""
    written = json.loads(json.dumps(record.to_json()))
    assert RunRecord.from_json(written) == record
    assert RunRecord.from_json({**written, "added later": {"a": [1]}}) == record
    assert written["format"] == 1


def whole_record():
    """A record that is sound."""
    return RunRecord(
        ProblemRecord("game", 4, 7, 3, 4, "Everything()", Spec("quadratic", {"samples": 7})),
        TopologyRecord("ring", 4, 0.5, Spec("ring", {}), {"indptr": [0, 1], "indices": [0], "data": [1.0]}),
        MethodRecord("dream", {"eta": 0.1}),
        0,
        Settings(iterations=20),
    ).to_json()


WRONG = {
    "record_every": [0, -1, 2.5, "1", True, 10**30, []],
    "iterations": [-1, 1e300, 10**16, 2.5, "many", math.inf, None, [1]],
    "checkpoint_every": [0, "x", 1.5],
    "diagnostics": ["yes", 1],
    "seed": [-1, 1.5, "x", None, {"a": 1}],
    "limits": [[], {"max_sfo": "x"}, {"max_sfo": 0}, {"max_seconds": math.nan}, {"target_grad_norm": -1}, {"more": 1}],
    "outcome": [None, 5, "done"],
    "reason": [5, "\udfff"],
    "format": [2, 0, "1"],
    "problem": [7, None, [], {}, {"name": "x"}, {"name": 5, "agents": 1, "dim_x": 1, "dim_y": 1}],
    "topology": [7, {}, {"name": "ring", "m": 0, "second_eigenvalue": 0.5}, {"name": "ring", "m": 4}],
    "method": [None, {"name": "dream", "parameters": []}, {"name": "\ud800"}, {"name": {"a": 1}}],
    "own_start": ["no", 1],
    "asked": [[1], "x"],
    "backend": ["ray", 5],
    "versions": [[], {"numpy": 2}],
    "places": [{}, [{}], [5], [{"agents": [0], "actor": {"type": "Iframe"}}], [{"agents": ["a"]}]],
    "recoveries": [5, [{}], [{"iteration": "x", "rolled_back_to": 0, "agents": []}]],
    "ledger": [5, {"sfo": 1}, {"sfo": -1, "rounds": 0, "messages": 0, "bytes": 0}],
    "driver": ["x", {"host": 5}],
    "lyapunov": [5, {"eta": 1.0}, {"eta": "x", "p": 1.0, "assumed": ""}, {"eta": 1.0, "p": 1.0, "assumed": 5}],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_a_record_that_makes_no_sense_is_refused_in_one_sentence(name, value):
    """Wrong kinds, numbers out of range, numbers that are none."""
    RunRecord.from_json(whole_record())
    with pytest.raises(RecordError, match=r"run\.json") as refused:
        RunRecord.from_json({**whole_record(), name: value})
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 300


@pytest.mark.parametrize("part", ["problem", "topology"])
def test_sizes_are_bounded(part):
    """No file makes its reader reserve the memory of a billion agents, or walk a list without end."""
    sound = whole_record()
    number = {"problem": "agents", "topology": "m"}[part]
    for change in ({number: 10**30}, {"spec": {"name": "x" * 10**6, "parameters": {}}}):
        with pytest.raises(RecordError):
            RunRecord.from_json({**sound, part: {**sound[part], **change}})
    long = {"indptr": [0] * 200_000, "indices": [], "data": []}
    with pytest.raises(RecordError, match="a list of at most"):
        RunRecord.from_json({**sound, "topology": {**sound["topology"], "W": long}})


json_values = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3))


@given(st.sampled_from(sorted(whole_record())), json_values)
@settings(deadline=None, max_examples=150)
def test_whatever_a_file_says_it_is_a_record_or_a_sentence(name, value):
    """Nothing else comes of it, and what is believed can be written again."""
    try:
        record = RunRecord.from_json({**whole_record(), name: value})
    except RecordError:
        return
    assert RunRecord.from_json(json.loads(json.dumps(record.to_json()))) == record


@pytest.mark.parametrize("value", [None, [], 5, "x", {}])
def test_what_is_no_record_at_all_is_refused(value):
    with pytest.raises(RecordError):
        RunRecord.from_json(value)


def test_a_record_that_is_nested_too_deeply_is_refused():
    value = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(RecordError, match="nested too deeply"):
        RunRecord.from_json({**whole_record(), "asked": {"eta": value}})


def test_a_history_without_a_column_of_today_is_filled(result, tmp_path):
    """As those of older versions are."""
    result.save(tmp_path)
    pd.read_csv(tmp_path / "history.csv").drop(columns=["messages", "tracking"]).to_csv(
        tmp_path / "history.csv", index=False
    )
    found = rd.load(tmp_path)
    assert list(found.history.columns) == list(result.history.columns)
    assert found.history.messages.isna().all() and found.history.primal.equals(result.history.primal)
