"""Checkpoints: the bits of a run that was never interrupted, or a sentence."""

import json
import subprocess
import sys

import numpy as np
import pytest
from laws import assert_same_bits, run

import raydream as rd
from raydream.errors import CheckpointError
from raydream.problems import QuadraticGame
from raydream.storage.rundir import RunDirectory

RING = rd.topology.ring(4)
METHOD = rd.DREAM(eta=0.05, gamma=0.3, p=0.3, q=0.7, b=3, K=1)


def game(seed=3):
    return QuadraticGame.random(agents=4, samples=7, dim_x=3, dim_y=4, seed=seed)


class Crash(Exception):
    """The driver ends here."""


def interrupted(folder, monkeypatch, after, **options):
    """A run of 47 iterations that dies at the record or checkpoint number `after`."""
    events = []

    def crashing(method):
        def wrapped(self, *arguments):
            events.append(1)
            if len(events) == after:
                raise Crash
            return method(self, *arguments)

        return wrapped

    with monkeypatch.context() as patch:
        patch.setattr(RunDirectory, "record", crashing(RunDirectory.record))
        patch.setattr(RunDirectory, "checkpoint", crashing(RunDirectory.checkpoint))
        with pytest.raises(Crash):
            run(game(), RING, METHOD, iterations=47, record_every=10, checkpoint_every=7, directory=folder, **options)


@pytest.mark.parametrize("after", range(1, 14))
def test_a_run_that_dies_at_any_moment_resumes_to_the_same_bits(tmp_path, monkeypatch, after):
    """Before the first checkpoint it starts again; after that it goes on."""
    interrupted(tmp_path / "r", monkeypatch, after)
    wanted = run(game(), RING, METHOD, iterations=47, record_every=10)
    assert_same_bits(rd.resume(tmp_path / "r", problem=game()), wanted)
    assert_same_bits(rd.load(tmp_path / "r"), wanted)


def test_diagnostics_survive(tmp_path, monkeypatch):
    """The Lyapunov pieces of resumed runs are complete."""
    interrupted(tmp_path / "r", monkeypatch, 8, diagnostics=True)
    wanted = run(game(), RING, METHOD, iterations=47, record_every=10, diagnostics=True)
    assert_same_bits(rd.resume(tmp_path / "r", problem=game()), wanted)


def test_a_start_of_ones_own_survives(tmp_path, monkeypatch):
    """Also before the first checkpoint."""
    start = (np.array([1.0, -2.0, 0.5]), np.ones(4))
    interrupted(tmp_path / "r", monkeypatch, 1, start=start)
    wanted = run(game(), RING, METHOD, iterations=47, record_every=10, start=start)
    assert_same_bits(rd.resume(tmp_path / "r", problem=game()), wanted)


def test_a_finished_run_can_be_extended(tmp_path):
    """--iterations is the new total; the shorter run's last row is no record of the longer one."""
    run(game(), RING, METHOD, iterations=23, record_every=10, checkpoint_every=50, directory=tmp_path / "r")
    wanted = run(game(), RING, METHOD, iterations=47, record_every=10)
    assert_same_bits(rd.resume(tmp_path / "r", iterations=47, problem=game()), wanted)


def test_limits_hold_after_resumption(tmp_path, monkeypatch):
    """A budget counts what was spent before."""
    options = dict(iterations=300, record_every=10, max_rounds=150)
    wanted = run(game(), RING, METHOD, **options)
    with monkeypatch.context() as patch:
        patch.setattr(
            RunDirectory, "record", lambda self, row: (_ for _ in ()).throw(Crash) if row["iteration"] == 30 else None
        )
        with pytest.raises(Crash):
            run(game(), RING, METHOD, checkpoint_every=10, directory=tmp_path / "r", **options)
    found = rd.resume(tmp_path / "r", problem=game())
    assert found.outcome == wanted.outcome == "budget"
    assert_same_bits(found, wanted)


@pytest.fixture
def folder(tmp_path):
    run(game(), RING, METHOD, iterations=20, checkpoint_every=10, directory=tmp_path / "r")
    return tmp_path / "r"


def damage(folder, how):
    state = next((folder / "checkpoint").glob("state-*.npz"))
    manifest = folder / "checkpoint" / "manifest.json"
    if how == "truncated":
        state.write_bytes(state.read_bytes()[:100])
    elif how == "one byte":
        content = bytearray(state.read_bytes())
        content[len(content) // 2] ^= 1
        state.write_bytes(content)
    elif how == "no arrays":
        state.unlink()
    elif how == "no manifest fields":
        manifest.write_text("{}")
    elif how == "not json":
        manifest.write_text("{")
    elif how == "another format":
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"format": 99}))
    elif how == "escaping path":
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"file": "../../../../etc/passwd"}))


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("truncated", "is damaged: its SHA-256"),
        ("one byte", "is damaged: its SHA-256"),
        ("no arrays", "holds no readable checkpoint"),
        ("no manifest fields", "holds no readable checkpoint"),
        ("not json", "holds no readable checkpoint"),
        ("another format", "has format 99"),
        ("escaping path", "holds no readable checkpoint"),
    ],
)
def test_a_damaged_checkpoint_is_refused(folder, how, sentence):
    """One sentence, and nothing in the folder changes."""
    damage(folder, how)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(CheckpointError, match=sentence):
        rd.resume(folder, iterations=40, problem=game())
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (dict(problem=game(seed=4)), "problem"),
        (dict(topology=rd.topology.path(4)), "topology"),
        (dict(method=rd.DREAM(eta=0.06, gamma=0.3, p=0.3, q=0.7, b=3, K=1)), "method"),
    ],
)
def test_a_foreign_checkpoint_is_refused(folder, change, part):
    """A checkpoint of another problem, topology or method is named as such."""
    with pytest.raises(CheckpointError, match=f"belongs to another run: its {part} differs"):
        rd.resume(folder, iterations=40, **{"problem": game(), **change})


