"""Findings are rendered from their CSV files, and from nothing else."""

import math
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "experiments"


@pytest.fixture
def sweeps(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import sweeps

    return sweeps


@pytest.fixture
def texts(sweeps):
    return sys.modules["texts"]


def test_a_table_comes_back_with_its_types(texts, tmp_path):
    """Numbers, booleans, strings and None; an int stays an int and a float a float, also when it is whole."""
    rows = [
        {"name": "ring, self weight 1/2", "n": 3, "eta": 1.0, "reached": True, "sfo": None, "end": 2.5e-14},
        {"name": 'says "so"\nand more', "n": -7, "eta": 2**-0.5, "reached": False, "sfo": 10**12, "end": math.inf},
    ]
    texts.write_csv(tmp_path / "t.csv", rows)
    read = texts.read_csv(tmp_path / "t.csv")
    assert [{k: type(v) for k, v in row.items()} for row in read] == [{k: type(v) for k, v in r.items()} for r in rows]
    assert read[0] == rows[0]
    assert read[1] == {**rows[1], "eta": 0.7071067812}


def test_scalars_of_numpy_are_plain_numbers_and_missing_columns_none(texts, tmp_path):
    rows = [{"a": np.int64(3), "b": np.float64(0.25), "c": np.bool_(True)}, {"a": 1, "d": "x"}]
    texts.write_csv(tmp_path / "t.csv", rows)
    assert texts.read_csv(tmp_path / "t.csv") == [
        {"a": 3, "b": 0.25, "c": True, "d": None}, {"a": 1, "b": None, "c": None, "d": "x"},
    ]  # fmt: skip


@pytest.mark.parametrize("value", ["1.39", "True", "", "inf", [1, 2], {"a": 1}, (1,)])
def test_what_would_not_come_back_is_refused(texts, tmp_path, value):
    with pytest.raises(ValueError, match=r"t\.csv: column 'x' must hold"):
        texts.write_csv(tmp_path / "t.csv", [{"x": value}])


def test_the_text_sees_the_files_alone(sweeps, tmp_path, monkeypatch):
    """`text_of` gets what was read: ten digits, and the size and seconds in `setting`; findings/ holds the same."""
    monkeypatch.setattr(sys.modules["texts"], "FINDINGS", tmp_path / "findings")
    (tmp_path / "findings").mkdir()
    (tmp_path / "findings" / "x_stale.csv").write_text("a\n1\n")
    given = SimpleNamespace(name="x", out=tmp_path, size="full", findings=False, seconds={"a": 60.0, "b": 90.04})
    seen = []

    def text_of(tables):
        seen.append(tables)
        return f"One third is {tables['runs'][0]['x']!r}.", f"epsilon {tables['setting'][0]['epsilon']}"

    answer = sys.modules["texts"].publish(
        given, "Title", text_of, {"runs": [{"x": 1 / 3}], "setting": [{"epsilon": 0.1}]}
    )
    tables = {"setting": [{"epsilon": 0.1, "size": "full", "seconds": 150.0}], "runs": [{"x": 0.3333333333}]}
    assert seen == [tables] and answer == tables
    text = (tmp_path / "findings" / "x.md").read_text()
    assert text.startswith(
        "# Title\n\nOne third is 0.3333333333.\n\nepsilon 0.1\n\n"
        "All runs of the full size together: 2.5 minutes of one core. Fingerprint of the files: "
    )
    texts = sys.modules["texts"]
    assert texts.page("Title", text_of, texts.read_tables(tmp_path / "findings", "x")) == text
    assert not (tmp_path / "findings" / "x_stale.csv").exists()
