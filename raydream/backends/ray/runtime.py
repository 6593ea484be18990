"""Ray's manners: use the Ray that the user named, else start one sized to the run, and end only what was started."""

import contextlib
import logging
import os
import re
import secrets
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ray
from ray._private import ray_constants, ray_logging

from raydream.backends.ray.cluster.folders import private_folder
from raydream.backends.ray.cluster.joining import joined, refuse_another
from raydream.backends.ray.cluster.shipping import refuse_unshipped, shipping
from raydream.backends.ray.cluster.signals import keeping_signals
from raydream.backends.ray.cluster.starting import LOOK_SECONDS, START_SECONDS, watched
from raydream.errors import RayLost
from raydream.feedback import tell
from raydream.interrupt import quick_to_stop

# One token per process: Ray reads it once.
_TOKEN = secrets.token_hex(32)

WITHOUT = '--backend local (in Python backend="local") runs all agents in this process, without Ray'
LONGEST = 200  # characters of what Ray says when it does not start
STARTS = 3  # times that a Ray of our own is started before it is given up

# The processes without which a Ray is no more, and what they are.
VITAL = {"gcs_server": "its control service", "raylet": "its raylet"}

_OWN: list["OwnRay"] = []  # the one that this process has started

# What a Ray of our own is started with, unless the user has set it.
QUIET = {
    "RAY_AUTH_TOKEN": _TOKEN,  # ray.init() turns authentication on by itself; with this it writes no token file
    "RAY_SCHEDULER_EVENTS": "0",
    "RAY_DEDUP_LOGS": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_worker_niceness": "0",
    # A machine that is ten times slower, or busy, is no reason to give up.
    "RAY_gcs_server_port_wait_time_s": str(START_SECONDS),
    "RAY_raylet_start_wait_time_s": str(LOOK_SECONDS),  # and then again, while the raylet lives
    "RAY_worker_register_timeout_seconds": str(START_SECONDS),
    "RAY_agent_register_timeout_ms": str(1000 * START_SECONDS),
}


@contextlib.contextmanager
def attached(address: str | None, cpus: int, ship: Sequence[str] = (), **more: Any) -> Iterator[None]:
    """Ray while this lasts: the one already initialised, the one at `address` or $RAY_ADDRESS, or one of our own.

    ship  paths of modules that its nodes are to have
    more  further arguments of ray.init for one of our own
    """
    if ray.is_initialized():
        refuse_another(address)
        refuse_unshipped(ship)
        yield
        return
    with shipping(ship) as shipped, _joined_or_own(address, cpus, shipped, more):
        yield


@contextlib.contextmanager
def _joined_or_own(address: str | None, cpus: int, shipped: dict[str, Any], more: dict[str, Any]) -> Iterator[None]:
    """The Ray at `address` or $RAY_ADDRESS, or one of our own."""
    named = address or os.environ.get("RAY_ADDRESS")
    if named:
        tell(f"joining Ray at {named}")
        with joined(named, bool(more.get("log_to_driver")), **shipped):
            yield
        return
    own = OwnRay(cpus, {**more, **shipped})
    try:
        own.start()
        _OWN.append(own)
        yield
    finally:
        _OWN.clear()
        own.end()


def own_ray() -> "OwnRay | None":
    """The Ray that this process has started, if it has."""
    return _OWN[0] if _OWN else None