def test_what_cannot_be_resumed_says_why(folder, tmp_path):
    """Each case has its sentence."""
    with pytest.raises(ValueError, match="`problem` must be given"):
        rd.resume(folder, iterations=40)
    with pytest.raises(ValueError, match="`iterations` must exceed the 20 that are done"):
        rd.resume(folder, iterations=20, problem=game())
    with pytest.raises(ValueError, match="`iterations` must exceed the 20 that are done"):
        rd.resume(folder, problem=game())
    with pytest.raises(FileNotFoundError, match=r"has no run\.json"):
        rd.resume(tmp_path / "nowhere")
    run(game(), RING, METHOD, iterations=5, directory=tmp_path / "plain")
    with pytest.raises(ValueError, match="has no checkpoint to go on from"):
        rd.resume(tmp_path / "plain", iterations=40, problem=game())
    with pytest.raises(ValueError, match="`checkpoint_every` needs a `directory`"):
        run(game(), RING, METHOD, iterations=5, checkpoint_every=2)
    with pytest.raises(FileExistsError, match="`directory` must not hold a run already"):
        run(game(), RING, METHOD, iterations=5, directory=folder)


def named(folder, name, **parameters):
    """The same run directory, whose record says that the problem is made by this callable."""
    record = json.loads((folder / "run.json").read_text())
    record["problem"]["spec"] = {"name": name, "parameters": parameters}
    (folder / "run.json").write_text(json.dumps(record))
    return folder


MODULE = """
from pathlib import Path

from raydream.problems import QuadraticGame

Path({mark!r}).touch()


def make(seed):
    return QuadraticGame.random(agents=4, samples=7, dim_x=3, dim_y=4, seed=seed)
"""


def in_process(folder, *words, cwd):
    """`raydream resume` as a program of its own."""
    program = "from raydream.cli.app import main; main()"
    words = [sys.executable, "-c", program, "resume", str(folder), "--iterations", "40", *words]
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=240)


def test_code_that_a_record_names_does_not_run(folder, tmp_path):
    """A run directory may come from anywhere; the sentence says exactly what to repeat."""
    mark = tmp_path / "mark"
    named(folder, "os:system", command=f"touch {mark}")
    with pytest.raises(ValueError, match=r"give problem='os:system' \(--problem os:system\), or the problem itself"):
        rd.resume(folder, iterations=40)
    with pytest.raises(ValueError, match=r"must be a problem, or 'os:system' as in its record; got 'os:popen'"):
        rd.resume(folder, iterations=40, problem="os:popen")
    done = in_process(folder, cwd=tmp_path)
    assert done.returncode == 2 and "`problem` must be repeated" in done.stderr, done.stderr
    assert not mark.exists()


def test_a_module_that_lies_in_the_run_directory_is_never_imported(folder, tmp_path):
    """Neither where the user stands there, nor by its path from outside, and not even if the user repeats its name."""
    mark = tmp_path / "mark"
    (folder / "mine.py").write_text(MODULE.format(mark=str(mark)))
    for name, cwd in (("mine:make", folder), (f"{folder.name}.mine:make", tmp_path)):
        named(folder, name, seed=3)
        for words in ((), ("--problem", name)):
            assert in_process(folder, *words, cwd=cwd).returncode == 2
    assert not mark.exists()


def test_code_whose_name_is_repeated_runs(folder, tmp_path):
    """The user's word is what counts: from Python and on the command line, with the record's parameters."""
    (tmp_path / "mine.py").write_text(MODULE.format(mark=str(tmp_path / "mark")))
    wanted = run(game(), RING, METHOD, iterations=40)
    done = in_process(named(folder, "mine:make", seed=3), "--problem", "mine:make", cwd=tmp_path)
    assert done.returncode == 0 and "completed: 40 iterations" in done.stdout, done.stderr
    assert_same_bits(rd.load(folder), wanted)
    assert rd.load(folder).record.problem.spec.name == "mine:make"


def test_the_directory_can_be_watched(tmp_path, monkeypatch):
    """While a run lasts, run.json says "running" and history.csv has the rows so far."""
    seen = []
    record = RunDirectory.record

    def watching(self, row):
        record(self, row)
        seen.append((json.loads((self.folder / "run.json").read_text())["outcome"],
                     len((self.folder / "history.csv").read_text().splitlines())))  # fmt: skip

    monkeypatch.setattr(RunDirectory, "record", watching)
    run(game(), RING, METHOD, iterations=20, directory=tmp_path / "r")
    assert seen == [("running", 2), ("running", 3), ("running", 4)]
    assert json.loads((tmp_path / "r/run.json").read_text())["outcome"] == "completed"
