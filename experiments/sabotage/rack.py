"""What can happen to a run on several hosts: namespaces of one machine, where that is permitted."""

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from raydream.backends.ray.runtime import QUIET
from sabotage.driven import Driven
from sabotage.faults import Fault, Mend
from sabotage.paced import PACE, PACED

HERE = Path(__file__).resolve().parents[1]
PORT = 6379
PORTS = ["--node-manager-port=6380", "--object-manager-port=6381", "--min-worker-port=10002", "--max-worker-port=10999"]
SIZE = ["--num-cpus=2", "--disable-usage-stats", "--object-store-memory=100000000"]
# Ray takes a host for dead that has not answered for 2 s three times in a row.
QUICK = {"initial_delay_ms": 0, "period_ms": 500, "timeout_ms": 2000, "failure_threshold": 3}
CONFIG = json.dumps({f"health_check_{name}": value for name, value in QUICK.items()})
PATIENT = {name: value for name, value in QUIET.items() if name.endswith(("timeout_seconds", "timeout_ms"))}


def why_not() -> str:
    """Why there can be no hosts here; nothing where there can."""
    found: str = _hosts().why_not()
    return found


def _hosts() -> Any:
    """The tests' own hosts: those on which a link down, a parted pair and a lost host are tested too."""
    folder = str(HERE.parent / "tests")
    if folder not in sys.path:
        sys.path.append(folder)
    import hosts

    return hosts


class Rack:
    """Hosts with a Ray across them; the first has its head, and the driver."""

    def __init__(self, switch: Any, hosts: list[Any]) -> None:
        self.switch, self.hosts = switch, hosts
        self.first = hosts[0]
        self._ray(self.first, "--head", f"--port={PORT}", "--include-dashboard=false", "--system-config", CONFIG)
        for host in hosts[1:]:
            self.join(host)

    def join(self, host: Any) -> None:
        """The host's own part of Ray, anew."""
        self._ray(host, f"--address={self.first.address}:{PORT}")

    def leave(self, host: Any) -> None:
        """Whatever is left of Ray on a host ends."""
        host.run([_program("ray"), "stop", "--force"], env=environment(host))

    def _ray(self, host: Any, *words: str) -> None:
        done = host.run([_program("ray"), "start", *words, *PORTS, *SIZE], env=environment(host))
        if done.returncode:
            raise RuntimeError(f"Ray did not start at {host.address}: {done.stdout[-1000:]}{done.stderr[-1000:]}")

    def hosting(self, run: Driven) -> dict[str, list[int]]:
        """The processes of actors by the address of their host, without the first, where the driver lives."""
        found: dict[str, list[int]] = {}
        for place in run.places:
            found.setdefault(place["address"], []).append(place["pid"])
        return {address: numbers for address, numbers in found.items() if address != self.first.address}

    def victims(self, run: Driven, random: Random, count: int = 1) -> list[Any]:
        """Hosts of actors, other than the first."""
        there = run.until(lambda: len(found := self.hosting(run)) >= count and found, "actors on other hosts")
        chosen = random.sample(sorted(there), count)
        return [host for host in self.hosts if host.address in chosen]


@contextlib.contextmanager
def racked(count: int) -> Iterator[Rack]:
    """So many hosts while this lasts."""
    with _hosts().racked(count) as (switch, hosts):
        yield Rack(switch, hosts)


def environment(host: Any) -> dict[str, str]:
    """A home, and Ray's folder, on the host's own disk."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    path = os.pathsep.join([str(HERE), *kept.get("PYTHONPATH", "").split(os.pathsep)])
    own = {"HOME": str(host.disk), "RAY_TMPDIR": str(host.disk), "RAY_AUTH_MODE": "disabled", "PYTHONPATH": path}
    return {**kept, **PATIENT, **own, PACE: PACED}


def faults_of(rack: Rack) -> list[Fault]:
    """Those of hosts; each leaves the rack whole."""

    def down(run: Driven, random: Random) -> Mend:
        (host,) = rack.victims(run, random)
        rack.switch.down(host)

        def mend() -> None:
            rack.switch.up(host)
            rack.leave(host)
            rack.join(host)

        return mend

    def flap(run: Driven, random: Random) -> None:
        (host,) = rack.victims(run, random)
        rack.switch.down(host)
        threading.Timer(1.0, rack.switch.up, (host,)).start()

    def part(run: Driven, random: Random) -> Mend:
        one, other = rack.victims(run, random, 2)
        one.blind(other), other.blind(one)

        def mend() -> None:
            one.sees(other), other.sees(one)

        return mend

    def kill(run: Driven, random: Random) -> Mend:
        (host,) = rack.victims(run, random)
        host.run(["sh", "-c", "kill -9 -1"])  # all but the host's first process

        def mend() -> None:
            rack.leave(host)
            rack.join(host)

        return mend

    def signalled(number: int) -> Any:
        def deed(run: Driven, random: Random) -> None:
            (host,) = rack.victims(run, random)
            doomed = random.choice(rack.hosting(run)[host.address])
            host.run(["sh", "-c", f"kill -{int(number)} {doomed}"])

        return deed

    return [
        Fault("link of a host down", down),
        Fault("link of a host down for 1 s", flap, passes=True),
        Fault("two hosts parted from each other", part),
        Fault("all processes of a host killed", kill),
        Fault("an actor on another host killed", signalled(signal.SIGKILL)),
        Fault("an actor on another host stopped", signalled(signal.SIGSTOP)),
    ]


def _program(name: str) -> str:
    return str(Path(sys.executable).parent / name)
