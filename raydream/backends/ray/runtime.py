"""Ray's manners: use the Ray that the user named, else start one sized to the run, and end only what was started."""

import contextlib
import logging
import os
import re
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ray
from ray._private import ray_constants, ray_logging

from raydream.feedback import tell

# One token per process: Ray reads it once.
_TOKEN = secrets.token_hex(32)

START_SECONDS = 600  # how long the parts of a Ray of our own may take to find each other

_CONNECTED: list[str] = []  # the address by which this process has joined a Ray, while it has

# What a Ray of our own is started with, unless the user has set it.
QUIET = {
    "RAY_AUTH_TOKEN": _TOKEN,  # ray.init() turns authentication on by itself; with this it writes no token file
    "RAY_SCHEDULER_EVENTS": "0",
    "RAY_DEDUP_LOGS": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_worker_niceness": "0",
    # A machine that is ten times slower, or busy, is no reason to give up.
    "RAY_gcs_server_port_wait_time_s": str(START_SECONDS),
    "RAY_raylet_start_wait_time_s": str(START_SECONDS),
    "RAY_worker_register_timeout_seconds": str(START_SECONDS),
    "RAY_agent_register_timeout_ms": str(1000 * START_SECONDS),
}


@contextlib.contextmanager
def attached(address: str | None, cpus: int) -> Iterator[None]:
    """Ray while this lasts: the one already initialised, the one at `address` or $RAY_ADDRESS, or one of our own."""
    if ray.is_initialized():
        _refuse_another(address)
        yield
        return
    named = address or os.environ.get("RAY_ADDRESS")
    with _terminate_as_before():
        if named:
            tell(f"joining Ray at {named}")
            _connect(named)
            _CONNECTED.append(named)
            try:
                yield
            finally:
                _CONNECTED.clear()
                ray.shutdown()
            return
        with _folder() as folder, _environment({**QUIET, **_marks()}), _no_banner():
            tell(f"starting Ray with room for {cpus} processes")
            _start(cpus, folder / "r")  # Ray opens that one to everybody; the folder around it stays ours
            try:
                yield
            finally:
                ray.shutdown(wait_for_processes=True)


def _start(cpus: int, folder: Path) -> None:
    """A Ray on this machine that nobody else can reach."""
    with _on_loopback(), warnings.catch_warnings():
        # Ray's children are other programs at once. Where JAX was used, it warns of children that go on as they are.
        warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
        ray.init(
            address="local",
            num_cpus=cpus,
            num_gpus=0,
            object_store_memory=_store_size(),
            include_dashboard=False,
            log_to_driver=False,
            configure_logging=False,
            logging_level=logging.ERROR,
            _temp_dir=str(folder),
        )


def _refuse_another(address: str | None) -> None:
    """Ray is there already: an address of another one cannot be heeded, and must not be passed over."""
    if address is None or address in ("auto", *_CONNECTED):
        return
    here = ray.get_runtime_context().gcs_address
    try:
        there = _peer(address)
    except OSError as error:
        raise ConnectionError(
            f"`address` must be that of a running Ray; {address!r} did not answer ({error})."
        ) from None
    if here not in (address, there):
        raise ValueError(
            f"`address` must be that of the Ray which this program has joined, {here}; got {address!r}. "
            "Leave it out, or call ray.shutdown() first."
        )


def _peer(address: str) -> str:
    """Whoever answers at host:port, as ip:port; an address of another form is nobody's."""
    host, colon, port = address.rpartition(":")
    if not (colon and port.isdigit()):
        return ""
    with socket.create_connection((host.removeprefix("ray://").strip("[]"), int(port)), timeout=10) as connection:
        return ":".join(map(str, connection.getpeername()[:2]))


def _connect(address: str) -> None:
    try:
        _peer(address)  # Ray itself would try for minutes
        ray.init(address=address, log_to_driver=False, configure_logging=False, logging_level=logging.ERROR)
    except (OSError, RuntimeError, ValueError) as error:
        raise _unanswered(address, error) from None


def _unanswered(address: str, error: Exception) -> ConnectionError:
    first = str(error).strip().splitlines()[0]
    return ConnectionError(f"`address` must be that of a running Ray; {address!r} did not answer ({first}).")


def _store_size() -> int:
    """Room for the shards on their way to the actors: at most 1 GiB and half of the shared memory that is free."""
    free = shutil.disk_usage("/dev/shm").free if Path("/dev/shm").is_dir() else 2**31
    return max(80 * 2**20, min(2**30, free // 2))


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """A folder for Ray's session that nobody else can enter.

    Its path is short, since those of Unix sockets have at most 107 characters.
    """
    base = tempfile.gettempdir()
    base = base if len(base) <= 20 else "/tmp"
    _sweep(Path(base))
    folder = Path(tempfile.mkdtemp(prefix=f"rd-{os.getpid()}-", dir=base))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(base: Path) -> None:
    """Remove what drivers that were killed left behind: folders of ours whose process is gone."""
    for folder in base.glob("rd-*-*"):
        if _stale(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _stale(folder: Path) -> bool:
    number = folder.name.split("-")[1]
    if not number.isdigit() or not folder.is_dir() or folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


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
        printer.skip_re = re.compile("A worker died or was killed|The node with node id")
    try:
        yield
    finally:
        logger.setLevel(level)
        if hasattr(printer, "skip_re"):
            printer.skip_re = skipped


@contextlib.contextmanager
def _terminate_as_before() -> Iterator[None]:
    """Ray replaces the SIGTERM handler; put the former one back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: Any = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)
