"""A disk that is full: one sentence with the path and what is safe, and the run goes on once there is room."""

import contextlib
import errno
import json
import subprocess

import pytest
from laws import assert_same_bits, run

import raydream as rd
from raydream.errors import DiskFull
from raydream.problems import QuadraticGame, RobustLogisticRegression
from raydream.storage import checkpoint, files

RING = rd.topology.ring(4)
METHOD = rd.GTGDA(eta=0.05, gamma=0.3)


def game():
    return QuadraticGame.random(agents=4, samples=2, dim_x=2, dim_y=2, seed=3)


def wide():
    """One whose states take 192 KB."""
    return RobustLogisticRegression(*rd.data.synthetic(2000, 5, seed=1), agents=4)


def outcome_of(folder):
    record = json.loads((folder / "run.json").read_text())
    return record["outcome"], record["reason"]


WRITTEN = {
    "state-": errno.ENOSPC,
    "manifest.json": errno.EDQUOT,
    "progress.json": errno.EFBIG,
    "history.csv": errno.ENOSPC,
}


@pytest.mark.parametrize(("name", "number"), WRITTEN.items(), ids=WRITTEN)
def test_no_room_is_told_with_path_and_hint_whatever_is_written(tmp_path, monkeypatch, name, number):
    """run.json says that the run failed, and the run goes on from its checkpoint to the same bits."""
    folder, writing = tmp_path / "r", files.whole_file

    @contextlib.contextmanager
    def full(path, durable=True):
        with writing(path, durable) as file:
            yield file
            if path.name.startswith(name) and (name != "state-" or path.name == "state-12.npz"):
                raise OSError(number, "No room")

    for module in (files, checkpoint):
        monkeypatch.setattr(module, "whole_file", full)
    monkeypatch.setattr("raydream.storage.rundir.whole_file", full)
    monkeypatch.setattr("raydream.storage.result.whole_file", full, raising=False)
    with pytest.raises(DiskFull, match=r"there is no room for '.*r/.*' \(No room\).*make some") as caught:
        run(game(), RING, METHOD, iterations=20, record_every=4, checkpoint_every=4, directory=folder)
    monkeypatch.undo()
    assert not (folder / ".spare").exists()
    if not (folder / "run.json").exists():  # not even begun
        return
    assert str(caught.value).endswith(f"; go on with: raydream resume {folder}")
    assert outcome_of(folder)[0] == "failed" and "no room" in outcome_of(folder)[1]
    if name == "state-":
        assert "the checkpoint of iteration 8 is safe" in str(caught.value)
    found = rd.resume(folder, problem=game(), backend="local")
    assert_same_bits(found, run(game(), RING, METHOD, iterations=20, record_every=4))


def test_other_errors_of_the_disk_stay_what_they_are(tmp_path, monkeypatch):
    """Only a lack of room is one."""

    def broken(self, folder, mark):
        raise OSError(errno.EIO, "the disk is broken")

    monkeypatch.setattr(checkpoint.Checkpoint, "save", broken)
    with pytest.raises(OSError, match="the disk is broken"):
        run(game(), RING, METHOD, iterations=8, checkpoint_every=4, directory=tmp_path / "r")
    assert outcome_of(tmp_path / "r")[0] == "failed"


@pytest.fixture
def small_disk(tmp_path):
    """A disk of its own with little room, and what makes it larger."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield place, lambda: subprocess.run(["mount", "-o", "remount,size=20m", str(place)], check=True)
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_real_disk_runs_full(small_disk):
    """The second checkpoint does not fit beside the first; with more room the run goes on."""
    place, enlarge = small_disk
    folder, settings = place / "r", dict(iterations=6, record_every=2, seed=1)
    with pytest.raises(DiskFull, match="the checkpoint of iteration 2 is safe; make some; go on with: raydream resume"):
        run(wide(), RING, METHOD, checkpoint_every=2, directory=folder, **settings)
    assert outcome_of(folder)[0] == "failed"
    enlarge()
    assert_same_bits(rd.resume(folder, problem=wide(), backend="local"), run(wide(), RING, METHOD, **settings))
