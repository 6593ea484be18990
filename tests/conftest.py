"""One Ray for the whole test process, pure tests first, and nothing left behind."""

import os
import tempfile
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_ray():
    """A Ray of 16 logical CPUs, started as the package starts its own."""
    from raydream.backends.ray.runtime import attached

    with attached(None, 16):
        yield


def pytest_collection_modifyitems(items):
    """Pure tests first, then those that share a Ray, then those that start processes of their own."""
    items.sort(key=lambda item: ("shared_ray" in item.fixturenames) + 2 * ("processes" in item.nodeid))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """Fail the whole run if a process or a folder of ours is left."""
    if left := leftovers(os.getpid()):
        print("\nleft behind:", *left, sep="\n  ")
        session.exitstatus = 1


def leftovers(pid):
    """Processes and folders that belong to the Ray of the driver with this process number."""
    mark = f"/rd-{pid}-"
    found = [str(folder) for folder in Path(tempfile.gettempdir()).glob(f"rd-{pid}-*")]
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if mark in command and int(folder.name) != pid:
            found.append(f"process {folder.name}: {command[:100]}")
    return found
