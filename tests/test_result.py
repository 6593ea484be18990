"""Results survive the disk, whole or not at all."""

import json

import numpy as np
import pandas as pd
import pytest
from laws import run

import raydream as rd
from raydream.problems import QuadraticGame
from raydream.storage.files import whole_file


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
