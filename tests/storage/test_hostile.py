"""Files from a stranger: traps are refused in one sentence, before they cost memory, and nothing in them is run."""

import hashlib
import io
import json
import os
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from laws import run

import raydream as rd
from raydream.errors import CheckpointError, RecordError
from raydream.problems import QuadraticGame
from raydream.storage import history
from raydream.storage.arrays import arrays_in
from raydream.studies.study.file import study_from

RING = rd.topology.ring(4)
METHOD = rd.DREAM(eta=0.05, gamma=0.3, p=0.3, q=0.7, b=3, K=1)
HUGE = 2**28  # bytes that a trap would unpack to
LITTLE = 2**22  # bytes that looking at a trap may take


def game():
    return QuadraticGame.random(agents=4, samples=7, dim_x=3, dim_y=4, seed=3)


@pytest.fixture
def folder(tmp_path):
    run(game(), RING, METHOD, iterations=20, checkpoint_every=10, directory=tmp_path / "r")
    return tmp_path / "r"


def header(shape, kind="<f8"):
    """An array's header, whatever follows it."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": shape})
    return file.getvalue()


def packed(compression=zipfile.ZIP_STORED, **members):
    """A .npz with these bytes for members."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def bomb():
    """Zeros, packed to next to nothing."""
    return packed(zipfile.ZIP_DEFLATED, x_bar=header((HUGE // 8,)) + bytes(HUGE))


def overlapping():
    """A thousand names for the same bytes."""
    one = packed(a=header((2**12,)) + bytes(2**15))
    with zipfile.ZipFile(io.BytesIO(one)) as archive:
        start = archive.start_dir
    directory, end = one[start:-22], one[-22:]
    many = 200
    return (
        one[:start]
        + directory * many
        + struct.pack("<4s4H2LH", end[:4], 0, 0, many, many, len(directory) * many, start, 0)
    )


def lying(content, field, value):
    """The same file, whose directory says another length (24: of the array, 20: in the file)."""
    place = content.rindex(b"PK\x01\x02")
    return content[: place + field] + struct.pack("<L", value) + content[place + field + 4 :]


TRAPS = {
    "packed": bomb,
    "overlapping": overlapping,
    "long shape": lambda: packed(x_bar=header((2**40,)) + bytes(64)),
    "negative shape": lambda: packed(x_bar=header((-2, -4)) + bytes(64)),
    "short shape": lambda: packed(x_bar=header((2,)) + bytes(64)),
    "lying length": lambda: lying(packed(x_bar=header((8,)) + bytes(64)), 24, 2**31),
    "lying little": lambda: lying(packed(x_bar=header((8,)) + bytes(64)), 24, 8),
    "objects": lambda: packed(x_bar=header((1,), "|O") + b"cos\nsystem\n."),
    "structures": lambda: packed(x_bar=header((2,), [("a", "<f8")]) + bytes(16)),
    "words": lambda: packed(x_bar=header((2,), "<U4") + bytes(32)),
    "no array": lambda: packed(x_bar=b"hello"),
    "many": lambda: packed(**{f"a{i}": b"" for i in range(300)}),
    "nothing": lambda: b"",
    "no file of this kind": lambda: b"PK\x05\x06" + bytes(10),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_a_trap_among_arrays_is_refused_before_it_costs_memory(trap):
    """A few kilobytes cannot become gigabytes."""
    content = TRAPS[trap]()
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"\w"):
            arrays_in(io.BytesIO(content))
        assert tracemalloc.get_traced_memory()[1] < LITTLE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["arrays.npz", "checkpoint", "start.npz"])
def test_every_reader_of_arrays_refuses_a_bomb(folder, name):
    """The result, the checkpoint and the start of a run."""
    content = bomb()
    if name == "checkpoint":
        with pytest.raises(CheckpointError, match="its arrays are packed"):
            rd.resume(forged(folder, content), iterations=40, problem=game())
    else:
        (folder / name).write_bytes(content)
        with pytest.raises(RecordError, match="its arrays are packed"):
            rd.load(folder) if name == "arrays.npz" else rd.resume(folder, iterations=40, problem=game())


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("name", ["run.json", "history.csv", "arrays.npz", "start.npz", "checkpoint/manifest.json"])
def test_what_never_ends_is_not_read(folder, name, kind):
    """A pipe keeps its reader waiting, /dev/zero has no end."""
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name) if kind == "pipe" else (folder / name).symlink_to("/dev/zero")
    with pytest.raises((RecordError, FileNotFoundError)):
        if name in ("history.csv", "arrays.npz"):
            rd.load(folder)
        else:
            rd.resume(folder, iterations=40, problem=game())


@pytest.mark.parametrize(
    "content",
    [
        b"iteration\n" + b",,,,\n" * 9,
        b"iteration,primal\n0,system\n",
        b"primal\n1\n",
        b"",
        b"\xff\xfe\n",
        b"iteration," + b"a," * 200 + b"\n" + b"1\n" * 200,
    ],
)
def test_a_history_that_is_none_is_refused(folder, content, monkeypatch):
    """Words, rows longer than their names, more numbers than a history has."""
    monkeypatch.setattr(history, "MOST_CELLS", 10_000)
    (folder / "history.csv").write_bytes(content)
    with pytest.raises(RecordError, match="holds no readable run"):
        rd.load(folder)


@pytest.mark.parametrize("name", ["x_bar", "y_bar", "x_out", "state_Z", "distances"])
def test_arrays_of_another_problem_are_refused(folder, name):
    """Shapes are those of the record."""
    with np.load(folder / "arrays.npz") as file:
        arrays = {**file}
    np.savez(folder / "arrays.npz", **{**arrays, name: np.zeros((2, 2))})
    with pytest.raises(RecordError, match=f"{name} has shape"):
        rd.load(folder)


def forged(folder, content, **changes):
    """A checkpoint of these bytes, with a manifest that vouches for them."""
    manifest = folder / "checkpoint" / "manifest.json"
    record = json.loads(manifest.read_text())
    (folder / "checkpoint" / record["file"]).write_bytes(content)
    manifest.write_text(json.dumps(record | {"sha256": hashlib.sha256(content).hexdigest()} | changes))
    return folder


def tampered(folder, change):
    """A checkpoint whose arrays were changed by somebody who knows how it is vouched for."""
    with np.load(next((folder / "checkpoint").glob("state-*.npz"))) as file:
        arrays = change({**file})
    content = io.BytesIO()
    np.savez(content, **arrays)
    return forged(folder, content.getvalue())


def without(name):
    return lambda arrays: {key: array for key, array in arrays.items() if key != name}


def changed(name, change):
    return lambda arrays: {**arrays, name: change(arrays[name])}


def poisoned(array):
    array[1, 2] = np.nan
    return array


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (without("state_G"), "lacks the array 'G' of the state"),
        (without("state_Z"), "lacks the array 'Z' of the state"),
        (without("x_out"), "holds no readable checkpoint"),
        (without("history"), "holds no readable checkpoint"),
        (changed("state_S", lambda a: a[:, :-1]), r"'S' of shape \(4, 6\)"),
        (changed("state_S", lambda a: a[:-1]), "one row for each of the 4 agents"),
        (changed("state_Z", lambda a: a.astype(np.float32)), "'Z' of shape .* and float32"),
        (changed("state_Z", lambda a: a.astype(np.int64)), "'Z' of shape .* and int64"),
        (changed("state_Z", poisoned), "not finite in 'Z'"),
        (changed("x_out", lambda a: np.append(a, 0.0)), "no point of this problem"),
        (changed("x_out", lambda a: a * np.nan), "no point of this problem"),
        (changed("history", lambda a: a[:, :-1]), "has a history of shape"),
        (changed("history", lambda a: a + 1e9), "does not end at iteration 20"),
        (changed("distances", lambda a: a[:-1]), "holds no readable checkpoint"),
        (lambda arrays: {**arrays, "state_evil": arrays["state_Z"]}, "'evil' that is no part of the state"),
    ],
)
def test_a_tampered_checkpoint_is_refused(folder, change, sentence):
    """Also where whoever tampered with it has mended the sum; nothing in the folder changes."""
    tampered(folder, change)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(CheckpointError, match=sentence):
        rd.resume(folder, iterations=40, problem=game())
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "change",
    [
        {"iteration": -1}, {"iteration": 1e300}, {"iteration": "20"}, {"ledger": {"sfo": -5}}, {"ledger": []},
        {"seconds": float("inf")}, {"seconds": "now"}, {"columns": [1, 2]}, {"columns": None}, {"fingerprint": []},
        {"file": 7}, {"sha256": None}, {"format": None}, {"columns": [[]]},
    ],
)  # fmt: skip
def test_a_tampered_manifest_is_refused(folder, change):
    """Every entry has its kind and its range."""
    content = next((folder / "checkpoint").glob("state-*.npz")).read_bytes()
    with pytest.raises(CheckpointError, match=r"\.$"):
        rd.resume(forged(folder, content, **change), iterations=40, problem=game())


