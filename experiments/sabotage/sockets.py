"""Cutting connections of other processes: their own handles are borrowed from the system, and shut down."""

import contextlib
import ctypes
import os
import socket
from pathlib import Path

GETFD = 438  # pidfd_getfd, on every architecture


def connections(pid: int) -> dict[tuple[str, str], int]:
    """The handles of a process's open TCP connections, by the addresses of both ends as the kernel writes them."""
    inodes = {}
    for handle in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            inodes[os.readlink(handle)] = int(handle.name)
    found = {}
    for kind in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{kind}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "01" and (handle := inodes.get(f"socket:[{words[9]}]")) is not None:
                found[words[1], words[2]] = handle
    return found


def between(one: int, other: int) -> list[int]:
    """The handles of the first process that lead to the second."""
    back = {(there, here) for here, there in connections(other)}
    return [handle for ends, handle in connections(one).items() if ends in back]


def cut(pid: int, handles: list[int]) -> int:
    """Shut these connections down; how many."""
    libc, done = ctypes.CDLL(None, use_errno=True), 0
    owner = os.pidfd_open(pid)
    try:
        for handle in handles:
            mine = libc.syscall(GETFD, owner, handle, 0)
            if mine < 0:
                raise OSError(ctypes.get_errno(), f"handle {handle} of process {pid} cannot be borrowed")
            with socket.socket(fileno=mine) as connection, contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
                done += 1
    finally:
        os.close(owner)
    return done


def why_not() -> str:
    """Why connections cannot be cut here; nothing where they can."""
    here, there = socket.socketpair()
    with here, there:
        owner = os.pidfd_open(os.getpid())
        mine = ctypes.CDLL(None, use_errno=True).syscall(GETFD, owner, here.fileno(), 0)
        os.close(owner)
        if mine < 0:
            return f"the system lends no handles ({os.strerror(ctypes.get_errno())})"
        os.close(mine)
    return ""
