"""Living on a Ray that others use too: folders, tokens, and what is waited for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import ray
from waiting import PATIENCE

from raydream.backends.ray.cluster import folders


def test_a_folder_whose_lock_is_held_is_never_swept(tmp_path, monkeypatch):
    """Its driver may live in another container, where its process number means another process, or none here."""
    monkeypatch.setattr(folders.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(folders.os, "getpid", lambda: 2**22 + 1)  # nobody's number
    monkeypatch.setattr(folders, "len", lambda text: 0, raising=False)  # pytest's folders have long names
    with folders.private_folder() as living:
        program = "import sys; from raydream.backends.ray.cluster.folders import sweep, Path; sweep(Path(sys.argv[1]))"
        subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, timeout=PATIENCE)
        assert living.is_dir() and living.stat().st_mode & 0o777 == 0o700
    assert not living.exists()


def test_what_a_killed_driver_left_is_swept_and_nothing_else(tmp_path):
    """A lock that nobody holds; folders without one, links and plain files stay."""
    dead, other = tmp_path / "rd-1-dead", tmp_path / "rd-1-other"
    for folder in (dead, other):
        (folder / "r").mkdir(parents=True)
    (dead / folders.LOCK).touch()
    (tmp_path / "rd-1-link").symlink_to(dead)
    (tmp_path / "rd-1-file").touch()
    folders.sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rd-1-file", "rd-1-link", "rd-1-other"]


TOKENS = {
    "wrong": {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "f" * 64},
    "missing": {"RAY_AUTH_MODE": "token"},
    "not shown": {"RAY_AUTH_MODE": "disabled"},
}


@pytest.mark.parametrize("settings", TOKENS.values(), ids=TOKENS)
def test_a_wrong_or_missing_token_is_named(shared_ray, settings, tmp_path):
    """One sentence, and not that nobody answered."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    words = ["run", "--problem", "quadratic", "--agents", "2", "--address", ray.get_runtime_context().gcs_address]
    done = subprocess.run(
        [sys.executable, "-m", "raydream", *words], cwd=tmp_path, env={**kept, **settings, "HOME": str(tmp_path)},
        capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 2
    [sentence] = [line for line in done.stderr.splitlines() if "joining Ray" not in line and "building" not in line]
    assert "asks for its token, and this process has none or another one: set RAY_AUTH_TOKEN" in sentence
    assert not list(Path(tmp_path).glob("runs/*"))
