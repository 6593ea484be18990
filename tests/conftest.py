"""Tests on four processes, each with a small Ray where it needs one; pure ones first; nothing left behind."""

import os
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from waiting import wait_until
from xdist.scheduler import LoadScopeScheduling

BEGAN = time.time()
TESTS = "RAYDREAM_TESTS"  # inherited by everything that this run of the tests starts
if "PYTEST_XDIST_WORKER" not in os.environ:
    os.environ[TESTS] = str(os.getpid())

settings.register_profile("any machine", suppress_health_check=[HealthCheck.too_slow])  # a busy one is slow
settings.load_profile("any machine")

RAY_CPUS = 8  # logical ones: as many as the most actors that a test starts

# Files in the order in which they are begun; those that are not named are pure, and begin.
HEAVY = ["test_ray", "test_hosts", "test_dashboard_processes", "test_report", "test_tune", "test_compare", "test_jax",
         "test_torch", "test_readme", "test_cli", "test_tuning_page", "test_tuning_dashboard",
         "test_deciding"]  # fmt: skip
# Each test a program: any process may take any of them.
SPREAD = ["test_figures", "test_processes", "test_named", "test_experiments"]


@pytest.fixture(scope="session")
def shared_ray():
    """A Ray for this process of the tests, started as the package starts its own."""
    from raydream.backends.ray.runtime import attached

    with attached(None, RAY_CPUS):
        yield


def pytest_collection_modifyitems(items):
    """Pure tests first; the longest files before those whose tests fill the gaps."""
    order = {name: place for place, name in enumerate([*HEAVY, *SPREAD])}
    items.sort(key=lambda item: order.get(item.path.stem, -1))


def pytest_xdist_make_scheduler(config, log):
    """A file's tests stay together, with what they share, except where they share nothing and take long."""

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.split("::")[0]
            return nodeid if Path(file).stem in SPREAD else file

    return ByFile(config, log)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """Fail the whole run if a process or a folder of it is left, its killed programs' included.

    The process that started the others judges, when they have ended. Two of Ray's own processes outlive a killed
    driver by a minute; they are waited for.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    try:
        wait_until(lambda: not left_behind(), lambda: "\n  ".join(["the end of:", *left_behind()]))
    except AssertionError as error:
        print(f"\nleft behind: {error}")
        session.exitstatus = 1


def left_behind():
    """Processes and folders of this run of the tests."""
    return [*processes_with(TESTS, os.environ[TESTS]), *folders_since(BEGAN)]


def leftovers(pid):
    """Processes and folders that belong to the Ray of the driver with this process number."""
    folders = [str(folder) for folder in Path(tempfile.gettempdir()).glob(f"rd-{pid}-*")]
    return [*folders, *processes_with("RAYDREAM_DRIVER", str(pid))]


def processes_with(name, value):
    """Other processes that have inherited this variable (titles and command lines change, the environment stays)."""
    found = []
    for number in numbers_with(name, value):
        try:
            title = Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if title and number not in (os.getpid(), int(value)):
            found.append(f"process {number}: {title[:100]}")
    return found


def numbers_with(name, value):
    """The numbers of all processes that have inherited this variable."""
    return [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if inherited(folder.name, name, value)]


def inherited(number, name, value):
    """Whether a process has this variable from its start."""
    try:
        return f"{name}={value}".encode() in Path(f"/proc/{number}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def folders_since(began):
    """Ray's folders of this package's making that are newer than that, unless somebody else is using them."""
    folders = [path for path in Path(tempfile.gettempdir()).glob("rd-*-*") if path.stat().st_ctime >= began]
    return [str(path) for path in folders if not elsewhere(path.name.split("-")[1])]


def elsewhere(number):
    """Whether a process is alive and none of this run of the tests."""
    return Path(f"/proc/{number}").exists() and not inherited(number, TESTS, os.environ[TESTS])


def listening(numbers):
    """The addresses, as the kernel writes them, on which these processes wait for connections."""
    sockets = set()
    for handle in (handle for number in numbers for handle in Path(f"/proc/{number}/fd").glob("*")):
        try:
            sockets.add(os.readlink(handle))
        except OSError:
            continue
    lines = [
        line.split() for kind in ("tcp", "tcp6") for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]
    ]
    return [line[1].split(":")[0] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in sockets]