def test_a_state_that_is_not_finite_is_not_kept(tmp_path):
    """A run that diverges between two records goes on from before that, to the same end."""
    wild = rd.GTGDA(eta=1e60, gamma=1.0)
    wanted = run(game(), RING, wild, iterations=12, record_every=6)
    run(game(), RING, wild, iterations=12, record_every=6, checkpoint_every=1, directory=tmp_path / "r")
    assert wanted.outcome == "diverged" and not np.isfinite(wanted.arrays["Z"]).all()
    kept = next((tmp_path / "r/checkpoint").glob("state-*.npz"))
    with np.load(kept) as file:
        assert np.isfinite(file["state_Z"]).all()
    again = rd.resume(tmp_path / "r", iterations=12, problem=game())
    assert again.outcome == "diverged" and np.array_equal(again.arrays["Z"], wanted.arrays["Z"], equal_nan=True)


SHADOW = """
from pathlib import Path

import raydream as rd

Path({mark!r}).touch()


class Mine(rd.DREAM):
    pass
"""


def test_a_method_is_not_taken_from_the_run_directory(folder, tmp_path, monkeypatch):
    """A module that lies there must not stand in for the user's own of the same name."""
    record = json.loads((folder / "run.json").read_text())
    record["method"]["name"] = "Mine"
    (folder / "run.json").write_text(json.dumps(record))
    (folder / "my_own_methods.py").write_text(SHADOW.format(mark=str(tmp_path / "mark")))
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    with pytest.raises(ValueError, match="`method` must name an importable module"):
        rd.resume(".", iterations=40, problem=game(), method="my_own_methods:Mine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ValueError, match="`method` must not be code from the run directory"):
        rd.resume(folder, iterations=40, problem=game(), method=f"{folder.name}.my_own_methods:Mine")
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("content", ["[" * 100_000, "{}", "[]", "7", '{"best": 7}', "\udcff"])
@pytest.mark.parametrize("name", ["best.json", "tuning.json", "trials.jsonl"])
def test_a_tuning_that_is_none_is_refused(tmp_path, name, content):
    """Whatever stands in its files, it is one sentence."""
    good = {"best.json": '{"budget": 1, "axis": "sfo", "metric": "primal", "best": {}}', "tuning.json": "{}"}
    for one, text in {**good, "trials.jsonl": "", name: content}.items():
        (tmp_path / one).write_text(text, errors="surrogateescape")
    with pytest.raises(ValueError, match=r"`directory` holds no readable tuning: .*\.$"):
        rd.compare(best=tmp_path)


def test_a_tuning_does_not_name_code_to_run(tmp_path):
    """Neither a method nor a problem is imported because a tuning names it."""
    about = {"methods": {"evil": "os:system"}, "trials": []}
    (tmp_path / "best.json").write_text('{"budget": 1, "axis": "sfo", "metric": "primal", "best": {}}')
    (tmp_path / "tuning.json").write_text(json.dumps(about))
    with pytest.raises(ValueError, match="is not one of this package's methods"):
        rd.compare(best=tmp_path)


def test_the_cells_of_a_study_stay_in_its_folder_and_are_not_made_in_vain():
    """A cell is named by what varies, which may be a path; lists make more combinations than there is room for."""
    plain = {"budget": {"amount": 10}, "network": {"name": "ring"}, "method": {"name": "dream", "eta": 0.1, "gamma": 1}}
    made = study_from({**plain, "problem": {"name": "robust-logistic", "data": ["..", ".hidden", "../../etc"]}})
    assert [cell.name for cell in made.cells] == ["-", "-hidden", "--..-etc"]
    many = {"name": "quadratic", **{one: [*range(1000)] for one in ("samples", "dim_x", "dim_y", "seed", "agents")}}
    with pytest.raises(ValueError, match="its lists make 1000000000000000"):
        study_from({**plain, "problem": many})


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_data_without_an_end_are_not_read(folder, tmp_path, kind):
    """A record may name a file for its data: one that never ends would keep whoever goes on with it for ever."""
    path = tmp_path / "data"
    os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
    record = json.loads((folder / "run.json").read_text())
    record["problem"]["spec"] = {"name": "robust-logistic", "parameters": {"data": str(path)}}
    (folder / "run.json").write_text(json.dumps(record))
    with pytest.raises(ValueError, match="must be a plain file"):
        rd.resume(folder, iterations=40)
