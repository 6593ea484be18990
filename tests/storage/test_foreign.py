"""A run directory from a stranger, resumed: nothing in it is run, and nothing outside it is written or believed."""

import json
import os
import subprocess
import sys

import pytest
from laws import run

import raydream as rd
from raydream.problems import QuadraticGame

RING = rd.topology.ring(4)
METHOD = rd.DREAM(eta=0.05, gamma=0.3, p=0.3, q=0.7, b=3, K=1)


def game():
    return QuadraticGame.random(agents=4, samples=7, dim_x=3, dim_y=4, seed=3)


@pytest.fixture
def folder(tmp_path):
    run(game(), RING, METHOD, iterations=20, checkpoint_every=10, directory=tmp_path / "r")
    return tmp_path / "r"


def changed(folder, *path, value):
    """The record with another value at this path."""
    record = part = json.loads((folder / "run.json").read_text())
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    (folder / "run.json").write_text(json.dumps(record))


def spec(name, **parameters):
    return {"name": name, "parameters": parameters}


NAMES = ["os:system", "os.system", "../evil", "r/evil", "/etc/passwd", "evil", ".evil", "__import__('os')", "os:",
         ":system", "", "a" * 10_000, "quadratic\0", "\ud800", "DREAM; import os", "lambda: 0",
         "builtins:eval"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
@pytest.mark.parametrize("part", ["problem", "topology", "method"])
def test_a_name_in_a_record_is_a_known_one_or_refused(folder, tmp_path, monkeypatch, part, name):
    """Of a problem, a network or a method: never a path, never code, never a module that lies in the directory."""
    mark = tmp_path / "mark"
    for place in (folder, tmp_path):
        (place / "evil.py").write_text(f"open({str(mark)!r}, 'w')\nsystem = evil = print\n")
    monkeypatch.chdir(folder)
    if part == "method":
        changed(folder, "method", "name", value=name)
    else:
        changed(folder, part, "spec", value=spec(name, command=f"touch {mark}"))
    if part == "topology":
        changed(folder, "topology", "W", value=None)
    with pytest.raises(ValueError, match=r"[.?]$"):
        rd.resume(".", iterations=40, problem=None if part == "problem" else game())
    assert not mark.exists() and "evil" not in sys.modules


def test_modules_in_the_directory_do_not_stand_in_for_libraries(folder, tmp_path):
    """Whoever goes on with a run while standing in its directory imports nothing from there."""
    changed(folder, "problem", "spec", value=spec("quadratic", samples=7, dim_x=3, dim_y=4, seed=3))
    mark = tmp_path / "mark"
    for name in ("numpy", "pandas", "scipy", "sitecustomize", "usercustomize", "json", "typer", "raydream", "ray"):
        (folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'w')\n")
    for place, where, total in ((folder, ".", "30"), (tmp_path, "r", "40")):
        done = subprocess.run(
            [os.path.join(os.path.dirname(sys.executable), "raydream"), "resume", where, "--iterations", total,
             "--backend", "local"],
            cwd=place, capture_output=True, text=True, timeout=300,
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        )  # fmt: skip
        assert not mark.exists(), done.stderr
        assert done.returncode == 0, done.stderr


def test_a_link_is_not_followed_to_write_elsewhere(folder, tmp_path):
    """What a run directory's files point to, by a stranger's will, stays as it was."""
    precious = {
        name: tmp_path / f"precious-{name}" for name in ("history.csv", "arrays.npz", "progress.json", "start.npz")
    }
    for name, path in precious.items():
        path.write_text("precious")
        if name != "start.npz":
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(path)
    rd.resume(folder, iterations=40, problem=game(), backend="local")
    assert {path.read_text() for path in precious.values()} == {"precious"}


@pytest.mark.parametrize("name", ["../outside.npz", "/etc/hostname", "a/../../outside.npz", "", ".", "..", "\0"])
def test_a_manifest_names_only_files_of_its_checkpoint(folder, tmp_path, name):
    """No path leads out."""
    (tmp_path / "outside.npz").write_bytes(next((folder / "checkpoint").glob("state-*.npz")).read_bytes())
    manifest = folder / "checkpoint/manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"file": name}))
    with pytest.raises(rd.errors.CheckpointError, match=r"\.$"):
        rd.resume(folder, iterations=40, problem=game())


@pytest.mark.parametrize(
    "backend",
    [
        {"name": "ray", "address": "evil:1", "ship": ["/etc"], "log": "/tmp/stolen", "secure": "yes"},
        {"name": "os:system"},
        {"name": "local", "command": "touch x"},
        {"name": "ray", "links": "os:system"},
    ],
)
def test_a_backend_in_a_record_sends_nothing_and_names_no_code(folder, backend):
    """It is made of known settings, or refused."""
    changed(folder, "backend", value=backend)
    with pytest.raises(ValueError, match=r"[.?]$"):
        rd.resume(folder, iterations=40, problem=game())
