"""A run directory can be watched, and whoever watches can ask the run to stop."""

import json
import os
import platform
import subprocess
import sys
import time
from itertools import pairwise

import pytest
from laws import assert_same_bits, run
from saboteurs import Sabotaged
from test_checkpoint import METHOD, RING, game

import raydream as rd
from raydream.errors import Interrupted
from raydream.storage import lock, rundir
from raydream.storage.record import MethodRecord, ProblemRecord, RunRecord, TopologyRecord
from raydream.storage.rundir import RunDirectory
from raydream.storage.settings import Settings

RECORD = RunRecord(
    ProblemRecord("game", 4, 7, 3, 4), TopologyRecord("ring", 4, 0.5), MethodRecord("dream"), 0, Settings(iterations=47)
)


def said(folder, name="run.json"):
    return json.loads((folder / name).read_text())


@pytest.fixture
def stopped(tmp_path, monkeypatch):
    """A run of 47 iterations that somebody stops when the row of iteration 20 is there."""
    record = RunDirectory.record

    def watching(self, row):
        record(self, row)
        if row["iteration"] == 20:
            (self.folder / "stop").touch()

    with monkeypatch.context() as patch:
        patch.setattr(RunDirectory, "record", watching)
        with pytest.raises(Interrupted, match=r"stopped after 20 iterations; go on with: raydream resume"):
            run(game(), RING, METHOD, iterations=47, record_every=10, directory=tmp_path / "r")
    return tmp_path / "r"


def test_a_file_called_stop_stops_the_run_with_a_checkpoint(stopped):
    """run.json says so, the request is used up, and the checkpoint is where the run stopped."""
    assert said(stopped)["outcome"] == "stopped" and said(stopped)["reason"] == "stopped after 20 iterations"
    assert said(stopped, "checkpoint/manifest.json")["iteration"] == 20
    assert not (stopped / "stop").exists()


def test_a_stopped_run_goes_on_to_the_same_bits(stopped):
    """Also where a `stop` that came too late is still lying there."""
    (stopped / "stop").touch()
    os.utime(stopped / "stop", (time.time() - 60, time.time() - 60))
    resumed = rd.resume(stopped, problem=game())
    assert_same_bits(resumed, run(game(), RING, METHOD, iterations=47, record_every=10))
    assert said(stopped)["outcome"] == "completed"
    assert not (stopped / "stop").exists() and not (stopped / "progress.json").exists()


def test_a_stop_that_is_there_before_the_run_begins_is_heard(tmp_path):
    """Somebody may change their mind while actors are starting."""
    (tmp_path / "stop").touch()
    with pytest.raises(Interrupted, match="stopped after 0 iterations"):
        run(game(), RING, METHOD, iterations=47, directory=tmp_path)
    assert said(tmp_path)["outcome"] == "stopped"


def test_a_stop_is_heard_while_a_resumed_run_starts(stopped):
    """It is as fresh as the wish."""
    (stopped / "stop").touch()
    with pytest.raises(Interrupted, match="stopped after 20 iterations"):
        rd.resume(stopped, problem=game())


def test_only_one_driver_runs_in_a_directory(tmp_path, stopped, monkeypatch):
    """The second is told so, and the first goes on; whoever watches can see it."""
    monkeypatch.setattr(lock, "PATIENCE", 0)
    with lock.locked(stopped):
        assert lock.is_locked(stopped)
        with pytest.raises(RuntimeError, match="is being run already; stop that run first"):
            rd.resume(stopped, problem=game())
    assert lock.is_locked(stopped) is False and said(stopped)["outcome"] == "stopped"
    with lock.locked(tmp_path / "a" / "b" / "new"), pytest.raises(RuntimeError, match="is being run already"):
        run(game(), RING, METHOD, iterations=5, directory=tmp_path / "a" / "b" / "new")
    assert not (tmp_path / "a").exists(), "where nothing came of it nothing is left"


