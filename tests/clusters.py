"""A Ray of two nodes on one machine, started as the page on clusters says, and ended with all its processes."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from waiting import PATIENCE, wait_until

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "howto" / "cluster.md").read_text()
QUICK = '{"health_check_initial_delay_ms":0,"health_check_period_ms":500,"health_check_failure_threshold":3}'
SIZE = ["--num-cpus=4", "--block", "--disable-usage-stats", "--object-store-memory=100000000"]


@dataclass
class Nodes:
    """A cluster: where it is, the processes that started its nodes, and what its programs find around them."""

    address: str
    head: subprocess.Popen
    second: subprocess.Popen
    environment: dict[str, str]

    def part(self, name):
        """The process of the head of this name."""
        [found] = [one for one in descendants(self.head.pid) if Path(f"/proc/{one}/exe").resolve().name == name]
        return found


def commands_of_the_cluster_section():
    """The indented commands of the page on clusters, in order."""
    return [line.strip() for line in PAGE.splitlines() if line.startswith("    ") and not line.strip().startswith("#")]


@contextlib.contextmanager
def two_nodes(head=(), second=()):
    """Both nodes while this lasts, each in a process group of its own.

    head, second  further words of their commands
    """
    port, folder = free_port(), f"/tmp/rd-{os.getpid()}-cluster"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment |= {"RAY_AUTH_MODE": "disabled", "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    first, other = (line.split() for line in commands_of_the_cluster_section() if line.startswith("ray start"))
    launched = []

    def launch(words):
        words = [word.replace("HEAD", "127.0.0.1").replace("6379", str(port)) for word in words]
        process = subprocess.Popen(
            [str(Path(sys.executable).parent / "ray"), *words[1:], *SIZE],
            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        launched.append(process)
        return process

    try:
        launch([*first, f"--temp-dir={folder}", "--include-dashboard=false", "--system-config", QUICK, *head])
        wait_until(lambda: listening(port), "the head")
        launch([*other, *second])
        yield Nodes(f"127.0.0.1:{port}", *launched, environment)
    finally:
        doomed = [number for process in launched for number in members(process.pid)]
        for number in doomed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        for process in launched:
            process.wait(timeout=PATIENCE)
        wait_until(lambda: not any(Path(f"/proc/{number}/exe").exists() for number in doomed), "the cluster's end")
        subprocess.run(["rm", "-rf", folder], check=True)


def processes():
    """All processes by number: the parent and the session of each."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "stat").read_text().rpartition(")")[2].split()
            found[int(folder.name)] = int(words[1]), int(words[3])
    return found


def members(session):
    """The processes of a session, also those whose parents have ended, and all that they have started."""
    first = [number for number, (_, own) in processes().items() if own == session]
    return list(dict.fromkeys([*first, *(one for number in first for one in descendants(number))]))


def descendants(pid):
    """The processes that this one has started, and theirs, youngest generation last."""
    parents = {number: parent for number, (parent, _) in processes().items()}
    found = [pid]
    for number in found:
        found += [child for child, parent in parents.items() if parent == number]
    return found[1:]


def free_port():
    """One that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def listening(port):
    """Whether somebody answers there."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False