class OwnRay:
    """A Ray of this process's own, which can be started again if somebody kills it."""

    def __init__(self, cpus: int, more: Mapping[str, Any]) -> None:
        self._cpus, self._more = cpus, dict(more)
        self._around = contextlib.ExitStack()

    def start(self) -> None:
        """Start it, again where its raylet dies meanwhile; whatever goes wrong, nothing of it stays."""
        for left in reversed(range(STARTS)):
            try:
                self._start()
                return
            except RayLost as error:
                if not left or not isinstance(error.__cause__, RayLost):
                    raise

    def _start(self) -> None:
        folder = self._around.enter_context(private_folder())
        self._around.enter_context(_environment({**QUIET, **_marks()}))
        self._around.enter_context(_no_banner())
        tell(f"starting Ray with room for {self._cpus} processes")
        inner = folder / "r"  # Ray opens that one to everybody; the folder around it stays ours
        try:
            with keeping_signals(), quick_to_stop(), watched(inner):
                _start(self._cpus, inner, self._more)
        except BaseException as error:
            self.end()
            _end_processes_of(inner)
            if not isinstance(error, Exception):
                raise
            why = " ".join(str(error).split())[:LONGEST] or type(error).__name__
            raise RayLost(f"Ray did not start ({why}); {WITHOUT}.") from error

    def end(self) -> None:
        """End it, and remove its folder."""
        with self._around, keeping_signals():
            ray.shutdown(wait_for_processes=True)

    @property
    def lost(self) -> str:
        """Which of its processes has died; nothing while all is well."""
        node: Any = ray._private.worker._global_node
        parts = node.all_processes if node is not None else {}
        dead = {name for name, found in parts.items() if any(one.process.poll() is not None for one in found)}
        return next((said for name, said in VITAL.items() if name in dead), "")

    def again(self) -> None:
        """A new one in its place."""
        self.end()
        self.start()


def _end_processes_of(folder: Path) -> None:
    """What a start that was interrupted has left: children of this process that name its folder."""
    import psutil  # type: ignore[import-untyped]  # Ray brings it along

    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            if any(str(folder) in word for word in child.cmdline()):
                child.kill()
                child.wait(10)


def _start(cpus: int, folder: Path, more: Mapping[str, Any]) -> None:
    """A Ray on this machine that nobody else can reach."""
    with _on_loopback(), warnings.catch_warnings():
        # Ray's children are other programs at once. Where JAX was used, it warns of children that go on as they are.
        warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
        ray.init(
            address="local",
            num_cpus=cpus,
            object_store_memory=_store_size(),
            include_dashboard=False,
            configure_logging=False,
            logging_level=logging.ERROR,
            _temp_dir=str(folder),
            **{"num_gpus": 0, "log_to_driver": False, **more},
        )


def _store_size() -> int:
    """Room for the shards on their way to the actors: at most 1 GiB and half of the shared memory that is free."""
    free = shutil.disk_usage("/dev/shm").free if Path("/dev/shm").is_dir() else 2**31
    return max(80 * 2**20, min(2**30, free // 2))


def _marks() -> dict[str, str]:
    """Where actors find modules, and whose they are: Ray retitles its processes, but they keep their environment."""
    return {"PYTHONPATH": _python_path(), "RAYDREAM_DRIVER": str(os.getpid())}


def _python_path() -> str:
    """Where this process finds modules, for the actors to find the same ones."""
    own = (sys.prefix, sys.base_prefix)
    places = [os.path.abspath(path) for path in sys.path]
    found = [path for path in places if os.path.isdir(path) and not path.startswith(own)]
    asked = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join(dict.fromkeys(path for path in [*found, *asked] if path))


@contextlib.contextmanager
def _environment(settings: dict[str, str]) -> Iterator[None]:
    """These variables while Ray starts and runs, except those that the user has set; afterwards as before."""
    touched = {*settings, "RAY_AUTH_MODE"}
    before = {name: os.environ[name] for name in touched if name in os.environ}
    os.environ.update({name: value for name, value in settings.items() if name not in before or name not in QUIET})
    try:
        yield
    finally:
        for name in touched:
            os.environ.pop(name, None)
        os.environ.update(before)


@contextlib.contextmanager
def _on_loopback() -> Iterator[None]:
    """A Ray that is started meanwhile listens on 127.0.0.1 alone.

    Ray replaces a loopback address that it is given by one that others can reach, except where it takes clusters to
    be impossible.
    """
    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before


@contextlib.contextmanager
def _no_banner() -> Iterator[None]:
    """No announcement that authentication is on, and no essay on each lost worker: the run reports those itself."""
    logger = logging.getLogger("ray._private.authentication.authentication_token_setup")
    level = logger.level
    logger.setLevel(logging.ERROR)
    printer: Any = getattr(ray_logging, "stdout_deduplicator", None)
    skipped = getattr(printer, "skip_re", None)
    if hasattr(printer, "skip_re"):
        printer.skip_re = re.compile(
            "A worker died or was killed|The node with node id|Raylet is terminated|worker processes have been started"
        )
    try:
        yield
    finally:
        logger.setLevel(level)
        if hasattr(printer, "skip_re"):
            printer.skip_re = skipped