def test_a_killed_driver_lets_go(tmp_path):
    """The lock ends with the process, however it ends."""
    code = f"import sys; from pathlib import Path; from raydream.storage.lock import locked\n" \
        f"with locked(Path({str(tmp_path)!r})): print('driving', flush=True); sys.stdin.read()"  # fmt: skip
    program = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with program:
        assert program.stdout.readline() == "driving\n" and lock.is_locked(tmp_path)
        program.kill()
        program.wait(timeout=300)
        assert lock.is_locked(tmp_path) is False


def test_progress_tells_how_far_the_run_is(tmp_path, monkeypatch):
    """Before every block: iterations done, seconds used, and when that was written."""
    seen, tell = [], RunDirectory.tell

    def watching(self, *facts):
        tell(self, *facts)
        seen.append(said(self.folder, "progress.json"))

    monkeypatch.setattr(rundir, "PULSE", 0)
    monkeypatch.setattr(RunDirectory, "tell", watching)
    run(game(), RING, METHOD, iterations=47, record_every=10, directory=tmp_path)
    done = [one["iteration"] for one in seen]
    assert done == sorted(set(done)) and done[0] == 0 and {10, 20, 30, 40} <= set(done)
    assert all(a["seconds"] < b["seconds"] and a["time"] <= b["time"] for a, b in pairwise(seen))
    assert all(one["recoveries"] == [] for one in seen)


def test_progress_is_not_written_more_often_than_its_pulse(tmp_path, monkeypatch):
    """Fast runs do not write to the disk all the time."""
    monkeypatch.setattr(rundir, "PULSE", 1e9)
    folder = RunDirectory(tmp_path, None, RECORD)
    folder.tell(1, 0.1, [], [])
    folder.tell(2, 0.2, [], [])
    assert said(tmp_path, "progress.json")["iteration"] == 1


def test_a_run_that_stops_remembers_its_recoveries(tmp_path):
    """Also after the file that told of them while it lasted."""
    folder = RunDirectory(tmp_path, None, RECORD)
    folder.tell(3, 0.3, [{"iteration": 2}], [{"actor": 0, "pid": 8}])
    folder._begun = True
    folder.leave("stopped", "stopped after 3 iterations")
    assert said(tmp_path)["recoveries"] == [{"iteration": 2}] and said(tmp_path)["outcome"] == "stopped"


def test_agents_that_move_are_found_where_they_are(tmp_path):
    """run.json follows at once; it is not written again while they stay."""
    folder = RunDirectory(tmp_path, None, RECORD)
    folder.tell(1, 0.1, [], [{"actor": 0, "pid": 7}])
    assert said(tmp_path)["places"] == [{"actor": 0, "pid": 7}]
    before = os.stat(tmp_path / "run.json").st_ino
    folder.tell(2, 0.2, [], [{"actor": 0, "pid": 7}])
    assert os.stat(tmp_path / "run.json").st_ino == before
    folder.tell(3, 0.3, [{}], [{"actor": 0, "pid": 8}])
    assert said(tmp_path)["places"] == [{"actor": 0, "pid": 8}]


def test_a_run_under_way_says_who_drives_it(stopped):
    """Host and process: whoever watches can tell a run that goes on from one that was killed."""
    assert said(stopped)["driver"] == {"host": platform.node(), "pid": os.getpid()}


def test_a_run_that_fails_says_why(tmp_path):
    """The sentence of the error is in run.json, and the run can be gone on with."""
    with pytest.raises(LookupError, match="agent 1: boom"):
        run(
            Sabotaged(game(), "raise", agent=1, call=3, flag=tmp_path),
            RING,
            METHOD,
            iterations=9,
            directory=tmp_path / "r",
        )
    assert said(tmp_path / "r")["outcome"] == "failed" and said(tmp_path / "r")["reason"] == "agent 1: boom"
    assert_same_bits(rd.resume(tmp_path / "r", problem=game()), run(game(), RING, METHOD, iterations=9))
