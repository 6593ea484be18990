"""Joining a Ray that somebody else has started: at its address, with its token."""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray
from ray import _raylet
from ray.exceptions import AuthenticationError, RayError

from raydream.backends.ray.cluster.signals import keeping_signals

_CONNECTED: list[str] = []  # the address by which this process has joined a Ray, while it has


@contextmanager
def joined(address: str, log: bool = False, **more: Any) -> Iterator[None]:
    """The Ray at this address while this lasts.

    more  further arguments of ray.init
    """
    with keeping_signals():
        _connect(address, log, more)
    _CONNECTED.append(address)
    try:
        yield
    finally:
        _CONNECTED.clear()
        with keeping_signals():
            ray.shutdown()


def refuse_another(address: str | None) -> None:
    """Ray is there already: an address of another one cannot be heeded, and must not be passed over."""
    if address is None or address in ("auto", *_CONNECTED):
        return
    here = ray.get_runtime_context().gcs_address
    try:
        there = _peer(address)
    except OSError as error:
        raise _unanswered(address, error) from None
    if here not in (address, there):
        raise ValueError(
            f"`address` must be that of the Ray which this program has joined, {here}; got {address!r}. "
            "Leave it out, or call ray.shutdown() first."
        )


def _connect(address: str, log: bool, more: dict[str, Any]) -> None:
    try:
        there = _peer(address)  # Ray itself would try for minutes
        _show_the_token(address, there)
        ray.init(address=address, log_to_driver=log, configure_logging=False, logging_level=logging.ERROR, **more)
    except AuthenticationError:
        raise _unknown(address) from None
    except (OSError, RuntimeError, ValueError, RayError) as error:
        if isinstance(error, PermissionError):
            raise
        raise _unanswered(address, error) from None


def _peer(address: str) -> str:
    """Whoever answers at host:port, as ip:port; an address of another form is nobody's."""
    host, colon, port = address.rpartition(":")
    if not (colon and port.isdigit()):
        return ""
    with socket.create_connection((host.removeprefix("ray://").strip("[]"), int(port)), timeout=10) as connection:
        return ":".join(map(str, connection.getpeername()[:2]))


def _show_the_token(address: str, there: str) -> None:
    """Ask whether this process may come in: Ray itself would try for 20 seconds, and say that nobody answered."""
    if not there or address.startswith("ray://"):
        return
    raylet: Any = _raylet
    token = raylet.get_authentication_mode() == raylet.AuthenticationMode.TOKEN
    if token and not raylet.AuthenticationTokenLoader.instance().has_token(ignore_auth_mode=True):
        raise _unknown(address)
    with _without_backend_words():
        raylet.GcsClient(address=there)


@contextmanager
def _without_backend_words() -> Iterator[None]:
    """Ray's own line about a refusal, which it writes below Python, is not shown: the sentence says it."""
    before, silence = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(silence)


def _unknown(address: str) -> PermissionError:
    mode = os.environ.get("RAY_AUTH_MODE", "not set")
    return PermissionError(
        f"`address` {address!r} asks for its token, and this process has none or another one: set RAY_AUTH_TOKEN, or "
        f"put the cluster's token into ~/.ray/auth_token, and RAY_AUTH_MODE=token (it is {mode})."
    )


def _unanswered(address: str, error: Exception) -> ConnectionError:
    first = str(error).strip().splitlines()[0]
    return ConnectionError(f"`address` must be that of a running Ray; {address!r} did not answer ({first}).")
