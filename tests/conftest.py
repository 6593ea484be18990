"""One Ray for the whole test process, pure tests first, and nothing left behind."""

import os
import tempfile
import threading
import time
from pathlib import Path

import pytest

BEGAN = time.time()
TESTS = "RAYDREAM_TESTS"  # inherited by everything that this run of the tests starts
os.environ[TESTS] = str(os.getpid())


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
    """Fail the whole run if a process or a folder of it is left, its killed programs' included.

    Two of Ray's own processes outlive a killed driver by a minute; they are waited for.
    """
    deadline = time.monotonic() + 100
    while (left := [*processes_with(TESTS, os.environ[TESTS]), *folders_since(BEGAN)]) and time.monotonic() < deadline:
        threading.Event().wait(0.5)
    if left:
        print("\nleft behind:", *left, sep="\n  ")
        session.exitstatus = 1


def leftovers(pid):
    """Processes and folders that belong to the Ray of the driver with this process number."""
    folders = [str(folder) for folder in Path(tempfile.gettempdir()).glob(f"rd-{pid}-*")]
    return [*folders, *processes_with("RAYDREAM_DRIVER", str(pid))]


def processes_with(name, value):
    """Other processes that have inherited this variable (titles and command lines change, the environment stays)."""
    found, mark = [], f"{name}={value}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            inherited = mark in (folder / "environ").read_bytes().split(b"\0")
            title = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if inherited and title and int(folder.name) not in (os.getpid(), int(value)):
            found.append(f"process {folder.name}: {title[:100]}")
    return found


def folders_since(began):
    """Ray's folders of this package's making that are newer than that."""
    return [str(path) for path in Path(tempfile.gettempdir()).glob("rd-*-*") if path.stat().st_ctime >= began]
